// The gate of quote links under attack: guesses, proxies, negotiation, views, and real processes whose every word is read.
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { choosePort } from '../../scripts/servers/free-port.ts'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { searchKey } from '../../src/indexing/engine-keys.ts'
import { createShareLink, revokeShareLink } from '../../src/quotes/share-links.ts'
import { addQuote } from '../support/quotes.ts'
import {
  company,
  eventually,
  servers,
  startProgram,
  type TestDatabase,
  type TestService,
  testDatabase,
  testService,
} from '../support/test-service.ts'

// Much of it is waiting, and each has a database of its own. The longest comes first.
t.jobs = 4

type Test = Parameters<typeof testService>[0]
const json = { accept: 'application/json' }
const unknown = (n: number) => `/quote/share/${String(n).padStart(43, 'x')}`

async function linked(
  t: Test,
  options: Parameters<typeof testService>[1] = {},
): Promise<TestService & { url: string; token: string }> {
  const own = await testService(t, { clock: () => new Date('2026-11-21T10:00:00Z'), ...options })
  await addQuote(own.db, 'P-1')
  const token = await createShareLink(own.db, { number: 'P-1' })
  return { ...own, token, url: `/quote/share/${token}` }
}

t.test(
  'S8: with two processes no answer shows a document after its link was revoked or expired',
  async (t) => {
    const database = await testDatabase(t)
    await addQuote(database.db, 'P-1')
    const processes = await Promise.all([startApi(t, database), startApi(t, database)])
    const formats = ['html', 'json', 'pdf']
    let shown = 0
    for (let round = 0; round < 6; round += 1) {
      const expires = round % 3 === 2
      const expiresAt = expires ? new Date(Date.now() + 1_500) : null
      const token = await createShareLink(database.db, { number: 'P-1', expiresAt })
      const { id } = await database.db
        .selectFrom('quote_shares')
        .select('id')
        .orderBy('id', 'desc')
        .limit(1)
        .executeTakeFirstOrThrow()
      let goneAt = expiresAt ? expiresAt.getTime() : Number.POSITIVE_INFINITY
      let over = false
      const late: string[] = []
      const visitors = processes.flatMap(({ address }) =>
        formats.map(async (format) => {
          while (!over) {
            const asked = Date.now()
            const response = await fetch(`${address}/quote/share/${token}?format=${format}`)
            await response.arrayBuffer()
            if (response.status === 200) shown += 1
            if (response.status === 200 ? asked > goneAt : response.status !== 410)
              late.push(`${format} ${response.status}`)
          }
        }),
      )
      await new Promise((resolve) => setTimeout(resolve, expires ? 1_700 : 100 + round * 150))
      if (!expires) {
        t.ok(await revokeShareLink(database.db, id))
        goneAt = Date.now()
      }
      await new Promise((resolve) => setTimeout(resolve, 300))
      over = true
      await Promise.all(visitors)
      t.same(late, [])
      for (const { address } of processes)
        for (const format of formats)
          t.equal((await fetch(`${address}/quote/share/${token}?format=${format}`)).status, 410)
    }
    t.ok(shown > 50, `${shown} answers showed it before`)
  },
)

