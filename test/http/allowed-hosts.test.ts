// Hosts that are not allowed, wide ranges of trusted proxies, and clients that disconnect while
// they are checked.
// Numbers such as S45 are those of the attacks in docs/security.md.
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sql } from 'kysely'
import t from 'tap'
import { eventually } from '../support/eventually.ts'
import { lengthenSearchLimits } from '../support/longer-limits.ts'
import { testService } from '../support/test-service.ts'

lengthenSearchLimits(t)

t.test(
  'answers only for the host of PUBLIC_BASE_URL and loopback, on any port (S45)',
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

t.test('warns at the start about wide ranges in TRUST_PROXY (S46)', async (t) => {
  const warnings = async (trusted: string[]) => {
    const lines: string[] = []
    await testService(t, {
      config: { TRUST_PROXY: trusted },
      log: (line) => lines.push(line),
      index: false,
    })
    return lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.includes('wide ranges'))
  }
  t.same(
    await warnings(['loopback', '10.1.2.3', '172.18.0.1/32', '192.0.2.0/24', '10.0.0.0/30', '::1']),
    [],
  )
  const wide = [
    'uniquelocal',
    '10.0.0.0/8',
    '192.168.1.0/24',
    '172.16.0.0/255.255.255.0',
    '128.0.0.0/1',
    'fd00::/8',
  ]
  const [warning, ...others] = await warnings(['10.1.2.3', ...wide])
  t.same(warning?.ranges, wide)
  t.same(others, [])
})

const slowLookUps = [
  {
    name: 'its key is looked up',
    table: 'api_keys',
    path: '/api/stats',
    headers: { authorization: `Bearer tqs_${'a'.repeat(12)}_${'A'.repeat(43)}` },
  },
  { name: 'its link is looked up', table: 'quotes', path: `/quote/share/${'A'.repeat(43)}` },
]

for (const { name, table, ...options } of slowLookUps)
  for (const trusted of [[], ['127.0.0.1']])
    t.test(`a client that disconnects while ${name} causes no error (${trusted})`, async (t) => {
      const lines: string[] = []
      const { app, db } = await testService(t, {
        config: { TRUST_PROXY: trusted },
        log: (line) => lines.push(line),
        index: false,
      })
      await app.listen({ host: '127.0.0.1', port: 0 })
      const { port } = app.server.address() as AddressInfo
      await db.transaction().execute(async (transaction) => {
        await sql`lock table ${sql.table(table)} in access exclusive mode`.execute(transaction)
        const aborted = request({ port, ...options })
        aborted.on('error', () => undefined)
        aborted.end()
        await eventually(
          async () => {
            const { rows } = await sql`
              select from pg_locks join pg_database d on d.oid = database
              where not granted and datname = current_database()`.execute(transaction)
            return rows.length
          },
          (waiting) => waiting > 0,
        )
        aborted.destroy()
      })
      const isLogged = () => lines.some((line) => line.includes('"msg":"request'))
      await eventually(async () => isLogged(), Boolean)
      t.notMatch(lines.join('\n'), /"level":50|TypeError/)
    })
