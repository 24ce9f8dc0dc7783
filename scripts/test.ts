// Runs the tests on real servers and ends with the counts: `N passed, N failed`.
import { globSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join, resolve } from 'node:path'
import { type FinalResults, Parser, type Result } from 'tap-parser'
import { stringify } from 'yaml'
import { runCommand, UsageError } from './cli/command.ts'
import { spawnChild } from './servers/child-lifetime.ts'
import { findChromium } from './servers/chromium.ts'
import { startTestServers } from './servers/servers.ts'
import { makeTestDirectory, removeTestDirectory } from './servers/test-directory.ts'

/** Each kind of test file has a target of the Makefile. Its files end with `.KIND.ts`. */
const kinds = ['test', 'local', 'browser', 'cluster', 'operations', 'endurance']
const help = `
Usage: node scripts/test.ts [--kind KIND] [FILE …]

Starts PostgreSQL, Redis and Meilisearch, runs the test files (all of a kind, or those given) with
tap, and prints how many assertions passed and failed. Exits with 1 if a test failed or none ran.
A file with a line "// Slow: REASON" starts first, and one with "// Alone: REASON" runs alone.

  --kind KIND  which files: ${kinds.join(', ')}. Default: test

DATABASE_URL, REDIS_URL, and MEILI_URL with MEILI_MASTER_KEY name servers to use instead.
CHROMIUM_BIN names a browser to use instead of the one on the PATH.
`

const root = join(import.meta.dirname, '..')
const log = (line: string) => console.log(line)
/**
 * How many processes run test files at the same time. With more on two processors, tests that wait
 * for something fail now and then. A browser has several processes of its own.
 */
const processCount = 3
const browserProcessCount = 2
/** How long the processes of a stopped run may take to end before they are killed. */
const stopTimeoutMs = 5_000
const counts = { passed: 0, failed: 0 }
const stop = new AbortController()
const options = { kind: { type: 'string', default: 'test' } } as const

// The indexes of tests are small. A second thread of an engine would double its processor time.
process.env.MEILI_MAX_INDEXING_THREADS ??= '1'

await runCommand(help, options, async ({ kind }, given) => {
  if (!kinds.includes(kind)) throw new UsageError(`--kind must be one of ${kinds.join(', ')}.`)
  const found = globSync(`test/**/*.${kind}.ts`, { cwd: root, exclude: ['**/node_modules/**'] })
  const files = given.length > 0 ? [...new Set(given)] : found.sort()
  // Installs the browser if it is missing, before any test with a timeout starts.
  if (files.some((file) => file.endsWith('.browser.ts'))) await findChromium(log)
  for (const name of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const)
    process.on(name, () => stop.abort(name))
  const processes = kind === 'browser' ? browserProcessCount : processCount
  const directory = await makeTestDirectory()
  try {
    const servers = await startTestServers(directory, Math.min(processes, files.length), log)
    const env = {
      TEST_SERVERS: JSON.stringify(servers),
      TMPDIR: directory,
      NODE_COMPILE_CACHE: join(directory, 'compiled'),
    }
    try {
      const { alone = [], slow = [], other = [] } = Object.groupBy(files, readDeclaration)
      await runFiles(alone, 1, env)
      await runFiles([...slow, ...other], processes, env)
    } finally {
      await servers.stop()
    }
  } finally {
    await removeTestDirectory(directory)
  }
  if (stop.signal.aborted) {
    log(`Stopped by ${stop.signal.reason}.`)
    return 128 + constants.signals[stop.signal.reason as NodeJS.Signals]
  }
  log(`${counts.passed} passed, ${counts.failed} failed`)
  return counts.failed > 0 || counts.passed === 0 ? 1 : 0
})

function readDeclaration(file: string): 'alone' | 'slow' | 'other' {
  const text = readFileSync(resolve(root, file), 'utf8')
  if (text.includes('\n// Alone: ')) return 'alone'
  return text.includes('\n// Slow: ') ? 'slow' : 'other'
}

/** Runs the files in this many processes, each of which takes the next one when it is free. */
async function runFiles(files: string[], processes: number, env: NodeJS.Dict<string>) {
  const waiting = [...files]
  const runUntilNoneWaits = async (n: number) => {
    while (waiting.length > 0 && !stop.signal.aborted)
      await runProcess(waiting, { ...env, TEST_PROCESS: String(n) })
  }
  await Promise.all(Array.from({ length: processes }, (_, n) => runUntilNoneWaits(n)))
}

/**
 * Runs waiting files in one process, until none waits or a file has ended the process. Files of
 * other kinds than `test` have a process of their own.
 */
function runProcess(waiting: string[], env: NodeJS.Dict<string>): Promise<void> {
  const child = spawnChild(process.execPath, [join(import.meta.dirname, 'run-test-files.ts')], {
    cwd: root,
    env: { ...process.env, ...env },
    stopSignal: 'SIGKILL',
    stopsGroup: true,
    output: 'pipe',
    input: 'pipe',
  })
  let [failures, startedFiles] = [0, 0]
  let running: { file: string; hasStarted: boolean; since: number } | undefined
  const startNext = () => {
    const mayShare = running === undefined || running.file.endsWith('.test.ts')
    const file = mayShare && !stop.signal.aborted ? waiting.shift() : undefined
    running = file === undefined ? undefined : { file, hasStarted: false, since: performance.now() }
    if (running) child.stdin?.write(`${running.file}\n`)
    else child.stdin?.end()
  }
  const fail = (what: string) => {
    failures += 1
    counts.failed += 1
    log(`not ok: ${what}`)
  }
  const printEnd = (isOk: boolean) => {
    const seconds = (performance.now() - (running?.since ?? 0)) / 1_000
    log(`${isOk ? 'ok    ' : 'FAILED'} ${running?.file}  ${seconds.toFixed(1)} s`)
  }

  const parser = new Parser()
  parser.on('child', (file: Parser) => {
    startedFiles += 1
    if (running) running.hasStarted = true
    file.once('complete', ({ ok, count }: FinalResults) => {
      if (count === 0) fail(`no test ran in ${file.name}: a file without tests is a failure`)
      printEnd(ok && count > 0)
      startNext()
    })
  })
  parser.on('pass', () => {
    counts.passed += 1
  })
  parser.on('fail', ({ fullname, diag }: Result) =>
    fail(`${fullname}\n${stringify(diag ?? {}).replace(/^/gm, '    ')}`),
  )
  child.stdout?.pipe(parser)
  child.stderr?.pipe(process.stderr)
  // The process may have ended.
  child.stdin?.on('error', () => undefined)
  const kill = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal)
    } catch {
      // The whole group has ended.
    }
  }
  stop.signal.addEventListener('abort', () => {
    kill('SIGTERM')
    setTimeout(() => kill('SIGKILL'), stopTimeoutMs).unref()
  })
  startNext()
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', () => kill('SIGKILL'))
    child.once('close', (status) => {
      if (running && !running.hasStarted && startedFiles > 0) waiting.unshift(running.file)
      else if (running && !stop.signal.aborted) {
        fail(`${running.file} has ended its process with status ${status}`)
        printEnd(false)
      } else if (status !== 0 && failures === 0 && !stop.signal.aborted)
        fail(`a process of tests has ended with status ${status}`)
      resolve()
    })
  })
}
