// Hosts that are allowed and those that are not.
// Numbers such as S45 are those of the attacks in docs/security.md.
import t from 'tap'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { testService } from '../support/service/test-service.ts'

lengthenTimeouts(t)

t.test(
  'a page that points its own host name at the service reads nothing: 421 (S45)',
  async (t) => {
    const { app } = await testService(t, {
      config: { PUBLIC_BASE_URL: 'https://Quotes.example/erp' },
      index: false,
    })
    const status = async (host: string, url = '/api/stats') =>
      (await app.inject({ url, headers: { host } })).statusCode
    for (const host of [
      'quotes.example',
      'QUOTES.EXAMPLE:443',
      'quotes.example.',
      'localhost:3000',
      'api.localhost',
      '127.0.0.1',
      '127.8.9.10:80',
      '[::1]:3000',
    ])
      t.equal(await status(host), 200, host)
    for (const host of [
      'evil.example',
      'evil.example:3000',
      'quotes.example.evil.example',
      'evil-quotes.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '192.168.1.10',
      '[fe80::1]',
    ])
      for (const url of ['/api/search', '/api/stats', '/docs', `/quote/share/${'A'.repeat(43)}`])
        t.equal(await status(host, url), 421, `${host} ${url}`)
    const problem = (
      await app.inject({ url: '/api/stats', headers: { host: 'evil.example' } })
    ).json()
    t.match(problem, { code: 'misdirected_request', detail: /ALLOWED_HOSTS/ })
  },
)

t.test('ALLOWED_HOSTS adds names, or allows all', async (t) => {
  const named = await testService(t, { config: { ALLOWED_HOSTS: ['api', 'Lan.example:3000'] } })
  const any = await testService(t, { config: { ALLOWED_HOSTS: ['*'] }, index: false })
  const status = async ({ app }: typeof any, host: string) =>
    (await app.inject({ url: '/openapi.json', headers: { host } })).statusCode
  t.equal(await status(named, 'api:8080'), 200)
  t.equal(await status(named, 'lan.example'), 200)
  t.equal(await status(named, 'evil.example'), 421)
  t.equal(await status(any, 'evil.example'), 200)
})

t.test('ALLOWED_HOSTS may have any spelling of a name or address', async (t) => {
  const { app } = await testService(t, {
    config: { ALLOWED_HOSTS: ['bücher.example', '[FD00:0:0::1]:3000', 'fd00::2'] },
    index: false,
  })
  for (const [host, status] of [
    ['xn--bcher-kva.example', 200],
    ['[fd00::1]', 200],
    ['[FD00:0::1]:8080', 200],
    ['[fd00::2]:8080', 200],
    ['[0:0:0:0:0:0:0:1]', 200],
    ['[fd00::3]', 421],
    ['[::ffff:127.0.0.1]', 421],
    ['127.1', 421],
    ['0x7f.1', 421],
    ['quotes.example..', 421],
  ] as const)
    t.equal((await app.inject({ url: '/docs', headers: { host } })).statusCode, status, host)
})

t.test(
  'without a known host, addresses are answered, names are not, and the log warns',
  async (t) => {
    const lines: string[] = []
    const { app } = await testService(t, {
      // docker compose sets this for HOST=0.0.0.0 without PUBLIC_BASE_URL.
      config: { PUBLIC_BASE_URL: 'http://0.0.0.0:3000', LOG_LEVEL: 'warn' },
      log: (line) => lines.push(line),
      index: false,
    })
    const logged = lines.join('')
    t.match(logged, /links begin with http:\/\/127\.0\.0\.1:3000 and open on this machine only/)
    t.match(logged, /Set PUBLIC_BASE_URL/)
    for (const [host, status] of [
      ['192.168.1.10:3000', 200],
      ['[fd00::1]:3000', 200],
      ['localhost:3000', 200],
      ['evil.example', 421],
      ['192.168.1.10.evil.example', 421],
    ] as const)
      t.equal((await app.inject({ url: '/docs', headers: { host } })).statusCode, status, host)
  },
)
