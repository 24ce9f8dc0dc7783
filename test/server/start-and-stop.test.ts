// The API process: waits for PostgreSQL, stops gracefully, restarts without lost requests.
// Slow: it starts many processes, which stop with a delay.
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { fastStart } from '../support/run-program.ts'
import { bearer, createSecretKey } from '../support/secret-keys.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { withLongerTimeouts } from '../support/service/longer-timeouts.ts'
import { delayedListen, withSlowListen } from '../support/service/slow-listen.ts'
import {
  type RunningApi,
  spawnApi,
  startApi,
  testService,
} from '../support/service/test-service.ts'

const service = await testService(t)
const { db, config } = service
const quoteLink = `/quote/share/${'x'.repeat(43)}?format=json`

const status = (url: string) =>
  fetch(url).then(
    (response) => response.status,
    () => 0,
  )
/** Several processes that start at once on a busy machine take half a minute. */
const startLimitMs = 60_000
const waitFor = (isSo: () => unknown) => eventually(async () => isSo(), Boolean, startLimitMs)
async function waitForStatus(t: Test, url: string, expected: number, api: RunningApi) {
  const code = await eventually(
    () => status(url),
    (found) => found === expected,
    startLimitMs,
  )
  t.equal(code, expected, `${url}\n${api.output()}`)
}

async function expectStop(t: Test, api: RunningApi): Promise<void> {
  api.child.kill('SIGTERM')
  t.equal(await api.exit, 0, api.output())
}

