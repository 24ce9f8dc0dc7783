// The order of the hooks that every request passes, which src/app.ts lists. Each test fails if two
// of them are swapped.
import t, { type Test } from 'tap'
import type { Traces } from '../../src/tracing/open-traces.ts'
import { buildRoleUrl } from '../support/database/database-roles.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { freezeDate } from '../support/fresh-window.ts'
import { bearer, createSecretKey, unknownKey } from '../support/secret-keys.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { testService } from '../support/service/test-service.ts'

const otherHost = { host: 'evil.example' }

/** Returns traces, and for each request that they see whether another hook has run before. */
function createTraces(): { traces: Traces; isFirst: boolean[] } {
  const isFirst: boolean[] = []
  const ignore = () => undefined
  const traces: Traces = {
    traceRequests(app) {
      app.addHook('onRequest', (request, reply, done) => {
        isFirst.push(request.startedAt === 0 && !reply.hasHeader('x-request-id'))
        done()
      })
    },
    traceEngine: ignore,
    tracePool: ignore,
    traceRedis: ignore,
    stop: async () => undefined,
  }
  return { traces, isFirst }
}

t.test(
  'the span of a request begins before every other hook, also of a rejected one',
  async (t) => {
    const { traces, isFirst } = createTraces()
    const { app } = await testService(t, { traces, index: false })
    t.equal((await app.inject({ url: '/api/stats', headers: otherHost })).statusCode, 421)
    t.same(isFirst, [true])
  },
)

/** Starts a service whose PostgreSQL does not answer, and returns its URL and log. */
async function startServiceWithoutAnswers(t: Test) {
  const database = await testDatabase(t)
  const faultyProxy = await startFaultyProxy(t, database.url)
  const lines: { msg: string; ms: number }[] = []
  const { app } = await testService(t, {
    database,
    apiUrl: buildRoleUrl(faultyProxy.url, 'api'),
    log: (line) => lines.push(JSON.parse(line)),
    index: false,
  })
  faultyProxy.stopForwarding()
  return { url: await app.listen({ host: '127.0.0.1', port: 0 }), lines }
}

t.test('the duration of a request contains the check of its key', async (t) => {
  const { url, lines } = await startServiceWithoutAnswers(t)
  const startedAt = performance.now()
  const signal = AbortSignal.timeout(300)
  await t.rejects(fetch(`${url}/api/search`, { headers: bearer(unknownKey(1)), signal }))
  const findLine = async () => lines.find(({ msg }) => msg === 'request cancelled by the client')
  const line = await eventually(findLine, Boolean)
  const ms = line?.ms ?? Number.NaN
  t.ok(ms >= 100 && ms <= performance.now() - startedAt + 1, `${ms} ms`)
})

t.test('the problem of every check of a request has the common headers', async (t) => {
  const { app } = await testService(t, { config: { STATS_LIMIT_PER_MINUTE: 1 }, index: false })
  const request = (headers = {}) => app.inject({ url: '/api/stats', headers })
  freezeDate(t)
  t.equal((await request()).statusCode, 200)
  for (const [headers, status] of [
    [otherHost, 421],
    [bearer(unknownKey(1)), 401],
    [{}, 429],
  ] as const) {
    const response = await request(headers)
    t.equal(response.statusCode, status)
    t.equal(response.headers['x-request-id'], response.json().requestId, `${status}`)
    t.equal(response.headers['x-content-type-options'], 'nosniff', `${status}`)
  }
})

t.test('the host is checked before the key, so another host cannot try keys', async (t) => {
  lengthenTimeouts(t)
  const { app, db } = await testService(t, {
    config: { CALLER_GUESS_LIMIT_PER_MINUTE: 1 },
    index: false,
  })
  const getStatsStatus = async (key: string, headers = {}) =>
    (await app.inject({ url: '/api/stats', headers: { ...bearer(key), ...headers } })).statusCode
  freezeDate(t)
  for (const n of [1, 2, 3]) t.equal(await getStatsStatus(unknownKey(n), otherHost), 421)
  t.equal(await getStatsStatus(unknownKey(4)), 401, 'the guesses are not used up')
  const key = await createSecretKey(db, { scopes: ['stats:read'] })
  t.equal(await getStatsStatus(key, otherHost), 421)
})

t.test('the key is checked before the rate limit, which counts each key on its own', async (t) => {
  const { app, db } = await testService(t, { config: { STATS_LIMIT_PER_MINUTE: 1 }, index: false })
  const getStatsStatus = async (headers = {}) =>
    (await app.inject({ url: '/api/stats', headers })).statusCode
  const key = await createSecretKey(db, { scopes: ['stats:read'] })
  freezeDate(t)
  t.same([await getStatsStatus(), await getStatsStatus()], [200, 429])
  t.equal(await getStatsStatus(bearer(unknownKey(1))), 401)
  t.same([await getStatsStatus(bearer(key)), await getStatsStatus(bearer(key))], [200, 429])
})
