// The log: one JSON line for each request with its request id, and no secrets (S13, S37).
import t from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { buildApiOperationsApp } from '../../src/monitoring/api-operations-app.ts'
import { logSerializers, redactSecrets } from '../../src/monitoring/log/log-redaction.ts'
import { createMetrics } from '../../src/monitoring/process-metrics.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { redisHealth } from '../../src/redis/redis-connection.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { buildRoleUrl } from '../support/database/database-roles.ts'
import { servers } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { idOf, secretOf } from '../support/key-parts.ts'
import { sendBytes } from '../support/send-bytes.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { testService } from '../support/service/test-service.ts'

type Line = {
  level: number
  reqId?: string
  msg: string
  route?: string | null
  status?: number
  source?: string
  degraded?: boolean
  reason?: string
  code?: string
  network?: string
}

t.test(
  'logs one line for each request, with the request id of the response or of the caller',
  async (t) => {
    const lines: Line[] = []
    const { app } = await testService(t, { log: (line) => lines.push(JSON.parse(line)) })
    const requestIdOf = async (url: string, callerId?: string) => {
      const headers = callerId === undefined ? {} : { 'x-request-id': callerId }
      return (await app.inject({ url, headers })).headers['x-request-id']
    }
    const generatedId = await requestIdOf('/api/search?q=x')
    t.match(generatedId, /^[0-9a-f]{10}-\w+$/)
    t.not(await requestIdOf('/api/search?q=x'), generatedId)
    t.equal(await requestIdOf('/api/stats', 'erp-42.A_b'), 'erp-42.A_b')
    t.equal(await requestIdOf('/nothing', 'x'.repeat(64)), 'x'.repeat(64))
    for (const invalidId of [
      '',
      'x'.repeat(65),
      'a b',
      'a\tb',
      '<script>',
      'é',
      '{"a":1}',
      `tqs_000000000000_${'x'.repeat(20)}`,
    ]) {
      t.match(await requestIdOf('/api/stats', invalidId), /^[0-9a-f]{10}-\w+$/, invalidId)
    }
    const requests = lines.filter(({ msg }) => msg === 'request')
    t.equal(requests.length, 12)
    t.match(requests[2], { reqId: 'erp-42.A_b', route: '/api/stats', status: 200 })
    t.match(requests[3], { route: null, status: 404 })
    t.same(Object.keys(requests[0] ?? {}).sort(), [
      'attempts',
      'engine',
      'hostname',
      'key',
      'level',
      'method',
      'ms',
      'msg',
      'network',
      'pid',
      'reqId',
      'route',
      'source',
      'status',
      'time',
    ])
    const problem = (await app.inject('/api/search?limit=x')).json()
    t.equal(lines.findLast(({ msg }) => msg === 'request')?.reqId, problem.requestId)
  },
)

t.test('names the source of a response, why it is degraded, and problems', async (t) => {
  lengthenTimeouts(t)
  const lines: Line[] = []
  const { app, config, engine } = await testService(t, {
    log: (line) => lines.push(JSON.parse(line)),
    config: { SEARCH_LIMIT_PER_SECOND: 3 },
  })
  const lineOf = async (url: string, headers: Record<string, string> = {}) => {
    const id = (await app.inject({ url, headers })).headers['x-request-id']
    return lines.find(({ msg, reqId }) => msg === 'request' && reqId === id)
  }
  t.match(await lineOf('/api/search?q=x'), { source: 'index', status: 200 })
  t.match(await lineOf('/api/search?sku=x'), { source: 'database', status: 200 })
  t.match(await lineOf('/api/stats'), { source: 'miss', status: 200 })
  t.match(await lineOf('/api/search?limit=x'), { code: 'invalid_parameter', status: 400 })
  await eventually(
    () => lineOf('/api/search?q=x'),
    (line) => line?.code === 'rate_limited',
  )
  t.match(await lineOf('/api/stats', { host: 'elsewhere.example' }), {
    code: 'misdirected_request',
    status: 421,
  })

  await engine.deleteIndex(config.SEARCH_INDEX).waitTask()
  const degraded = await eventually(
    () => lineOf('/api/search?q=another+query'),
    (line) => line?.source === 'database',
  )
  t.match(degraded, { degraded: true, reason: /^(engine (rejected|outage)|no engine available)$/ })
})

