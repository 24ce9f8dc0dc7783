// More work than can be done: what does not fit is refused at once, and what is answered is answered in time.
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { describeApi } from '../../src/app.ts'
import { createApiKey } from '../../src/auth/api-keys.ts'
import type { ServerConfig } from '../../src/config.ts'
import { createMetrics } from '../../src/monitoring/metrics.ts'
import { type FaultyProxy, startFaultyProxy } from '../support/faulty-proxy.ts'
import { createConformanceCheck } from '../support/openapi-conformance.ts'
import { eventually, servers, testService } from '../support/test-service.ts'

async function serviceBehindFaultyProxy(t: Test, config: Partial<ServerConfig> = {}) {
  const { meiliUrls } = await servers()
  const faultyProxy: FaultyProxy = await startFaultyProxy(
    t,
    meiliUrls[Number(process.env.TAP_JOB_ID ?? 0) % meiliUrls.length] ?? '',
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

type Answer = { status: number; headers: IncomingHttpHeaders; body: string }

/** Asks as a client does: what is injected does not come in by the door. */
async function listening(t: Test, { app }: Pick<Awaited<ReturnType<typeof testService>>, 'app'>) {
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  return (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<Answer>((resolve, reject) => {
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
  'searches beyond what the engine can take are 503 with Retry-After, and the rest is answered',
  async (t) => {
    const { app, faultyProxy } = await serviceBehindFaultyProxy(t, { SEARCH_CACHE_MB: 0 })
    t.equal((await app.inject('/api/search?q=x')).json().meta.source, 'index')
    faultyProxy.delayMs = 150
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) => app.inject(`/api/search?q=x${n}`)),
    )
    const answered = answers.filter(({ statusCode }) => statusCode === 200)
    const refused = answers.filter(({ statusCode }) => statusCode === 503)
    t.equal(answered.length + refused.length, 200)
    t.ok(answered.length >= 24, `${answered.length} answered`)
    t.ok(refused.length >= 100, `${refused.length} refused`)
    t.match(refused[0]?.json(), { code: 'unavailable', status: 503, detail: /Try again/ })
    t.equal(refused[0]?.headers['retry-after'], '1')

    faultyProxy.delayMs = 0
    // Tried again, for a turn is waited for no longer than a busy machine may take to give it.
    const statuses = await eventually(
      async () => {
        const burst = await Promise.all(
          Array.from({ length: 40 }, (_, n) => app.inject(`/api/search?q=y${n}`)),
        )
        return new Set(burst.map(({ statusCode }) => statusCode))
      },
      (all) => !all.has(503),
    )
    t.same(statuses, new Set([200]), 'a burst waits its turn')
  },
)

t.test(
  'what is refused at the door is as documented, can be read by pages, and costs the caller nothing',
  async (t) => {
    const service = await serviceBehindFaultyProxy(t, {
      ANONYMOUS_SCOPES: [],
      SEARCH_LIMIT_PER_SECOND: 5,
    })
    const { db, app, faultyProxy, metrics, lines, config } = service
    const ask = await listening(t, service)
    const asking = (key: string) => ({ authorization: `Bearer ${key}` })
    const keyFor = (unlimited: boolean) =>
      createApiKey(db, { kind: 'secret', name: 'ERP', scopes: ['search:read'], unlimited })
    const [crowding, limited] = [asking(await keyFor(true)), asking(await keyFor(false))]
    const origin = 'https://shop.example'
    await createApiKey(db, {
      kind: 'publishable',
      name: 'Shop',
      scopes: ['search:read'],
      origins: [origin],
    })
    await eventually(
      async () => {
        await ask('/api/search?q=known&limit=3', crowding)
        return metrics.values.searchAnswers.get('cache') ?? 0
      },
      (remembered) => remembered > 0,
    )

    faultyProxy.delayMs = 200
    let isOver = false
    const crowd = Array.from({ length: 120 }, async (_, own) => {
      for (let n = 0; !isOver; n += 1) {
        const { status } = await ask(`/api/search?q=x${own}y${n}`, crowding)
        if (status === 503) await new Promise((resolve) => setTimeout(resolve, 20))
      }
    })
    const tried = { ...limited, origin }
    const refused = await eventually(
      () => ask('/api/search?q=new', tried),
      ({ status }) => status === 503,
    )
    const checkConformance = createConformanceCheck(describeApi(config))
    t.equal(checkConformance('/api/search', refused.status, refused.headers, refused.body), null)
    t.match(JSON.parse(refused.body), {
      code: 'unavailable',
      status: 503,
      requestId: refused.headers['x-request-id'],
    })
    t.match(refused.headers, {
      'content-type': 'application/problem+json; charset=utf-8',
      'retry-after': '1',
      'cache-control': 'private, no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      vary: 'Origin',
      'access-control-allow-origin': origin,
    })
    t.match(refused.headers['access-control-expose-headers'], /Retry-After/)

    // Many at once may come while there is room for a moment.
    const areRefused = (answers: { status: number }[]) =>
      answers.filter(({ status }) => status === 503).length >= 30
    const more = await eventually(
      () => Promise.all(Array.from({ length: 40 }, () => ask('/api/search?q=new', limited))),
      areRefused,
    )
    t.ok(areRefused(more), `${more.map(({ status }) => status)}`)
    t.notOk(more.at(-1)?.headers['access-control-allow-origin'])
    const stranger = await eventually(
      () =>
        ask(
          '/api/search?q=new',
          { ...limited, origin: 'https://evil.example', 'x-request-id': 'mine' },
          'HEAD',
        ),
      ({ status }) => status === 503,
    )
    t.match(stranger, {
      status: 503,
      body: '',
      headers: { 'x-request-id': 'mine', vary: 'Origin' },
    })
    t.notOk(stranger.headers['access-control-allow-origin'])

    t.equal(
      (await ask('/api/search?limit=3&q=known', crowding)).status,
      200,
      'what is remembered needs no room',
    )
    t.equal((await ask('/quote/share/none')).status, 404, 'and neither do other paths')
    isOver = true
    await Promise.all(crowd)
    faultyProxy.delayMs = 0
    await eventually(
      () => ask('/api/search?q=new', crowding),
      ({ status }) => status === 200,
    ).then(({ status }) => t.equal(status, 200))

    await app.close()
    const told = lines
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg.startsWith('requests were rejected'))
    const total = told.reduce((sum, line) => sum + line.rejected, 0)
    t.ok(total > 30 && told.length < 5, `${told.length} lines for ${total}`)
    t.equal(metrics.values.rejections.get('/api/search'), total)
    const counted = metrics.requests
      .counts()
      .find(({ route, status }) => route === '/api/search' && status === 503)
    t.ok((counted?.count ?? 0) >= total, 'and all are counted')
  },
)

t.test(
  'a process that is late refuses most of what comes, without a line in the log for each, until it is no longer',
  async (t) => {
    const lines: string[] = []
    const service = await testService(t, {
      config: { SHED_DELAY_MS: 20 },
      log: (line) => lines.push(line),
    })
    const asking = await listening(t, service)
    const ask = async () => (await asking('/api/search')).status
    t.equal(await ask(), 200)
    const until = Date.now() + 1_500
    while (Date.now() < until) {
      const busyUntil = Date.now() + 250
      while (Date.now() < busyUntil);
      await ask()
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    const answers = await Promise.all(Array.from({ length: 30 }, () => asking('/api/search')))
    const refused = answers.filter(({ status }) => status === 503)
    t.ok(refused.length >= 10, `${refused.length} refused`)
    t.match(JSON.parse(refused[0]?.body ?? ''), { code: 'unavailable' })
    t.equal(refused[0]?.headers['content-type'], 'application/problem+json; charset=utf-8')
    t.equal(refused[0]?.headers['retry-after'], '1')
    t.notOk(lines.some((line) => JSON.parse(line).level >= 50))
    t.equal(await eventually(ask, (status) => status === 200), 200)
  },
)
