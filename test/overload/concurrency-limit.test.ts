import t from 'tap'
import { Problem } from '../../src/http/problem-details.ts'
import { ConcurrencyLimit, queueTimeout } from '../../src/overload/concurrency-limit.ts'
import { eventually } from '../support/eventually.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'

/** Starts operations that run until the test finishes them. Returns them and their results. */
function startOperations(limit: ConcurrencyLimit, count: number) {
  const running: { number: number; finish(): void }[] = []
  const results = Array.from({ length: count }, (_, number) =>
    limit
      .run(() => new Promise<void>((finish) => running.push({ number, finish })))
      .then(
        () => 'finished' as const,
        (error: unknown) => (error instanceof Problem ? ('rejected' as const) : error),
      ),
  )
  return { running, results }
}

t.test('runs operations up to the limit and the queued ones in order', async (t) => {
  replaceUntilEnd(t, queueTimeout, { ms: 10_000 })
  const limit = new ConcurrencyLimit({ maxRunning: 2, maxQueued: 2 })
  const { running, results } = startOperations(limit, 4)
  t.same(
    running.map(({ number }) => number),
    [0, 1],
  )
  for (const started of [1, 2, 3, 4]) {
    await eventually(
      async () => running.length,
      (length) => length >= Math.min(4, started + 1),
    )
    running[started - 1]?.finish()
  }
  t.same(await Promise.all(results), Array(4).fill('finished'))
  t.same(
    running.map(({ number }) => number),
    [0, 1, 2, 3],
  )
  t.ok(limit.hasCapacity())
})

t.test('rejects operations beyond the queue with 503 and those that wait too long', async (t) => {
  const limit = new ConcurrencyLimit({ maxRunning: 1, maxQueued: 2 })
  const { running, results } = startOperations(limit, 4)
  t.equal(await results[3], 'rejected')
  const startedAt = performance.now()
  t.same(await Promise.all([results[1], results[2]]), ['rejected', 'rejected'])
  t.ok(performance.now() - startedAt < 20 * queueTimeout.ms)
  running[0]?.finish()
  t.equal(await results[0], 'finished')
  t.equal(running.length, 1)
})

t.test('an operation with a longer wait is not rejected after 100 ms', async (t) => {
  const limit = new ConcurrencyLimit({ maxRunning: 1, maxQueued: 2 })
  const { running, results } = startOperations(limit, 1)
  const patient = limit.run(async () => 'answered', { extraWaitMs: 60_000 })
  const impatient = limit.run(async () => 'answered').catch((error: unknown) => error)
  t.type(await impatient, Problem)
  running[0]?.finish()
  t.equal(await patient, 'answered')
  t.equal(await results[0], 'finished')
})