t.test('logs and counts requests that Node rejects', async (t) => {
  const lines: Line[] = []
  const metrics = createMetrics()
  const { app } = await testService(t, {
    metrics,
    log: (line) => lines.push(JSON.parse(line)),
    index: false,
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  for (const [request, status, reason] of [
    [`GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}`, 431, 'HPE_HEADER_OVERFLOW'],
    ['nonsense', 400, 'HPE_INVALID_METHOD'],
    ['GET / HTTP/1.1\r\nHost: x\r\nContent-Length: x', 400, 'HPE_INVALID_CONTENT_LENGTH'],
    ['GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close', 400, undefined],
  ] as const) {
    const response = await sendBytes(url, `${request}\r\n\r\n`)
    t.match(response, new RegExp(`^HTTP/1.1 ${status} `))
    const [, requestId] = /"requestId":"([^"]+)"/.exec(response) ?? []
    const line = lines.find(({ reqId }) => reqId === requestId)
    t.match(line, { msg: 'malformed request', status, network: '127.0.0.0/24', level: 30 })
    t.equal(line?.reason, reason)
  }
  const countOf = (status: number) =>
    metrics.requests.counts().find((count) => count.status === status)?.count
  t.same([countOf(400), countOf(431)], [3, 1])
})

t.test('names the id of the key and the network of the caller', async (t) => {
  const lines: (Line & { key: string | null; network: string })[] = []
  const { app, db } = await testService(t, {
    log: (line) => lines.push(JSON.parse(line)),
    config: { STATS_LIMIT_PER_MINUTE: 2 },
    index: false,
  })
  const key = await createApiKey(db, { kind: 'secret', name: 'ERP', scopes: ['stats:read'] })
  const id = idOf(key)
  const headers = { authorization: `Bearer ${key}` }
  const send = (url: string, remoteAddress: string, sent = headers) =>
    app.inject({ url, remoteAddress, headers: sent })
  for (let n = 0; n < 6; n += 1) await send('/api/stats', '192.0.2.77')
  await send('/api/search', '2001:db8:1:2:3::4')
  await send('/api/search', '::ffff:198.51.100.9', {} as typeof headers)
  await send('/api/stats', '198.51.100.9', { authorization: `Bearer ${key}x` })
  const requests = lines.filter(({ msg }) => msg === 'request')
  t.match(requests[0], { key: id, network: '192.0.2.0/24', status: 200 })
  t.match(requests[5], { key: id, network: '192.0.2.0/24' })
  t.match(requests[6], { key: id, network: '2001:db8:1::/48', status: 403 })
  t.match(requests[7], { key: null, network: '198.51.100.0/24', status: 200 })
  t.match(requests[8], { key: null, status: 401 })
  t.notMatch(JSON.stringify(lines), /192\.0\.2\.77|db8:1:2|198\.51\.100\.9/)
  await app.close()
  const [usage] = await db.selectFrom('api_key_usage').selectAll().execute()
  t.match(usage, { key_id: id, calls: '7' })
  t.ok(Number(usage?.refusals) >= 1)
})

