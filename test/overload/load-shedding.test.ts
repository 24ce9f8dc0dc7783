// Load shedding: rejects requests beyond the capacity at once and answers the others in time.
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { lookUpTimeout } from '../../src/auth/refreshed-cache.ts'
import type { ServerConfig } from '../../src/config.ts'
import { createMetrics } from '../../src/monitoring/process-metrics.ts'
import { maxRunningSearches, queueTimeout } from '../../src/overload/concurrency-limit.ts'
import { logIntervalMs } from '../../src/overload/load-shedding.ts'
import { describeApi } from '../../src/routes.ts'
import { engineTimeout } from '../../src/search-engine/client.ts'
import { indexStateMaxAge } from '../../src/search-engine/index-states.ts'
import { servers } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { createConformanceCheck } from '../support/openapi-conformance.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { bearer, createSecretKey } from '../support/secret-keys.ts'
import { type FaultyProxy, startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { readMetric } from '../support/service/read-metric.ts'
import { testService } from '../support/service/test-service.ts'

// A slow PostgreSQL does not empty the cache, and does not delay the checks of keys.
replaceUntilEnd(t, indexStateMaxAge, { ms: 60_000 })
replaceUntilEnd(t, lookUpTimeout, { ms: 10_000 })

/** Starts a service whose search engine can be delayed. */
async function startServiceBehindFaultyProxy(t: Test, config: Partial<ServerConfig> = {}) {
  const { meiliUrls } = await servers()
  const faultyProxy: FaultyProxy = await startFaultyProxy(
    t,
    meiliUrls[Number(process.env.TEST_PROCESS ?? 0) % meiliUrls.length] ?? '',
  )
  const metrics = createMetrics()
  const lines: string[] = []
  const service = await testService(t, {
    metrics,
    config: { MEILI_URL: faultyProxy.url, ...config },
    log: (line) => lines.push(line),
  })
  return { ...service, faultyProxy, metrics, lines }
}

type HttpResponse = { status: number; headers: IncomingHttpHeaders; body: string }

/**
 * Listens and returns a function that sends requests over connections, because `app.inject`
 * bypasses load shedding.
 */
async function startListening(
  t: Test,
  { app }: Pick<Awaited<ReturnType<typeof testService>>, 'app'>,
) {
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  return (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<HttpResponse>((resolve, reject) => {
      request({ host: '127.0.0.1', port, path, headers, method, agent }, (answer) => {
        let body = ''
        answer.on('data', (chunk) => (body += chunk))
        answer.once('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }),
        )
      })
        .once('error', reject)
        .end()
    })
}

t.test(
  'rejects searches beyond the concurrency limit with 503 and answers the others',
  async (t) => {
    // A slow engine is no failure, and PostgreSQL would answer few searches.
    replaceUntilEnd(t, engineTimeout, { ms: 10_000 })
    const { app, faultyProxy } = await startServiceBehindFaultyProxy(t, { SEARCH_CACHE_MB: 0 })
    const first = await eventually(
      async () => (await app.inject('/api/search?q=x')).json().meta?.source,
      (source) => source === 'index',
    )
    t.equal(first, 'index')
    faultyProxy.delayMs = 150
    const responses = await Promise.all(
      Array.from({ length: 200 }, (_, n) => app.inject(`/api/search?q=x${n}`)),
    )
    const answered = responses.filter(({ statusCode }) => statusCode === 200)
    const rejected = responses.filter(({ statusCode }) => statusCode === 503)
    t.equal(answered.length + rejected.length, 200)
    t.ok(answered.length >= maxRunningSearches, `${answered.length} answered`)
    t.ok(rejected.length >= 100, `${rejected.length} rejected`)
    t.match(rejected[0]?.json(), { code: 'unavailable', status: 503, detail: /Try again/ })
    t.equal(rejected[0]?.headers['retry-after'], '1')

    faultyProxy.delayMs = 0
    // On a busy machine a search may wait longer than the queue allows.
    replaceUntilEnd(t, queueTimeout, { ms: 10_000 })
    // Repeated, because the queue is short at first after rejections.
    const statuses = await eventually(
      async () => {
        const burst = await Promise.all(
          Array.from({ length: 24 }, (_, n) => app.inject(`/api/search?q=y${n}`)),
        )
        return new Set(burst.map(({ statusCode }) => statusCode))
      },
      (all) => !all.has(503),
    )
    t.same(statuses, new Set([200]), 'a burst waits in the queue')
  },
)

t.test(
  'rejects with documented problems that pages can read and that count against no rate limit',
  async (t) => {
    const service = await startServiceBehindFaultyProxy(t, {
      ANONYMOUS_SCOPES: [],
      SEARCH_LIMIT_PER_SECOND: 5,
    })
    const { db, app, faultyProxy, metrics, lines, config } = service
    const send = await startListening(t, service)
    const [unlimitedKey, limitedKey] = [
      bearer(await createSecretKey(db, { unlimited: true })),
      bearer(await createSecretKey(db)),
    ]
    const origin = 'https://shop.example'
    const shopKey = await createApiKey(db, {
      kind: 'publishable',
      name: 'Shop',
      scopes: ['search:read'],
      origins: [origin],
    })
    await eventually(
      async () => {
        await send('/api/search?q=known&limit=3', unlimitedKey)
        return readMetric(metrics, 'tqs_search_answers_total', { source: 'cache' })
      },
      (answers) => answers > 0,
    )

    faultyProxy.delayMs = 200
    const rejectedFrom = performance.now()
    let isStopped = false
    const clients = Array.from({ length: 120 }, async (_, client) => {
      for (let n = 0; !isStopped; n += 1) {
        const { status } = await send(`/api/search?q=x${client}y${n}`, unlimitedKey)
        if (status === 503) await new Promise((resolve) => setTimeout(resolve, 20))
      }
    })
    // A search may be rejected before its key is known, or after it has waited in the queue.
    const rejected = await eventually(
      () => send(`/api/search?q=new&key=${shopKey}`, { origin }),
      ({ status }) => status === 503,
    )
    const checkConformance = createConformanceCheck(describeApi(config))
    t.equal(checkConformance('/api/search', rejected.status, rejected.headers, rejected.body), null)
    t.match(JSON.parse(rejected.body), {
      code: 'unavailable',
      status: 503,
      requestId: rejected.headers['x-request-id'],
    })
    t.match(rejected.headers, {
      'content-type': 'application/problem+json; charset=utf-8',
      'retry-after': '1',
      'cache-control': 'private, no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      vary: 'Origin',
      'access-control-allow-origin': origin,
    })
    t.match(rejected.headers['access-control-expose-headers'], /Retry-After/)

    // A single request may find capacity by chance.
    const areMostlyRejected = (responses: { status: number }[]) =>
      responses.filter(({ status }) => status === 503).length >= 30
    const burst = await eventually(
      () => Promise.all(Array.from({ length: 40 }, () => send('/api/search?q=new', limitedKey))),
      areMostlyRejected,
    )
    t.ok(areMostlyRejected(burst), `${burst.map(({ status }) => status)}`)
    t.notOk(burst.at(-1)?.headers['access-control-allow-origin'])
    // More than a hundred rejections a second have no line each, so it takes a few attempts.
    const hasLine = () => lines.some((line) => /"reqId":"mine".*"status":503/.test(line))
    const otherOrigin = await eventually(
      () =>
        send(
          '/api/search?q=new',
          { ...limitedKey, origin: 'https://evil.example', 'x-request-id': 'mine' },
          'HEAD',
        ),
      ({ status }) => status === 503 && hasLine(),
    )
    t.match(otherOrigin, {
      status: 503,
      body: '',
      headers: { 'x-request-id': 'mine', vary: 'Origin' },
    })
    t.notOk(otherOrigin.headers['access-control-allow-origin'])

    t.equal(
      (await send('/api/search?q=known&limit=3', unlimitedKey)).status,
      200,
      'a cached answer needs no capacity',
    )
    t.equal((await send('/quote/share/none')).status, 404, 'other paths need no capacity')
    isStopped = true
    await Promise.all(clients)
    faultyProxy.delayMs = 0
    await eventually(
      () => send('/api/search?q=new', unlimitedKey),
      ({ status }) => status === 200,
    ).then(({ status }) => t.equal(status, 200))

    await app.close()
    const parsedLines = lines.map((line) => JSON.parse(line))
    const rejectionLines = parsedLines.filter(({ msg }) => msg.startsWith('requests were rejected'))
    const total = rejectionLines.reduce((sum, line) => sum + line.rejected, 0)
    const ms = performance.now() - rejectedFrom
    const mostLines = Math.ceil(ms / logIntervalMs) + 1
    t.ok(
      total > 30 && rejectionLines.length <= mostLines,
      `${rejectionLines.length} lines for ${total} in ${Math.round(ms)} ms`,
    )
    t.equal(await readMetric(metrics, 'tqs_shed_requests_total', { route: '/api/search' }), total)
    t.match(
      parsedLines.find(({ reqId, status }) => reqId === 'mine' && status === 503),
      { msg: 'request', route: '/api/search', code: 'unavailable', reason: 'overload' },
      'a rejected request can be looked up',
    )
    const singleLines = parsedLines.filter(({ reason, ms }) => reason === 'overload' && ms == null)
    const unlogged = rejectionLines.reduce((sum, line) => sum + line.unlogged, 0)
    t.equal(singleLines.length + unlogged, total)
    const counted = metrics.requests
      .counts()
      .find(({ route, status }) => route === '/api/search' && status === 503)
    t.ok((counted?.count ?? 0) >= total, 'every rejection is counted')
  },
)

t.test(
  'rejects most requests while the event loop is late, and logs one line for all',
  async (t) => {
    const lines: string[] = []
    const service = await testService(t, {
      config: { SHED_DELAY_MS: 20 },
      log: (line) => lines.push(line),
    })
    const send = await startListening(t, service)
    const searchStatus = async () => (await send('/api/search')).status
    // Starting the service delays the event loop too.
    t.equal(await eventually(searchStatus, (status) => status === 200), 200)
    const linkPath = `/quote/share/${'A'.repeat(43)}`
    const sendWhileLate = async () => {
      // Blocks the event loop for most of 1.5 s.
      const endsAt = Date.now() + 1_500
      while (Date.now() < endsAt) {
        const busyUntil = Date.now() + 250
        while (Date.now() < busyUntil);
        await searchStatus()
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
      const [responses, pages] = await Promise.all([
        Promise.all(Array.from({ length: 30 }, () => send('/api/search'))),
        Promise.all(Array.from({ length: 60 }, () => send(linkPath, { accept: 'text/html' }))),
      ])
      return {
        rejected: responses.filter(({ status }) => status === 503),
        page: pages.find(({ status }) => status === 503),
      }
    }
    // Repeated, because the event loop is not late while it waits for slow servers.
    const { rejected, page } = await eventually(
      sendWhileLate,
      (attempt) => attempt.rejected.length >= 10 && attempt.page !== undefined,
    )
    t.ok(rejected.length >= 10, `${rejected.length} rejected`)
    t.match(JSON.parse(rejected[0]?.body ?? ''), { code: 'unavailable' })
    t.equal(rejected[0]?.headers['content-type'], 'application/problem+json; charset=utf-8')
    t.equal(rejected[0]?.headers['retry-after'], '1')
    t.match(page?.headers, {
      'content-type': 'text/html; charset=utf-8',
      'retry-after': '1',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
    })
    t.match(page?.body, 'No disponible en este momento', 'a customer gets a page')
    t.notOk(lines.some((line) => JSON.parse(line).level >= 50))
    t.equal(await eventually(searchStatus, (status) => status === 200), 200)
  },
)
