// The service in containers: runs commands of the docs in the copied project, and asks the API.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { run } from './run-program.ts'

const root = join(import.meta.dirname, '../..')
const settings = process.env.CONTAINER_TEST
if (settings === undefined) throw new Error('Run this test with `make container-test`.')
export const { project, newer, older } = JSON.parse(settings) as Record<
  'project' | 'newer' | 'older',
  string
>
/** Starting everything on a slow machine. */
const limitMs = 120_000

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
  return run('bash', ['--norc', '-euo', 'pipefail', '-c', `${prelude}\n${block}`], {
    cwd: project,
    env: { ...process.env, COMPOSE_ANSI: 'never', ...env },
  })
}

export const compose = (...args: string[]) =>
  run('docker', ['compose', ...args], { cwd: project, env: process.env })

/** Writes a file into the project, for example one that an operator would import. */
export function writeInput(name: string, text: string): void {
  mkdirSync(project, { recursive: true })
  writeFileSync(join(project, name), text)
}

export async function checkOut(version: string): Promise<void> {
  await run('git', ['checkout', '--quiet', '-B', 'main', version], { cwd: project })
  await run('git', ['branch', '--quiet', '--set-upstream-to=origin/main'], { cwd: project })
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
  const pid = await run('docker', ['inspect', '--format={{.State.Pid}}', container], {
    cwd: project,
  })
  const asRoot = ['--pid=host', '--user=0', '--cap-add=KILL', '--entrypoint=node']
  const code = `process.kill(${pid.trim()}, 9)`
  await run('docker', ['run', '--rm', ...asRoot, 'trade-quoting-service', '-e', code], {
    cwd: project,
  })
}
