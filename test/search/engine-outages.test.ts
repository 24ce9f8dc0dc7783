// What search does while the engine, PostgreSQL or Redis is slow or away, through real proxies in front of the real servers.
import t from 'tap'
import { buildApp } from '../../src/app.ts'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { openRedis } from '../../src/redis/redis-connection.ts'
import { openSearchEngine } from '../../src/search-engine/engine-client.ts'
import { type FaultyProxy, startFaultyProxy } from '../support/faulty-proxy.ts'
import {
  company,
  eventually,
  servers,
  type TestService,
  testService,
} from '../support/test-service.ts'

type Answer = {
  hits: { sku: string }[]
  meta: { source: string; degraded: boolean; indexedAt: string | null }
}
type Behind = {
  app: TestService['app']
  engine: FaultyProxy
  postgres: FaultyProxy
  redis: FaultyProxy
  service: TestService
}

/** The service with a proxy before each server. */
async function behindProxies(
  t: Parameters<typeof testService>[0],
  config: Parameters<typeof testService>[1] = {},
): Promise<Behind> {
  const { redisUrl } = await servers()
  const service = await testService(t, config)
  await service.db
    .insertInto('products')
    .values([
      { sku: 'AB-1', name: 'Martillo de bola' },
      { sku: 'AB-2', name: 'Taladro percutor' },
    ])
    .execute()
  await service.sync()
  const [engine, postgres, redis] = [
    await startFaultyProxy(t, service.config.MEILI_URL),
    await startFaultyProxy(t, service.config.DATABASE_URL),
    await startFaultyProxy(t, redisUrl),
  ]
  const connections = {
    db: openDatabase(postgres.url),
    redis: await openRedis(redis.url),
    engine: openSearchEngine(engine.url, service.config.MEILI_SEARCH_KEY),
  }
  const app = await buildApp({
    config: service.config,
    company,
    connections,
    logger: { level: 'silent' },
  })
  t.teardown(async () => {
    await app.close()
    connections.engine.close()
    connections.redis.disconnect()
    await connections.db.destroy()
  })
  return { app, engine, postgres, redis, service }
}

async function ask(
  app: TestService['app'],
  q: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Answer }> {
  const response = await app.inject({ url: `/api/search?q=${encodeURIComponent(q)}`, headers })
  return { status: response.statusCode, body: response.json<Answer>() }
}

const from = (source: string) => (answer: { body: Answer }) => answer.body.meta?.source === source

t.test(
  'a slow engine costs its timeout once: PostgreSQL answers, and the engine is used again when it is quick',
  async (t) => {
    const { app, engine } = await behindProxies(t, { config: { SEARCH_MEMORY_MB: 0 } })
    t.match((await ask(app, 'martillo')).body, {
      hits: [{ sku: 'AB-1' }],
      meta: { source: 'index', degraded: false },
    })
    engine.delayMs = 2_000
    t.match((await ask(app, 'martillo')).body, {
      hits: [{ sku: 'AB-1' }],
      meta: { source: 'database', degraded: true },
    })
    const startedAt = performance.now()
    for (let n = 0; n < 20; n++) t.equal((await ask(app, 'martillo')).body.meta.source, 'database')
    t.ok(performance.now() - startedAt < 20 * 300, 'later keystrokes do not wait for it')
    engine.delayMs = 0
    t.ok(from('index')(await eventually(() => ask(app, 'martillo'), from('index'))))
  },
)

t.test('an engine that is away and comes back is used again without a restart', async (t) => {
  const { app, engine } = await behindProxies(t, { config: { SEARCH_MEMORY_MB: 0 } })
  t.equal((await ask(app, 'taladro')).body.meta.source, 'index')
  engine.refuseConnections()
  t.match(await ask(app, 'taladro'), {
    status: 200,
    body: { hits: [{ sku: 'AB-2' }], meta: { source: 'database' } },
  })
  engine.restore()
  t.ok(from('index')(await eventually(() => ask(app, 'taladro'), from('index'))))
})

t.test(
  'a request that the engine refuses is answered by PostgreSQL, and spares the engine no other',
  async (t) => {
    const { app, service } = await behindProxies(t, { config: { SEARCH_MEMORY_MB: 0 } })
    await service.engine
      .index(service.config.SEARCH_INDEX)
      .updateFilterableAttributes(['skuKey', 'enye'])
      .waitTask()
    const inCategory = await app.inject('/api/search?q=martillo&category=x')
    t.match(
      { status: inCategory.statusCode, body: inCategory.json() },
      { status: 200, body: { meta: { source: 'database' } } },
    )
    t.equal((await ask(app, 'martillo')).body.meta.source, 'index')
  },
)

