// The connections to a search engine, against real HTTP servers that respond in every way that
// HTTP/1.1 allows.
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import t from 'tap'
import { EngineConnections } from '../../src/search-engine/engine-connections.ts'
import { eventually } from '../support/test-service.ts'

type Test = { teardown(fn: () => unknown): void }

const maxConnections = 128
const receiveTimeoutMs = 10_000

async function listen(server: Server): Promise<URL> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

async function startHttpServer(t: Test, listener: RequestListener) {
  const server = createServer({ keepAliveTimeout: 0 }, listener)
  const pool = new EngineConnections(await listen(server), { authorization: 'Bearer x' })
  t.teardown(() => {
    pool.close()
    server.closeAllConnections()
    server.close()
  })
  return {
    server,
    send: (body: string, signal = AbortSignal.timeout(receiveTimeoutMs)) =>
      pool.send('POST', '/path', body, signal),
  }
}

const longText = `${'añ😀'.repeat(5_000)}\r\n\r\n0\r\n`

t.test(
  'reads responses with a length, in chunks and up to the end of the connection',
  async (t) => {
    const { send } = await startHttpServer(t, async (request, response) => {
      let body = ''
      for await (const chunk of request.setEncoding('utf8')) body += chunk
      const { authorization, host } = request.headers
      t.match(
        { method: request.method, url: request.url, authorization },
        { method: 'POST', url: '/path', authorization: 'Bearer x' },
      )
      t.match(host, /^127\.0\.0\.1:\d+$/)
      if (body === 'length') response.setHeader('content-length', Buffer.byteLength(longText))
      if (body === 'close') response.shouldKeepAlive = false
      if (body === 'unavailable') response.statusCode = 503
      // The writes split multi-byte characters.
      const bytes = Buffer.from(longText)
      for (let start = 0; start < bytes.length; start += 7_001)
        response.write(bytes.subarray(start, start + 7_001))
      response.end()
    })
    for (const [framing, status] of [
      ['length', 200],
      ['chunked', 200],
      ['close', 200],
      ['unavailable', 503],
      ['length', 200],
    ] as const) {
      const response = await send(framing)
      t.equal(response.status, status, framing)
      t.ok(response.body === longText, framing)
    }
  },
)

t.test('reads a response byte by byte and rejects what is not HTTP', async (t) => {
  const responses = [
    'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nto the end',
    'HTTP/1.0 200 OK\r\n\r\nold',
    'SSH-2.0-OpenSSH_9.2p1\r\n\r\n',
    '',
  ]
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', async () => {
      for (const byte of responses.shift() ?? '')
        await new Promise((resolve) => socket.write(byte, resolve))
      socket.end()
    })
  })
  const pool = new EngineConnections(await listen(server), {})
  t.teardown(() => server.close())
  const send = () => pool.send('GET', '/', null, AbortSignal.timeout(receiveTimeoutMs))
  t.equal((await send()).body, 'to the end')
  t.equal((await send()).body, 'old')
  await t.rejects(send(), /HTTP/)
  await t.rejects(send(), /closed/)
})

t.test('answers every request on at most 128 connections and reuses them', async (t) => {
  let [open, mostOpen, opened] = [0, 0, 0]
  const { server, send } = await startHttpServer(
    t,
    (request, response) =>
      void request.resume().on('end', () => setTimeout(() => response.end('x'), 20)),
  )
  server.on('connection', (socket) => {
    opened++
    mostOpen = Math.max(mostOpen, ++open)
    socket.on('close', () => open--)
  })
  t.equal((await Promise.all(Array.from({ length: 400 }, () => send('x')))).length, 400)
  t.equal(mostOpen, maxConnections)
  for (let n = 0; n < 20; n++) await send('x')
  t.equal(opened, maxConnections, 'no further connection is opened')
})

t.test('an abort rejects active and queued requests and closes their connections', async (t) => {
  let [received, closed] = [0, 0]
  const { send } = await startHttpServer(
    t,
    (request, response) =>
      void request.resume().on('end', () => {
        received++
        response.once('close', () => closed++)
      }),
  )
  const stop = new AbortController()
  const requests = Array.from({ length: maxConnections + 12 }, () => send('x', stop.signal))
  await eventually(
    async () => received,
    (count) => count === maxConnections,
  )
  stop.abort(new Error('enough'))
  for (const result of await Promise.allSettled(requests))
    t.match(result, { status: 'rejected', reason: { message: 'enough' } })
  const closedConnections = await eventually(
    async () => closed,
    (count) => count === maxConnections,
  )
  t.equal(closedConnections, maxConnections)
  await t.rejects(send('x', stop.signal), /enough/)
})

t.test('sends a request again if the server closes an idle connection meanwhile', async (t) => {
  const { server, send } = await startHttpServer(
    t,
    (request, response) => void request.resume().on('end', () => response.end('x')),
  )
  for (let n = 0; n < 20; n++) {
    const response = send('x')
    if (n % 2 === 1) server.closeIdleConnections()
    t.equal((await response).body, 'x')
    server.closeIdleConnections()
  }
})

t.test('rejects with the connection error if the server is unreachable', async (t) => {
  const pool = new EngineConnections(new URL('http://127.0.0.1:9'), {})
  const response = pool.send('GET', '/', null, AbortSignal.timeout(receiveTimeoutMs))
  await t.rejects(response, /ECONNREFUSED/)
})
