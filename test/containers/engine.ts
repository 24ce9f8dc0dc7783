// A Docker engine of its own for the test: programs of Debian in a directory, run in namespaces.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
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
 * that has the same path for the engine. Throws if it does not start within a minute.
 */
export async function startOwnEngine(directory: string, shared: string): Promise<Engine> {
  const root = join(directory, 'engine')
  if (!existsSync(join(root, 'usr/sbin/dockerd')))
    await run('mmdebstrap', [
      ...['--variant=minbase', `--include=${debianPackages}`, debianRelease, root],
    ])
  const log = join(directory, 'engine.log')
  const script = join(import.meta.dirname, 'engine-namespaces.sh')
  const namespaces = ['--mount', '--net', '--pid', '--fork', '--kill-child']
  const engine = spawn('setpriv', [...endsWithUs, 'unshare', ...namespaces, script, root, shared], {
    stdio: ['ignore', 'ignore', openSync(log, 'w')],
  })
  let network: ChildProcess | undefined
  const stop = async () => {
    network?.kill()
    if (engine.exitCode === null && engine.kill('SIGKILL'))
      await new Promise((resolve) => engine.once('exit', resolve))
  }
  try {
    const pid = await childOf(engine)
    const connect = ['slirp4netns', '--configure', '--mtu=65520', String(pid), 'tap0']
    network = spawn('setpriv', [...endsWithUs, ...connect], { stdio: 'ignore' })
    const programs = writeDockerProgram(shared, pid)
    await waitForEngine(join(programs, 'docker'))
    return { programs, inNetwork: ['nsenter', '-t', String(pid), '-n', '--'], stop }
  } catch (error) {
    await stop()
    const lastLines = readFileSync(log, 'utf8').slice(-2_000)
    throw new Error(`The engine did not start:\n${lastLines}`, { cause: error })
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

async function waitForEngine(docker: string): Promise<void> {
  for (const startedAt = performance.now(); performance.now() - startedAt < startTimeoutMs; ) {
    if (spawnSync(docker, ['version'], { cwd: join(docker, '..') }).status === 0) return
    await sleep(200)
  }
  throw new Error(`no answer within ${startTimeoutMs / 1_000} s`)
}
