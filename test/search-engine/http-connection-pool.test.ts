// The connections that the engine is asked on, against real HTTP servers that answer in every way there is.
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import t from 'tap'
import { openHttpPool } from '../../src/search-engine/http-connection-pool.ts'
import { eventually } from '../support/test-service.ts'

type Test = { teardown(fn: () => unknown): void }

async function serve(t: Test, listener: RequestListener) {
  const server = createServer({ keepAliveTimeout: 0 }, listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const pool = openHttpPool(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), {
    authorization: 'Bearer x',
  })
  t.teardown(() => {
    pool.close()
    server.closeAllConnections()
    server.close()
  })
  return {
    server,
    pool,
    send: (body: string, signal = AbortSignal.timeout(10_000)) =>
      pool.send('POST', '/path', body, signal),
  }
}

const text = `${'añ😀'.repeat(5_000)}\r\n\r\n0\r\n`

t.test(
  'sends what it is told, and reads replies with a length, in chunks and up to the end',
  async (t) => {
    const { send } = await serve(t, async (request, reply) => {
      let body = ''
      for await (const chunk of request.setEncoding('utf8')) body += chunk
      const { authorization, host } = request.headers
      t.match(
        { method: request.method, url: request.url, authorization },
        { method: 'POST', url: '/path', authorization: 'Bearer x' },
      )
      t.match(host, /^127\.0\.0\.1:\d+$/)
      if (body === 'length') reply.setHeader('content-length', Buffer.byteLength(text))
      if (body === 'close') reply.shouldKeepAlive = false
      if (body === 'refuse') reply.statusCode = 503
      // In pieces that cut letters apart.
      const bytes = Buffer.from(text)
      for (let start = 0; start < bytes.length; start += 7_001)
        reply.write(bytes.subarray(start, start + 7_001))
      reply.end()
    })
    for (const [way, status] of [
      ['length', 200],
      ['chunked', 200],
      ['close', 200],
      ['refuse', 503],
      ['length', 200],
    ] as const) {
      const reply = await send(way)
      t.equal(reply.status, status, way)
      t.ok(reply.body === text, way)
    }
  },
)

t.test(
  'reads a reply that ends with its connection, byte by byte, and refuses what is no HTTP',
  async (t) => {
    const replies = [
      'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nto the end',
      'HTTP/1.0 200 OK\r\n\r\nold',
      'SSH-2.0-OpenSSH_9.2p1\r\n\r\n',
      '',
    ]
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', async () => {
        for (const byte of replies.shift() ?? '')
          await new Promise((resolve) => socket.write(byte, resolve))
        socket.end()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const pool = openHttpPool(
      new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
      {},
    )
    const send = () => pool.send('GET', '/', '', AbortSignal.timeout(10_000))
    t.equal((await send()).body, 'to the end')
    t.equal((await send()).body, 'old')
    await t.rejects(send(), /not an HTTP/)
    await t.rejects(send(), /closed/)
  },
)

t.test('keeps connections, never more than 128, and everybody is answered', async (t) => {
  let [open, most, made] = [0, 0, 0]
  const { server, send } = await serve(
    t,
    (request, reply) => void request.resume().on('end', () => setTimeout(() => reply.end('x'), 20)),
  )
  server.on('connection', (socket) => {
    made++
    most = Math.max(most, ++open)
    socket.on('close', () => open--)
  })
  t.equal((await Promise.all(Array.from({ length: 400 }, () => send('x')))).length, 400)
  t.equal(most, 128)
  for (let n = 0; n < 20; n++) await send('x')
  t.equal(made, 128, 'and uses them again')
})

t.test(
  'who ends the wait hears so at once, waiting for a connection or for an answer, and the server sees it',
  async (t) => {
    let closed = 0
    const { send } = await serve(
      t,
      (request, reply) =>
        void request.resume().on('end', () => reply.once('close', () => closed++)),
    )
    const stop = new AbortController()
    const waiting = Array.from({ length: 140 }, () => send('x', stop.signal))
    await eventually(
      async () => waiting.length,
      () => true,
    )
    await new Promise((resolve) => setTimeout(resolve, 100))
    stop.abort(new Error('enough'))
    for (const result of await Promise.allSettled(waiting))
      t.match(result, { status: 'rejected', reason: { message: 'enough' } })
    t.equal(
      await eventually(
        async () => closed,
        (count) => count === 128,
      ),
      128,
    )
    await t.rejects(send('x', stop.signal), /enough/)
  },
)

t.test('a connection that the server closed meanwhile is replaced without a word', async (t) => {
  const { server, send } = await serve(
    t,
    (request, reply) => void request.resume().on('end', () => reply.end('x')),
  )
  for (let n = 0; n < 20; n++) {
    const answer = send('x')
    if (n % 2 === 1) server.closeIdleConnections()
    t.equal((await answer).body, 'x')
    server.closeIdleConnections()
  }
})

t.test('a server that is away is an error', async (t) => {
  const pool = openHttpPool(new URL('http://127.0.0.1:9'), {})
  await t.rejects(pool.send('GET', '/', '', AbortSignal.timeout(10_000)), /ECONNREFUSED/)
})
