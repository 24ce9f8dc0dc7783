// Runs the container test: engine, base images, a copy of the project, the runbook's commands.
import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { runCommand } from '../../scripts/cli/command.ts'
import { buildBaseImages } from './base-images.ts'
import { checkMachine, type Engine, startOwnEngine } from './engine.ts'
import { machineLabel } from './machine.ts'
import { run } from './run-program.ts'

const help = `
Usage: node test/containers/run.ts [FILE …]       (or: make container-test)

Builds the image, starts docker-compose.yml and runs the commands of the runbook: deploy, import,
restart, kill, backup and restore, rotation, a second engine, upgrade and roll back. Then executes
the steps of .github/workflows/ci.yml, in a container, with the services of the workflow. FILE is
one of test/containers/*.containers.ts: only that part.

Without more settings it needs Linux, root, mmdebstrap, slirp4netns, about 10 GB of disk, Debian's
mirror and npm's registry. It installs Docker from Debian 13 in a directory of its own, and runs it
in namespaces of its own: no service, network, firewall rule or image of the machine changes. Base
images are built from Debian and npm packages, because no registry of images is needed then.
docs/operations/container-test.md says what that cannot prove.

  KEEP=DIRECTORY            keeps engine and images there, so that the next run takes half as long
  CONTAINER_IMAGES=official uses the Docker of this machine and the official images; the steps of
                            the workflow are left to the forge
  CONTAINER_TEST_MINUTES=60 how long it may take
  WORKFLOW=whole            executes whole also those commands of the workflow that take minutes

Exits with 1 if a check failed. Ctrl+C stops and removes everything, and exits with 130.
`

const root = join(import.meta.dirname, '../..')
const serviceImage = 'trade-quoting-service'
/** The name of the folder is that of the project for Compose. */
const projectName = 'quotes-container-test'
const [imageTest = '', runbookTest = '', workflowTest = ''] = ['image', 'runbook', 'workflow'].map(
  (name) => join(import.meta.dirname, `${name}.containers.ts`),
)
/** The exit status after each signal. */
const stopStatuses: Record<string, number> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }
const startedAt = performance.now()

function log(line: string): void {
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0)
  console.log(`# ${seconds.padStart(4)} s  ${line}`)
}

await runCommand(help, {}, async (_values, given) => {
  const { KEEP, CONTAINER_IMAGES, CONTAINER_TEST_MINUTES = '60' } = process.env
  const isOfficial = CONTAINER_IMAGES === 'official'
  if (!isOfficial) checkMachine()
  const all = [imageTest, runbookTest, ...(isOfficial ? [] : [workflowTest])]
  const files = given.length === 0 ? all : given.map((file) => resolve(file))
  const directory = KEEP ? resolve(KEEP) : mkdtempSync(join(tmpdir(), 'tqs-containers-'))
  const shared = join(directory, 'work')
  rmSync(shared, { recursive: true, force: true })
  mkdirSync(shared, { recursive: true })
  let engine: Engine = { programs: '', inNetwork: [], stop: async () => undefined }
  const { signal, end } = createStop(Number(CONTAINER_TEST_MINUTES))
  try {
    if (!isOfficial) {
      log('installing and starting a Docker engine of its own')
      engine = await startOwnEngine(directory, shared, signal)
      // A run that was killed may have left containers in an engine that is kept.
      await removeContainers(engine, shared)
      log('building the base images')
      await buildBaseImages(join(engine.programs, 'docker'), shared, signal)
    }
    return await testCopy(engine, shared, files, signal, isOfficial)
  } catch (error) {
    if (!signal.aborted) throw error
    console.error(`Stopped: ${signal.reason}.`)
    return stopStatuses[signal.reason] ?? 1
  } finally {
    end()
    log('removing everything')
    await engine.stop().finally(() => {
      rmSync(KEEP ? shared : directory, { recursive: true, force: true })
    })
  }
})

/** Aborts on Ctrl+C and the like, and after this many minutes. `end` ends the waiting for that. */
function createStop(minutes: number): { signal: AbortSignal; end(): void } {
  const stop = new AbortController()
  for (const name of Object.keys(stopStatuses)) process.once(name, () => stop.abort(name))
  const limit = setTimeout(() => stop.abort(`the limit of ${minutes} minutes`), minutes * 60_000)
  return { signal: stop.signal, end: () => clearTimeout(limit) }
}

