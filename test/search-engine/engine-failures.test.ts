// Search while the engine, PostgreSQL or Redis is slow or unavailable: what answers, what the log
// and metrics say, and that single failures affect no other search. Proxies in front of the real
// servers cause the failures.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
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
import { readMetric } from '../support/service/read-metric.ts'
import { startBehindProxies } from '../support/service/service-behind-proxies.ts'

type App = Awaited<ReturnType<typeof startBehindProxies>>['app']
type Metrics = Awaited<ReturnType<typeof startBehindProxies>>['metrics']

// A slow PostgreSQL is no failure of the engine.
replaceUntilEnd(t, indexStateMaxAge, { ms: 60_000 })
replaceUntilEnd(t, fallbackConnectionTimeout, { ms: 10_000 })
replaceUntilEnd(t, fallbackStatementTimeout, { ms: 10_000 })
replaceUntilEnd(t, fallbackResponseTimeout, { ms: 11_000 })

const withoutCache = { config: { SEARCH_CACHE_MB: 0 } }

/** A text by which a proxy recognises the request that relaxes a query of two words. */
const relaxedPair = '"limit":40'

async function search(app: App, q: string, headers = {}): Promise<SearchResponse> {
  const url = `/api/search?q=${encodeURIComponent(q)}`
  return (await app.inject({ url, headers })).json<SearchResponse>()
}

const searchUntil = (app: App, q: string, check: (response: SearchResponse) => boolean) =>
  eventually(() => search(app, q), check)
const isFromIndex = ({ meta }: SearchResponse) => meta?.source === 'index'

async function countDegraded(app: App, count: number, q = 'martillo'): Promise<number> {
  let degraded = 0
  for (let n = 0; n < count; n++) if ((await search(app, q)).meta.source !== 'index') degraded++
  return degraded
}

const countAttempts = (metrics: Metrics, outcome: string) =>
  readMetric(metrics, 'tqs_search_engine_requests_total', { engine: 'main', outcome })
const readAvailable = (metrics: Metrics) =>
  readMetric(metrics, 'tqs_search_engine_available', { engine: 'main' })

/** The last line of the log about a request. */
const lastRequestLine = (log: string[]) =>
  JSON.parse(log.findLast((line) => line.includes('"msg":"request"')) ?? '{}')

/** Makes the engine reject searches with filters as invalid. */
const forgetFilters = ({ service }: Awaited<ReturnType<typeof startBehindProxies>>) =>
  service.engine
    .index(service.config.SEARCH_INDEX)
    .updateFilterableAttributes(['sku', 'skuKeys'])
    .waitTask()

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
  // On a busy machine others may time out too.
  const timedOut = (await countAttempts(metrics, 'timeout')) - slowSearches
  t.ok(timedOut >= 0)
  t.ok(
    degraded <= searches / 100 + timedOut,
    `${degraded} of ${searches} were answered by PostgreSQL, ${timedOut} of them after a time-out`,
  )
})

for (const [q, hasHits] of [
  ['martillo percutor', true],
  ['zyxwvut qwklmnp', false],
] as const)
  t.test(`if "${q}" cannot be relaxed in time, no other search goes to PostgreSQL`, async (t) => {
    const { app, engine, metrics } = await startBehindProxies(t, withoutCache)
    await searchUntil(app, q, ({ total, meta }) => total > 0 === hasHits && !meta.degraded)
    engine.slowText = relaxedPair
    // Repeated, because on a busy machine the other requests may time out too.
    const { responses, available, degraded } = await eventually(
      async () => ({
        responses: await Promise.all([1, 2, 3, 4].map(() => search(app, q))),
        available: await readAvailable(metrics),
        degraded: await countDegraded(app, 5, 'taladro'),
      }),
      (attempt) =>
        attempt.responses.every((response) => isFromIndex(response) && response.meta.degraded) &&
        attempt.available === 1 &&
        attempt.degraded === 0,
    )
    for (const { meta } of responses) t.match(meta, { source: 'index', degraded: true })
    t.same([available, degraded], [1, 0])
  })

t.test('an engine that never answers gets no more searches after a few', async (t) => {
  const { app, engine, metrics } = await startBehindProxies(t, withoutCache)
  await searchUntil(app, 'martillo', isFromIndex)
  engine.stopForwarding()
  t.match(await search(app, 'martillo'), {
    hits: [{ sku: 'AB-1' }],
    meta: { source: 'database', degraded: true },
  })
  t.equal(await countDegraded(app, 20), 20)
  t.ok((await countAttempts(metrics, 'timeout')) < 5, 'the others do not wait for it')
  t.equal(await readAvailable(metrics), 0)
  engine.restore()
  t.ok(isFromIndex(await searchUntil(app, 'martillo', isFromIndex)))
  t.equal(await readAvailable(metrics), 1)
})