t.test(
  'sends what Accept or ?format= asks for, says that it depends on it, and 406 for anything else',
  async (t) => {
    const { app, url } = await linked(t)
    const types = {
      html: 'text/html; charset=utf-8',
      json: 'application/json; charset=utf-8',
      pdf: 'application/pdf',
    }
    for (const [accept, format] of [
      [undefined, 'html'],
      ['*/*', 'html'],
      ['text/html,application/xhtml+xml,*/*;q=0.8', 'html'],
      ['application/json', 'json'],
      ['application/*', 'json'],
      ['application/pdf', 'pdf'],
      ['text/html;q=0.5,application/pdf', 'pdf'],
      ['text/html;q=0,*/*', 'json'],
    ] as const) {
      const response = await app.inject({ url, headers: accept === undefined ? {} : { accept } })
      t.equal(response.headers['content-type'], types[format], accept ?? 'nothing')
      t.equal(response.headers.vary, 'Accept, Accept-Language')
    }
    for (const format of ['html', 'json', 'pdf'] as const) {
      const get = await app.inject({
        url: `${url}?format=${format}`,
        headers: { accept: 'image/png' },
      })
      t.equal(get.headers['content-type'], types[format], `?format=${format} before Accept`)
      const head = await app.inject({ method: 'HEAD', url: `${url}?format=${format}` })
      t.same([head.statusCode, head.body], [200, ''])
      for (const name of [
        'content-type',
        'content-length',
        'vary',
        'cache-control',
        'content-disposition',
      ])
        t.equal(head.headers[name], get.headers[name], `HEAD ${format}: ${name}`)
    }
    const pdf = await app.inject(`${url}?format=pdf`)
    t.equal(
      pdf.headers['content-disposition'],
      `inline; filename="Presupuesto-P-1.pdf"; filename*=UTF-8''Presupuesto-P-1.pdf`,
    )
    t.equal(pdf.rawPayload.subarray(0, 5).toString(), '%PDF-')
    t.match(
      (await app.inject(`${url}?format=pdf&lang=en`)).headers['content-disposition'],
      /Quotation-P-1/,
    )
    for (const bad of [`${url}?format=xml`, `${url}?format=`, `${url}?format=pdf&format=json`])
      t.equal((await app.inject(bad)).statusCode, 406, bad)
    const png = await app.inject({ url, headers: { accept: 'image/png' } })
    t.match(png.json(), { status: 406, code: 'not_acceptable' })
    t.equal(
      (await app.inject({ url: `${unknown(1)}?format=xml` })).statusCode,
      404,
      'what is not there has no formats',
    )
    t.equal(
      (await app.inject({ url: `${unknown(1)}?format=pdf`, headers: { accept: 'text/html' } }))
        .headers['content-type'],
      types.html,
    )
  },
)

t.test(
  'S9: guesses are limited apart from views, and only for the address that guesses',
  async (t) => {
    const { app, url } = await linked(t, { config: { LINK_GUESS_LIMIT_PER_MINUTE: 10 } })
    const from = (remoteAddress: string, path: string, headers: Record<string, string> = json) =>
      app.inject({ url: path, remoteAddress, headers })
    await startOfMinute()
    for (let n = 0; n < 10; n += 1) t.equal((await from('192.0.2.1', unknown(n))).statusCode, 404)
    for (let n = 10; n < 30; n += 1) {
      const refused = await from('192.0.2.1', unknown(n), {
        ...json,
        'x-forwarded-for': `198.51.100.${n}`,
        forwarded: `for=198.51.100.${n}`,
      })
      t.equal(refused.statusCode, 429, 'another X-Forwarded-For is of no use')
      t.match(refused.json(), { code: 'rate_limited' })
      t.ok(
        Number(refused.headers['retry-after']) >= 1 && Number(refused.headers['retry-after']) <= 60,
      )
    }
    t.equal(
      (await from('192.0.2.1', url)).statusCode,
      429,
      'not even the right one is told apart any more',
    )
    t.equal(
      (await from('::ffff:192.0.2.1', url)).statusCode,
      429,
      'the same address written as IPv6',
    )
    const page = await from('192.0.2.1', unknown(1), { accept: 'text/html' })
    t.match(page.headers['content-type'], 'text/html')
    t.match(page.body, 'Demasiadas peticiones')
    t.equal((await from('192.0.2.2', url)).statusCode, 200, 'a customer elsewhere opens the link')

    for (let n = 0; n < 10; n += 1)
      t.equal((await from(`2001:db8:0:1::${n}`, unknown(n))).statusCode, 404)
    t.equal((await from('2001:db8:0:1:ffff::1', unknown(1))).statusCode, 429, 'all of a /64 is one')
    t.equal((await from('2001:db8:0:2::1', url)).statusCode, 200)
  },
)

