// Every waiting time is in src/timeouts/ and nowhere else, docs/timeouts.md lists them, and those
// that depend on each other fit together.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { timeoutsDocument } from '../scripts/timeouts-table.ts'
import { timeouts } from '../src/timeouts.ts'

const root = join(import.meta.dirname, '..')

/** Lines with a number of milliseconds that is not a waiting time. */
const otherDurations = ['const dayMs = 86_400_000']

t.test('docs/timeouts.md lists the waiting times of src/timeouts/', async (t) => {
  const document = readFileSync(join(root, 'docs/timeouts.md'), 'utf8')
  t.ok(document === timeoutsDocument(), 'run `node scripts/timeouts-table.ts`')
})

t.test('no other source file has a literal waiting time', async (t) => {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((name) => `src/${name}`)
    .filter((name) => name.endsWith('.ts') && !name.startsWith('src/timeouts/'))
  t.ok(files.length > 20)
  for (const name of files)
    t.same(literalWaitingTimes(readFileSync(join(root, name), 'utf8')), [], name)
})

t.test('the search for literal waiting times finds each form', async (t) => {
  for (const line of [
    'setTimeout(flush, 100).unref()',
    'setInterval(() => void write(), 5_000)',
    'AbortSignal.timeout(1_000)',
    'await sleep(50)',
    'const retryMs = 1_000',
    'connectTimeout: 1_000,',
  ])
    t.equal(literalWaitingTimes(line).length, 1, line)
  for (const line of [
    'setTimeout(follow, 0)',
    'setTimeout(flush, timeouts.monitoring.logFlush.ms)',
    'const startedMs = performance.now()',
  ])
    t.same(literalWaitingTimes(line), [], line)
})

t.test('a stop leaves time for each of its steps', async (t) => {
  const { drain, lastStatements, lastTraces, stop } = timeouts.process
  t.ok(drain.ms < lastStatements.ms, 'requests end before the connections that they need')
  t.ok(lastStatements.ms + lastTraces.ms <= stop.ms, 'traces are sent before the process exits')
})

t.test('a revocation is noticed within the 5 s that the documentation promises', async (t) => {
  const { lookUp, refreshAfter, waitAfter } = timeouts.auth
  t.ok(waitAfter.ms + lookUp.ms < 5_000)
  t.ok(refreshAfter.ms + lookUp.ms < waitAfter.ms, 'a key in use never waits for PostgreSQL')
})

t.test('another indexer takes over within the 10 s that the documentation promises', async (t) => {
  const { keyReplacement, lease, leaseRenewal, standby } = timeouts.indexing
  t.ok(lease.ms + standby.ms + keyReplacement.ms < 10_000)
  t.ok(3 * leaseRenewal.ms < lease.ms, 'one late renewal does not lose the lease')
})

t.test('a change is searchable within the 5 s that the documentation promises', async (t) => {
  const { changeDuringRebuild, popularity, request, uploadDuringChanges } = timeouts.indexing
  t.ok(changeDuringRebuild.ms < 5_000)
  t.ok(uploadDuringChanges.ms < changeDuringRebuild.ms, 'a small upload is not cancelled')
  t.ok(popularity.ms < request.ms, 'PostgreSQL ends a count before its connection is given up')
})

/** Returns the lines with a waiting time that is written as a number. */
function literalWaitingTimes(text: string): string[] {
  const number = '[1-9][\\d_]*'
  // Timers, sleeps and abort signals; constants in milliseconds; options such as connectTimeout.
  const forms = [
    `\\b(?:setTimeout|setInterval)\\(.*, ${number}\\)`,
    `\\b(?:AbortSignal\\.timeout|sleep|delay)\\(${number}[,)]`,
    `\\bconst \\w+Ms = ${number}$`,
    `\\b\\w+(?:Timeout|Ms): ${number},?$`,
  ]
  const pattern = new RegExp(forms.join('|'))
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => pattern.test(line) && !otherDurations.includes(line))
}
