// The health endpoints: ready, degraded, unknown paths and other methods.
import t from 'tap'
import { readIndexLags } from '../../src/indexing/index-status.ts'
import { openIndexingClient } from '../../src/indexing/indexing-client.ts'
import { createMetrics } from '../../src/monitoring/counters.ts'
import { buildOperationsApp } from '../../src/monitoring/health-endpoints.ts'
import { readDrift } from '../../src/stats/summary/drift-check.ts'
import { readUnfoldedChanges } from '../../src/stats/summary/fold-backlog.ts'
import { testService } from '../support/test-service.ts'

t.test(
  'reports ready, degraded without the engine, and a degraded engine that fails searches',
  async (t) => {
    const service = await testService(t)
    const { db, pool, redis, engine } = service
    const metrics = createMetrics()
    const options = {
      readIndexProgress: () => readIndexLags(db, [service.config.SEARCH_ENGINE]),
      readUnfoldedChanges: () => readUnfoldedChanges(db),
      readDrift: () => readDrift(db),
      pool,
      metrics,
    }
    const operations = buildOperationsApp({ db, redis, engine, ...options })
    const ready = await operations.inject('/health/ready')
    t.equal(ready.statusCode, 200)
    t.match(ready.json(), {
      status: 'ready',
      degraded: [],
      checks: { database: 'up', redis: 'up', searchEngine: 'up' },
      indexedAt: /^20/,
      indexLagSeconds: 0,
      pendingChanges: 0,
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

    const degradedOperations = buildOperationsApp({
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

    metrics.search.setEngineAvailable('main', false)
    t.match(
      (await operations.inject('/health/ready')).json(),
      { degraded: ['search engine'], checks: { searchEngine: 'down' } },
      'healthy, but the circuit breaker is open',
    )
  },
)