t.test('the log, responses and metrics contain no key, token or password (S13)', async (t) => {
  const { databaseUrl } = await servers()
  /** What the service logs and sends, in which no secret may be. */
  const texts: string[] = []
  const logged: string[] = []
  const log = (line: string) => void logged.push(line)
  const metrics = createMetrics()
  const config = { LOG_LEVEL: 'trace', ANONYMOUS_SCOPES: [] }
  const service = await testService(t, { metrics, log, config })
  const { app, db, redis, engine, pool } = service
  const secret = await createApiKey(db, {
    kind: 'secret',
    name: 'ERP',
    scopes: ['search:read', 'stats:read'],
  })
  const publishable = await createApiKey(db, {
    kind: 'publishable',
    name: 'shop',
    scopes: ['search:read'],
    origins: ['https://shop.example'],
  })
  await addQuote(db, 'P-1')
  const token = await createQuoteLink(db, { number: 'P-1' })
  const bearer = { authorization: `Bearer ${secret}` }
  const origin = 'https://shop.example'
  const link = `/quote/share/${token}`

  const requests: [url: string, headers: Record<string, string>][] = [
    ['/api/search?q=x', bearer],
    ['/api/stats', bearer],
    ['/api/search?nonsense=1', bearer],
    ['/nothing', bearer],
    ['/openapi.json', bearer],
    ['/docs', bearer],
    ['/%zz', bearer],
    [`/api/search?q=x&key=${publishable}`, { origin }],
    [`/api/search?q=x&key=${publishable}`, { origin, referer: `https://a.b/?key=${publishable}` }],
    [`/api/stats?key=${publishable}`, { origin }],
    [`/api/nothing?key=${publishable}`, {}],
    [`/api/stats/${publishable}`, {}],
    [`/api/search?kee=${secret}`, {}],
    [`/${secret}`, {}],
    [`/quote/share/${secret}`, {}],
    [`/%zz${secret}`, {}],
    ['/api/stats', { authorization: `Bearer ${secret}x` }],
    ['/api/stats', { authorization: `Bearer ${publishable}` }],
    ['/api/stats', { 'x-request-id': secret, ...bearer }],
    ...[link, `${link}?format=json`, `${link}x`, `${link}/x`, `${link}%zz`, `${link}?format=x`].map(
      (url): [string, Record<string, string>] => [url, { accept: 'application/json' }],
    ),
    [`/quote/share/%2e%2e/${token}`, { accept: 'application/json' }],
  ]
  for (const [url, headers] of requests) {
    const response = await app.inject({ url, headers })
    if (response.statusCode >= 400) texts.push(response.body)
    texts.push(JSON.stringify(response.headers))
  }
  t.ok(logged.length >= requests.length, `${logged.length} lines`)

  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  for (const malformed of [
    `GET ${link} HTTP/9`,
    `GET /api/stats HTTP/1.1\r\nAuthorization Bearer ${secret}`,
    secret,
  ])
    texts.push(await sendBytes(url, `${malformed}\r\n\r\n`))

  const operationsApp = buildApiOperationsApp({
    db,
    redis: redisHealth(redis, service.config.REDIS_PREFIX),
    engine,
    pool,
    metrics,
    readIndexProgress: async () => [],
    readCheckAgeSeconds: async () => 0,
  })
  t.teardown(() => operationsApp.close())
  const { body } = await operationsApp.inject('/metrics')
  t.match(body, /quote\/share/)
  texts.push(body)

  const faultyProxy = await startFaultyProxy(t, service.url)
  const apiUrl = buildRoleUrl(faultyProxy.url, 'api')
  const broken = await testService(t, { log, config, database: service, apiUrl })
  faultyProxy.refuseConnections()
  for (const url of [link, '/api/stats', `/api/search?q=${token}`])
    texts.push((await broken.app.inject({ url, headers: bearer })).body)
  faultyProxy.restore()
  await eventually(async () => logged.some((line) => line.includes('"request failed"')), Boolean)

  const password = new URL(databaseUrl).password
  const secrets = [secret, publishable, secretOf(secret), secretOf(publishable), token, password]
  for (const text of [...texts, ...logged])
    for (const forbidden of secrets) t.notOk(text.includes(forbidden), text.slice(0, 300))
  for (const line of logged) t.doesNotThrow(() => JSON.parse(line))
})

t.test('redacts secrets in the messages of libraries', async (t) => {
  const key = `tqp_0123456789ab_${'x'.repeat(43)}`
  t.equal(
    redactSecrets(`GET /api/search?q=a&key=${key} failed`),
    'GET /api/search?q=a&key=… failed',
  )
  t.equal(redactSecrets(`the key ${key}.`), 'the key tqp_….')
  t.equal(redactSecrets(`/quote/share/${'t'.repeat(43)}?format=pdf`), '/quote/share/…?format=pdf')
  t.equal(
    redactSecrets('connect postgres://user:pass@host:5432/db'),
    'connect postgres://…@host:5432/db',
  )
  t.equal(redactSecrets('{"authorization":"Bearer abc.def"}'), '{"authorization":"Bearer …"}')
  const { err, req } = logSerializers
  const error = Object.assign(new Error(`bad ${key}`), {
    rawPacket: key,
    config: { key },
    code: 'E1',
  })
  t.notMatch(JSON.stringify(err(error)), key)
  t.match(err(error), { code: 'E1', stack: /log\.test/ })
  const wrapped = err(new Error('not read', { cause: error }))
  t.match(wrapped, { message: 'not read', cause: { message: 'bad tqp_…', code: 'E1' } })
  const ownCause = new Error('endless')
  ownCause.cause = ownCause
  t.match(err(ownCause), { cause: { message: 'endless' } })
  t.same(req({ method: 'GET', routeOptions: { url: '/quote/share/:token' } }), {
    method: 'GET',
    route: '/quote/share/:token',
  })
})