t.test(
  'with PostgreSQL away search goes on from the engine, for anonymous callers and for keys that were in use',
  async (t) => {
    const { app, postgres, service } = await behindProxies(t)
    const key = await createApiKey(service.db, {
      kind: 'secret',
      name: 'test',
      scopes: ['search:read'],
    })
    const other = await createApiKey(service.db, {
      kind: 'secret',
      name: 'never used',
      scopes: ['search:read'],
    })
    const authorization = `Bearer ${key}`
    const { indexedAt } = (
      await eventually(
        () => ask(app, 'martillo', { authorization }),
        ({ body }) => body.meta.indexedAt !== null,
      )
    ).body.meta
    postgres.refuseConnections()
    // Longer than keys and the state of the index are believed.
    await new Promise((resolve) => setTimeout(resolve, 3_500))
    t.match(await ask(app, 'martillo'), {
      status: 200,
      body: { hits: [{ sku: 'AB-1' }], meta: { source: 'index' } },
    })
    const known = await ask(app, 'martillo', { authorization })
    t.match(known, { status: 200, body: { hits: [{ sku: 'AB-1' }], meta: { source: 'index' } } })
    t.ok((known.body.meta.indexedAt ?? '') >= (indexedAt ?? 'z'), 'the last instant known stays')
    t.equal(
      (await ask(app, 'martillo', { authorization: `Bearer ${other}` })).status,
      503,
      'a key never seen cannot be checked',
    )
    postgres.restore()
    t.equal(
      (
        await eventually(
          () => ask(app, 'martillo', { authorization: `Bearer ${other}` }),
          ({ status }) => status === 200,
        )
      ).status,
      200,
    )
  },
)

t.test('with the engine and PostgreSQL away there is a 503, never an empty list', async (t) => {
  const { app, engine, postgres } = await behindProxies(t)
  engine.refuseConnections()
  postgres.refuseConnections()
  const response = await app.inject('/api/search?q=destornillador')
  t.equal(response.statusCode, 503)
  t.equal(response.headers['retry-after'], '2')
  t.match(response.json(), { code: 'unavailable' })
})

t.test('without Redis search goes on', async (t) => {
  const { app, redis } = await behindProxies(t)
  redis.refuseConnections()
  t.match(await ask(app, 'martillo'), {
    status: 200,
    body: { hits: [{ sku: 'AB-1' }], meta: { source: 'index' } },
  })
})

t.test('a remembered answer is never older than the index', async (t) => {
  const { app, service } = await behindProxies(t)
  const name = async () =>
    (await app.inject('/api/search?q=AB-1')).json<{ hits: { name: string }[] }>().hits[0]?.name
  for (let n = 0; n < 5; n++) {
    // Asked all along, so that there is something to remember.
    for (let asked = 0; asked < 10; asked++) {
      await name()
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    await service.db
      .updateTable('products')
      .set({ name: `Martillo ${n}` })
      .where('sku', '=', 'AB-1')
      .execute()
    await service.sync()
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    t.equal(await name(), `Martillo ${n}`)
  }
})

t.test(
  'the version of an index moves with every settled change, and not without one',
  async (t) => {
    const { service } = await behindProxies(t)
    const version = async () =>
      (await service.db.selectFrom('search_engines').select('version').executeTakeFirstOrThrow())
        .version
    const before = await version()
    await service.sync()
    t.equal(await version(), before)
    await service.db.deleteFrom('products').where('sku', '=', 'AB-2').execute()
    t.equal(await version(), before, 'pending is not settled')
    await service.sync()
    t.not(await version(), before)
  },
)

t.test(
  'a client that leaves cancels the engine’s work, and nothing else comes of it',
  async (t) => {
    const { app, engine, postgres } = await behindProxies(t, { config: { SEARCH_MEMORY_MB: 0 } })
    t.equal((await ask(app, 'martillo')).body.meta.source, 'index')
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    // Less than the engine may take.
    engine.delayMs = 250
    for (let n = 1; n <= 3; n++) {
      const leaving = new AbortController()
      const asked = engine.sentText().length
      const answer = fetch(`${url}/api/search?q=martillo`, { signal: leaving.signal })
      await eventually(
        async () => engine.sentText().length,
        (length) => length > asked,
      )
      leaving.abort()
      await t.rejects(answer)
      t.equal(
        await eventually(
          async () => engine.connectionsClosedByClient(),
          (count) => count >= n,
        ),
        n,
        'the engine sees it at once',
      )
    }
    engine.delayMs = 0
    t.match(
      await ask(app, 'martillo'),
      { status: 200, body: { hits: [{ sku: 'AB-1' }], meta: { source: 'index' } } },
      'the engine is asked again, without a pause',
    )
    t.notMatch(postgres.sentText(), /search_text/, 'PostgreSQL was asked nothing')
    engine.refuseConnections()
    t.equal((await ask(app, 'martillo')).body.meta.source, 'database')
    t.match(postgres.sentText(), /search_text/, 'which would have been seen')
  },
)
