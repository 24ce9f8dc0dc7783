// Hosts that are allowed and those that are not.
// Numbers such as S45 are those of the attacks in docs/security.md.
import t from 'tap'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { testService } from '../support/service/test-service.ts'

lengthenTimeouts(t)

type Case = { config: Record<string, unknown>; allowed: string; rejected: string }

/** Hosts are separated by spaces. */
const cases: Record<string, Case> = {
  'a page that points its own host name at the service reads nothing': {
    config: { PUBLIC_BASE_URL: 'https://Quotes.example/erp' },
    allowed:
      'quotes.example QUOTES.EXAMPLE:443 quotes.example. localhost:3000 api.localhost 127.0.0.1 ' +
      '127.8.9.10:80 [::1]:3000 [0:0:0:0:0:0:0:1]',
    rejected:
      'evil.example evil.example:3000 quotes.example.evil.example evil-quotes.example ' +
      'localhost.evil.example 127.0.0.1.evil.example 192.168.1.10 [fe80::1] quotes.example.. ' +
      '[::ffff:127.0.0.1] 127.1 0x7f.1',
  },
  'ALLOWED_HOSTS adds names and addresses in any spelling': {
    config: {
      ALLOWED_HOSTS: ['api', 'Lan.example:3000', 'bücher.example', '[FD00:0:0::1]:3000', 'fd00::2'],
    },
    allowed: 'api:8080 lan.example xn--bcher-kva.example [fd00::1] [FD00:0::1]:8080 [fd00::2]:8080',
    rejected: 'evil.example [fd00::3]',
  },
  'ALLOWED_HOSTS=* allows all': {
    config: { ALLOWED_HOSTS: ['*'] },
    allowed: 'evil.example',
    rejected: '',
  },
  // docker compose sets this for HOST=0.0.0.0 without PUBLIC_BASE_URL.
  'without a known host, addresses are answered, and names are not': {
    config: { PUBLIC_BASE_URL: 'http://0.0.0.0:3000' },
    allowed: '192.168.1.10:3000 [fd00::1]:3000 localhost:3000',
    rejected: 'evil.example 192.168.1.10.evil.example',
  },
}

for (const [title, { config, allowed, rejected }] of Object.entries(cases))
  t.test(`${title} (S45)`, async (t) => {
    const lines: string[] = []
    const log = (line: string) => lines.push(line)
    const { app } = await testService(t, { config, log, index: false })
    const isUnknown = config.PUBLIC_BASE_URL === 'http://0.0.0.0:3000'
    const warning =
      /links begin with http:\/\/127\.0\.0\.1:3000 and open on this machine only.*Set PUBLIC_BASE_URL/
    t.equal(warning.test(lines.join('')), isUnknown, 'the log warns if the host is unknown')
    const get = (host: string, url = '/docs') => app.inject({ url, headers: { host } })
    for (const host of allowed.split(' ')) t.equal((await get(host)).statusCode, 200, host)
    for (const host of rejected.split(' ').filter(Boolean))
      for (const url of ['/api/search', '/api/stats', '/docs', `/quote/share/${'A'.repeat(43)}`]) {
        const response = await get(host, url)
        t.equal(response.statusCode, 421, `${host} ${url}`)
        if (url.startsWith('/api/'))
          t.match(response.json(), { code: 'misdirected_request', detail: /ALLOWED_HOSTS/ })
      }
  })
