// Every error is a problem response, even for malformed HTTP and slow requests.
// Numbers such as S13 are those of the attacks in docs/security.md.
import { connect } from 'node:net'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { registerErrorHandlers } from '../../src/http/error-handlers.ts'
import { Problem } from '../../src/http/problem-details.ts'
import { logSerializers } from '../../src/monitoring/log/log-redaction.ts'
import { sendBytes } from '../support/send-bytes.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { startServiceWithLink } from '../support/service/service-with-link.ts'
import { testService } from '../support/service/test-service.ts'

lengthenTimeouts(t)
// One test mostly waits.
t.jobs = 2

type RawResponse = { status: number; headers: Record<string, string>; body: string }

function parseResponse(text: string): RawResponse {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [statusLine = '', ...lines] = head.split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.split(':', 1)[0]?.toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  )
  return { status: Number(statusLine.split(' ')[1]), headers, body: rest.join('\r\n\r\n') }
}

function assertProblem(
  t: Test,
  { status, headers, body }: RawResponse,
  expected: { status: number; code: string },
  name: string,
): void {
  t.equal(status, expected.status, `${name}: ${body}`)
  t.equal(headers['content-type'], 'application/problem+json; charset=utf-8', name)
  const problem = JSON.parse(body)
  t.match(
    problem,
    { type: /^urn:/, title: String, status, detail: String, code: expected.code, requestId: /.+/ },
    name,
  )
  t.equal(headers['x-request-id'], problem.requestId, name)
}

const lines: string[] = []
const { app } = await testService(t, {
  config: { ALLOWED_HOSTS: ['*'] },
  log: (line) => lines.push(line),
})
const url = await app.listen({ host: '127.0.0.1', port: 0 })
const send = async (text: string) => parseResponse(await sendBytes(url, text))

