// The data version that API processes share through Redis: together they read PostgreSQL about five
// times a second, and no statistics are sent as current without proof.
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Kysely, PostgresDialect, sql } from 'kysely'
import t, { type Test } from 'tap'
import { openPool } from '../../../src/database/postgres-pool.ts'
import type { Tables } from '../../../src/database/table-types.ts'
import { createDataVersionPoller } from '../../../src/stats/cache/data-version-poller.ts'
import {
  formatVersion,
  maxAgeMs,
  parseVersion,
  scopeOf,
  shareDataVersions,
} from '../../../src/stats/cache/shared-data-version.ts'
import { readVersion } from '../../../src/stats/summary/data-version.ts'
import { servers, testDatabase } from '../../support/database/test-database.ts'
import { eventually } from '../../support/eventually.ts'
import { type FaultyProxy, startFaultyProxy } from '../../support/servers/faulty-proxy.ts'
import { unobserved } from '../../support/servers/redis-topologies.ts'
import type { TestService } from '../../support/service/test-service.ts'
import { insertQuote } from '../insert-quotes.ts'
import { findWrongResponses, requestStats, statsService } from '../stats-service.ts'

// These tests mostly wait, and each has its own database.
t.jobs = 4

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

for (const [outage, startOutage] of [
  ['Redis hangs', (redis) => redis.stopForwarding()],
  ['Redis refuses connections', (redis) => redis.refuseConnections()],
  ['Redis is slow', (redis) => Object.assign(redis, { delayMs: 300 })],
] satisfies [string, (redis: FaultyProxy) => void][])
  t.test(`while ${outage}, each process reads PostgreSQL`, async (t) => {
    const { processes, redis } = await startProcesses(t)
    startOutage(redis)
    await sleep(maxAgeMs)
    const before = processes.map((service) => service.countPolls())
    const polls = await eventually(
      async () => processes.map((service, index) => service.countPolls() - (before[index] ?? 0)),
      (polls) => polls.every((count) => count >= 5),
    )
    t.ok(
      polls.every((count) => count >= 5),
      `${polls} polls`,
    )
    await insertQuote(processes[0].db, '1')
    await sleep(maxAgeMs)
    for (const service of processes) await checkCurrent(t, service, 1)
    redis.delayMs = 0
    redis.restore()
    const perSecond = await eventually(
      () => countPollsPerSecond(processes),
      (polls) => polls < fewPolls,
    )
    t.ok(perSecond < fewPolls, `${perSecond} polls a second after the outage`)
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

t.test('no response is wrong while Redis fails again and again', async (t) => {
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
  t.same(await findWrongResponses(processes[0].db, processes, 6_000), [])
  isOver = true
  await failing
})

t.test(
  'a version that is published late is dated by the request time that it comes with',
  async (t) => {
    const { redis, createProcess } = await startPolling(t)
    const [reader, poller, newcomer] = [createProcess(), createProcess(), createProcess()]
    const before = performance.now()
    t.match(await reader.poll(), { observed: null, lock: null })
    const after = performance.now()
    const lock = await poller.lock()
    await sleep(100)
    t.match(await newcomer.poll(), { observed: null }, 'polls too late')
    await reader.poll()
    lock.publish('7 107')
    const found = await eventually(
      () => reader.poll(),
      (found) => found?.observed != null,
    )
    t.match(found?.observed, {
      version: { ...version, changeCount: 7 },
      databaseId: known.databaseId,
      walPosition: 107,
    })
    const readAt = found?.observed?.readAt ?? Number.NaN
    t.ok(before <= readAt && readAt <= after, 'as old as the first poll')
    t.match(await newcomer.poll(), { observed: null })

    const [key = ''] = await redis.keys(`${prefixOf(redis)}*:published`)
    const older = await redis.hgetall(key)
    const next = await poller.lock()
    next.publish('8 108')
    await eventually(
      () => reader.poll(),
      (found) => found?.observed?.version.changeCount === 8,
    )
    await redis.hset(key, older)
    t.match(
      (await reader.poll())?.observed,
      { version: { changeCount: 7 }, readAt },
      'no newer although Redis was set back to an older state',
    )
  },
)

t.test('one process at a time has the lock, and a released lock is free', async (t) => {
  const { createProcess } = await startPolling(t)
  const [first, second] = [createProcess(), createProcess()]
  const lockTwice = async () => {
    const lock = await first.lock()
    const again = await second.poll({ mayLock: true })
    lock.release()
    again?.lock?.release()
    return again
  }
  // Repeated, because on a busy machine the first lock may expire before.
  const again = await eventually(lockTwice, (poll) => poll?.lock === null)
  t.match(again, { lock: null })
  t.ok(await second.lock())
  t.ok(await first.lock(), 'the lock expires')
})

t.test('a version is published only if another process awaits it', async (t) => {
  const { redis, createProcess } = await startPolling(t)
  const [poller, other] = [createProcess(), createProcess()]
  const lock = await poller.lock()
  t.equal(lock.isAwaited, false)
  lock.publish(formatVersion(known))
  await sleep(100)
  t.same(await redis.keys(`${prefixOf(redis)}*:published`), [])
  await other.poll()
  t.equal((await poller.lock()).isAwaited, true)
})

t.test('versions of another database, generation, timeline or code are not shared', async (t) => {
  const { createProcess } = await startPolling(t)
  const poller = createProcess()
  const others = [
    { process: createProcess(), known: { ...known, databaseId: 'another' } },
    { process: createProcess(), known: { ...known, timeline: 2 } },
    { process: createProcess(), known: { ...known, version: { ...version, generation: '2' } } },
    { process: createProcess('other code'), known },
  ]
  for (const { process, known } of others) await process.poll({ known })
  await createProcess().poll()
  const lock = await poller.lock()
  lock.publish(formatVersion(known))
  await sleep(100)
  for (const { process, known } of others)
    t.match(await process.poll({ known }), { observed: null })
})

t.test('a process that finds another generation does not publish it', async (t) => {
  const { db } = await testDatabase(t)
  await insertQuote(db, '1')
  const { redis, createProcess } = await startPolling(t)
  const [{ polling }, other] = [createProcess(), createProcess()]
  const poller = createDataVersionPoller(db, polling)
  t.teardown(() => poller.stop())
  poller.start()
  const before = await eventually(async () => poller.latest(), Boolean)
  if (!before) throw new Error('The data version was not read.')
  const published = await eventually(
    () => other.poll({ known: before }),
    (found) => found?.observed != null,
  )
  t.match(published, { observed: { version: { changeCount: 1 } } })
  const [key = ''] = await redis.keys(`${prefixOf(redis)}*:published`)
  await sql`select rebuild_quote_summary()`.execute(db)
  const after = await eventually(
    async () => poller.latest(),
    (latest) => latest?.version.generation !== before.version.generation,
  )
  t.match(after, { version: { changeCount: 0 } })
  t.notMatch(await redis.hget(key, 'text'), /^0 /)
})

t.test('an invalid version in Redis is ignored', async (t) => {
  const { redis, createProcess } = await startPolling(t)
  const [reader, poller] = [createProcess(), createProcess()]
  await reader.poll()
  const lock = await poller.lock()
  lock.publish(formatVersion(known))
  await eventually(
    () => reader.poll(),
    (found) => found?.observed != null,
  )
  const [key = ''] = await redis.keys(`${prefixOf(redis)}*:published`)
  const valid = await redis.hgetall(key)
  const [processId = ''] = Object.keys(valid).filter((field) => field !== 'text')
  for (const change of [
    { text: '' },
    { text: 'many' },
    { text: '1' },
    { text: '1.5 2' },
    { text: '1 many' },
    { [processId]: '' },
    { [processId]: 'now' },
    { [processId]: String(performance.now() + 60_000) },
  ]) {
    await redis.hset(key, { ...valid, ...change })
    t.match(await reader.poll(), { observed: null }, JSON.stringify(Object.values(change)))
  }
  await redis.set(key, 'no hash')
  t.equal(await reader.pollOnce(), null, 'counts as a failure of Redis')
})

/** On a slow machine statistics may be stale at first. The first that are not must be right. */
async function checkCurrent(t: Test, service: Process, expectedTotal: number) {
  const { status, total, cacheStatus } = await eventually(
    () => requestStats(service),
    ({ cacheStatus }) => !cacheStatus.includes('stale'),
  )
  t.same({ status, total }, { status: 200, total: expectedTotal }, cacheStatus)
  t.notMatch(cacheStatus, /stale/)
}

const version = { generation: '1', changeCount: 1 }
const known = { version, databaseId: 'database', readAt: 0, timeline: 1, walPosition: 100 }
const prefixes = new WeakMap<Redis, string>()
const prefixOf = (redis: Redis) => prefixes.get(redis) ?? ''

/** Processes that only share the data version. */
async function startPolling(t: Test) {
  const { redisUrl } = await servers()
  const redis = new Redis(redisUrl)
  t.teardown(() => redis.disconnect())
  const prefix = `test:${randomBytes(6).toString('hex')}:`
  prefixes.set(redis, prefix)
  const createProcess = (code = 'code') => {
    const polling = shareDataVersions(unobserved(redis), prefix, code)
    const pollOnce = async ({ known: own = known, mayLock = false } = {}) => {
      const result = await polling.poll(scopeOf(own), { mayLock })
      return (
        result && { ...result, observed: result.published && parseVersion(result.published, own) }
      )
    }
    /** On a busy machine Redis may be too slow, which pauses polls. */
    const poll = (options = {}) =>
      eventually(
        () => pollOnce(options),
        (found) => found !== null,
      )
    return {
      polling,
      pollOnce,
      poll,
      async lock() {
        const result = await eventually(
          () => poll({ mayLock: true }),
          (found) => Boolean(found?.lock),
        )
        if (!result?.lock) throw new Error('The lock was not acquired.')
        return result.lock
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
  await readVersion(db)
  await db.destroy()
  return statements[0] ?? ''
}

async function countPollsPerSecond(processes: Process[]): Promise<number> {
  const count = () => processes.reduce((sum, service) => sum + service.countPolls(), 0)
  const [startedAt, before] = [performance.now(), count()]
  await sleep(3_000)
  return (1_000 * (count() - before)) / (performance.now() - startedAt)
}
