// Runs the container test: engine, base images, a copy of the project, the runbook's commands.
import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { runCommand } from '../../scripts/cli/command.ts'
import { buildBaseImages } from './base-images.ts'
import { checkMachine, type Engine, startOwnEngine } from './engine.ts'
import { run } from './run-program.ts'

const help = `
Usage: node test/containers/run.ts       (or: make container-test)

Builds the image, starts docker-compose.yml and runs the commands of the runbook: deploy, import,
restart, kill, backup and restore, rotation, a second engine, upgrade and roll back.

Without more settings it needs Linux, root, mmdebstrap, slirp4netns, about 6 GB of disk, Debian's
mirror and npm's registry. It installs Docker from Debian 13 in a directory of its own, and runs it
in namespaces of its own: no service, network, firewall rule or image of the machine changes. Base
images are built from Debian and npm packages, because no registry of images is needed then.
docs/operations/container-test.md says what that cannot prove.

  KEEP=DIRECTORY            keeps engine and images there, so that the next run takes half as long
  CONTAINER_IMAGES=official uses the Docker of this machine and the official images
  CONTAINER_TEST_MINUTES=40 how long it may take

Exits with 1 if a check failed. Ctrl+C stops and removes everything.
`

const root = join(import.meta.dirname, '../..')
const serviceImage = 'trade-quoting-service'
const startedAt = performance.now()

function log(line: string): void {
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0)
  console.log(`# ${seconds.padStart(4)} s  ${line}`)
}

await runCommand(help, {}, async () => {
  const { KEEP, CONTAINER_IMAGES, CONTAINER_TEST_MINUTES = '40' } = process.env
  const isOfficial = CONTAINER_IMAGES === 'official'
  if (!isOfficial) checkMachine()
  const directory = KEEP ? resolve(KEEP) : mkdtempSync(join(tmpdir(), 'tqs-containers-'))
  const shared = join(directory, 'work')
  rmSync(shared, { recursive: true, force: true })
  mkdirSync(shared, { recursive: true })
  let engine: Engine = { programs: '', inNetwork: [], stop: async () => undefined }
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => stop.abort(signal))
  const limit = setTimeout(
    () => stop.abort(`the limit of ${CONTAINER_TEST_MINUTES} minutes`),
    Number(CONTAINER_TEST_MINUTES) * 60_000,
  )
  try {
    if (!isOfficial) {
      log('installing and starting a Docker engine of its own')
      engine = await startOwnEngine(directory, shared)
      log('building the base images')
      await buildBaseImages(join(engine.programs, 'docker'), shared)
    }
    log('copying the project')
    const versions = await copyProject(shared)
    const docker = { cwd: join(shared, 'project'), env: environment(engine) }
    const images = await run('docker', ['images', '--quiet', serviceImage], docker)
    if (isOfficial && images !== '')
      throw new Error(`This machine has an image ${serviceImage}: the test would replace it.`)
    try {
      log(`running the runbook; the older version is ${versions.older.slice(0, 10)}`)
      const status = await runTest(engine, shared, versions, stop.signal)
      if (status !== 0)
        console.error(await run('docker', ['compose', 'logs', '--no-color', '--tail=20'], docker))
      if (stop.signal.aborted) console.error(`Stopped by ${stop.signal.reason}.`)
      return status
    } finally {
      log('removing containers, volumes and the image of the service')
      await run(
        'docker',
        ['compose', '--profile=tools', 'down', '-v', '-t1', '--remove-orphans'],
        docker,
      )
      await run('docker', ['image', 'rm', '--force', serviceImage], docker)
    }
  } finally {
    clearTimeout(limit)
    await engine.stop()
    rmSync(KEEP ? shared : directory, { recursive: true, force: true })
  }
})

/**
 * Makes a repository with the files as they are now, whether committed or not, and a clone. Returns
 * the commits of now and of before the last migration.
 */
async function copyProject(shared: string): Promise<{ newer: string; older: string }> {
  const origin = join(shared, 'origin')
  const git = async (...args: string[]) =>
    (await run('git', ['-c', 'user.name=test', '-c', 'user.email=test@localhost', ...args])).trim()
  await git('clone', '--quiet', root, origin)
  const inOrigin = (...args: string[]) => git('-C', origin, ...args)
  await inOrigin('checkout', '--quiet', '-B', 'main')
  await inOrigin('rm', '--quiet', '-r', '.')
  const files = await git('-C', root, 'ls-files', '--cached', '--others', '--exclude-standard')
  for (const file of files.split('\n'))
    if (existsSync(join(root, file))) cpSync(join(root, file), join(origin, file))
  await inOrigin('add', '--all')
  await inOrigin('commit', '--quiet', '--allow-empty', '--message', 'The files as they are now')
  const newer = await inOrigin('rev-parse', 'HEAD')
  const added = ['--diff-filter=A', '-1', '--format=%H', '--', 'src/database/migrations']
  const lastMigration = await inOrigin('log', ...added)
  const older = await inOrigin('rev-parse', `${lastMigration}~1`)
  const project = join(shared, 'project')
  await git('clone', '--quiet', origin, project)
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
  return { newer, older }
}

function environment({ programs }: Engine): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${programs}:${process.env.PATH}`, COMPOSE_ANSI: 'never' }
}

async function runTest(
  engine: Engine,
  shared: string,
  versions: { newer: string; older: string },
  stop: AbortSignal,
): Promise<number> {
  const file = join(import.meta.dirname, 'runbook.containers.ts')
  const [program = '', ...args] = [...engine.inNetwork, process.execPath, file]
  const child = spawn(program, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...environment(engine),
      CONTAINER_TEST: JSON.stringify({ project: join(shared, 'project'), ...versions }),
      TAP_TIMEOUT: '3600',
    },
  })
  stop.addEventListener('abort', () => child.kill())
  return new Promise((settle, reject) => {
    child.once('error', reject)
    child.once('exit', (status) => settle(status ?? 1))
  })
}
