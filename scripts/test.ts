// Runs the tests on real servers, and ends with the counts: `N passed, N failed`.
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { Parser, type Result } from 'tap-parser'
import { stringify } from 'yaml'
import { runCommand } from './cli/command.ts'
import { findChromium } from './servers/chromium.ts'
import { startServers } from './servers/test-servers.ts'

const help = `
Usage: node scripts/test.ts [FILE …]

Starts PostgreSQL, Redis and two Meilisearch, runs the test files (all, or those given) on them with tap, and prints how many assertions passed
and failed. DATABASE_URL, REDIS_URL and MEILI_URL with MEILI_MASTER_KEY name servers to use instead,
CHROMIUM_BIN a browser. Exits 1 when a test failed or none ran.
`

const tap = join(import.meta.dirname, '../node_modules/.bin/tap')

await runCommand(help, {}, async (_values, files) => {
  // Before anything is timed: a machine without it installs it now. Chosen files look for it themselves, when they need it.
  if (files.length === 0) await findChromium((line) => console.log(line))
  const directory = await mkdtemp(join(tmpdir(), 'tqs-tests-'))
  const servers = await startServers(directory, 2, (line) => console.log(line))
  try {
    const env = { ...process.env, TEST_SERVERS: JSON.stringify(servers) }
    const run = spawn(process.execPath, [tap, 'run', '--reporter=tap', ...files], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    // Ctrl+C reaches tap by itself; the servers are stopped after it.
    process.on('SIGINT', () => undefined)
    const ended = new Promise<number>((resolve, reject) => {
      run.once('error', reject)
      run.once('exit', (code, signal) => resolve(signal ? 130 : (code ?? 1)))
    })
    const { passed, failed, withoutTests } = await report(run.stdout)
    const status = await ended
    for (const file of withoutTests)
      console.log(`No test ran in ${file}: a file without tests is a failure.`)
    console.log(`${passed} passed, ${failed} failed`)
    return status !== 0 || failed > 0 || passed === 0 || withoutTests.length > 0 ? 1 : 0
  } finally {
    await servers.stop()
    await rm(directory, { recursive: true, force: true })
  }
})

type Counts = { passed: number; failed: number; withoutTests: string[] }

/** Shows a line a file and every failure whole. Counts assertions by tap's last summary, which holds the totals of the run. */
function report(output: Readable): Promise<Counts> {
  const counts: Counts = { passed: 0, failed: 0, withoutTests: [] }
  const parser = new Parser()
  parser.on('fail', ({ fullname, diag }: Result) => {
    console.log(`not ok: ${fullname}\n${stringify(diag ?? {}).replace(/^/gm, '    ')}`)
  })
  parser.on('assert', ({ ok, name, time, skip }: Result) => {
    if (skip) counts.withoutTests.push(name)
    console.log(
      `${ok ? 'ok    ' : 'FAILED'} ${name}${time ? `  ${(time / 1000).toFixed(1)} s` : ''}`,
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
