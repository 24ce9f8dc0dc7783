// Search while the engine, PostgreSQL or Redis is slow or unavailable. Proxies in front of the real
// servers cause the failures.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import {
  fallbackConnectionTimeout,
  fallbackResponseTimeout,
  fallbackStatementTimeout,
} from '../../src/database/postgres-pool.ts'
import type { SearchResponse } from '../../src/search/schema.ts'
import { engineTimeout } from '../../src/search-engine/client.ts'
import { eventually } from '../support/eventually.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { startBehindProxies } from '../support/service/service-behind-proxies.ts'
import type { TestService } from '../support/service/test-service.ts'

async function search(
  app: TestService['app'],
  q: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: SearchResponse }> {
  const response = await app.inject({ url: `/api/search?q=${encodeURIComponent(q)}`, headers })
  return { status: response.statusCode, body: response.json<SearchResponse>() }
}

/** Returns the last line of the log about a request. */
const lastRequestLine = (log: string[]) =>
  JSON.parse(log.findLast((line) => line.includes('"msg":"request"')) ?? '{}') as Record<
    string,
    unknown
  >

const isFrom = (source: string) => (response: { body: SearchResponse }) =>
  response.body.meta?.source === source

t.test('a slow engine delays one search only, and is used again when it is fast', async (t) => {
  replaceUntilEnd(t, fallbackConnectionTimeout, { ms: 10_000 })
  replaceUntilEnd(t, fallbackStatementTimeout, { ms: 10_000 })
  replaceUntilEnd(t, fallbackResponseTimeout, { ms: 11_000 })
  const { app, engine } = await startBehindProxies(t, { config: { SEARCH_CACHE_MB: 0 } })
  const first = await eventually(() => search(app, 'martillo'), isFrom('index'))
  t.match(first.body, {
    hits: [{ sku: 'AB-1' }],
    meta: { source: 'index', degraded: false },
  })
  engine.delayMs = 2_000
  t.match((await search(app, 'martillo')).body, {
    hits: [{ sku: 'AB-1' }],
    meta: { source: 'database', degraded: true },
  })
  const search20Times = async () => {
    const startedAt = performance.now()
    for (let n = 0; n < 20; n++)
      t.equal((await search(app, 'martillo')).body.meta.source, 'database')
    return performance.now() - startedAt
  }
  // Repeated, because a busy machine may stop for as long.
  const isSoon = (ms: number) => ms < 20 * engineTimeout.ms
  const ms = await eventually(search20Times, isSoon)
  t.ok(isSoon(ms), `later searches do not wait for the engine: ${Math.round(ms)} ms`)
  engine.delayMs = 0
  t.ok(isFrom('index')(await eventually(() => search(app, 'martillo'), isFrom('index'))))
})

t.test('an engine that was unreachable is used again without a restart', async (t) => {
  lengthenTimeouts(t)
  const { app, engine } = await startBehindProxies(t, { config: { SEARCH_CACHE_MB: 0 } })
  t.equal((await search(app, 'taladro')).body.meta.source, 'index')
  engine.refuseConnections()
  t.match(await search(app, 'taladro'), {
    status: 200,
    body: { hits: [{ sku: 'AB-2' }], meta: { source: 'database' } },
  })
  engine.restore()
  t.ok(isFrom('index')(await eventually(() => search(app, 'taladro'), isFrom('index'))))
})

t.test('the log says why the first engine failed if a second one answers', async (t) => {
  lengthenTimeouts(t)
  const { app, engine, log } = await startBehindProxies(t, {
    config: { SEARCH_CACHE_MB: 0 },
    hasSecondEngine: true,
  })
  const searchAndReadLine = async () => {
    t.equal((await search(app, 'martillo')).body.meta.source, 'index')
    return lastRequestLine(log)
  }
  t.match(await searchAndReadLine(), { attempts: 1, failedAttempt: undefined })
  engine.refuseConnections()
  // The engines take turns.
  const line = await eventually(searchAndReadLine, ({ attempts }) => attempts === 2)
  t.match(line, { engine: 'second', attempts: 2, failedAttempt: 'engine outage' })
  t.equal(line.degraded, undefined)
})

t.test(
  'PostgreSQL answers a request that the engine rejects, and the engine answers the next one',
  async (t) => {
    lengthenTimeouts(t)
    const { app, service, log } = await startBehindProxies(t, { config: { SEARCH_CACHE_MB: 0 } })
    await service.engine
      .index(service.config.SEARCH_INDEX)
      .updateFilterableAttributes(['sku', 'skuKeys'])
      .waitTask()
    const inCategory = await app.inject('/api/search?q=martillo&category=x')
    t.match(
      { status: inCategory.statusCode, body: inCategory.json() },
      { status: 200, body: { meta: { source: 'database' } } },
    )
    const rejection = log.find((line) => line.includes('rejected a search as invalid'))
    t.equal(JSON.parse(rejection ?? '{}').reqId, inCategory.headers['x-request-id'])
    t.equal((await search(app, 'martillo')).body.meta.source, 'index')
  },
)

