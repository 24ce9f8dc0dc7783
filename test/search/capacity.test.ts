// What answers a search while engines fail, or while engines or PostgreSQL are busy.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import {
  openDatabase,
  openSearchPool,
  searchConnections,
} from '../../src/database/postgres-pool.ts'
import { registerIndex } from '../../src/indexing/registration.ts'
import { createMetrics } from '../../src/monitoring/process-metrics.ts'
import {
  maxQueuedFallbacks,
  maxQueuedSearches,
  maxRunningSearches,
} from '../../src/overload/concurrency-limit.ts'
import { SearchService } from '../../src/search/search.ts'
import {
  EngineFailure,
  type EngineHit,
  type EngineQuery,
  type EngineResult,
  openSearchEngine,
} from '../../src/search-engine/client.ts'
import type { RegisteredEngine } from '../../src/search-engine/engine-selection.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { readMetric } from '../support/service/read-metric.ts'
import { createStubEngine, exampleHit, noHits } from '../support/stub-engine.ts'

lengthenTimeouts(t)

const silentLogger = { info() {}, warn() {}, error() {} }
const connected = new AbortController().signal
const noConnection = new EngineFailure('outage', 'no connection')

/** Starts a service with these engines, whose indexes count as up to date. */
async function startService(t: Test, engines: [RegisteredEngine, ...RegisteredEngine[]]) {
  const { db: ownerDb, roles } = await testDatabase(t)
  await ownerDb.insertInto('products').values({ sku: 'AB-1', name: 'Martillo' }).execute()
  for (const { registrationName } of engines) await registerIndex(ownerDb, registrationName)
  await ownerDb.deleteFrom('index_outbox').execute()
  await ownerDb
    .updateTable('search_indexes')
    .set({ indexed_at: new Date(), state: 'settled' })
    .execute()
  const db = openDatabase(roles.api)
  const searchPool = openSearchPool(roles.api)
  const metrics = createMetrics()
  const service = new SearchService(
    {
      db,
      searchPool,
      engines,
      indexName: 'products',
      cacheBytes: 1_000_000,
      observer: metrics.search,
    },
    silentLogger,
  )
  t.teardown(async () => {
    await service.stop()
    await db.destroy()
    await searchPool.end()
  })
  const search = (text = 'martillo', disconnected = connected) =>
    service.search(
      { text, limit: 8, offset: 0, facets: [] },
      { url: text, disconnected, logger: silentLogger, onFallback: () => undefined },
    )
  return { ownerDb, service, searchPool, search, metrics }
}

/** Returns an engine that finds nothing, and fails while `down` has its name. */
function toEngine(registrationName: string, down = new Set<string>()): RegisteredEngine {
  const engine = createStubEngine(async (queries) => {
    if (down.has(registrationName)) throw noConnection
    return queries.map(() => noHits)
  })
  return { registrationName, engine }
}

t.test('an exact look-up does not wait for searches in PostgreSQL', async (t) => {
  const engine = openSearchEngine('http://127.0.0.1:9', 'no key')
  t.teardown(() => engine.close())
  const { service, searchPool, search } = await startService(t, [
    { registrationName: 'main', engine },
  ])
  t.match((await search())?.json, /"source":"database"/, 'the engine is down')

  const held = await Promise.all(
    Array.from({ length: searchConnections }, () => searchPool.connect()),
  )
  const searches = Array.from({ length: searchConnections + maxQueuedFallbacks }, () => search())
  await new Promise(setImmediate)
  await t.rejects(search('sierra'), { code: 'unavailable' }, 'the limit of searches is reached')
  t.match(JSON.parse(await service.lookUp(['AB-1'])), { bySku: [{ sku: 'AB-1' }] })
  for (const connection of held) connection.release()
  for (const response of await Promise.all(searches)) t.match(response?.json, /"sku":"AB-1"/)
})

t.test('what an engine has answered needs no capacity, whichever engine is next', async (t) => {
  const { promise: end, resolve: endStalled } = Promise.withResolvers<void>()
  const engine = createStubEngine(async (queries) => {
    if (queries.some(({ q }) => q.startsWith('stalled'))) await end
    return queries.map(() => noHits)
  })
  const { search } = await startService(t, [
    { registrationName: 'first', engine },
    { registrationName: 'second', engine },
  ])
  // Nothing is cached until the states of the indexes were read.
  await eventually(
    () => search('taladro'),
    (response) => response?.logFields.source === 'cache',
  )
  await search()
  for (let n = 0; n < 4; n++) t.equal((await search())?.logFields.source, 'cache')

  const stalled = Array.from({ length: maxRunningSearches + maxQueuedSearches }, (_, n) =>
    search(`stalled${n}`),
  )
  await t.rejects(search('sierra'), { code: 'unavailable' })
  for (let n = 0; n < 4; n++) t.equal((await search())?.logFields.source, 'cache')
  endStalled()
  await Promise.all(stalled)
})

