// Single slow or failed requests to a search engine: they affect no other search, and metrics and
// log distinguish them.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import {
  fallbackConnectionTimeout,
  fallbackResponseTimeout,
  fallbackStatementTimeout,
} from '../../src/database/postgres-pool.ts'
import type { SearchResponse } from '../../src/search/schema.ts'
import { engineTimeout, idleConnectionTimeout } from '../../src/search-engine/client.ts'
import { indexStateMaxAge } from '../../src/search-engine/index-states.ts'
import { eventually } from '../support/eventually.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import type { FaultyProxy } from '../support/servers/faulty-proxy.ts'
import { readMetric } from '../support/service/read-metric.ts'
import { startBehindProxies } from '../support/service/service-behind-proxies.ts'

type App = Awaited<ReturnType<typeof startBehindProxies>>['app']

// A slow PostgreSQL is no failure of the engine.
replaceUntilEnd(t, indexStateMaxAge, { ms: 60_000 })
replaceUntilEnd(t, fallbackConnectionTimeout, { ms: 10_000 })
replaceUntilEnd(t, fallbackStatementTimeout, { ms: 10_000 })
replaceUntilEnd(t, fallbackResponseTimeout, { ms: 11_000 })

const withoutCache = { config: { SEARCH_CACHE_MB: 0 } }
const idleConnections = 24
/** On an idle machine it takes 0.4 s. */
const longestRecoveryMs = 2_500

/** A text by which a proxy recognises the request that relaxes a query of two words. */
const relaxedPair = '"limit":40'

async function search(app: App, q: string): Promise<SearchResponse> {
  return (await app.inject(`/api/search?q=${encodeURIComponent(q)}`)).json<SearchResponse>()
}

async function countDegraded(app: App, count: number, q = 'martillo'): Promise<number> {
  let degraded = 0
  for (let n = 0; n < count; n++) if ((await search(app, q)).meta.source !== 'index') degraded++
  return degraded
}

/**
 * Sends searches at once until at least as many connections are open, and returns how many. A
 * search that times out closes its connection, so the engine must have answered all of them. On
 * a slow machine 24 at once never succeed, so each attempt sends fewer. `wanted` is the number of the last attempt.
 */
async function openIdleConnections(app: App, engine: FaultyProxy) {
  let wanted = idleConnections + 4
  const { open } = await eventually(
    async () => {
      wanted = Math.max(8, wanted - 4)
      // After a timeout, the engine gets no searches for a while.
      await eventually(
        () => search(app, 'martillo'),
        ({ meta }) => meta?.source === 'index',
      )
      engine.delayMs = 50
      const texts = Array.from({ length: wanted }, (_, n) => `martillo de bola roja ${n}`)
      const responses = await Promise.all(texts.map((text) => search(app, text)))
      engine.delayMs = 0
      await eventually(
        async () => engine.countWaitingConnections(),
        (count) => count === 0,
      )
      const areFromEngine = responses.every(({ meta }) => meta?.source === 'index')
      return { open: engine.countConnections(), areFromEngine }
    },
    ({ open, areFromEngine }) => open >= wanted && areFromEngine,
    60_000,
  )
  return { open, wanted }
}

/**
 * Searches until the engine has answered this many searches in a row, or until the deadline.
 * Returns since when the engine answers: the time of `performance.now()` when the last search
 * without the engine had ended.
 */
async function waitUntilAnsweredInARow(app: App, count: number, deadline: number): Promise<number> {
  let answeredFrom = performance.now()
  let inARow = 0
  while (inARow < count && answeredFrom <= deadline) {
    if ((await countDegraded(app, 1)) === 0) {
      inARow += 1
    } else {
      inARow = 0
      answeredFrom = performance.now()
    }
  }
  return answeredFrom
}