t.test(
  'without PostgreSQL the engine still answers anonymous callers and keys in use',
  async (t) => {
    replaceUntilEnd(t, engineTimeout, { ms: 10_000 })
    const { app, postgres, service } = await startBehindProxies(t)
    const key = await createApiKey(service.db, {
      kind: 'secret',
      name: 'test',
      scopes: ['search:read'],
    })
    const unusedKey = await createApiKey(service.db, {
      kind: 'secret',
      name: 'never used',
      scopes: ['search:read'],
    })
    const authorization = `Bearer ${key}`
    const { indexedAt } = (
      await eventually(
        () => search(app, 'martillo', { authorization }),
        ({ body }) => body.meta.indexedAt !== null,
      )
    ).body.meta
    postgres.refuseConnections()
    // Cached keys and the index state must have expired, which no request can observe.
    await sleep(3_500)
    t.match(await search(app, 'martillo'), {
      status: 200,
      body: { hits: [{ sku: 'AB-1' }], meta: { source: 'index' } },
    })
    const cachedKeyAnswer = await search(app, 'martillo', { authorization })
    t.match(cachedKeyAnswer, {
      status: 200,
      body: { hits: [{ sku: 'AB-1' }], meta: { source: 'index' } },
    })
    t.ok(
      (cachedKeyAnswer.body.meta.indexedAt ?? '') >= (indexedAt ?? 'z'),
      'indexedAt stays at the last known instant',
    )
    t.equal(
      (await search(app, 'martillo', { authorization: `Bearer ${unusedKey}` })).status,
      503,
      'a key that is not cached cannot be checked',
    )
    postgres.restore()
    t.equal(
      (
        await eventually(
          () => search(app, 'martillo', { authorization: `Bearer ${unusedKey}` }),
          ({ status }) => status === 200,
        )
      ).status,
      200,
    )
  },
)

t.test('without the engine and PostgreSQL the response is 503, not an empty list', async (t) => {
  const { app, engine, postgres, log } = await startBehindProxies(t)
  engine.refuseConnections()
  postgres.refuseConnections()
  const response = await app.inject('/api/search?q=destornillador')
  t.equal(response.statusCode, 503)
  t.equal(response.headers['retry-after'], '2')
  t.match(response.json(), { code: 'unavailable' })
  const line = lastRequestLine(log)
  t.match(line, { status: 503, code: 'unavailable', attempts: 1, reason: 'engine outage' })
  t.equal(line.source, undefined)
})

t.test('without both engines and PostgreSQL the log says why each engine failed', async (t) => {
  lengthenTimeouts(t)
  const { app, engine, secondEngine, postgres, log } = await startBehindProxies(t, {
    config: { SEARCH_CACHE_MB: 0 },
    hasSecondEngine: true,
  })
  for (const server of [engine, secondEngine, postgres]) server?.refuseConnections()
  t.equal((await app.inject('/api/search?q=destornillador')).statusCode, 503)
  t.match(lastRequestLine(log), {
    status: 503,
    attempts: 2,
    failedAttempt: 'engine outage',
    reason: 'engine outage',
  })
})

t.test('search works without Redis', async (t) => {
  lengthenTimeouts(t)
  const { app, redis } = await startBehindProxies(t)
  redis.refuseConnections()
  t.match(await search(app, 'martillo'), {
    status: 200,
    body: { hits: [{ sku: 'AB-1' }], meta: { source: 'index' } },
  })
})

t.test('a changed index replaces cached responses', async (t) => {
  const { app, service, log } = await startBehindProxies(t)
  const readName = async () =>
    (await app.inject('/api/search?q=AB-1')).json<{ hits: { name: string }[] }>().hits[0]?.name
  const readSource = async () => {
    await readName()
    return lastRequestLine(log).source
  }
  for (let n = 0; n < 5; n++) {
    // A response must be cached before the change.
    await eventually(readSource, (source) => source === 'cache')
    t.equal(await readSource(), 'cache')
    await service.db
      .updateTable('products')
      .set({ name: `Martillo ${n}` })
      .where('sku', '=', 'AB-1')
      .execute()
    await service.sync()
    const name = `Martillo ${n}`
    t.equal(await eventually(readName, (found) => found === name), name)
  }
})

t.test('the version of an index changes when outbox rows are deleted, and only then', async (t) => {
  const { service } = await startBehindProxies(t)
  const version = async () =>
    (await service.db.selectFrom('search_indexes').select('version').executeTakeFirstOrThrow())
      .version
  const before = await version()
  await service.sync()
  t.equal(await version(), before)
  await service.db.deleteFrom('products').where('sku', '=', 'AB-2').execute()
  t.equal(await version(), before, 'a pending change does not change the version')
  await service.sync()
  t.not(await version(), before)
})

t.test(
  'a client that disconnects cancels the request to the engine and has no other effect',
  async (t) => {
    lengthenTimeouts(t)
    const { app, engine, postgres, log } = await startBehindProxies(t, {
      config: { SEARCH_CACHE_MB: 0 },
    })
    t.equal((await search(app, 'martillo')).body.meta.source, 'index')
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    // Below the timeout of the engine, and longer than a busy machine takes to disconnect.
    engine.delayMs = 9_000
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
      t.equal(
        await eventually(
          async () => engine.countAbortedConnections(),
          (count) => count >= n,
        ),
        n,
        'the connection to the engine is closed',
      )
    }
    engine.delayMs = 0
    t.match(
      await search(app, 'martillo'),
      { status: 200, body: { hits: [{ sku: 'AB-1' }], meta: { source: 'index' } } },
      'the circuit breaker stays closed',
    )
    const statuses = log.flatMap((line) => JSON.parse(line).status ?? [])
    t.same(statuses, [200, 499, 499, 499, 200], 'each request has one line')
    t.notMatch(postgres.getSentText(), /search_document/, 'PostgreSQL was not searched')
    engine.refuseConnections()
    t.equal((await search(app, 'martillo')).body.meta.source, 'database')
    t.match(
      postgres.getSentText(),
      /search_document/,
      'a search in PostgreSQL is visible to the proxy',
    )
  },
)