t.test(
  'an answer that comes after the index has changed is not cached and discards nothing',
  async (t) => {
    const { promise: end, resolve: endLate } = Promise.withResolvers<void>()
    const engine = createStubEngine(async (queries) => {
      if (queries.some(({ q }) => q === 'tarde')) await end
      return queries.map(() => noHits)
    })
    const { ownerDb, search } = await startService(t, [{ registrationName: 'main', engine }])
    const sourceOf = async (text: string) => (await search(text))?.logFields.source
    await eventually(
      () => sourceOf('taladro'),
      (source) => source === 'cache',
    )
    const late = search('tarde')
    await ownerDb
      .updateTable('search_indexes')
      .set(({ eb }) => ({ version: eb('version', '+', '1') }))
      .execute()
    await eventually(
      () => sourceOf('taladro'),
      (source) => source === 'index',
    )
    endLate()
    t.equal((await late)?.logFields.source, 'index')
    t.equal(await sourceOf('taladro'), 'cache', 'it discards no answer of the new index')
    t.equal(await sourceOf('tarde'), 'index', 'the earlier answer was of the earlier index')
    t.equal(await sourceOf('tarde'), 'cache')
  },
)

t.test('while no engine is healthy, what any of them has answered is still sent', async (t) => {
  const down = new Set(['first'])
  const { search } = await startService(t, [toEngine('first', down), toEngine('second', down)])
  // For a second, because what was cached before is not used once the words of the company and the
  // states of the indexes have been read.
  const isCachedForLong = async () => {
    for (let n = 0; n < 20; n += 1) {
      if ((await search('taladro'))?.logFields.source !== 'cache') return false
      await sleep(50)
    }
    return true
  }
  t.ok(await eventually(isCachedForLong, Boolean))
  down.add('second')
  t.match((await search('sierra'))?.logFields, { source: 'database' })
  t.match((await search('taladro'))?.logFields, { source: 'cache', engine: 'second' })
})

for (const [claim, change] of [
  ['while the index is of another database', sql`set database_identity = 'another'`],
  ['while the database does not know what the index contains', sql`set state = 'unknown'`],
] as const)
  t.test(`${claim}, PostgreSQL answers`, async (t) => {
    const { ownerDb, search } = await startService(t, [toEngine('main')])
    await sql`update search_indexes ${change}`.execute(ownerDb)
    const response = await eventually(
      () => search(),
      (latest) => latest?.logFields.reason === 'no engine available',
    )
    t.match(response?.logFields, { source: 'database', attempts: 0 })
  })

t.test('a search that waits for capacity is not sent if its client disconnects', async (t) => {
  const { promise: end, resolve: endStalled } = Promise.withResolvers<void>()
  const sent: string[] = []
  const engine = createStubEngine(async (queries) => {
    sent.push(...queries.map(({ q }) => q))
    if (queries.some(({ q }) => q.startsWith('stalled'))) await end
    return queries.map(() => noHits)
  })
  const { search, metrics } = await startService(t, [{ registrationName: 'main', engine }])
  const stalled = Array.from({ length: maxRunningSearches }, (_, n) => search(`stalled${n}`))
  const client = new AbortController()
  const waiting = search('martillo', client.signal)
  client.abort()
  endStalled()
  t.equal(await waiting, null)
  await Promise.all(stalled)
  t.notOk(sent.includes('martillo'))
  const countAttempts = (outcome: string) =>
    readMetric(metrics, 'tqs_search_engine_requests_total', { engine: 'main', outcome })
  t.equal(await countAttempts('answered'), maxRunningSearches)
  t.equal(await countAttempts('cancelled'), 0)
  t.equal(await readMetric(metrics, 'tqs_search_answers_total', { source: 'cancelled' }), 1)
})

t.test('a search that waits for capacity is not sent to an engine that has failed', async (t) => {
  const { promise: end, resolve: endStalled } = Promise.withResolvers<void>()
  const sent: string[] = []
  const engine = createStubEngine(async (queries) => {
    sent.push(...queries.map(({ q }) => q))
    if (queries.some(({ q }) => q.startsWith('failing'))) throw noConnection
    await end
    return queries.map(() => noHits)
  })
  const { search } = await startService(t, [{ registrationName: 'main', engine }])
  const stalled = Array.from({ length: maxRunningSearches - 1 }, (_, n) => search(`stalled${n}`))
  const failing = search('failing')
  const waiting = search('martillo')
  t.match((await failing)?.logFields, { source: 'database', reason: 'engine outage' })
  t.match((await waiting)?.logFields, { source: 'database', reason: 'no engine available' })
  endStalled()
  await Promise.all(stalled)
  t.notOk(sent.includes('martillo'))
})

