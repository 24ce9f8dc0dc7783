// Redis from the packages of Debian and its kin: installed by root where that starts no service, else unpacked into a directory.
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { runChild } from './child-lifetime.ts'
import type { ReportProgress } from './running-server.ts'

/**
 * Gets Redis, installed or unpacked into `directory`, within a minute: behind a firewall that drops packets apt-get would try for many.
 * Answers what hindered it, undefined for nothing. `path` is where to look for apt-get.
 */
export async function installRedisPackages(
  directory: string,
  path: string,
  reportProgress: ReportProgress,
): Promise<string | undefined> {
  if (spawnSync('apt-get', ['--version'], { env: { PATH: path } }).status !== 0)
    return 'not on the PATH, and no apt-get to get it'
  const deadline = AbortSignal.timeout(60_000)
  try {
    if (process.getuid?.() === 0 && forbidsServices() && (await install(deadline, reportProgress)))
      return undefined
    return await unpack(directory, deadline, reportProgress)
  } catch (error) {
    return deadline.aborted ? 'its packages did not arrive within a minute' : String(error)
  }
}

// Debian's word for "installing starts nothing", as container images have it. Elsewhere a package would start its service.
const forbidsServices = () =>
  spawnSync('/usr/sbin/policy-rc.d', ['redis-server', 'start']).status === 101

async function install(deadline: AbortSignal, reportProgress: ReportProgress): Promise<boolean> {
  reportProgress('Redis is not here: installing the package redis-server (some ten seconds)')
  const words = ['install', '-y', '--no-install-recommends', 'redis-server']
  if ((await apt(words, deadline)).status === 0) return true
  reportProgress('refreshing the list of packages first')
  await apt(['update'], deadline)
  return (await apt(words, deadline)).status === 0
}

async function unpack(
  directory: string,
  deadline: AbortSignal,
  reportProgress: ReportProgress,
): Promise<string | undefined> {
  reportProgress(
    'Redis is not here: unpacking the package redis-server privately (some ten seconds)',
  )
  mkdirSync(dirname(directory), { recursive: true })
  const work = mkdtempSync(`${directory}-`)
  try {
    let problem = await download(work, [], deadline)
    if (problem !== undefined) {
      // The system's list of packages is missing or outdated, and only root may refresh it: we take one of our own.
      reportProgress('fetching a list of packages first')
      const own = [
        '-o',
        `Dir::State::lists=${join(work, 'lists')}`,
        '-o',
        `Dir::Cache=${join(work, 'cache')}`,
      ]
      mkdirSync(join(work, 'lists/partial'), { recursive: true })
      mkdirSync(join(work, 'cache/archives/partial'), { recursive: true })
      await apt([...own, 'update'], deadline)
      problem = await download(work, own, deadline)
    }
    if (problem !== undefined) return problem
    for (const file of globSync('*.deb', { cwd: work })) {
      const { status, output } = await runChild('dpkg', ['-x', file, 'root'], { cwd: work })
      if (status !== 0) return output
    }
    rmSync(directory, { recursive: true, force: true })
    renameSync(join(work, 'root'), directory)
    return undefined
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

// A rehearsed installation names exactly the packages that this machine lacks, whatever its release calls them.
async function download(
  work: string,
  options: string[],
  deadline: AbortSignal,
): Promise<string | undefined> {
  const rehearsal = await apt(
    [...options, '--simulate', 'install', '--no-install-recommends', 'redis-server'],
    deadline,
  )
  const missing = [...rehearsal.output.matchAll(/^Inst (\S+) \(/gm)].map((match) => match[1] ?? '')
  if (rehearsal.status !== 0) return hindrance(rehearsal)
  if (missing.length === 0)
    return 'the package redis-server is installed, but its program is not on the PATH'
  return hindrance(await apt([...options, 'download', ...missing], deadline, work))
}

function apt(
  words: string[],
  signal: AbortSignal,
  cwd = '/',
): Promise<{ status: number | null; output: string }> {
  const { PATH, http_proxy, https_proxy, no_proxy } = process.env
  const quiet = { LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive', NEEDRESTART_SUSPEND: '1' } // the last: no service is restarted either
  const patience = [
    'Acquire::Retries=1',
    'Acquire::http::Timeout=10',
    'Acquire::https::Timeout=10',
    'DPkg::Lock::Timeout=60',
  ]
  const env = { PATH: `${PATH}:/usr/sbin:/sbin`, http_proxy, https_proxy, no_proxy, ...quiet }
  return runChild('apt-get', [...patience.flatMap((option) => ['-o', option]), ...words], {
    cwd,
    env,
    signal,
  })
}

function hindrance({
  status,
  output,
}: {
  status: number | null
  output: string
}): string | undefined {
  if (status === 0) return undefined
  const lines = output.trim().split('\n')
  return lines.findLast((line) => line.startsWith('E: '))?.slice(3) ?? lines.at(-1)
}
