// Health endpoints, and the start and stop of the process.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { choosePort } from '../../scripts/servers/free-port.ts'
import { readIndexLag } from '../../src/indexing/index-status.ts'
import { openIndexingClient } from '../../src/indexing/indexing-client.ts'
import { buildOperationsApp } from '../../src/monitoring/health-endpoints.ts'
import { createMetrics } from '../../src/monitoring/metrics.ts'
import { company, eventually, startProgram, testService } from '../support/test-service.ts'

t.test(
  'reports ready, degraded without the engine, and a degraded engine that fails searches',
  async (t) => {
    const { db, pool, redis, engine } = await testService(t)
    const metrics = createMetrics()
    const options = { readIndexProgress: () => readIndexLag(db, 'main'), pool, metrics }
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

    metrics.search.setAvailable(false)
    t.match(
      (await operations.inject('/health/ready')).json(),
      { degraded: ['search engine'], checks: { searchEngine: 'down' } },
      'healthy, but the circuit breaker is open',
    )
  },
)

t.test(
  'starts, serves both ports, stops with status 0, and names every invalid setting',
  async (t) => {
    const { config } = await testService(t)
    const directory = mkdtempSync(join(tmpdir(), 'tqs-health-'))
    t.teardown(() => rmSync(directory, { recursive: true, force: true }))
    const { seller, ...rest } = company
    writeFileSync(join(directory, 'company.json'), JSON.stringify({ ...seller, ...rest }))
    const [port, opsPort] = [await choosePort('test'), await choosePort('test')]
    const start = (env: Record<string, string>) => startProgram(t, ['src/server.ts'], env)
    const env = {
      DATABASE_URL: config.DATABASE_URL,
      REDIS_URL: config.REDIS_URL ?? '',
      MEILI_URL: config.MEILI_URL,
      MEILI_SEARCH_KEY: config.MEILI_SEARCH_KEY,
      COMPANY_FILE: join(directory, 'company.json'),
      PORT: String(port),
      OPS_PORT: String(opsPort),
    }
    const { child, output, exit } = start(env)
    const status = (url: string) =>
      fetch(url).then(
        (response) => response.status,
        () => 0,
      )
    t.equal(
      await eventually(
        () => status(`http://127.0.0.1:${opsPort}/health/live`),
        (code) => code === 200,
      ),
      200,
      output(),
    )
    t.equal(
      await eventually(
        () => status(`http://127.0.0.1:${port}/api/search`),
        (code) => code === 401,
      ),
      401,
      'no anonymous access by default',
    )
    t.equal(
      await status(`http://127.0.0.1:${port}/health/live`),
      404,
      'health is not on the public port',
    )
    child.kill('SIGTERM')
    t.equal(await exit, 0, 'stops cleanly')
    for (const line of output().trim().split('\n')) t.doesNotThrow(() => JSON.parse(line), line)
    t.notMatch(output(), new URL(config.DATABASE_URL).password, 'no password in the log')

    const bad = start({
      ...env,
      PORT: '99999',
      DATABASE_URL: 'mysql://x',
      MEILI_SEARCH_KEY: '',
      ANONYMOUS_SCOPES: 'search:write',
    })
    t.equal(await bad.exit, 1)
    for (const key of ['PORT', 'DATABASE_URL', 'MEILI_SEARCH_KEY', 'ANONYMOUS_SCOPES'])
      t.match(bad.output(), new RegExp(`^ +${key} `, 'm'))

    const taken = start({ ...env, OPS_PORT: String(new URL(config.MEILI_URL).port) })
    t.equal(await taken.exit, 1)
    t.match(taken.output(), /EADDRINUSE|in use/)
  },
)