type Metrics = ReturnType<typeof createMetrics>
type Answer = (queries: EngineQuery[]) => EngineResult[] | Promise<EngineResult[]>

const hit: EngineHit = { ...exampleHit, sku: 'E-1', name: 'Martillo' }
const answerNothing: Answer = (queries) => queries.map(() => noHits)
const answerHit: Answer = (queries) =>
  queries.map(({ q }) => (q === '' ? noHits : { hits: [hit], estimatedTotalHits: 1 }))
const breakDown: Answer = () => Promise.reject(noConnection)
const timeOut: Answer = () => Promise.reject(new EngineFailure('timeout', 'too slow'))
const reject: Answer = () => Promise.reject(new EngineFailure('rejected', 'invalid'))
const answerUnusable: Answer = (queries) =>
  queries.map(() => ({
    hits: [{ ...hit, id: '2', name: null as unknown as string }],
    estimatedTotalHits: 1,
  }))
/** A relaxed query counts the products with each word before it asks for parts of the query. */
const thenRelax = (answer: Answer): Answer => {
  let isRelaxing = false
  return (queries) => {
    isRelaxing ||= queries.some(({ limit }) => limit === 0)
    return (isRelaxing ? answer : answerHit)(queries)
  }
}

/** What engines answer, and the log fields, outcomes and log lines of a search for two words. */
const failures: [name: string, answers: Answer[], logFields: object, outcomes: string[]][] = [
  [
    'the second engine answers if the first one fails',
    [breakDown, answerNothing],
    { source: 'index', engine: 'engine1', attempts: 2, failedAttempt: 'engine outage' },
    ['engine0 outage', 'engine1 answered'],
  ],
  [
    'PostgreSQL answers if two engines fail, and a third one is not tried',
    [timeOut, breakDown, answerNothing],
    {
      source: 'database',
      attempts: 2,
      failedAttempt: 'engine timeout',
      reason: 'engine outage',
      degraded: true,
    },
    ['engine0 timeout', 'engine1 outage'],
  ],
  [
    'no other engine is tried after a rejection',
    [reject, answerNothing],
    { source: 'database', attempts: 1, reason: 'engine rejected' },
    ['engine0 rejected'],
  ],
  [
    'a defect of the service is no failure of the engine',
    [answerUnusable, answerNothing],
    { source: 'database', attempts: 1, reason: 'internal error' },
    ['engine0 defect'],
  ],
  [
    'the first request answers if relaxing the query fails',
    [thenRelax(breakDown), answerNothing],
    { source: 'index', attempts: 1, reason: 'engine outage', degraded: true },
    ['engine0 outage'],
  ],
  [
    'the first request answers if relaxing the query takes too long',
    [thenRelax(timeOut)],
    { source: 'index', attempts: 1, reason: 'engine timeout', degraded: true },
    ['engine0 timeout'],
  ],
  [
    'the first request answers if relaxing the query meets a defect',
    [thenRelax(answerUnusable)],
    { source: 'index', attempts: 1, reason: 'internal error', degraded: true },
    ['engine0 defect'],
  ],
]

for (const [name, answers, logFields, outcomes] of failures)
  t.test(name, async (t) => {
    let isFailing = false
    const engines = answers.map(
      (answer, n): RegisteredEngine => ({
        registrationName: `engine${n}`,
        engine: createStubEngine(async (queries) =>
          isFailing ? answer(queries) : answerNothing(queries),
        ),
      }),
    )
    const { search, metrics } = await startService(
      t,
      engines as [RegisteredEngine, ...RegisteredEngine[]],
    )
    // Engines get searches in turn, so the first one gets the next search after the last one.
    let searches = 0
    await eventually(
      () => search(`martillo ${searches++}`),
      (response) => response?.logFields.engine === `engine${answers.length - 1}`,
    )
    const countBefore = await countOutcomes(metrics, answers.length)
    isFailing = true
    const response = await search('martillo bola')
    const counts = await countOutcomes(metrics, answers.length)
    const counted = [...counts.keys()].filter((key) => counts.get(key) !== countBefore.get(key))
    t.match(response?.logFields, logFields)
    t.same(counted, outcomes)
  })

async function countOutcomes(metrics: Metrics, engineCount: number): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (let n = 0; n < engineCount; n++)
    for (const outcome of ['answered', 'rejected', 'timeout', 'outage', 'defect'] as const) {
      const labels = { engine: `engine${n}`, outcome }
      const count = await readMetric(metrics, 'tqs_search_engine_requests_total', labels)
      counts.set(`engine${n} ${outcome}`, count)
    }
  return counts
}