t.test('a response without the relaxed query is marked as degraded and not cached', async (t) => {
  const { app, engine, service } = await startBehindProxies(t)
  const q = 'martillo percutor'
  await searchUntil(app, q, ({ total, meta }) => total === 2 && !meta.degraded)
  // A change empties the cache. Then only the relaxed request, with single words, is slow.
  await service.db
    .insertInto('products')
    .values({ sku: 'AB-3', name: 'Sierra para martillo' })
    .execute()
  await service.sync()
  await searchUntil(app, 'sierra', ({ total }) => total === 1)
  engine.slowText = relaxedPair
  // Until the process has read the new version of the index, the cached response is sent.
  const incomplete = await searchUntil(app, q, ({ meta }) => meta.degraded)
  t.match(incomplete, { meta: { source: 'index', degraded: true } })
  engine.slowText = null
  const again = await searchUntil(app, q, ({ meta }) => !meta.degraded)
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
  const response = await searchUntil(
    app,
    'taladro',
    ({ hits, meta }) => hits.length === 2 && !meta.degraded,
  )
  t.equal(response.hits[0]?.sku, 'AB-1', 'the pin applies')
  t.equal(findLines().length, 1)
})

t.test('a search whose words cannot be corrected is answered, and logged once', async (t) => {
  const { app, service, log } = await startBehindProxies(t, withoutCache)
  await sql`alter table product_words rename to other_words`.execute(service.db)
  for (const q of ['martillo percutorx', 'martillo percutorxy'])
    t.match(await search(app, q), { total: 2, meta: { source: 'index', degraded: false } })
  t.match(
    log.filter((line) => line.includes('product_words')),
    [/"level":50.*a defect of this service/],
  )
  await sql`alter table other_words rename to product_words`.execute(service.db)
})

t.test('the log says what answered, and an engine is used again without a restart', async (t) => {
  replaceUntilEnd(t, engineTimeout, { ms: 10_000 })
  const { app, engine, log } = await startBehindProxies(t)
  const searchAndReadLog = async (q: string) => {
    await search(app, q)
    return lastRequestLine(log)
  }
  t.match(await searchAndReadLog('martillo'), { source: 'index', engine: 'main', attempts: 1 })
  const cached = await eventually(
    () => searchAndReadLog('martillo'),
    ({ source }) => source === 'cache',
  )
  t.match(cached, { source: 'cache', engine: 'main', attempts: undefined })
  engine.refuseConnections()
  const failed = { source: 'database', attempts: 1, reason: 'engine outage' }
  t.match(await searchAndReadLog('taladro'), failed)
  const skipped = { source: 'database', attempts: 0, reason: 'no engine available' }
  t.match(await searchAndReadLog('taladro'), { ...skipped, engine: undefined })
  engine.restore()
  t.ok(isFromIndex(await searchUntil(app, 'taladro', isFromIndex)))
})

t.test('PostgreSQL answers what the engine rejects, which is counted and logged', async (t) => {
  replaceUntilEnd(t, engineTimeout, { ms: 10_000 })
  const behindProxies = await startBehindProxies(t, withoutCache)
  const { app, metrics, log } = behindProxies
  await forgetFilters(behindProxies)
  const responses = []
  for (let n = 0; n < 3; n++)
    responses.push(await app.inject('/api/search?q=martillo&category=geheim'))
  for (const { statusCode, body } of responses) {
    t.equal(statusCode, 200)
    t.match(JSON.parse(body).meta, { source: 'database' })
  }
  t.equal(await countAttempts(metrics, 'rejected'), 3)
  const lines = log.filter((line) => line.includes('rejected a search'))
  t.equal(lines.length, 1, 'repeated rejections are one line')
  t.match(lines[0], /invalid_search_filter/)
  t.equal(JSON.parse(lines[0] ?? '{}').reqId, responses[0]?.headers['x-request-id'])
  t.notMatch(lines[0], /PostgreSQL/, 'an index may have answered too')
  t.notMatch(log.join(''), /geheim/, 'the log does not contain what was searched')
  t.equal(await readAvailable(metrics), 1)
  t.ok(isFromIndex(await search(app, 'martillo')), 'the engine answers the next one')
})

t.test('a client that disconnects cancels its search, which has no other effect', async (t) => {
  replaceUntilEnd(t, engineTimeout, { ms: 60_000 })
  const { app, engine, postgres, metrics, log } = await startBehindProxies(t, withoutCache)
  await search(app, 'martillo')
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  // Longer than a busy machine takes to disconnect.
  engine.delayMs = 30_000
  for (let n = 1; n <= 3; n++) {
    const client = new AbortController()
    const sentBefore = engine.getSentText().length
    const response = fetch(`${url}/api/search?q=martillo`, { signal: client.signal })
    await eventually(
      async () => engine.getSentText().length,
      (length) => length > sentBefore,
    )
    client.abort()
    await t.rejects(response)
    const aborted = await eventually(
      async () => engine.abortedConnections,
      (count) => count >= n,
    )
    t.equal(aborted, n, 'the connection to the engine is closed')
  }
  engine.delayMs = 0
  t.ok(isFromIndex(await search(app, 'martillo')), 'the circuit breaker stays closed')
  const statuses = log.flatMap((line) => JSON.parse(line).status ?? [])
  t.same(statuses, [200, 499, 499, 499, 200], 'each request has one line')
  t.same(
    metrics.requests.counts().map(({ status, count }) => [status, count]),
    [
      [200, 2],
      [499, 3],
    ],
  )
  const countAnswers = (source: string) =>
    readMetric(metrics, 'tqs_search_answers_total', { source })
  t.equal(await countAttempts(metrics, 'cancelled'), 3)
  t.same([await countAnswers('cancelled'), await countAnswers('database')], [3, 0])
  t.notMatch(postgres.getSentText(), /search_document/, 'PostgreSQL was not searched')
  engine.refuseConnections()
  t.equal((await search(app, 'martillo')).meta.source, 'database')
  t.match(postgres.getSentText(), /search_document/, 'which the proxy would have seen')
})