t.test(
  'after 24 idle connections were dropped silently, the engine soon answers again',
  async (t) => {
    // Only the service ends the use of a dropped connection, because none expires.
    replaceUntilEnd(t, idleConnectionTimeout, { ms: 600_000 })
    const { app, engine } = await startBehindProxies(t, withoutCache)
    const dropAndRecover = async () => {
      const { open, wanted } = await openIdleConnections(app, engine)
      const lostBefore = engine.countLostRequests()
      engine.forgetConnections()
      const forgottenAt = performance.now()
      await Promise.all(Array.from({ length: 4 }, () => search(app, 'martillo')))
      const deadline = forgottenAt + 2 * longestRecoveryMs
      const answeredFrom = await waitUntilAnsweredInARow(app, 2 * idleConnections, deadline)
      const lost = engine.countLostRequests()
      return { open, wanted, recoveryMs: answeredFrom - forgottenAt, lost, lostBefore }
    }
    // Repeated, because a machine that stops for seconds delays the recovery by as much.
    const { open, wanted, recoveryMs, lost, lostBefore } = await eventually(
      dropAndRecover,
      (attempt) => attempt.recoveryMs < longestRecoveryMs && attempt.lost > attempt.lostBefore,
      60_000,
    )
    t.ok(open >= wanted, `${open} connections are open`)
    t.ok(recoveryMs < longestRecoveryMs, `${Math.round(recoveryMs)} ms without the engine`)
    t.ok(lost > lostBefore, `${lost - lostBefore} requests were lost`)
    await Promise.all(Array.from({ length: idleConnections }, () => search(app, 'martillo')))
    t.equal(engine.countLostRequests(), lost, 'no search uses another forgotten connection')
  },
)

t.test('idle connections expire, and closing opens none', async (t) => {
  const { app, engine } = await startBehindProxies(t, withoutCache)
  await search(app, 'martillo')
  t.ok(engine.countConnections() > 0)
  const open = await eventually(
    async () => engine.countConnections(),
    (count) => count === 0,
    10 * idleConnectionTimeout.ms,
  )
  t.equal(open, 0)
})

t.test('if one search a second times out, no other search goes to PostgreSQL', async (t) => {
  const { app, engine, metrics } = await startBehindProxies(t, withoutCache)
  engine.slowText = 'taladro'
  let isRunning = true
  let [slowSearches, searches, degraded] = [0, 0, 0]
  const slow = (async () => {
    // On a busy machine, 20 other searches take longer than four slow ones.
    while (slowSearches < 4 || searches < 20) {
      t.match(await search(app, 'taladro'), { meta: { source: 'database', degraded: true } })
      slowSearches += 1
      await sleep(700)
    }
    isRunning = false
  })()
  while (isRunning) {
    degraded += await countDegraded(app, 1)
    searches += 1
    await sleep(30)
  }
  await slow
  t.ok(searches >= 20, `${searches} other searches`)
  // On a busy machine others may time out too.
  const timedOut =
    (await readMetric(metrics, 'tqs_search_engine_requests_total', {
      engine: 'main',
      outcome: 'timeout',
    })) - slowSearches
  t.ok(timedOut >= 0)
  t.ok(
    degraded <= searches / 100 + timedOut,
    `${degraded} of ${searches} were answered by PostgreSQL, ${timedOut} of them after a time-out`,
  )
})

t.test('if a query cannot be relaxed in time, no other search goes to PostgreSQL', async (t) => {
  const { app, engine, service, metrics } = await startBehindProxies(t, withoutCache)
  await service.db
    .insertInto('products')
    .values({ sku: 'AB-3', name: 'Sierra para martillo' })
    .execute()
  await service.sync()
  const searchOnce = () => search(app, 'martillo percutor')
  await eventually(searchOnce, ({ meta }) => !meta.degraded)
  engine.slowText = relaxedPair
  // Repeated, because on a busy machine the other requests may time out too.
  const { responses, available, degraded } = await eventually(
    async () => ({
      responses: await Promise.all([1, 2, 3, 4].map(searchOnce)),
      available: await readMetric(metrics, 'tqs_search_engine_available', { engine: 'main' }),
      degraded: await countDegraded(app, 5, 'taladro'),
    }),
    (attempt) =>
      attempt.responses.every(({ meta }) => meta.source === 'index' && meta.degraded) &&
      attempt.available === 1 &&
      attempt.degraded === 0,
  )
  for (const { meta } of responses) t.match(meta, { source: 'index', degraded: true })
  t.equal(available, 1)
  t.equal(degraded, 0)
})