t.test('S9: a guess counts for every instance, and with Redis gone for each', async (t) => {
  const database = await testDatabase(t)
  const shared = { LINK_GUESS_LIMIT_PER_MINUTE: 5, REDIS_PREFIX: 'test:gate:' }
  const one = await linked(t, { config: shared, database })
  const two = await testService(t, { config: shared, database })
  await startOfMinute()
  const guess = async ({ app }: TestService, n: number) =>
    (await app.inject({ url: unknown(n), remoteAddress: '192.0.2.9' })).statusCode
  for (let n = 0; n < 5; n += 1) t.equal(await guess(one, n), 404)
  t.equal(await guess(two, 6), 429)
  t.equal((await two.app.inject({ url: one.url, remoteAddress: '192.0.2.9' })).statusCode, 429)

  const { databaseUrl: _, redisUrl: __, ...rest } = await servers()
  t.ok(rest)
  one.redis.disconnect()
  await startOfMinute()
  for (let n = 0; n < 5; n += 1)
    t.equal(
      (await one.app.inject({ url: unknown(n), remoteAddress: '192.0.2.10' })).statusCode,
      404,
    )
  t.equal((await one.app.inject({ url: unknown(5), remoteAddress: '192.0.2.10' })).statusCode, 429)
})

t.test('views are limited per address too', async (t) => {
  const { app, url } = await linked(t, { config: { LINK_LIMIT_PER_MINUTE: 3 } })
  for (let n = 0; n < 3; n += 1)
    t.equal((await app.inject({ url, remoteAddress: '192.0.2.1' })).statusCode, 200)
  const refused = await app.inject({
    url,
    remoteAddress: '192.0.2.1',
    headers: { accept: 'text/html' },
  })
  t.equal(refused.statusCode, 429)
  t.ok(Number(refused.headers['retry-after']) > 0)
  t.match(refused.body, 'Demasiadas peticiones')
  t.equal((await app.inject({ url, remoteAddress: '192.0.2.2' })).statusCode, 200)
})

t.test(
  'S9: a proxy is believed only where it is named, and one that is not is warned of once',
  async (t) => {
    const lines: string[] = []
    const { app, url } = await linked(t, {
      config: { LINK_LIMIT_PER_MINUTE: 2 },
      log: (line) => lines.push(line),
    })
    const through = (visitor: string) => ({
      url,
      remoteAddress: '10.0.0.1',
      headers: { 'x-forwarded-for': visitor },
    })
    const statuses: number[] = []
    for (const visitor of ['192.0.2.1', '192.0.2.2', '192.0.2.3'])
      statuses.push((await app.inject(through(visitor))).statusCode)
    t.same(statuses, [200, 200, 429], 'without its name all are the proxy')
    t.equal(lines.filter((line) => line.includes('TRUST_PROXY')).length, 1)

    const trusting = await linked(t, {
      config: { LINK_LIMIT_PER_MINUTE: 2, TRUST_PROXY: ['10.0.0.0/8'] },
      log: (line) => lines.push(line),
    })
    for (const visitor of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) {
      t.equal(
        (await trusting.app.inject({ ...through(visitor), url: trusting.url })).statusCode,
        200,
        visitor,
      )
    }
    for (let n = 0; n < 3; n += 1)
      statuses.push(
        (await trusting.app.inject({ ...through(`203.0.113.${n}, 192.0.2.9`), url: trusting.url }))
          .statusCode,
      )
    t.same(statuses.slice(3), [200, 200, 429], 'what a visitor puts before it counts for nothing')
    t.equal(lines.filter((line) => line.includes('TRUST_PROXY')).length, 1)
  },
)

