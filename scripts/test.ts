// Runs the tests on real servers and ends with the counts: `N passed, N failed`.
import type { ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { type FinalResults, Parser, type Result } from 'tap-parser'
import { stringify } from 'yaml'
import { runCommand, UsageError } from './cli/command.ts'
import { bundleLibraries } from './library-bundles.ts'
import { spawnChild } from './servers/child-lifetime.ts'
import { findChromium } from './servers/chromium.ts'
import { startServers, type TestServers } from './servers/test-servers.ts'
import { makeTestDirectory, removeTestDirectory } from './test-directory.ts'
import {
  findTestFiles,
  putLongestFirst,
  sharedProcess,
  type TestKind,
  testKinds,
} from './test-file-order.ts'

const help = `
Usage: node scripts/test.ts [--kind KIND] [FILE …]

Starts PostgreSQL, Redis and Meilisearch, runs the test files (all of a kind, or those given) with
tap, and prints how many assertions passed and failed. Exits with 1 if a test failed or none ran.

  --kind KIND  which files: ${testKinds.join(', ')}. Default: ${testKinds[0]}

DATABASE_URL, REDIS_URL, and MEILI_URL with MEILI_MASTER_KEY name servers to use instead.
CHROMIUM_BIN names a browser to use instead of the one on the PATH.
`

/** SIGHUP: the terminal was closed. */
const stopSignals = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const
type StopSignal = (typeof stopSignals)[number]

const root = join(import.meta.dirname, '..')
const log = (line: string) => console.log(line)

/**
 * How many processes run tests at the same time, besides one with the tests that mostly wait. With
 * four on two processors, tests that wait for something failed now and then.
 */
const concurrency = 3

/** How long the processes of a stopped run may take to end before they are killed. */
const stopTimeoutMs = 5_000

const options = { kind: { type: 'string', default: testKinds[0] } } as const

// The indexes of tests are small. A second thread of an engine would double its processor time.
process.env.MEILI_MAX_INDEXING_THREADS ??= '1'

await runCommand(help, options, async ({ kind }, given) => {
  const files = putLongestFirst(given.length > 0 ? given : findTestFiles(parseKind(kind)))
  // Installs the browser if it is missing, before any test with a timeout starts.
  if (files.some((file) => file.endsWith('.browser.ts'))) await findChromium(log)
  const stop = abortOnSignal()
  const directory = await makeTestDirectory()
  try {
    const servers = await startServers(directory, Math.min(concurrency, files.length), log)
    try {
      const status = stop.aborted ? 0 : await runTests(files, concurrency, directory, servers, stop)
      if (!stop.aborted) return status
      log(`Stopped by ${stop.reason}.`)
      return 128 + constants.signals[stop.reason as StopSignal]
    } finally {
      await servers.stop()
    }
  } finally {
    await removeTestDirectory(directory)
  }
})

function parseKind(text: string): TestKind {
  const kind = testKinds.find((known) => known === text)
  if (kind === undefined) throw new UsageError(`--kind must be one of ${testKinds.join(', ')}.`)
  return kind
}

/** Runs the test files until all have ended or `stop` aborts. Returns the exit status. */
async function runTests(
  files: string[],
  concurrency: number,
  directory: string,
  servers: TestServers,
  stop: AbortSignal,
): Promise<number> {
  // Compiled modules are shared by all processes of the run: starting one costs half as much.
  const compileCache = join(directory, 'compiled')
  const nodeOptions = await bundleLibraries(join(directory, 'libraries'), compileCache)
  // `stopWith` would wait for ever for a signal that has already aborted.
  if (stop.aborted) return 1
  const run = startTap(files, concurrency, {
    TEST_SERVERS: JSON.stringify(servers),
    TMPDIR: directory,
    NODE_COMPILE_CACHE: compileCache,
    NODE_OPTIONS: nodeOptions,
  })
  stopWith(stop, run)
  const ended = exitStatus(run)
  const { passed, failed, withoutTests } = await report(run.stdout as Readable)
  const status = await ended
  if (stop.aborted) return status
  for (const file of withoutTests) log(`No test ran in ${file}. A file without tests is a failure.`)
  log(`${passed} passed, ${failed} failed`)
  return status !== 0 || failed > 0 || passed === 0 || withoutTests.length > 0 ? 1 : 0
}

/**
 * Starts tap in a process group of its own, so that one signal reaches all that it started. It ends
 * with this process.
 */
function startTap(files: string[], concurrency: number, env: Record<string, string>): ChildProcess {
  const run = spawnChild(
    process.execPath,
    [join(import.meta.dirname, 'tap-runner.ts'), String(concurrency), ...files],
    {
      cwd: root,
      env: { ...process.env, ...env },
      stopSignal: 'SIGKILL',
      stopsGroup: true,
      output: 'pipe',
    },
  )
  run.stderr?.pipe(process.stderr)
  return run
}

function exitStatus(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}

/** Returns a signal that aborts, with the name as its reason, when this process is to stop. */
function abortOnSignal(): AbortSignal {
  const controller = new AbortController()
  for (const name of stopSignals) process.on(name, () => controller.abort(name))
  return controller.signal
}

/** Ends the process group of the run when `stop` aborts. */
function stopWith(stop: AbortSignal, run: ChildProcess): void {
  stop.addEventListener('abort', () => {
    signalGroup(run, 'SIGTERM')
    setTimeout(() => signalGroup(run, 'SIGKILL'), stopTimeoutMs).unref()
  })
  run.once('exit', () => {
    if (stop.aborted) signalGroup(run, 'SIGKILL')
  })
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // The whole group has ended already.
  }
}

type Counts = { passed: number; failed: number; withoutTests: string[] }

/**
 * Prints every failure in full. The runner has printed a line for each file before. Counts
 * assertions by tap's last summary comment, which holds the totals of the run.
 */
function report(output: Readable): Promise<Counts> {
  const counts: Counts = { passed: 0, failed: 0, withoutTests: [] }
  const parser = new Parser()
  parser.on('fail', ({ fullname, diag }: Result) => {
    log(`not ok: ${fullname}\n${stringify(diag ?? {}).replace(/^/gm, '    ')}`)
  })
  const findSkipped = ({ name, skip }: Result) => {
    if (skip) counts.withoutTests.push(name)
  }
  parser.on('assert', findSkipped)
  parser.on('child', (process: Parser) => {
    // The tests of a process that several files share are these files.
    if (!process.name.startsWith(sharedProcess)) return
    process.on('assert', findSkipped)
    process.on('child', (file: Parser) =>
      file.on('complete', ({ count }: FinalResults) => {
        if (count === 0) counts.withoutTests.push(file.name)
      }),
    )
  })
  parser.on('comment', (comment: string) => {
    if (!comment.startsWith('# { total: ')) return
    counts.passed = Number(/pass: (\d+)/.exec(comment)?.[1] ?? 0)
    counts.failed = Number(/fail: (\d+)/.exec(comment)?.[1] ?? 0)
  })
  output.pipe(parser)
  return new Promise((resolve) => parser.once('complete', () => resolve(counts)))
}