// These tests mostly wait and are independent of each other.
t.test('one process', { jobs: 3 }, async (t) => {
  t.test('a stopping process is not ready but serves until the delay is over', async (t) => {
    const key = await createSecretKey(db)
    const proxy = await startFaultyProxy(t, config.DATABASE_URL)
    const api = await spawnApi(t, service, {
      DATABASE_URL: proxy.url,
      STOP_DELAY_SECONDS: '6',
      KEEP_ALIVE_SECONDS: '620',
      ...withSlowListen,
    })
    t.ok(await waitFor(() => api.output().includes(delayedListen.message)), api.output())
    // A signal before it listens does not keep it from serving, but from being ready.
    api.child.kill('SIGTERM')
    await waitForStatus(t, `${api.url}/api/stats`, 200, api)
    t.equal(await status(`${api.opsUrl}/health/ready`), 503)
    t.equal(await status(`${api.opsUrl}/health/live`), 200)
    const response = await fetch(`${api.url}/api/search?sku=A`, { headers: bearer(key) })
    t.equal(response.status, 200, 'it serves until the delay is over')
    t.equal(response.headers.get('keep-alive'), 'timeout=620')
    // The statement that records the use of the key ends after the delay.
    proxy.slowText = 'api_key_usage'
    proxy.slowMs = 3_000
    t.equal(await api.exit, 0, api.output())
    t.notMatch(api.output(), /cannot be recorded/)
  })

  t.test('counts a search for the report although another request takes too long', async (t) => {
    const proxy = await startFaultyProxy(t, config.DATABASE_URL)
    proxy.slowText = 'read_quote_share'
    proxy.slowMs = 600_000
    const env = { SEARCH_REPORT: 'true', DATABASE_URL: proxy.url, ...withLongerTimeouts }
    const api = await startApi(t, service, env)
    t.equal(await status(`${api.url}/api/search?q=alicate`), 200)
    const countSearches = async () => {
      const days = await db.selectFrom('search_report_days').select('searches').execute()
      return days.reduce((sum, { searches }) => sum + Number(searches), 0)
    }
    const before = await countSearches()
    const slow = status(`${api.url}${quoteLink}`)
    t.ok(await waitFor(() => proxy.getSentText().includes('read_quote_share')))
    const stoppedAt = performance.now()
    await expectStop(t, api)
    t.ok(performance.now() - stoppedAt > 4_000, 'the slow request was waited for')
    t.equal(await slow, 0)
    t.equal(await countSearches(), before + 1)
  })

  t.test('waits for PostgreSQL, logs the reason, and serves when it is reachable', async (t) => {
    const proxy = await startFaultyProxy(t, service.url)
    proxy.refuseConnections()
    const api = await spawnApi(t, service, { DATABASE_URL: proxy.url })
    await waitForStatus(t, `${api.opsUrl}/health/live`, 200, api)
    t.equal(await status(`${api.opsUrl}/health/ready`), 503)
    t.equal(await status(`${api.url}/api/stats`), 0, 'the API does not listen yet')
    const reason = 'waiting: PostgreSQL (DATABASE_URL) is unreachable'
    t.ok(await waitFor(() => api.output().includes(reason)))
    // It also waits while connections break during its checks.
    proxy.cut = { text: 'kysely_migration', times: 4 }
    proxy.restore()
    await waitForStatus(t, `${api.opsUrl}/health/ready`, 200, api)
    t.equal(proxy.cut.times, 0)
    t.match(api.output(), `${reason}: Connection term`)
    t.equal(await status(`${api.url}/api/stats`), 200)

    // The process survives an outage and reconnects.
    proxy.refuseConnections()
    await waitForStatus(t, `${api.opsUrl}/health/ready?need=links`, 503, api)
    t.equal(await status(`${api.opsUrl}/health/ready`), 200, 'searches are answered meanwhile')
    proxy.restore()
    await waitForStatus(t, `${api.opsUrl}/health/ready?need=links`, 200, api)
    await waitForStatus(t, `${api.url}/quote/share/nothing?format=json`, 404, api)
  })

  t.test('stops with status 0 while it waits for Redis', async (t) => {
    const proxy = await startFaultyProxy(t, config.REDIS_URL ?? '')
    proxy.stopForwarding()
    const api = await spawnApi(t, service, { REDIS_URL: proxy.url })
    await waitFor(() => proxy.countConnections())
    await expectStop(t, api)
  })

  t.test('stops with status 0 while PostgreSQL does not answer, at start and later', async (t) => {
    const proxy = await startFaultyProxy(t, config.DATABASE_URL)
    proxy.slowText = 'kysely_migration'
    proxy.slowMs = 600_000
    const starting = await spawnApi(t, service, { DATABASE_URL: proxy.url })
    t.ok(await waitFor(() => proxy.getSentText().includes('kysely_migration')))
    await expectStop(t, starting)

    proxy.slowText = null
    const serving = await startApi(t, service, { DATABASE_URL: proxy.url })
    proxy.stopForwarding()
    void status(`${serving.url}${quoteLink}`)
    t.ok(await waitFor(() => proxy.countWaitingConnections()))
    await expectStop(t, serving)
  })

  t.test('exits with the reason after the timeout, and at once if waiting is no use', async (t) => {
    const refusing = await startFaultyProxy(t, service.url)
    refusing.refuseConnections()
    const wrong = new URL(service.url)
    wrong.password = 'wrong'
    const rows: [env: Record<string, string>, output: RegExp][] = [
      [
        { DATABASE_URL: refusing.url, START_TIMEOUT_SECONDS: '1' },
        /^PostgreSQL \(DATABASE_URL\) is unreachable: .+ \(waited 1 s\)$/m,
      ],
      [{ DATABASE_URL: wrong.href }, /^(?!.*waiting:).*password authentication failed/s],
      [{ OPS_PORT: new URL(config.MEILI_URL).port }, /EADDRINUSE|in use/],
      [{ PORT: '99999', ANONYMOUS_SCOPES: 'x' }, /^ +PORT .*\n( .*\n)*? +ANONYMOUS_SCOPES /m],
    ]
    for (const [env, output] of rows) {
      const api = await spawnApi(t, service, env)
      t.equal(await api.exit, 1)
      t.match(api.output(), output)
    }
  })

  t.test(
    'finishes running requests, accepts no new ones, cuts idle connections, exits with 0',
    async (t) => {
      // An own database, so no other test waits for the lock.
      const own = await testDatabase(t)
      const api = await startApi(t, service, { DATABASE_URL: own.roles.api })
      // A connection without requests must not block the stop.
      const idleConnection = connect(Number(api.port), '127.0.0.1')
      const idleClosed = new Promise((resolve) => idleConnection.once('close', resolve))
      // Only `close` matters: the process may reset the connection.
      idleConnection.on('error', () => undefined)

      // A request that waits for a lock.
      const { response } = await own.db.transaction().execute(async (transaction) => {
        await sql`lock table quote_shares in access exclusive mode`.execute(transaction)
        const response = fetch(`${api.url}${quoteLink}`)
        await eventually(
          async () => {
            const { rows } = await sql`
              select from pg_locks join pg_database d on d.oid = database
              where not granted and relation = 'quote_shares'::regclass
                and datname = current_database()
            `.execute(transaction)
            return rows.length
          },
          (waiting) => waiting > 0,
        )
        api.child.kill('SIGTERM')
        await waitForStatus(t, `${api.opsUrl}/health/ready`, 503, api)
        await waitForStatus(t, `${api.url}/api/stats`, 0, api)
        t.equal(api.child.exitCode, null, 'the process waits for the request')
        // In an object, because the transaction must end before the response arrives.
        return { response }
      })
      const { status: code, headers } = await response
      t.equal(code, 404)
      t.equal(headers.get('connection'), 'close')
      const startedAt = performance.now()
      t.equal(await api.exit, 0, api.output())
      await idleClosed
      t.ok(performance.now() - startedAt < 15_000, 'within its time limit')
    },
  )

  t.test('serves both ports, writes JSON without secrets, and stops with status 0', async (t) => {
    const api = await startApi(t, service, { ANONYMOUS_SCOPES: '' })
    t.equal(await status(`${api.opsUrl}/health/live`), 200)
    t.equal(await status(`${api.url}/api/search`), 401, 'no caller without a key has a scope')
    t.equal(await status(`${api.url}/health/live`), 404, 'health is not on the public port')
    await expectStop(t, api)
    for (const line of api.output().trim().split('\n')) t.doesNotThrow(() => JSON.parse(line), line)
    t.notMatch(api.output(), new URL(config.DATABASE_URL).password, 'no password in the log')
  })

  t.test('with HOST=localhost, it has one server, which load shedding protects', async (t) => {
    const preload = import.meta.resolve('../support/service/preload-two-localhosts.ts')
    const NODE_OPTIONS = `${fastStart.NODE_OPTIONS} --import=${preload}`
    const api = await startApi(t, service, { HOST: 'localhost', NODE_OPTIONS })
    t.equal(await status(`${api.url}/api/stats`), 200)
    t.equal(await status(`http://[::1]:${api.port}/api/stats`), 0)
  })
})