t.test(
  'no key can be read in the problem or log line of a malformed or large request (S13)',
  async (t) => {
    const secret = 'tqs_000000000000_ThisMustNotComeBack'
    const malformedRequest = { status: 400, code: 'invalid_parameter' }
    for (const [name, text, expected = malformedRequest] of [
      ['garbage', `\x16\x03\x01\x02\x00\x01 ${secret}\r\n\r\n`],
      ['another method', `FROBNICATE /api/search?key=${secret} HTTP/1.1\r\nHost: x\r\n\r\n`],
      ['another version', `GET /api/search?key=${secret} HTTP/9.9\r\nHost: x\r\n\r\n`],
      ['a header without a name', 'GET /api/search HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n'],
      [
        'a line feed in a header',
        `GET /api/search HTTP/1.1\r\nHost: x\r\nX: ${secret}\n\0\r\n\r\n`,
      ],
      [
        'two lengths',
        'GET /api/search HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      ],
      [
        'a length and chunks',
        'POST /api/search HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n' +
          'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      ],
      [
        'a large header',
        `GET /api/search HTTP/1.1\r\nHost: x\r\nX: ${secret.repeat(2_000)}\r\n\r\n`,
        { status: 431, code: 'invalid_parameter' },
      ],
      [
        'a long address',
        `GET /api/search?q=${secret.repeat(2_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
        { status: 431, code: 'invalid_parameter' },
      ],
    ] as const) {
      const response = await send(text)
      assertProblem(t, response, expected, name)
      t.notMatch(response.body, 'ThisMustNotComeBack', name)
    }
    t.notMatch(lines.join(''), 'ThisMustNotComeBack')
    t.equal((await fetch(`${url}/api/search`)).status, 200, 'the process still responds')
  },
)

t.test('only HTTP/1.0 needs no Host, and every valid form of Host is accepted', async (t) => {
  t.equal((await send('GET /api/search HTTP/1.1\r\n\r\n')).status, 400)
  t.equal((await send('GET /api/search HTTP/1.0\r\n\r\n')).status, 200)
  const rest = 'Connection: close\r\n\r\n'
  const hosts = ['', 'x:', '[::1]:3000', '127.0.0.1:80', 'my_host.example', 'b%C3%BCcher.example']
  for (const host of hosts)
    t.equal((await send(`GET /api/search HTTP/1.1\r\nHost: ${host}\r\n${rest}`)).status, 200, host)
})

t.test(
  'answers other methods with 405 on known paths and 404 elsewhere, without reading a body',
  async (t) => {
    const methods = 'POST PUT PATCH DELETE OPTIONS TRACE PROPFIND SEARCH PURGE MKCOL M-SEARCH'
    for (const method of methods.split(' '))
      for (const [path, status, code] of [
        ['/api/search', 405, 'method_not_allowed'],
        ['/api/stats', 405, 'method_not_allowed'],
        ['/quote/share/x', 405, 'method_not_allowed'],
        ['/nothing', 404, 'not_found'],
      ] as const) {
        const headers = 'Host: x\r\nConnection: close\r\nAccept: application/json\r\n'
        const response = await send(`${method} ${path} HTTP/1.1\r\n${headers}\r\n`)
        assertProblem(t, response, { status, code }, `${method} ${path}`)
        if (status === 405) t.equal(response.headers.allow, 'GET, HEAD')
      }
    const hugeBody =
      'POST /api/search HTTP/1.1\r\nHost: x\r\nConnection: close\r\n' +
      'Content-Type: application/json\r\nContent-Length: 1000000000\r\n\r\n{"a":'
    const expected = { status: 405, code: 'method_not_allowed' }
    assertProblem(t, await send(hugeBody), expected, 'an endless body')
  },
)

t.test('survives clients that disconnect within a header or a body', async (t) => {
  const head =
    'POST /api/search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
    'Content-Length: 100\r\n\r\n{"a"'
  for (const text of ['GET /api/sea', 'GET /api/search HTTP/1.1\r\nHo', head]) {
    await sendBytes(url, text, { closeAfterwards: true })
    const { hostname, port } = new URL(url)
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), hostname, () =>
        socket.write(text, () => socket.resetAndDestroy()),
      )
      socket.on('close', () => resolve())
    })
  }
  t.equal((await fetch(`${url}/api/search`)).status, 200)
  t.notOk(lines.some((line) => JSON.parse(line).level >= 50))
})

t.test('answers a request that arrives too slowly with 408', async (t) => {
  const startedAt = Date.now()
  const response = await send('GET /api/search HTTP/1.1\r\nHost: x\r\nX-Slow: ')
  assertProblem(t, response, { status: 408, code: 'invalid_parameter' }, 'slow header')
  const durationMs = Date.now() - startedAt
  t.ok(durationMs > 9_000 && durationMs < 18_000, `after ${durationMs} ms`)
})

t.test(
  'answers malformed URLs, unknown paths and wrong types with problems and security headers',
  async (t) => {
    for (const [url, status, code, headers = {}] of [
      ['/%zz', 400, 'invalid_parameter'],
      ['/api/search?q=%ff%fe', 400, 'invalid_parameter'],
      ['/api/search?limit=0', 400, 'invalid_parameter'],
      ['/api/search/', 404, 'not_found'],
      ['//api/search', 404, 'not_found'],
      ['/api/stats', 406, 'not_acceptable', { accept: 'image/png' }],
      ['/api/../etc/passwd', 404, 'not_found'],
      [`/quote/share/${'a'.repeat(600)}`, 404, 'not_found', { accept: 'application/json' }],
    ] as const) {
      const response = await app.inject({ url, headers })
      t.equal(response.statusCode, status, `${url}: ${response.body.slice(0, 200)}`)
      t.equal(response.headers['x-content-type-options'], 'nosniff', url)
      t.match(response.headers['content-security-policy'], /default-src 'none'/, url)
      t.equal(response.headers['access-control-allow-origin'], undefined)
      if (code)
        t.match(response.json(), { code, status, requestId: response.headers['x-request-id'] }, url)
    }
    for (const type of ['application/json', 'text/plain', 'application/xml']) {
      const headers = { 'content-type': type }
      const post = { method: 'POST', url: '/api/serch', headers, payload: '{' } as const
      t.match((await app.inject(post)).json(), { status: 404, code: 'not_found' }, type)
    }
  },
)

t.test('the message of a library reaches the log, and not the caller', async (t) => {
  const lines: string[] = []
  const app = Fastify({
    logger: { stream: { write: (line: string) => lines.push(line) }, serializers: logSerializers },
  })
  t.teardown(() => app.close())
  registerErrorHandlers(app, [])
  const rejection = Object.assign(new Error('no file /srv/data'), { statusCode: 413, code: 'ABC' })
  app.get('/rejected', async () => {
    throw rejection
  })
  app.get('/problem', async () => {
    throw new Problem('not_found', 'There is no such thing.')
  })
  const response = await app.inject('/rejected')
  t.match(response.json(), { status: 500, code: 'internal_error', detail: /is in the log/ })
  t.notMatch(response.body, /srv|ABC/)
  const failures = () =>
    lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request failed')
  t.match(failures(), [
    {
      reqId: response.json().requestId,
      code: 'internal_error',
      err: { message: 'no file /srv/data', code: 'ABC' },
    },
  ])
  t.match((await app.inject('/problem')).json(), { detail: 'There is no such thing.' })
  t.equal(failures().length, 1, 'our own problems are not logged')
})

t.test(
  'a forged Host or X-Forwarded-Host puts no other host into links and headers (S12)',
  async (t) => {
    // With these settings, no request is rejected for its Host, and Fastify reads X-Forwarded-Host.
    const { app, url: quoteUrl } = await startServiceWithLink(t, {
      config: { ALLOWED_HOSTS: ['*'], TRUST_PROXY: ['127.0.0.1'], WEB_PARTS: ['home'] },
    })
    const headers = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      forwarded: 'host=evil.example',
      'x-forwarded-proto': 'gopher',
    }
    const baseUrl = 'https://quotes.example'
    for (const [url, status, containedUrl = ''] of [
      ['/', 200, baseUrl],
      ['/docs', 200],
      ['/openapi.json', 200, baseUrl],
      [quoteUrl, 200],
      [`${quoteUrl}?format=json`, 200],
      ['/api/search', 200],
      ['/api/stats', 200],
      ['/api/search?limit=0', 400],
      ['/quote/share/x', 404],
      ['/nothing', 404],
    ] as const) {
      const response = await app.inject({ url, headers })
      t.equal(response.statusCode, status, url)
      t.ok(response.body.includes(containedUrl), url)
      t.notMatch(response.body + JSON.stringify(response.headers), /evil\.example|gopher/, url)
    }
  },
)