t.test('without PostgreSQL the engine still answers callers whose keys are in use', async (t) => {
  replaceUntilEnd(t, engineTimeout, { ms: 10_000 })
  replaceUntilEnd(t, indexStateMaxAge, { ms: 700 })
  const { app, postgres, service, log } = await startBehindProxies(t)
  const createHeaders = async (name: string) => {
    const key = await createApiKey(service.db, { kind: 'secret', name, scopes: ['search:read'] })
    return { authorization: `Bearer ${key}` }
  }
  const [used, unused] = [await createHeaders('used'), await createHeaders('never used')]
  const { meta } = await eventually(
    () => search(app, 'martillo', used),
    (response) => response.meta.indexedAt !== null,
  )
  postgres.refuseConnections()
  // Cached keys and the index state must have expired, which no request can observe.
  await sleep(3_500)
  for (const headers of [{}, used]) {
    const response = await search(app, 'martillo', headers)
    t.match(response, { hits: [{ sku: 'AB-1' }], meta: { source: 'index' } })
    t.equal(lastRequestLine(log).source, 'index', 'no cached response, which may be outdated')
    t.ok((response.meta.indexedAt ?? '') >= (meta.indexedAt ?? 'z'), 'the last known instant')
  }
  t.match(await search(app, 'martillo', unused), { status: 503 }, 'this key cannot be checked')
  postgres.restore()
  t.ok((await eventually(() => search(app, 'martillo', unused), isFromIndex)).hits)
})

for (const [hasSecondEngine, logFields] of [
  [false, { attempts: 1 }],
  [true, { attempts: 2, failedAttempt: 'engine outage' }],
] as const)
  t.test(`without ${logFields.attempts} engines and PostgreSQL the response is 503`, async (t) => {
    replaceUntilEnd(t, engineTimeout, { ms: 10_000 })
    const options = { ...withoutCache, hasSecondEngine }
    const { app, engine, secondEngine, postgres, log } = await startBehindProxies(t, options)
    for (const server of [engine, secondEngine, postgres]) server?.refuseConnections()
    const response = await app.inject('/api/search?q=destornillador')
    t.equal(response.headers['retry-after'], '2')
    t.match(response.json(), { status: 503, code: 'unavailable' })
    const line = { status: 503, code: 'unavailable', reason: 'engine outage', source: undefined }
    t.match(lastRequestLine(log), { ...line, ...logFields })
  })

t.test('search works without Redis', async (t) => {
  replaceUntilEnd(t, engineTimeout, { ms: 10_000 })
  const { app, redis } = await startBehindProxies(t)
  redis.refuseConnections()
  t.match(await search(app, 'martillo'), { hits: [{ sku: 'AB-1' }], meta: { source: 'index' } })
})

t.test('a changed index replaces cached responses', async (t) => {
  const { app, service, log } = await startBehindProxies(t)
  const readSource = async () => {
    await search(app, 'AB-1')
    return lastRequestLine(log).source
  }
  for (const name of ['Martillo 1', 'Martillo 2', 'Martillo 3']) {
    // A response must be cached before the change.
    t.equal(await eventually(readSource, (source) => source === 'cache'), 'cache')
    await service.db.updateTable('products').set({ name }).where('sku', '=', 'AB-1').execute()
    await service.sync()
    const { hits } = await searchUntil(app, 'AB-1', ({ hits }) => hits[0]?.name === name)
    t.equal(hits[0]?.name, name)
  }
  await versionChangesWithDeletedRows(t, service)
})

/** The version of an index changes when outbox rows are deleted, and only then. */
async function versionChangesWithDeletedRows(
  t: Test,
  { db, sync }: Awaited<ReturnType<typeof startBehindProxies>>['service'],
): Promise<void> {
  const version = async () =>
    (await db.selectFrom('search_indexes').select('version').executeTakeFirstOrThrow()).version
  const before = await version()
  await sync()
  t.equal(await version(), before)
  await db.deleteFrom('products').where('sku', '=', 'AB-2').execute()
  t.equal(await version(), before, 'a pending change does not change the version')
  await sync()
  t.not(await version(), before)
}
