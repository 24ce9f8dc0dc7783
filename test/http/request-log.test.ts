// The log: one JSON line for each request with its request id, and no secrets (S13, S37).
import { connect } from 'node:net'
import t from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { buildOperationsApp } from '../../src/monitoring/health-endpoints.ts'
import { logSerializers, redactSecrets } from '../../src/monitoring/log-redaction.ts'
import { createMetrics } from '../../src/monitoring/metrics.ts'
import { createShareLink } from '../../src/quotes/share-links.ts'
import { addQuote } from '../support/add-quote.ts'
import { asRole } from '../support/database-roles.ts'
import { startFaultyProxy } from '../support/faulty-proxy.ts'
import { eventually, servers, testService } from '../support/test-service.ts'

type Line = { level: number; reqId?: string; msg: string; route?: string | null; status?: number }

t.test(
  'logs one line for each request, with the request id of the response or of the caller',
  async (t) => {
    const lines: Line[] = []
    const { app } = await testService(t, { log: (line) => lines.push(JSON.parse(line)) })
    const ask = async (url: string, id?: string) =>
      (await app.inject({ url, headers: id === undefined ? {} : { 'x-request-id': id } })).headers[
        'x-request-id'
      ]
    const own = await ask('/api/search?q=x')
    t.match(own, /^[0-9a-f]{10}-\w+$/)
    t.not(await ask('/api/search?q=x'), own)
    t.equal(await ask('/api/stats', 'erp-42.A_b'), 'erp-42.A_b')
    t.equal(await ask('/nothing', 'x'.repeat(64)), 'x'.repeat(64))
    for (const bad of [
      '',
      'x'.repeat(65),
      'a b',
      'a\tb',
      '<script>',
      'é',
      '{"a":1}',
      `tqs_000000000000_${'x'.repeat(20)}`,
    ]) {
      t.match(await ask('/api/stats', bad), /^[0-9a-f]{10}-\w+$/, JSON.stringify(bad))
    }
    const requests = lines.filter(({ msg }) => msg === 'request')
    t.equal(requests.length, 12)
    t.match(requests[2], { reqId: 'erp-42.A_b', route: '/api/stats', status: 200 })
    t.match(requests[3], { route: null, status: 404 })
    t.same(Object.keys(requests[0] ?? {}).sort(), [
      'hostname',
      'level',
      'method',
      'ms',
      'msg',
      'pid',
      'reqId',
      'route',
      'status',
      'time',
    ])
    const problem = (await app.inject('/api/search?limit=x')).json()
    t.equal(lines.findLast(({ msg }) => msg === 'request')?.reqId, problem.requestId)
  },
)

t.test('logs and sends no API key, token of a quote link or password', async (t) => {
  const { databaseUrl } = await servers()
  const written: string[] = []
  const metrics = createMetrics()
  const service = await testService(t, {
    metrics,
    log: (line) => written.push(line),
    config: { LOG_LEVEL: 'trace', ANONYMOUS_SCOPES: [] },
  })
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
  const token = await createShareLink(db, { number: 'P-1' })
  const password = new URL(databaseUrl).password
  const secrets = [secret, publishable, token, secret.slice(17), publishable.slice(17), password]

  const shown: string[] = []
  const ask = async (url: string, headers: Record<string, string> = {}) => {
    const answer = await app.inject({ url, headers })
    if (answer.statusCode >= 400) shown.push(answer.body)
    shown.push(JSON.stringify(answer.headers))
  }
  const bearer = { authorization: `Bearer ${secret}` }
  for (const url of [
    '/api/search?q=x',
    '/api/stats',
    '/api/search?nonsense=1',
    '/nothing',
    '/openapi.json',
    '/docs',
    '/%zz',
  ])
    await ask(url, bearer)
  await ask(`/api/search?q=x&key=${publishable}`, { origin: 'https://shop.example' })
  await ask(`/api/stats?key=${publishable}`, { origin: 'https://shop.example' })
  await ask(`/api/nothing?key=${publishable}`)
  await ask('/api/stats', { authorization: `Bearer ${secret}x` })
  await ask('/api/stats', { authorization: `Bearer ${publishable}` })
  await ask('/api/stats', { 'x-request-id': secret, ...bearer })
  for (const url of [
    `/quote/share/${token}`,
    `/quote/share/${token}?format=json`,
    `/quote/share/${token}x`,
    `/quote/share/${token}/x`,
    `/quote/share/${token}%zz`,
    `/quote/share/%2e%2e/${token}`,
    `/quote/share/${token}?format=x`,
  ]) {
    await ask(url, { accept: 'application/json' })
  }
  // Malformed HTTP.
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  for (const garbage of [
    `GET /quote/share/${token} HTTP/9\r\n\r\n`,
    `GET /api/stats HTTP/1.1\r\nAuthorization Bearer ${secret}\r\n\r\n`,
    `${secret}\r\n\r\n`,
  ]) {
    shown.push(
      await new Promise<string>((resolve) => {
        let answer = ''
        const socket = connect(Number(port), '127.0.0.1', () => socket.write(garbage))
        socket.on('data', (chunk) => {
          answer += chunk
        })
        socket.on('close', () => resolve(answer))
      }),
    )
  }

  // While PostgreSQL is unreachable.
  const faultyProxy = await startFaultyProxy(t, service.url)
  const broken = await testService(t, {
    log: (line) => written.push(line),
    config: { LOG_LEVEL: 'trace' },
    database: service,
    apiUrl: asRole(faultyProxy.url, 'api'),
  })
  faultyProxy.refuseConnections()
  for (const url of [`/quote/share/${token}`, '/api/stats', `/api/search?q=${token}`])
    shown.push(
      (await broken.app.inject({ url, headers: { accept: 'application/json', ...bearer } })).body,
    )
  faultyProxy.restore()

  shown.push(
    (
      await buildOperationsApp({
        db,
        redis,
        engine,
        pool,
        metrics,
        readIndexProgress: async () => null,
      }).inject('/metrics')
    ).body,
  )
  await eventually(
    async () => written.some((line) => line.includes('"request failed"')),
    (failed) => failed,
  )
  t.ok(written.length > 25, `${written.length} lines`)
  for (const text of [...written, ...shown]) {
    for (const one of secrets) t.notOk(text.includes(one), text.slice(0, 300))
  }
  for (const line of written) t.doesNotThrow(() => JSON.parse(line))
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
  t.same(req({ method: 'GET', routeOptions: { url: '/quote/share/:token' } }), {
    method: 'GET',
    route: '/quote/share/:token',
  })
})