t.test(
  'S11: views are counted only where that is switched on, of people, and without a trace of them',
  async (t) => {
    const off = await linked(t)
    await off.app.inject(off.url)
    const own = await linked(t, { config: { COUNT_VIEWS: true } })
    const before = await own.db.selectFrom('quote_shares').selectAll().execute()
    for (const format of ['html', 'json', 'pdf'])
      t.equal((await own.app.inject(`${own.url}?format=${format}`)).statusCode, 200)
    await own.app.inject({ method: 'HEAD', url: own.url })
    await own.app.inject(unknown(1))
    for (const agent of [
      'WhatsApp/2.23.20.0',
      'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
      'facebookexternalhit/1.1',
      'TelegramBot (like TwitterBot)',
    ])
      await own.app.inject({ url: own.url, headers: { 'user-agent': agent } })
    await own.app.inject({ url: own.url, headers: { 'sec-purpose': 'prefetch' } })
    const views = () => own.db.selectFrom('quote_share_views').selectAll().execute()
    const counted = await eventually(views, (rows) => rows.length >= 3)
    t.equal(counted.length, 3)
    t.same(Object.keys(counted[0] ?? {}).sort(), ['share_id', 'viewed_at'])
    t.same(await own.db.selectFrom('quote_shares').selectAll().execute(), before)
    t.equal((await off.db.selectFrom('quote_share_views').selectAll().execute()).length, 0)

    await own.db.schema.alterTable('quote_share_views').renameTo('away').execute()
    t.equal(
      (await own.app.inject(own.url)).statusCode,
      200,
      'a view that cannot be counted is no error',
    )
  },
)

t.test(
  'S2, S4: no id, number, hash or key of ours opens a quote, and no token is a key',
  async (t) => {
    const { app, db, token } = await linked(t)
    const key = await createApiKey(db, {
      kind: 'secret',
      name: 'x',
      scopes: ['search:read', 'stats:read'],
    })
    const { id, quote_id, token_hash, content_hash } = await db
      .selectFrom('quote_shares')
      .selectAll()
      .executeTakeFirstOrThrow()
    const wrong = [
      id,
      quote_id,
      'P-1',
      token_hash.toString('hex'),
      token_hash.toString('base64url'),
      content_hash,
      key,
      key.slice(-43),
      '0'.repeat(43),
    ]
    for (const attempt of wrong)
      t.equal((await app.inject(`/quote/share/${attempt}`)).statusCode, 404, attempt)
    t.equal(
      (await app.inject({ url: '/quote/share/x', headers: { authorization: `Bearer ${key}` } }))
        .statusCode,
      404,
    )
    for (const path of ['/api/search', '/api/stats'])
      t.equal(
        (await app.inject({ url: path, headers: { authorization: `Bearer ${token}` } })).statusCode,
        401,
      )
  },
)

t.test('S12: nothing in an answer comes from Host or X-Forwarded-Host', async (t) => {
  const { app, url } = await linked(t)
  const evil = {
    host: 'evil.example',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'gopher',
  }
  for (const path of [url, `${url}?format=json`, unknown(1)]) {
    const response = await app.inject({ url: path, headers: evil })
    t.notMatch(response.body + JSON.stringify(response.headers), /evil|gopher/)
  }
  t.match((await app.inject(url)).body, 'href="?format=pdf"', 'the page leads to its PDF')
})

t.test('S15: the JSON has the fields of the contract and no other', async (t) => {
  const { app, url } = await linked(t)
  const response = await app.inject({ url, headers: json })
  const shared = response.json()
  t.same(Object.keys(shared), ['status', 'link', 'contentHash', 'document'])
  t.same(Object.keys(shared.link), ['expiresAt'])
  const names = [
    'buyer',
    'currency',
    'issuedOn',
    'language',
    'legal',
    'lines',
    'notes',
    'number',
    'payment',
    'seller',
    'totals',
    'trade',
    'validUntil',
    'version',
  ]
  t.same(Object.keys(shared.document).sort(), names)
})

t.test(
  'S7, S8: what was opened and kept in memory is refused from the moment of its revocation, also with If-None-Match',
  async (t) => {
    const { app, db, url } = await linked(t)
    const formats = ['html', 'json', 'pdf']
    for (const format of [...formats, ...formats])
      t.equal((await app.inject(`${url}?format=${format}`)).statusCode, 200)
    const { id } = await db.selectFrom('quote_shares').select('id').executeTakeFirstOrThrow()
    await revokeShareLink(db, id)
    for (const method of ['GET', 'HEAD'] as const) {
      for (const format of formats) {
        const headers = {
          'if-none-match': '*',
          'if-modified-since': 'Sat, 21 Nov 2099 10:00:00 GMT',
        }
        t.equal(
          (await app.inject({ method, url: `${url}?format=${format}`, headers })).statusCode,
          410,
          `${method} ${format}`,
        )
      }
    }
  },
)

