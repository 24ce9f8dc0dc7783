// The data version that API processes share through Redis: together they read PostgreSQL about five
// times a second, and no answer is sent as current without proof.
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Kysely, PostgresDialect } from 'kysely'
import t, { type Test } from 'tap'
import { openPool } from '../../../src/database/postgres-pool.ts'
import type { Tables } from '../../../src/database/table-types.ts'
import { readDataVersion } from '../../../src/stats/cache/data-version.ts'
import { DataVersionExchange } from '../../../src/stats/cache/data-version-exchange.ts'
import { timeouts } from '../../../src/timeouts.ts'
import { type FaultyProxy, startFaultyProxy } from '../../support/faulty-proxy.ts'
import { unobserved } from '../../support/redis-topologies.ts'
import { eventually, servers, type TestService, testDatabase } from '../../support/test-service.ts'
import { insertQuote } from '../insert-quotes.ts'
import { findWrongAnswers, requestStats, statsService } from '../stats-service.ts'

// These tests mostly wait, and each has its own database.
t.jobs = 4

const maxAgeMs = timeouts.stats.maxAge.ms
/** Between the five a second of all processes together and the fifteen of three on their own. */
const fewPolls = 9

type Process = TestService & { postgres: FaultyProxy; countPolls(): number }

t.test('three processes read PostgreSQL as often as one', async (t) => {
  const { processes } = await startProcesses(t)
  for (const service of processes) await requestStats(service)
  const perSecond = await eventually(
    () => countPollsPerSecond(processes),
    // On a busy machine Redis may be too slow, and then each process reads PostgreSQL itself.
    (polls) => polls > 1 && polls < fewPolls,
  )
  t.ok(perSecond > 1 && perSecond < fewPolls, `${perSecond} polls a second`)
  await insertQuote(processes[0].db, '1')
  await sleep(maxAgeMs)
  for (const service of processes) await checkCurrent(t, service, 1)
  await sleep(maxAgeMs)
  for (const service of processes) {
    const unchanged = await eventually(
      () => requestStats(service),
      ({ cacheStatus }) => cacheStatus === 'stats; hit',
    )
    t.match(unchanged, { total: 1, cacheStatus: 'stats; hit' }, 'still current')
  }
})

t.test('without Redis each process reads PostgreSQL', async (t) => {
  const { processes, redis } = await startProcesses(t)
  let written = 0
  for (const [cutOff, outage] of [
    [() => redis.stopForwarding(), 'hanging'],
    [() => redis.refuseConnections(), 'refusing'],
    [() => Object.assign(redis, { delayMs: 300 }), 'slow'],
  ] as const) {
    cutOff()
    await sleep(maxAgeMs)
    const before = processes.map((service) => service.countPolls())
    await eventually(
      async () => processes.map((service, index) => service.countPolls() - (before[index] ?? 0)),
      (polls) => polls.every((count) => count >= 5),
    )
    t.ok(
      processes.every((service, index) => service.countPolls() - (before[index] ?? 0) >= 5),
      outage,
    )
    await insertQuote(processes[0].db, outage)
    await sleep(maxAgeMs)
    written += 1
    for (const service of processes) await checkCurrent(t, service, written)
    redis.delayMs = 0
    redis.restore()
  }
  const perSecond = await eventually(
    () => countPollsPerSecond(processes),
    (polls) => polls < fewPolls,
  )
  t.ok(perSecond < fewPolls, `${perSecond} polls a second after the outages`)
})

t.test('the other processes go on if one is stopped, or cannot read PostgreSQL', async (t) => {
  const { processes } = await startProcesses(t)
  const [first, second, third] = processes
  for (const service of processes) t.equal((await requestStats(service)).total, 0)
  second.postgres.refuseConnections()
  third.postgres.stopForwarding()
  await sleep(2 * maxAgeMs)
  for (const service of [second, third]) {
    const current = await eventually(
      () => requestStats(service),
      ({ cacheStatus }) => cacheStatus === 'stats; hit',
    )
    t.match(current, { total: 0, cacheStatus: 'stats; hit' }, 'current by what others have read')
  }
  await insertQuote(first.db, '1')
  await sleep(maxAgeMs)
  for (const service of processes) await checkCurrent(t, service, 1)
  second.postgres.restore()
  third.postgres.restore()
  await first.app.close()
  const before = second.countPolls() + third.countPolls()
  await insertQuote(first.db, '2')
  for (const service of [second, third]) {
    const changed = await eventually(
      () => requestStats(service),
      ({ total, age }) => total === 2 && age === 0,
    )
    t.match(changed, { status: 200, total: 2, age: 0 }, 'after the first process has stopped')
  }
  t.ok(second.countPolls() + third.countPolls() > before)
})

