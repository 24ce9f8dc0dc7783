// The health endpoints: ready, degraded, unknown paths and other methods.
import t from 'tap'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { openIndexingClient } from '../../src/indexing/engine.ts'
import { readIndexLags } from '../../src/indexing/status.ts'
import { buildApiOperationsApp } from '../../src/monitoring/api-operations-app.ts'
import { createMetrics } from '../../src/monitoring/process-metrics.ts'
import { redisHealth } from '../../src/redis/redis-connection.ts'
import { readCheckAgeSeconds } from '../../src/stats/summary/check-months.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { testService } from '../support/service/test-service.ts'

t.test(
  'reports ready, degraded without the engine, and a degraded engine that fails searches',
  async (t) => {
    const service = await testService(t)
    const { db, pool, engine } = service
    const health = redisHealth(service.redis, service.config.REDIS_PREFIX)
    const metrics = createMetrics()
    const options = {
      readIndexProgress: () => readIndexLags(db, [service.config.SEARCH_ENGINE]),
      readCheckAgeSeconds: () => readCheckAgeSeconds(db),
      pool,
      metrics,
    }
    const operations = buildApiOperationsApp({ db, redis: health, engine, ...options })
    const ready = await operations.inject('/health/ready')
    t.equal(ready.statusCode, 200)
    t.match(ready.json(), {
      status: 'ready',
      degraded: [],
      checks: { database: 'up', redis: 'up', searchEngine: 'up' },
      indexedAt: /^20/,
      indexLagSeconds: 0,
    })
    t.equal((await operations.inject('/health/live')).statusCode, 200)
    t.match((await operations.inject('/nothing')).json(), {
      status: 404,
      code: 'not_found',
      detail: /\/health\/ready/,
    })
    const posted = await operations.inject({ method: 'POST', url: '/metrics' })
    t.match(posted.json(), { status: 405, code: 'method_not_allowed' })
    t.match(posted.headers, {
      allow: 'GET, HEAD',
      'content-type': 'application/problem+json; charset=utf-8',
    })

    const degradedOperations = buildApiOperationsApp({
      db,
      redis: null,
      engine: openIndexingClient('http://127.0.0.1:9', 'none'),
      ...options,
    })
    const degraded = await degradedOperations.inject('/health/ready')
    t.equal(degraded.statusCode, 200)
    t.match(degraded.json(), {
      status: 'degraded',
      degraded: ['search engine'],
      checks: { redis: 'not configured', searchEngine: 'down' },
    })

    const withoutIndex = buildApiOperationsApp({
      ...{ db, redis: health, engine, ...options },
      readIndexProgress: () => readIndexLags(db, ['never-built']),
    })
    t.match((await withoutIndex.inject('/health/ready')).json(), {
      status: 'degraded',
      degraded: ['search index'],
    })

    const proxy = await startFaultyProxy(t, service.config.DATABASE_URL)
    const broken = openDatabase(proxy.url, { connections: 1 })
    t.teardown(() => broken.destroy())
    proxy.refuseConnections()
    const withoutDatabase = buildApiOperationsApp({ ...options, db: broken, redis: health, engine })
    const searching = await withoutDatabase.inject('/health/ready')
    t.equal(searching.statusCode, 200, 'the engine answers searches without PostgreSQL')
    t.match(searching.json(), {
      status: 'degraded',
      degraded: ['database'],
      checks: { database: 'down', searchEngine: 'up' },
    })
    const links = await withoutDatabase.inject('/health/ready?need=links')
    t.equal(links.statusCode, 503)
    t.match(links.json(), { status: 'down' })
    t.equal((await operations.inject('/health/ready?need=links')).statusCode, 200)
    const unknown = await operations.inject('/health/ready?need=everything')
    t.match(unknown.json(), { status: 400, detail: 'need must be "links", or be left out.' })
    const withoutBoth = buildApiOperationsApp({
      ...options,
      db: broken,
      redis: health,
      engine: openIndexingClient('http://127.0.0.1:9', 'none'),
    })
    t.equal((await withoutBoth.inject('/health/ready')).statusCode, 503)

    metrics.search.setEngineAvailable('main', false)
    t.match(
      (await operations.inject('/health/ready')).json(),
      { degraded: ['search engine'], checks: { searchEngine: 'down' } },
      'the engine is healthy, but its circuit breaker is open',
    )
  },
)
