// The concurrency limit: running operations, queue, rejections.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Problem } from '../../src/http/problem-details.ts'
import {
  ConcurrencyLimit,
  queueTimeout,
  recentRejection,
} from '../../src/overload/concurrency-limit.ts'
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

t.test('the queue is short after an operation has waited too long', async (t) => {
  replaceUntilEnd(t, recentRejection, { ms: 60_000 })
  const limit = new ConcurrencyLimit({ maxRunning: 1, maxQueued: 10 })
  const { running, results } = startOperations(limit, 2)
  t.equal(await results[1], 'rejected')
  replaceUntilEnd(t, queueTimeout, { ms: 60_000 })
  const queued = startOperations(limit, 5)
  t.equal(await queued.results[4], 'rejected', 'the fifth of a queue for four')
  running[0]?.finish()
  for (let index = 0; index < 4; index += 1) {
    t.ok(await eventually(async () => queued.running[index], Boolean))
    queued.running[index]?.finish()
  }
})

t.test('has no capacity right after a rejection, and the whole queue 100 ms later', async (t) => {
  const limit = new ConcurrencyLimit({ maxRunning: 1, maxQueued: 10 })
  const { running, results } = startOperations(limit, 12)
  t.notOk(limit.hasCapacity(), 'ten operations are queued')
  t.same(await Promise.all(results.slice(1)), Array(11).fill('rejected'))
  await sleep(recentRejection.ms + 20)
  const queued = startOperations(limit, 9)
  t.ok(limit.hasCapacity(), 'nine operations are queued')
  running[0]?.finish()
  await results[0]
  await eventually(
    async () => queued.running,
    (started) => started.length > 0,
  )
  queued.running[0]?.finish()
})
