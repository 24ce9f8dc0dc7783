// The API process: waits for PostgreSQL, stops gracefully, restarts without lost requests.
// Slow: it starts many processes, which stop with a delay.
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { writeCompanyFile } from '../support/database/company.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { fastStart, type RunningProgram, startProgram } from '../support/run-program.ts'
import { bearer, createSecretKey } from '../support/secret-keys.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { withLongerTimeouts } from '../support/service/longer-timeouts.ts'
import { delayedListen, withSlowListen } from '../support/service/slow-listen.ts'
import { testService } from '../support/service/test-service.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

type Api = RunningProgram & { url: string; ops: string; port: number }

/** Returns a function that starts the API on free ports. */
function createStarter(t: Test) {
  const { config } = service
  const directory = createTemporaryDirectory(t, 'start-and-stop')
  writeCompanyFile(directory)
  return async (settings: Record<string, string> = {}, chosenPort?: number): Promise<Api> => {
    const port = chosenPort ?? (await chooseFixedPort())
    const opsPort = await chooseFixedPort()
    const program = startProgram(t, ['src/server.ts'], {
      DATABASE_URL: config.DATABASE_URL,
      REDIS_URL: config.REDIS_URL,
      REDIS_PREFIX: config.REDIS_PREFIX,
      MEILI_URL: config.MEILI_URL,
      MEILI_SEARCH_KEY: config.MEILI_SEARCH_KEY,
      SEARCH_INDEX: config.SEARCH_INDEX,
      ANONYMOUS_SCOPES: 'search:read,stats:read',
      STATS_LIMIT_PER_MINUTE: '1000000',
      SEARCH_LIMIT_PER_SECOND: '1000000',
      LINK_LIMIT_PER_MINUTE: '1000000',
      LINK_GUESS_LIMIT_PER_MINUTE: '1000000',
      COMPANY_FILE: join(directory, 'company.json'),
      PORT: String(port),
      OPS_PORT: String(opsPort),
      ...settings,
    })
    return {
      ...program,
      url: `http://127.0.0.1:${port}`,
      ops: `http://127.0.0.1:${opsPort}`,
      port,
    }
  }
}

const status = (url: string) =>
  fetch(url).then(
    (response) => response.status,
    () => 0,
  )
/** Several processes that start at once on a busy machine take half a minute. */
const startLimitMs = 60_000
const waitForStatus = async (
  t: Test,
  url: string,
  expectedStatus: number,
  program: RunningProgram,
) =>
  t.equal(
    await eventually(
      () => status(url),
      (code) => code === expectedStatus,
      startLimitMs,
    ),
    expectedStatus,
    `${url}\n${program.output()}`,
  )

const service = await testService(t)