t.test(
  'loses no request when two instances behind a proxy restart one after the other',
  async (t) => {
    const start = (env: Record<string, string> = {}) =>
      startApi(t, service, { ...withLongerTimeouts, ...env })
    const instances = await Promise.all([start(), start()])
    const proxyUrl = await startLoadBalancer(
      t,
      instances.map(({ port }) => Number(port)),
    )
    const countsByStatus = new Map<number, number>()
    let isStopped = false
    const agent = new Agent({ keepAlive: true })
    t.teardown(() => agent.destroy())
    const paths = ['/api/stats', '/api/search?q=x', quoteLink]
    const clients = Array.from({ length: 8 }, async (_, client) => {
      for (let number = client; !isStopped; number += 1) {
        const code = await requestStatus(`${proxyUrl}${paths[number % paths.length]}`, agent)
        countsByStatus.set(code, (countsByStatus.get(code) ?? 0) + 1)
        // Without a pause the clients would slow down the start that they wait for.
        await sleep(25)
      }
    })
    for (const api of instances) {
      await sleep(300)
      await expectStop(t, api)
      await start({ PORT: api.port })
    }
    await sleep(300)
    isStopped = true
    await Promise.all(clients)
    const counts = Object.fromEntries(countsByStatus)
    t.same(Object.keys(counts).sort(), ['200', '404'], JSON.stringify(counts))
    t.ok((counts[200] ?? 0) > 200, JSON.stringify(counts))
  },
)

/** Returns the status of the response, or 0 if there was no complete response. */
function requestStatus(url: string, agent: Agent): Promise<number> {
  return new Promise((resolve) => {
    request(url, { agent }, (answer: IncomingMessage) => {
      answer.resume()
      answer.once('end', () => resolve(answer.complete ? (answer.statusCode ?? 0) : 0))
      answer.once('error', () => resolve(0))
    })
      .once('error', () => resolve(0))
      .end()
  })
}

/**
 * Starts a round-robin proxy with keep-alive connections and returns its URL. It repeats a GET at
 * the other instance if no response arrived.
 */
async function startLoadBalancer(t: Test, ports: number[]): Promise<string> {
  const agent = new Agent({ keepAlive: true })
  let requestCount = 0
  const server = createServer((incoming, outgoing) => {
    const first = requestCount++
    const send = (attempt: number): void => {
      if (attempt > 2 * ports.length) return void outgoing.writeHead(502).end()
      request(
        {
          host: '127.0.0.1',
          port: ports[(first + attempt) % ports.length],
          path: incoming.url,
          method: incoming.method,
          agent,
        },
        (answer) => {
          const { connection: _own, ...headers } = answer.headers
          outgoing.writeHead(answer.statusCode ?? 502, headers)
          answer.once('error', () => outgoing.destroy())
          answer.pipe(outgoing)
        },
      )
        .once('error', () => (outgoing.headersSent ? outgoing.destroy() : send(attempt + 1)))
        .end()
    }
    send(0)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    agent.destroy()
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