t.test('no answer is wrong while Redis fails again and again', async (t) => {
  const { processes, redis } = await startProcesses(t)
  let isOver = false
  const faults = [
    () => redis.stopForwarding(),
    () => redis.refuseConnections(),
    () => Object.assign(redis, { delayMs: 60 }),
    () => Object.assign(redis, { delayMs: 200 }),
  ]
  const fail = async () => {
    for (let round = 0; !isOver; round += 1) {
      faults[round % faults.length]?.()
      await sleep(400)
      redis.delayMs = 0
      redis.restore()
      await sleep(300)
    }
  }
  const failing = fail()
  t.same(await findWrongAnswers(processes[0].db, processes, 6_000), [])
  isOver = true
  await failing
})

t.test('a late reading is dated by the mark that it was published with', async (t) => {
  const { redis, createProcess } = await startExchanges(t)
  const [reader, poller, newcomer] = [createProcess(), createProcess(), createProcess()]
  const before = performance.now()
  t.match(await reader.mark(), { reading: null, lock: null })
  const after = performance.now()
  const lock = await poller.lock()
  await sleep(100)
  t.match(await newcomer.mark(), { reading: null }, 'leaves its mark too late')
  await reader.mark()
  lock.publish({ ...known, version: { ...version, changes: 7 } })
  const found = await eventually(
    () => reader.mark(),
    (found) => found?.reading != null,
  )
  t.match(found?.reading, { version: { ...version, changes: 7 }, databaseId: known.databaseId })
  const readAt = found?.reading?.readAt ?? Number.NaN
  t.ok(before <= readAt && readAt <= after, 'as old as the first mark')
  t.match(await newcomer.mark(), { reading: null })

  const [key = ''] = await redis.keys(`${prefixOf(redis)}*:reading`)
  const older = await redis.hgetall(key)
  const next = await poller.lock()
  next.publish({ ...known, version: { ...version, changes: 8 } })
  await eventually(
    () => reader.mark(),
    (found) => found?.reading?.version.changes === 8,
  )
  await redis.hset(key, older)
  t.match(
    (await reader.mark())?.reading,
    { version: { changes: 7 }, readAt },
    'no newer although Redis was set back to an older state',
  )
})

t.test('one process at a time has the lock, and a released lock is free', async (t) => {
  const { createProcess } = await startExchanges(t)
  const [first, second] = [createProcess(), createProcess()]
  const lock = await first.lock()
  t.match(await second.mark({ mayLock: true }), { lock: null })
  lock.release()
  t.ok(await second.lock())
  t.ok(await first.lock(), 'the lock expires')
})

t.test('a reading is published only if another process awaits it', async (t) => {
  const { redis, createProcess } = await startExchanges(t)
  const [poller, other] = [createProcess(), createProcess()]
  const lock = await poller.lock()
  t.equal(lock.isAwaited, false)
  lock.publish(known)
  await sleep(100)
  t.same(await redis.keys(`${prefixOf(redis)}*:reading`), [])
  await other.mark()
  t.equal((await poller.lock()).isAwaited, true)
})

t.test('readings of another database, generation or computation are not exchanged', async (t) => {
  const { createProcess } = await startExchanges(t)
  const poller = createProcess()
  const others = [
    { process: createProcess(), known: { ...known, databaseId: 'another' } },
    { process: createProcess(), known: { ...known, version: { ...version, generation: '2' } } },
    { process: createProcess('another computation'), known },
  ]
  for (const { process, known } of others) await process.mark({ known })
  await createProcess().mark()
  const lock = await poller.lock()
  lock.publish(known)
  await sleep(100)
  for (const { process, known } of others) t.match(await process.mark({ known }), { reading: null })
  const reader = createProcess()
  await reader.mark()
  const own = await poller.lock()
  own.publish({ ...known, version: { ...version, generation: '2' } })
  t.ok(await reader.lock(), 'a holder that finds another generation releases the lock')
  t.match(await reader.mark(), { reading: null })
})