/** Copies the project and runs the test files there. Returns the exit status. */
async function testCopy(
  engine: Engine,
  shared: string,
  files: string[],
  signal: AbortSignal,
  isOfficial: boolean,
): Promise<number> {
  log('copying the project')
  const versions = await copyProject(shared, signal)
  const docker = { cwd: join(shared, projectName), env: environment(engine) }
  const images = await run('docker', ['images', '--quiet', serviceImage], { ...docker, signal })
  if (isOfficial && images !== '')
    throw new Error(`This machine has an image ${serviceImage}: the test would replace it.`)
  try {
    log(`the older version is ${versions.older.slice(0, 10)}`)
    for (const file of files) {
      log(`running ${basename(file)}`)
      const status = await runTest(file, engine, shared, versions, signal)
      signal.throwIfAborted()
      if (status === 0) continue
      if (file === runbookTest)
        console.error(await run('docker', ['compose', 'logs', '--no-color', '--tail=20'], docker))
      return status
    }
    return 0
  } finally {
    log('removing containers, volumes and the image of the service')
    await removeContainers(engine, shared)
  }
}

/** Also before there is an .env, without which Compose refuses every command. */
async function removeContainers(engine: Engine, cwd: string): Promise<void> {
  const docker = (...args: string[]) => run('docker', args, { cwd, env: environment(engine) })
  const ofService = `com.docker.compose.project=${projectName}`
  const remove = async (list: string[], command: string[], label = ofService) => {
    const filter = `--filter=label=${label}`
    const ids = (await docker(...list, '--quiet', filter)).split('\n').filter(Boolean)
    if (ids.length > 0) await docker(...command, ...ids)
  }
  for (const label of [ofService, machineLabel])
    await remove(['ps', '--all'], ['rm', '--force', '--volumes'], label)
  await remove(['volume', 'ls'], ['volume', 'rm', '--force'])
  await remove(['network', 'ls'], ['network', 'rm'])
  await docker('image', 'rm', '--force', serviceImage)
}

/**
 * Makes a repository with the files as they are now, whether committed or not, and a clone. Returns
 * the commits of now and of before the last migration.
 */
async function copyProject(
  shared: string,
  signal: AbortSignal,
): Promise<{ newer: string; older: string }> {
  const origin = join(shared, 'origin')
  const identity = ['-c', 'user.name=test', '-c', 'user.email=test@localhost']
  const git = async (...args: string[]) =>
    (await run('git', [...identity, ...args], { signal })).trim()
  await git('clone', '--quiet', root, origin)
  const inOrigin = (...args: string[]) => git('-C', origin, ...args)
  await inOrigin('checkout', '--quiet', '-B', 'main')
  await inOrigin('rm', '--quiet', '-r', '.')
  const files = await git('-C', root, 'ls-files', '--cached', '--others', '--exclude-standard')
  for (const file of files.split('\n'))
    if (existsSync(join(root, file)))
      cpSync(join(root, file), join(origin, file), { verbatimSymlinks: true })
  await inOrigin('add', '--all')
  await inOrigin('commit', '--quiet', '--allow-empty', '--message', 'The files as they are now')
  const newer = await inOrigin('rev-parse', 'HEAD')
  const added = ['--diff-filter=A', '-1', '--format=%H', '--', 'src/database/migrations']
  const lastMigration = await inOrigin('log', ...added)
  const older = await inOrigin('rev-parse', `${lastMigration}~1`)
  const project = join(shared, projectName)
  await git('clone', '--quiet', origin, project)
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
  return { newer, older }
}

function environment({ programs }: Engine): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${programs}:${process.env.PATH}`, COMPOSE_ANSI: 'never' }
}

async function runTest(
  file: string,
  engine: Engine,
  shared: string,
  versions: { newer: string; older: string },
  stop: AbortSignal,
): Promise<number> {
  const [program = '', ...args] = [...engine.inNetwork, process.execPath, file]
  const child = spawn(program, args, {
    cwd: root,
    detached: true, // Ctrl+C reaches this process only, which then stops the test
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...environment(engine),
      CONTAINER_TEST: JSON.stringify({ project: join(shared, projectName), ...versions }),
      TAP_TIMEOUT: '3600',
    },
  })
  stop.addEventListener('abort', () => child.kill())
  if (stop.aborted) child.kill()
  return new Promise((settle, reject) => {
    child.once('error', reject)
    child.once('exit', (status) => settle(status ?? 1))
  })
}