t.test(
  'a link that is opened while all quotes are truncated waits for the end of that, and is not found then',
  async (t) => {
    const { app, pool, url } = await linked(t)
    const eraser = await pool.connect()
    await eraser.query('begin')
    await eraser.query('lock table quotes in access exclusive mode')
    const opening = app.inject(url)
    await eventually(
      async () =>
        (
          await pool.query(
            "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%quote_shares%'",
          )
        ).rowCount,
      (count) => count === 1,
    )
    // Takes the links, too: were these read before the quotes, each would wait for the other.
    await eraser.query('truncate quotes cascade')
    await eraser.query('commit')
    eraser.release()
    t.equal((await opening).statusCode, 404)
  },
)

t.test('S13: no process writes a token anywhere, at trace level, whatever is asked', async (t) => {
  const database = await testDatabase(t)
  await addQuote(database.db, 'P-1')
  const token = await createShareLink(database.db, { number: 'P-1' })
  const { address, output, child, exit } = await startApi(t, database)
  const secret = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
  const bodies: string[] = []
  for (const path of [
    `/${token}`,
    `/${secret}`,
    `/${token}?format=json`,
    `/${token}?format=pdf`,
    `/${token}?format=x`,
    `/${token}/x`,
    `/${token}%2f..`,
    `/${token}%`,
    `/%ff${token}`,
    `/${token}${'y'.repeat(600)}`,
    `?token=${token}`,
  ]) {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT']) {
      const response = await fetch(`${address}/quote/share${path}`, {
        method,
        headers: { ...json, referer: `${address}/quote/share/${token}`, cookie: `t=${token}` },
      })
      bodies.push(await response.text())
      for (const [name, value] of response.headers) t.notMatch(value, token.slice(0, 20), name)
    }
  }
  await fetch(`${address}/api/search?q=${token}`, { headers: { authorization: `Bearer ${token}` } })
  await database.db.schema.alterTable('quote_shares').renameTo('away').execute()
  t.equal((await fetch(`${address}/quote/share/${token}`)).status, 503)
  child.kill('SIGTERM')
  await exit
  t.ok(output().length > 1_000)
  t.match(output(), '"level":50', 'also what was logged of the failure')
  for (const word of [token, secret, encodeURIComponent(token)])
    t.notOk(output().includes(word.slice(0, 20)) || bodies.join('').includes(word.slice(0, 20)))
})

/** The API as a process of its own, writing everything it can. */
async function startApi(t: Test, { roles }: TestDatabase) {
  const { redisUrl, meiliUrls, meiliMasterKey } = await servers()
  const directory = await mkdtemp(join(tmpdir(), 'tqs-gate-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const companyFile = join(directory, 'company.json')
  const { seller, ...calendar } = company
  writeFileSync(companyFile, JSON.stringify({ ...seller, ...calendar }))
  const port = await choosePort('test')
  const program = startProgram(t, ['src/server.ts'], {
    API_DATABASE_URL: roles.api,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: `test:${port}:`,
    MEILI_URL: meiliUrls[0],
    MEILI_SEARCH_KEY: searchKey(meiliMasterKey),
    COMPANY_FILE: companyFile,
    PORT: String(port),
    OPS_PORT: '0',
    LINK_LIMIT_PER_MINUTE: '1000000',
    LINK_GUESS_LIMIT_PER_MINUTE: '1000000',
    LOG_LEVEL: 'trace',
  })
  const address = `http://127.0.0.1:${port}`
  const answering = () =>
    fetch(`${address}/quote/share/x`).then(
      ({ status }) => status,
      () => 0,
    )
  if ((await eventually(answering, (status) => status === 404)) !== 404)
    throw new Error(program.output())
  return { address, ...program }
}

/** Guesses are counted by the minute of the clock: waits for the next one where this one is nearly over. */
async function startOfMinute(): Promise<void> {
  const left = 60_000 - (Date.now() % 60_000)
  if (left < 15_000) await new Promise((resolve) => setTimeout(resolve, left + 10))
}
