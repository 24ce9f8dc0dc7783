// Values that are read again while they are used. The test moves the clock.
import { mock } from 'node:test'
import { setImmediate as runPendingCallbacks } from 'node:timers/promises'
import t, { type Test } from 'tap'
import {
  discardAfter,
  RefreshedValue,
  refreshAfter,
  waitAfter,
} from '../../src/auth/refreshed-value.ts'
import { FailureLog } from '../../src/monitoring/log/failure-log.ts'
import { collectLines } from '../support/task-logs.ts'

/** Returns a value that counts its queries, and a clock. A query fails while `failure` is set. */
function createValue(t: Test) {
  const clock = { ms: 0 }
  const now = mock.method(performance, 'now', () => clock.ms)
  t.teardown(() => now.mock.restore())
  const source = { queries: 0, failure: null as Error | null }
  const { lines, log } = collectLines()
  const read = async () => {
    source.queries += 1
    if (source.failure) throw source.failure
    return source.queries
  }
  const failures = new FailureLog(log, { failure: (cause) => cause, recovery: 'again' })
  return { value: new RefreshedValue(read, failures), clock, source, lines }
}

t.test('reads a value in the background, or waits for it once it is old', async (t) => {
  const { value, clock, source } = createValue(t)
  t.equal(value.getFresh(), null)
  t.same(await Promise.all([value.get(), value.get()]), [1, 1], 'both share a query')
  clock.ms = refreshAfter.ms - 1
  t.equal(await value.get(), 1)
  t.equal(value.getFresh()?.value, 1)
  t.equal(source.queries, 1)
  clock.ms = refreshAfter.ms
  t.equal(value.getFresh(), null, 'so its user calls `get`, which reads it again')
  t.same(await Promise.all([value.get(), value.get()]), [1, 1], 'neither waits')
  await runPendingCallbacks()
  t.equal(await value.get(), 2)
  t.equal(source.queries, 2)
  clock.ms += waitAfter.ms
  t.same(await Promise.all([value.get(), value.get()]), [3, 3], 'both wait for the same query')
})

t.test('during an outage, uses the value and tries again once per `refreshAfter`', async (t) => {
  const { value, clock, source, lines } = createValue(t)
  t.equal(await value.get(), 1)
  source.failure = new Error('away')
  let attempts = 0
  for (clock.ms = waitAfter.ms; clock.ms < discardAfter.ms / 2; clock.ms += refreshAfter.ms) {
    for (const _ of [1, 2, 3]) {
      t.equal(await value.get(), 1)
      await runPendingCallbacks()
    }
    attempts += 1
    t.equal(source.queries, 1 + attempts)
  }
  t.same(lines, ['error: away'])
  source.failure = null
  t.equal(await value.get(), 1)
  await runPendingCallbacks()
  t.equal(await value.get(), source.queries)
  t.same(lines, ['error: away', 'info: again'])
})

t.test('rejects while it cannot be read and is older than `discardAfter`', async (t) => {
  const { value, clock, source } = createValue(t)
  source.failure = new Error('away')
  await t.rejects(value.get(), source.failure, 'and before the first value')
  source.failure = null
  t.equal(await value.get(), 2)
  source.failure = new Error('away again')
  clock.ms = discardAfter.ms
  for (const _ of [1, 2]) await t.rejects(value.get(), source.failure)
  t.equal(source.queries, 4)
  source.failure = null
  t.equal(await value.get(), 5)
})