t.test('an invalid reading in Redis is ignored', async (t) => {
  const { redis, createProcess } = await startExchanges(t)
  const [reader, poller] = [createProcess(), createProcess()]
  await reader.mark()
  const lock = await poller.lock()
  lock.publish(known)
  await eventually(
    () => reader.mark(),
    (found) => found?.reading != null,
  )
  const [key = ''] = await redis.keys(`${prefixOf(redis)}*:reading`)
  const valid = await redis.hgetall(key)
  const [mark = ''] = Object.keys(valid).filter((field) => field !== 'text')
  for (const change of [
    { text: '' },
    { text: 'many' },
    { text: '1.5' },
    { [mark]: '' },
    { [mark]: 'now' },
    { [mark]: String(performance.now() + 60_000) },
  ]) {
    await redis.hset(key, { ...valid, ...change })
    t.match(await reader.mark(), { reading: null }, JSON.stringify(Object.values(change)))
  }
  await redis.set(key, 'no hash')
  t.equal(await reader.exchange(), null, 'counts as a failure of Redis')
})

/** A slow machine or an unreachable PostgreSQL makes an answer stale, but never wrong. */
async function checkCurrent(t: Test, service: Process, expectedTotal: number) {
  const { status, total, cacheStatus } = await requestStats(service)
  t.equal(status, 200)
  t.ok(total === expectedTotal || cacheStatus.includes('stale'), `${total}: ${cacheStatus}`)
}

const version = { generation: '1', changes: 1 }
const known = { version, databaseId: 'database', readAt: 0 }
const prefixes = new WeakMap<Redis, string>()
const prefixOf = (redis: Redis) => prefixes.get(redis) ?? ''

/** Processes that only exchange the data version. */
async function startExchanges(t: Test) {
  const { redisUrl } = await servers()
  const redis = new Redis(redisUrl)
  t.teardown(() => redis.disconnect())
  const prefix = `test:${randomBytes(6).toString('hex')}:`
  prefixes.set(redis, prefix)
  const createProcess = (computation = 'computation') => {
    const shared = new DataVersionExchange(unobserved(redis), prefix, computation)
    const exchange = ({ known: own = known, mayLock = false } = {}) =>
      shared.exchangeReadings(own, { mayLock })
    /** On a busy machine Redis may be too slow, which pauses exchanges. */
    const mark = (options = {}) =>
      eventually(
        () => exchange(options),
        (found) => found !== null,
      )
    return {
      exchange,
      mark,
      async lock() {
        const exchange = await eventually(
          () => mark({ mayLock: true }),
          (found) => Boolean(found?.lock),
        )
        if (!exchange?.lock) throw new Error('The lock was not acquired.')
        return exchange.lock
      },
    }
  }
  return { redis, createProcess }
}

/** Three services with one database and one Redis, each behind its own proxy to PostgreSQL. */
async function startProcesses(t: Test) {
  const database = await testDatabase(t)
  const { redisUrl } = await servers()
  const redis = await startFaultyProxy(t, redisUrl)
  const pollText = await readPollText(database.url)
  const config = { REDIS_URL: redis.url, REDIS_PREFIX: `test:${randomBytes(6).toString('hex')}:` }
  const start = async (): Promise<Process> => {
    const postgres = await startFaultyProxy(t, database.roles.api)
    const service = await statsService(t, { database, apiUrl: postgres.url, config })
    const countPolls = () => postgres.getSentText().split(pollText).length - 1
    return { ...service, postgres, countPolls }
  }
  const processes: [Process, Process, Process] = [await start(), await start(), await start()]
  return { processes, redis }
}

/** Returns the statement with which a process reads the data version. */
async function readPollText(url: string): Promise<string> {
  const statements: string[] = []
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: openPool(url) }),
    log: ({ query }) => void statements.push(query.sql),
  })
  await readDataVersion(db)
  await db.destroy()
  return statements[0] ?? ''
}

async function countPollsPerSecond(processes: Process[]): Promise<number> {
  const count = () => processes.reduce((sum, service) => sum + service.countPolls(), 0)
  const [startedAt, before] = [performance.now(), count()]
  await sleep(3_000)
  return (1_000 * (count() - before)) / (performance.now() - startedAt)
}
