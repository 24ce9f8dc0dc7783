// The service in containers: runs commands of the docs in a copy of the project, and asks the API.
import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

export const image = 'trade-quoting-service:1.0.0'
const root = join(import.meta.dirname, '../..')
const directory = mkdtempSync(join(tmpdir(), 'tqs-containers-'))
const origin = join(directory, 'origin')
/** The name of the folder is that of the project for Compose. */
export const project = join(directory, 'quotes-container-test')
/** Starting everything on a slow machine. */
const limitMs = 120_000

const execute = promisify(execFile)

/** Returns the standard output of a program. Throws an error with its last lines if it fails. */
async function run(
  program: string,
  args: string[],
  { cwd = project, env = {}, input = '' }: RunOptions = {},
): Promise<string> {
  const running = execute(program, args, {
    cwd,
    env: { ...process.env, COMPOSE_ANSI: 'never', ...env },
    maxBuffer: 64 * 2 ** 20,
  })
  running.child.stdin?.end(input)
  return (await running).stdout
}

type RunOptions = { cwd?: string; env?: Record<string, string>; input?: string }

export const docker = (...args: string[]) => run('docker', args)
export const compose = (...args: string[]) => run('docker', ['compose', ...args])

/** Builds an image from a Dockerfile that needs no other files. */
export const buildImage = (name: string, dockerfile: string) =>
  run('docker', ['build', '--tag', name, '-'], { input: dockerfile })

/**
 * Makes a repository with the files as they are now, whether committed or not, and a clone of it,
 * the project. Returns two commits of these files, so that an upgrade goes from one to the other.
 */
export async function copyProject(): Promise<{ older: string; newer: string }> {
  if ((await run('docker', ['images', '--quiet', image], { cwd: root })) !== '')
    throw new Error(`This machine has an image ${image}, which the test would replace: remove it.`)
  const identity = ['-c', 'user.name=test', '-c', 'user.email=test@localhost']
  const git = async (cwd: string, ...args: string[]) =>
    (await run('git', [...identity, ...args], { cwd })).trim()
  const files = await git(root, 'ls-files', '--cached', '--others', '--exclude-standard')
  for (const file of files.split('\n').filter((name) => existsSync(join(root, name))))
    cpSync(join(root, file), join(origin, file), { verbatimSymlinks: true })
  await git(origin, 'init', '--quiet', '--initial-branch=main')
  await git(origin, 'add', '--all')
  await git(origin, 'commit', '--quiet', '--message', 'older')
  const older = await git(origin, 'rev-parse', 'HEAD')
  await git(origin, 'commit', '--quiet', '--allow-empty', '--message', 'newer')
  await git(directory, 'clone', '--quiet', origin, project)
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
  return { older, newer: await git(origin, 'rev-parse', 'HEAD') }
}

/** Removes the containers, their data and the image, also after a test that was interrupted. */
export async function removeEverything(): Promise<void> {
  const remove = ['--profile', 'tools', 'down', '--volumes', '--remove-orphans', '--timeout', '2']
  // Without an .env, which the first test writes, Compose refuses every command.
  if (existsSync(join(project, '.env'))) await compose(...remove)
  await docker('image', 'rm', '--force', image)
  rmSync(directory, { recursive: true, force: true })
}

/** The project's own Node is there already, so `make` installs nothing. */
const prelude = 'make() { scripts/run "$1"; }'

/** Returns the code blocks of a chapter, which is named by its heading without the marks. */
export function readBlocks(file: string, heading: string, language = 'sh'): string[] {
  const lines = readFileSync(join(root, file), 'utf8')
  const chapter = lines.split(/\n#+ /).find((text) => text.startsWith(`${heading}\n`))
  if (chapter === undefined) throw new Error(`${file} has no chapter "${heading}"`)
  const [, ...blocks] = chapter.split(`\`\`\`${language}\n`)
  return blocks.map((block) => block.slice(0, block.indexOf('```')))
}

/** Runs commands of the docs as they stand. Returns standard output. Throws if one fails. */
export function runBlock(block: string, env: Record<string, string> = {}): Promise<string> {
  const command = ['--norc', '-euo', 'pipefail', '-c', `${prelude}\n${block}`]
  return run('bash', command, { env })
}

/** Writes a file into the project, for example one that an operator would import. */
export function writeInput(name: string, text: string): void {
  writeFileSync(join(project, name), text)
}

export async function checkOut(version: string): Promise<void> {
  await run('git', ['checkout', '--quiet', '-B', 'main', version])
  await run('git', ['branch', '--quiet', '--set-upstream-to=origin/main'])
}

/** Returns the status of the answer, or 0 without an answer. */
export async function ask(
  path: string,
  key?: string,
  port = 3000,
): Promise<{ status: number; body: string }> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(10_000),
    })
    return { status: response.status, body: await response.text() }
  } catch {
    return { status: 0, body: '' }
  }
}

/** Repeats a check until it holds. Throws after two minutes with what it saw last. */
export async function until<Seen>(
  what: string,
  look: () => Promise<Seen>,
  isDone: (seen: Seen) => boolean,
): Promise<Seen> {
  let seen: Seen | undefined
  for (const startedAt = performance.now(); performance.now() - startedAt < limitMs; ) {
    seen = await look()
    if (isDone(seen)) return seen
    await sleep(500)
  }
  throw new Error(`${what}: not within ${limitMs / 1_000} s; last ${JSON.stringify(seen)}`)
}

/** Asks every 100 ms while `action` runs. Returns the requests, and the longest gap in seconds. */
export async function askMeanwhile(
  path: string,
  key: string,
  action: () => Promise<unknown>,
): Promise<{ asked: number; failed: number; longestGapSeconds: number }> {
  const seen = { asked: 0, failed: 0, longestGapSeconds: 0 }
  let isOver = false
  const asking = (async () => {
    let lastAnswerAt = performance.now()
    while (!isOver) {
      const { status } = await ask(path, key)
      seen.asked += 1
      if (status === 200) {
        const gap = (performance.now() - lastAnswerAt) / 1_000
        seen.longestGapSeconds = Math.max(seen.longestGapSeconds, gap)
        lastAnswerAt = performance.now()
      } else seen.failed += 1
      await sleep(100)
    }
  })()
  try {
    await action()
  } finally {
    isOver = true
    await asking
  }
  return seen
}

/** Kills the process of a container as the kernel does for lack of memory, so it starts again. */
export async function killProcess(service: string): Promise<void> {
  const container = (await compose('ps', '--quiet', service)).trim()
  const pid = await docker('inspect', '--format={{.State.Pid}}', container)
  const asRoot = ['--pid=host', '--user=0', '--cap-add=KILL', '--entrypoint=node']
  const code = `process.kill(${pid.trim()}, 9)`
  await docker('run', '--rm', ...asRoot, image, '-e', code)
}