t.test('queries that find nothing and are slow to relax open no circuit breaker', async (t) => {
  const { app, engine, metrics } = await startBehindProxies(t, withoutCache)
  const q = 'zyxwvut qwklmnp'
  await eventually(
    () => search(app, q),
    ({ total, meta }) => total === 0 && meta.source === 'index' && !meta.degraded,
  )
  engine.slowText = relaxedPair
  // Repeated, because on a busy machine the other requests may time out too.
  const { responses, available, degraded } = await eventually(
    async () => {
      const responses: SearchResponse[] = []
      for (let n = 0; n < 5; n++) responses.push(await search(app, q))
      return {
        responses,
        available: await readMetric(metrics, 'tqs_search_engine_available', { engine: 'main' }),
        degraded: await countDegraded(app, 5, 'taladro'),
      }
    },
    (attempt) =>
      attempt.responses.every(({ meta }) => meta.source === 'index' && meta.degraded) &&
      attempt.available === 1 &&
      attempt.degraded === 0,
  )
  for (const response of responses)
    t.match(response, { total: 0, meta: { source: 'index', degraded: true } })
  t.equal(available, 1)
  t.equal(degraded, 0)
})

t.test('an engine that never answers gets no more searches after a few', async (t) => {
  const { app, engine, metrics } = await startBehindProxies(t, withoutCache)
  await eventually(
    () => search(app, 'martillo'),
    ({ meta }) => meta.source === 'index',
  )
  engine.stopForwarding()
  t.equal(await countDegraded(app, 20), 20)
  t.ok(
    (await readMetric(metrics, 'tqs_search_engine_requests_total', {
      engine: 'main',
      outcome: 'timeout',
    })) < 5,
  )
  t.equal(await readMetric(metrics, 'tqs_search_engine_available', { engine: 'main' }), 0)
  engine.restore()
  const response = await eventually(
    () => search(app, 'martillo'),
    ({ meta }) => meta.source === 'index',
  )
  t.equal(response.meta.source, 'index')
  t.equal(await readMetric(metrics, 'tqs_search_engine_available', { engine: 'main' }), 1)
})

t.test('a response without the relaxed query is marked as degraded and not cached', async (t) => {
  const { app, engine, service } = await startBehindProxies(t)
  const q = 'martillo percutor'
  const complete = await eventually(
    () => search(app, q),
    ({ total, meta }) => total >= 2 && !meta.degraded,
  )
  t.equal(complete.hits.length, 2)
  // A change empties the cache. Then only the relaxed request, with single words, is slow.
  await service.db
    .insertInto('products')
    .values({ sku: 'AB-3', name: 'Sierra para martillo' })
    .execute()
  await service.sync()
  await eventually(
    () => search(app, 'sierra'),
    ({ total }) => total === 1,
  )
  engine.slowText = relaxedPair
  // Until the process has read the new version of the index, the cached response is sent.
  const incomplete = await eventually(
    () => search(app, q),
    ({ meta }) => meta.source === 'index' && meta.degraded,
  )
  t.match(incomplete, { meta: { source: 'index', degraded: true } })
  engine.slowText = null
  const again = await eventually(
    () => search(app, q),
    ({ meta }) => !meta.degraded,
  )
  t.match(again, { meta: { source: 'index', degraded: false } })
  t.equal(again.hits.length, 3, 'the incomplete response was not cached')
})

t.test('logs once that the words of the company cannot be read', async (t) => {
  const { app, service, log } = await startBehindProxies(t, withoutCache)
  const { db } = service
  await sql`alter table search_pins rename to hidden_pins`.execute(db)
  await db.insertInto('search_hidden_words').values({ word: 'quillab', hides: 'word' }).execute()
  const findLines = () => log.filter((line) => line.includes('words of the company'))
  await eventually(
    async () => findLines(),
    (lines) => lines.length > 0,
  )
  t.match(findLines()[0], /search_pins.*does not exist/)
  await sql`alter table hidden_pins rename to search_pins`.execute(db)
  await db
    .insertInto('search_pins')
    .values({ query: 'taladro', skus: ['AB-1'] })
    .execute()
  const response = await eventually(
    () => search(app, 'taladro'),
    ({ hits, meta }) => hits.length === 2 && !meta.degraded,
  )
  t.equal(response.hits[0]?.sku, 'AB-1', 'the pin applies')
  t.equal(findLines().length, 1)
})

