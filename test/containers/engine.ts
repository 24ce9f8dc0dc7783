// A Docker engine of its own for the test: programs of Debian in a directory, run in namespaces.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  globSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { run } from './run-program.ts'

/** Debian 13 is the first with Compose 2 as a package. */
const debianRelease = 'trixie'
const debianPackages = [
  ...['docker.io', 'docker-cli', 'docker-compose', 'docker-buildx', 'tini', 'iptables'],
  ...['ca-certificates', 'git'],
].join(',')
const hostPrograms = { mmdebstrap: 'mmdebstrap', slirp4netns: 'slirp4netns', nsenter: 'util-linux' }
/** Also if this process is killed. unshare itself ignores SIGTERM. */
const endsWithUs = ['--pdeathsig', 'KILL']
const startTimeoutMs = 60_000

export type Engine = {
  /** A folder with a program `docker`. */
  programs: string
  /** What goes before a command so that it reaches published ports of containers. */
  inNetwork: string[]
  stop(): Promise<void>
}

/** Throws an error that names what the machine lacks for an engine of its own. */
export function checkMachine(): void {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    throw new Error(
      'An engine of its own needs Linux and root. CONTAINER_IMAGES=official does not.',
    )
  const missing = Object.entries(hostPrograms).filter(
    ([program]) => spawnSync(program, ['--version']).error !== undefined,
  )
  if (missing.length === 0) return
  const packages = missing.map(([, name]) => name).join(' ')
  throw new Error(`Install what is missing first (Debian): apt-get install ${packages}`)
}

/**
 * Installs an engine below `directory`, unless it is there, and starts it. `shared` is a directory
 * that has the same path for the engine. Throws if it does not start within a minute, or on abort.
 */
export async function startOwnEngine(
  directory: string,
  shared: string,
  signal: AbortSignal,
): Promise<Engine> {
  const root = join(directory, 'engine')
  if (!existsSync(root)) await installEngine(root, signal)
  const log = join(directory, 'engine.log')
  const script = join(import.meta.dirname, 'engine-namespaces.sh')
  const namespaces = ['--mount', '--net', '--pid', '--fork', '--kill-child']
  const controlGroup = `container-test-${process.pid}`
  const command = ['unshare', ...namespaces, script, root, shared, controlGroup]
  // In a process group of its own: Ctrl+C would end the engine before its containers are removed.
  const engine = spawn('setpriv', [...endsWithUs, ...command], {
    stdio: ['ignore', 'ignore', openSync(log, 'w')],
    detached: true,
  })
  let network: ChildProcess | undefined
  const stop = async () => {
    await Promise.all([network, engine].map((child) => child && killChild(child)))
    await removeControlGroups(controlGroup)
  }
  try {
    const pid = await childOf(engine)
    const connect = ['slirp4netns', '--configure', '--mtu=65520', String(pid), 'tap0']
    network = spawn('setpriv', [...endsWithUs, ...connect], { stdio: 'ignore', detached: true })
    const programs = writeDockerProgram(shared, pid)
    await waitForEngine(join(programs, 'docker'), signal)
    return { programs, inNetwork: ['nsenter', '-t', String(pid), '-n', '--'], stop }
  } catch (error) {
    await stop()
    signal.throwIfAborted()
    const lastLines = readFileSync(log, 'utf8').slice(-2_000)
    throw new Error(`The engine did not start:\n${lastLines}`, { cause: error })
  }
}

/** An installation that is interrupted leaves nothing that looks complete to the next run. */
async function installEngine(root: string, signal: AbortSignal): Promise<void> {
  const incomplete = `${root}.incomplete`
  rmSync(incomplete, { recursive: true, force: true })
  const packages = `--include=${debianPackages}`
  await run('mmdebstrap', ['--variant=minbase', packages, debianRelease, incomplete], { signal })
  renameSync(incomplete, root)
}

async function killChild(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL'))
    await new Promise((resolve) => child.once('exit', resolve))
}

/** The kernel keeps a control group until somebody removes it. Processes in it end for a moment. */
async function removeControlGroups(name: string): Promise<void> {
  const isLeft = () =>
    globSync(`/sys/fs/cgroup/{${name},*/${name}}`).map(removeTree).includes(false)
  for (const startedAt = performance.now(); isLeft(); await sleep(200))
    if (performance.now() - startedAt > startTimeoutMs)
      throw new Error(`Control groups remain in /sys/fs/cgroup/*/${name}.`)
}

/** Removes directories, whose files are the kernel's. Returns false if one is in use. */
function removeTree(directory: string): boolean {
  for (const entry of readdirSync(directory, { withFileTypes: true }))
    if (entry.isDirectory()) removeTree(join(directory, entry.name))
  try {
    rmdirSync(directory)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EBUSY') return false
    throw error
  }
}

/** Returns the process id of the script inside, which is the first process of its namespace. */
async function childOf({ pid }: ChildProcess): Promise<number> {
  const file = `/proc/${pid}/task/${pid}/children`
  for (const startedAt = performance.now(); performance.now() - startedAt < startTimeoutMs; ) {
    const child = Number.parseInt(readFileSync(file, 'utf8'), 10)
    if (child > 0) return child
    await sleep(50)
  }
  throw new Error('unshare started nothing')
}

/** Writes a program `docker` that runs the engine's, in the same directory. Returns its folder. */
function writeDockerProgram(shared: string, pid: number): string {
  const folder = join(shared, 'programs')
  mkdirSync(folder, { recursive: true })
  const enter = `nsenter -t ${pid} -m -n -p -r`
  writeFileSync(
    join(folder, 'docker'),
    `#!/bin/sh\nexec ${enter} sh -c 'cd "$0" && exec /usr/bin/docker "$@"' "$PWD" "$@"\n`,
    { mode: 0o755 },
  )
  return folder
}

async function waitForEngine(docker: string, signal: AbortSignal): Promise<void> {
  for (const startedAt = performance.now(); performance.now() - startedAt < startTimeoutMs; ) {
    signal.throwIfAborted()
    if (spawnSync(docker, ['version'], { cwd: join(docker, '..') }).status === 0) return
    await sleep(200)
  }
  throw new Error(`no answer within ${startTimeoutMs / 1_000} s`)
}