// These tests mostly wait and are independent of each other.
t.test('one process', { jobs: 3 }, async (t) => {
  t.test('a stopping process is not ready but serves until the delay is over', async (t) => {
    const api = await createStarter(t)({ STOP_DELAY_SECONDS: '6', KEEP_ALIVE_SECONDS: '620' })
    await waitForStatus(t, `${api.ops}/health/ready`, 200, api)
    const { headers } = await fetch(`${api.url}/api/stats`)
    t.equal(headers.get('keep-alive'), 'timeout=620')
    api.child.kill('SIGTERM')
    await waitForStatus(t, `${api.ops}/health/ready`, 503, api)
    t.equal(await status(`${api.ops}/health/live`), 200)
    t.equal(await status(`${api.url}/api/stats`), 200, 'a new connection is served')
    t.equal(await api.exit, 0, api.output())
  })

  t.test('a signal while the process begins to listen does not make it ready', async (t) => {
    const { db, config } = service
    const key = await createSecretKey(db)
    const faultyProxy = await startFaultyProxy(t, config.DATABASE_URL)
    const api = await createStarter(t)({
      DATABASE_URL: faultyProxy.url,
      STOP_DELAY_SECONDS: '6',
      ...withSlowListen,
    })
    const isWaiting = async () => api.output().includes(delayedListen.message)
    t.ok(await eventually(isWaiting, Boolean, startLimitMs), api.output())
    api.child.kill('SIGTERM')
    await eventually(
      () => status(`${api.url}/api/stats`),
      (code) => code === 200,
      startLimitMs,
    )
    t.equal(await status(`${api.ops}/health/ready`), 503)
    const { status: code } = await fetch(`${api.url}/api/search?sku=A`, { headers: bearer(key) })
    t.equal(code, 200, 'it serves until the delay is over')
    // The statement that records the use of the key ends after the delay.
    faultyProxy.slowText = 'api_key_usage'
    faultyProxy.slowMs = 3_000
    t.equal(await api.exit, 0, api.output())
    t.notMatch(api.output(), /cannot be recorded/)
  })

  t.test('counts a search for the report although another request takes too long', async (t) => {
    const { db, config } = service
    const faultyProxy = await startFaultyProxy(t, config.DATABASE_URL)
    faultyProxy.slowText = 'read_quote_share'
    faultyProxy.slowMs = 600_000
    const api = await createStarter(t)({
      SEARCH_REPORT: 'true',
      DATABASE_URL: faultyProxy.url,
      ...withLongerTimeouts,
    })
    await waitForStatus(t, `${api.ops}/health/ready?need=links`, 200, api)
    t.equal(await status(`${api.url}/api/search?q=alicate`), 200)
    const countSearches = async () => {
      const days = await db.selectFrom('search_report_days').select('searches').execute()
      return days.reduce((sum, { searches }) => sum + Number(searches), 0)
    }
    const before = await countSearches()
    const slow = status(`${api.url}/quote/share/${'x'.repeat(43)}?format=json`)
    const isWaiting = async () => faultyProxy.getSentText().includes('read_quote_share')
    t.ok(await eventually(isWaiting, Boolean))
    const stoppedAt = performance.now()
    api.child.kill('SIGTERM')
    t.equal(await api.exit, 0, api.output())
    t.ok(performance.now() - stoppedAt > 4_000, 'the slow request was waited for')
    t.equal(await slow, 0)
    t.equal(await countSearches(), before + 1)
  })

  t.test('waits for PostgreSQL, logs the reason, and serves when it is reachable', async (t) => {
    const faultyProxy = await startFaultyProxy(t, service.url)
    faultyProxy.refuseConnections()
    const start = createStarter(t)
    const api = await start({ DATABASE_URL: faultyProxy.url })
    await waitForStatus(t, `${api.ops}/health/live`, 200, api)
    t.equal(await status(`${api.ops}/health/ready`), 503)
    t.equal(await status(`${api.url}/api/stats`), 0, 'the API does not listen yet')
    await eventually(
      async () => api.output(),
      (output) => output.includes('waiting: PostgreSQL (DATABASE_URL) is unreachable'),
      startLimitMs,
    )
    t.match(api.output(), /waiting: PostgreSQL \(DATABASE_URL\) is unreachable/)
    faultyProxy.restore()
    await waitForStatus(t, `${api.ops}/health/ready`, 200, api)
    t.equal(await status(`${api.url}/api/stats`), 200)

    // The process survives an outage and reconnects.
    faultyProxy.refuseConnections()
    await waitForStatus(t, `${api.ops}/health/ready?need=links`, 503, api)
    t.equal(await status(`${api.ops}/health/ready`), 200, 'searches are answered meanwhile')
    faultyProxy.restore()
    await waitForStatus(t, `${api.ops}/health/ready?need=links`, 200, api)
    await waitForStatus(t, `${api.url}/quote/share/nothing?format=json`, 404, api)
  })

  t.test('starts although connections break meanwhile', async (t) => {
    const faultyProxy = await startFaultyProxy(t, service.url)
    faultyProxy.cut = { text: 'kysely_migration', times: 4 }
    const start = createStarter(t)
    const api = await start({ DATABASE_URL: faultyProxy.url })
    await waitForStatus(t, `${api.ops}/health/ready`, 200, api)
    t.equal(faultyProxy.cut.times, 0)
    t.match(api.output(), /waiting: PostgreSQL \(DATABASE_URL\) is unreachable: Connection term/)
  })

  t.test('stops with status 0 while it waits for Redis', async (t) => {
    const { config } = service
    const faultyProxy = await startFaultyProxy(t, config.REDIS_URL ?? '')
    faultyProxy.stopForwarding()
    const start = createStarter(t)
    const api = await start({ REDIS_URL: faultyProxy.url })
    await eventually(async () => faultyProxy.countConnections(), Boolean, startLimitMs)
    api.child.kill('SIGTERM')
    t.equal(await api.exit, 0, api.output())
  })

  t.test('stops with status 0 while PostgreSQL does not answer, at start and later', async (t) => {
    const { config } = service
    const start = createStarter(t)
    const faultyProxy = await startFaultyProxy(t, config.DATABASE_URL)
    faultyProxy.slowText = 'kysely_migration'
    faultyProxy.slowMs = 600_000
    const starting = await start({ DATABASE_URL: faultyProxy.url })
    const isChecking = async () => faultyProxy.getSentText().includes('kysely_migration')
    t.ok(await eventually(isChecking, Boolean, startLimitMs))
    starting.child.kill('SIGTERM')
    t.equal(await starting.exit, 0, starting.output())

    faultyProxy.slowText = null
    const serving = await start({ DATABASE_URL: faultyProxy.url })
    await waitForStatus(t, `${serving.ops}/health/ready?need=links`, 200, serving)
    faultyProxy.stopForwarding()
    const response = fetch(`${serving.url}/quote/share/${'x'.repeat(43)}?format=json`)
    response.catch(() => undefined)
    t.ok(await eventually(async () => faultyProxy.countWaitingConnections(), Boolean))
    serving.child.kill('SIGTERM')
    t.equal(await serving.exit, 0, serving.output())
  })

  t.test('exits with the reason after the timeout, and at once for a wrong password', async (t) => {
    const faultyProxy = await startFaultyProxy(t, service.url)
    faultyProxy.refuseConnections()
    const start = createStarter(t)
    const unreachable = await start({ DATABASE_URL: faultyProxy.url, START_TIMEOUT_SECONDS: '1' })
    t.equal(await unreachable.exit, 1)
    t.match(
      unreachable.output(),
      /^PostgreSQL \(DATABASE_URL\) is unreachable: .+ \(waited 1 s\)$/m,
    )
    const wrong = new URL(service.url)
    wrong.password = 'wrong'
    const wrongPassword = await start({ DATABASE_URL: wrong.href })
    t.equal(await wrongPassword.exit, 1)
    t.match(wrongPassword.output(), /password authentication failed/)
    t.notMatch(wrongPassword.output(), /waiting:/)
  })

  t.test(
    'finishes running requests, accepts no new ones, cuts idle connections, exits with 0',
    async (t) => {
      // An own database, so no other test waits for the lock.
      const { db, roles } = await testDatabase(t)
      const start = createStarter(t)
      const api = await start({ DATABASE_URL: roles.api })
      await waitForStatus(t, `${api.ops}/health/ready`, 200, api)
      // A connection without requests must not block the stop.
      const idleConnection = connect(api.port, '127.0.0.1')
      const idleClosed = new Promise((resolve) => idleConnection.once('close', resolve))
      // Only `close` matters: the process may reset the connection.
      idleConnection.on('error', () => undefined)

      // A request that waits for a lock.
      const { response } = await db.transaction().execute(async (transaction) => {
        await sql`lock table quote_shares in access exclusive mode`.execute(transaction)
        const response = fetch(`${api.url}/quote/share/${'x'.repeat(43)}?format=json`)
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
        await waitForStatus(t, `${api.ops}/health/ready`, 503, api)
        await eventually(
          () => status(`${api.url}/api/stats`),
          (code) => code === 0,
        )
        t.equal(await status(`${api.url}/api/stats`), 0, 'no new connection is accepted')
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
})

t.test(
  'starts, serves both ports, stops with status 0, and names every invalid setting',
  async (t) => {
    const { config } = service
    const start = createStarter(t)
    const api = await start({ ANONYMOUS_SCOPES: '' })
    await waitForStatus(t, `${api.ops}/health/live`, 200, api)
    // 401, because a caller without a key has no scope by default.
    await waitForStatus(t, `${api.url}/api/search`, 401, api)
    t.equal(await status(`${api.url}/health/live`), 404, 'health is not on the public port')
    api.child.kill('SIGTERM')
    t.equal(await api.exit, 0, 'stops cleanly')
    for (const line of api.output().trim().split('\n')) t.doesNotThrow(() => JSON.parse(line), line)
    t.notMatch(api.output(), new URL(config.DATABASE_URL).password, 'no password in the log')

    const invalid = await start({
      PORT: '99999',
      DATABASE_URL: 'mysql://x',
      MEILI_SEARCH_KEY: '',
      ANONYMOUS_SCOPES: 'search:write',
    })
    t.equal(await invalid.exit, 1)
    for (const key of ['PORT', 'DATABASE_URL', 'MEILI_SEARCH_KEY', 'ANONYMOUS_SCOPES'])
      t.match(invalid.output(), new RegExp(`^ +${key} `, 'm'))

    const portInUse = await start({ OPS_PORT: new URL(config.MEILI_URL).port })
    t.equal(await portInUse.exit, 1)
    t.match(portInUse.output(), /EADDRINUSE|in use/)
  },
)

t.test('with HOST=localhost, the API has one server, which load shedding protects', async (t) => {
  const preload = import.meta.resolve('../support/service/preload-two-localhosts.ts')
  const api = await createStarter(t)({
    HOST: 'localhost',
    NODE_OPTIONS: `${fastStart.NODE_OPTIONS} --import=${preload}`,
  })
  await waitForStatus(t, `${api.url}/api/stats`, 200, api)
  t.equal(await status(`http://[::1]:${api.port}/api/stats`), 0)
})

t.test(
  'loses no request when two instances behind a proxy restart one after the other',
  async (t) => {
    const start = createStarter(t)
    const instances = [await start(withLongerTimeouts), await start(withLongerTimeouts)]
    for (const api of instances) await waitForStatus(t, `${api.ops}/health/ready`, 200, api)
    const proxyUrl = await startLoadBalancer(
      t,
      instances.map(({ port }) => port),
    )
    const countsByStatus = new Map<number, number>()
    let isStopped = false
    const agent = new Agent({ keepAlive: true })
    t.teardown(() => agent.destroy())
    const paths = ['/api/stats', '/api/search?q=x', `/quote/share/${'x'.repeat(43)}?format=json`]
    const clients = Array.from({ length: 8 }, async (_, client) => {
      for (let number = client; !isStopped; number += 1) {
        const code = await requestStatus(`${proxyUrl}${paths[number % paths.length]}`, agent)
        countsByStatus.set(code, (countsByStatus.get(code) ?? 0) + 1)
        // Without a pause the clients would slow down the start that they wait for.
        await sleep(25)
      }
    })
    for (const [index, api] of instances.entries()) {
      await sleep(300)
      api.child.kill('SIGTERM')
      t.equal(await api.exit, 0, api.output())
      const restarted = await start(withLongerTimeouts, api.port)
      await waitForStatus(t, `${restarted.ops}/health/ready`, 200, restarted)
      instances[index] = restarted
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