t.test('the log says which engine answered, and how many were tried', async (t) => {
  replaceUntilEnd(t, engineTimeout, { ms: 10_000 })
  const { app, engine, log } = await startBehindProxies(t)
  const searchAndReadLog = async (q: string) => {
    const linesBefore = log.length
    const response = await search(app, q)
    const lines = await eventually(
      async () => log.slice(linesBefore).filter((line) => line.includes('"msg":"request"')),
      ([line]) => line !== undefined,
    )
    const { source, engine, attempts, reason } = JSON.parse(lines[0] ?? '{}')
    return { meta: response.meta, fields: { source, engine, attempts, reason } }
  }
  const answered = await searchAndReadLog('martillo')
  t.match(answered.fields, { source: 'index', engine: 'main', attempts: 1 })
  const cached = await eventually(
    () => searchAndReadLog('martillo'),
    ({ fields }) => fields.source === 'cache',
  )
  t.match(cached.fields, { source: 'cache', engine: 'main', attempts: undefined })
  engine.refuseConnections()
  const failed = await searchAndReadLog('taladro')
  t.match(failed.fields, { source: 'database', attempts: 1, reason: 'engine outage' })
  const skipped = await searchAndReadLog('taladro')
  t.match(skipped.fields, { source: 'database', attempts: 0, reason: 'no engine available' })
  t.equal(skipped.fields.engine, undefined)
})

t.test('logs and counts a search that the engine rejects', async (t) => {
  replaceUntilEnd(t, engineTimeout, { ms: 10_000 })
  const { app, service, metrics, log } = await startBehindProxies(t, withoutCache)
  await service.engine
    .index(service.config.SEARCH_INDEX)
    .updateFilterableAttributes(['sku', 'skuKeys'])
    .waitTask()
  for (let n = 0; n < 3; n++)
    t.equal((await app.inject('/api/search?q=martillo&category=geheim')).statusCode, 200)
  t.equal(
    await readMetric(metrics, 'tqs_search_engine_requests_total', {
      engine: 'main',
      outcome: 'rejected',
    }),
    3,
  )
  const lines = log.filter((line) => line.includes('rejected a search'))
  t.equal(lines.length, 1, 'repeated rejections are one line')
  t.match(lines[0], /invalid_search_filter/)
  t.notMatch(lines[0], /PostgreSQL/, 'an index may have answered too')
  t.notMatch(log.join(''), /geheim/, 'the log does not contain what was searched')
  t.equal(await readMetric(metrics, 'tqs_search_engine_available', { engine: 'main' }), 1)
})

t.test('counts a search whose client disconnected as cancelled', async (t) => {
  replaceUntilEnd(t, engineTimeout, { ms: 60_000 })
  const { app, engine, metrics } = await startBehindProxies(t, withoutCache)
  await search(app, 'martillo')
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  engine.delayMs = 30_000
  const client = new AbortController()
  const sentBefore = engine.getSentText().length
  const response = fetch(`${url}/api/search?q=martillo`, { signal: client.signal })
  await eventually(
    async () => engine.getSentText().length,
    (length) => length > sentBefore,
  )
  client.abort()
  await t.rejects(response)
  const cancelled = await eventually(
    () => readMetric(metrics, 'tqs_search_answers_total', { source: 'cancelled' }),
    (count) => count === 1,
  )
  t.equal(cancelled, 1)
  t.equal(
    await readMetric(metrics, 'tqs_search_engine_requests_total', {
      engine: 'main',
      outcome: 'cancelled',
    }),
    1,
  )
  t.equal(await readMetric(metrics, 'tqs_search_answers_total', { source: 'database' }), 0)
  const counted = await eventually(
    async () => metrics.requests.counts().find(({ status }) => status === 499),
    (count) => count !== undefined,
  )
  t.match(counted, { route: '/api/search', count: 1 })
  const statuses = metrics.requests.counts().map(({ status, count }) => [status, count])
  t.same(statuses, [
    [200, 1],
    [499, 1],
  ])
})
