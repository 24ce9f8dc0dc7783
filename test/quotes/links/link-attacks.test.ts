// Quote links under attack: guessed tokens, forged headers, races with revocation, and secrets in
// the output of real processes.
// Numbers such as S8 are those of the attacks in docs/security.md.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import { createApiKey } from '../../../src/auth/api-keys.ts'
import { deriveSearchKey } from '../../../src/indexing/engine/engine-keys.ts'
import { createQuoteLink, revokeQuoteLink } from '../../../src/quotes/links/manage-links.ts'
import { addQuote } from '../../support/database/add-quote.ts'
import { writeCompanyFile } from '../../support/database/company.ts'
import { servers, type TestDatabase, testDatabase } from '../../support/database/test-database.ts'
import { eventually } from '../../support/eventually.ts'
import { secretOf } from '../../support/key-parts.ts'
import { waitLongForRenderings } from '../../support/quotes/wait-for-renderings.ts'
import { startProgram } from '../../support/run-program.ts'
import { chooseFixedPort } from '../../support/servers/fixed-port.ts'
import { lengthenSearchTimeouts } from '../../support/service/longer-timeouts.ts'
import { startServiceWithLink } from '../../support/service/service-with-link.ts'
import { type TestService, testService } from '../../support/service/test-service.ts'

waitLongForRenderings(t)
// A slow Redis would make a service count failed attempts alone.
lengthenSearchTimeouts(t)

// These tests mostly wait, so four run at once. Each has its own database. The longest is first.
t.jobs = 4

type Test = Parameters<typeof testService>[0]
const acceptJson = { accept: 'application/json' }
const formats = ['html', 'json', 'pdf'] as const
const getUnknownPath = (n: number) => `/quote/share/${String(n).padStart(43, 'x')}`

/** For tests that change neither the quote nor its link. */
const unchanged = await startServiceWithLink(t)

t.test(
  'two processes show no document after its link was revoked or has expired (S8)',
  async (t) => {
    const database = await testDatabase(t)
    await addQuote(database.db, 'P-1')
    const processes = await Promise.all([startApi(t, database), startApi(t, database)])
    let openCount = 0
    // Every third link expires, and the others are revoked.
    for (let round = 0; round < 6; round += 1) {
      const isExpiring = round % 3 === 2
      const expiresAt = isExpiring ? new Date(Date.now() + 800) : null
      const token = await createQuoteLink(database.db, { number: 'P-1', expiry: expiresAt })
      const visitors = processes.flatMap(({ address }) =>
        formats.map((format) => startVisitor(`${address}/quote/share/${token}?format=${format}`)),
      )
      if (!isExpiring) {
        // The number of responses before the revocation differs between rounds.
        await waitFor(() => visitors.every(({ openCount }) => openCount > round % 3))
        t.ok(await revokeQuoteLink(database.db, await findNewestLinkId(database)))
      }
      const closedAt = expiresAt?.getTime() ?? Date.now()
      await waitFor(() => visitors.every(({ closedCount }) => closedCount > 2))
      await Promise.all(visitors.map((visitor) => visitor.stop()))
      t.same(
        visitors.flatMap(({ unexpected }) => unexpected),
        [],
      )
      t.same(
        visitors.filter(({ lastOpenStart }) => lastOpenStart > closedAt),
        [],
        'no request that started after the link was closed returned the quote',
      )
      for (const visitor of visitors) openCount += visitor.openCount
      for (const { address } of processes)
        for (const format of formats)
          t.equal((await fetch(`${address}/quote/share/${token}?format=${format}`)).status, 410)
    }
    t.ok(openCount > 50, `${openCount} responses showed the quote while its link was open`)
  },
)

const visitorPauseMs = 5

/** Requests a link repeatedly and counts its responses until `stop` is called. */
function startVisitor(url: string) {
  let isStopped = false
  const visitor = {
    openCount: 0,
    closedCount: 0,
    lastOpenStart: 0,
    unexpected: [] as string[],
    /** Resolves after the last response. */
    stop: () => {
      isStopped = true
      return visits
    },
  }
  const visitRepeatedly = async () => {
    while (!isStopped) {
      const startedAt = Date.now()
      const response = await fetch(url)
      await response.arrayBuffer()
      if (response.status === 200) {
        visitor.openCount += 1
        visitor.lastOpenStart = startedAt
      } else if (response.status === 410) visitor.closedCount += 1
      else visitor.unexpected.push(`${url} ${response.status}`)
      // Without a pause the visitors would leave the service no processor time.
      await setTimeout(visitorPauseMs)
    }
  }
  const visits = visitRepeatedly()
  return visitor
}

async function waitFor(condition: () => boolean): Promise<void> {
  await eventually(async () => condition(), Boolean)
}

async function findNewestLinkId({ db }: Pick<TestDatabase, 'db'>): Promise<string> {
  const { id } = await db
    .selectFrom('quote_shares')
    .select('id')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
  return id
}

t.test('failed attempts are limited per address, known links always open (S9, S44)', async (t) => {
  const { app, url } = await startServiceWithLink(t, {
    config: { LINK_GUESS_LIMIT_PER_MINUTE: 10 },
  })
  const request = (
    remoteAddress: string,
    path: string,
    headers: Record<string, string> = acceptJson,
  ) => app.inject({ url: path, remoteAddress, headers })
  const requestUnknownPaths = async (count: number, getAddress: (n: number) => string) => {
    const statuses: number[] = []
    for (let n = 0; n < count; n += 1)
      statuses.push((await request(getAddress(n), getUnknownPath(n))).statusCode)
    return statuses
  }

  const ipv4 = await withinOneMinute(async (network) => {
    const guesser = `192.0.${network}.1`
    const unknown = await requestUnknownPaths(10, () => guesser)
    const limited = []
    for (let n = 10; n < 30; n += 1) {
      const forged = {
        'x-forwarded-for': `198.51.100.${n}`,
        forwarded: `for=198.51.100.${n}`,
      }
      limited.push(await request(guesser, getUnknownPath(n), { ...acceptJson, ...forged }))
    }
    return {
      unknown,
      limited,
      rightToken: await request(guesser, url),
      asIpv6: await request(`::ffff:${guesser}`, getUnknownPath(1)),
      page: await request(guesser, getUnknownPath(1), { accept: 'text/html' }),
      otherAddress: await request(`192.0.${network}.2`, url),
    }
  })
  t.same(ipv4.unknown, Array(10).fill(404))
  for (const response of ipv4.limited) {
    t.equal(response.statusCode, 429, 'another X-Forwarded-For does not help')
    t.match(response.json(), { code: 'rate_limited' })
    const retryAfter = Number(response.headers['retry-after'])
    t.ok(retryAfter >= 1 && retryAfter <= 60)
  }
  t.equal(ipv4.limited.length, 20)
  t.equal(ipv4.rightToken.statusCode, 200, 'a customer behind the same address opens a link')
  t.equal(ipv4.asIpv6.statusCode, 429, 'the same address written as IPv6')
  t.match(ipv4.page.headers['content-type'], 'text/html')
  t.match(ipv4.page.body, 'Demasiadas peticiones')
  t.equal(ipv4.otherAddress.statusCode, 200, 'a customer at another address opens the link')

  const ipv6 = await withinOneMinute(async (network) => ({
    unknown: await requestUnknownPaths(10, (n) => `2001:db8:${network}:1::${n}`),
    sameNetwork: await request(`2001:db8:${network}:1:ffff::1`, getUnknownPath(1)),
    otherNetwork: await request(`2001:db8:${network}:2::1`, url),
  }))
  t.same(ipv6.unknown, Array(10).fill(404))
  t.equal(ipv6.sameNetwork.statusCode, 429, 'a /64 counts as one address')
  t.equal(ipv6.otherNetwork.statusCode, 200)
})

t.test(
  'instances share the count of unknown links, and count alone if Redis is unreachable (S9)',
  async (t) => {
    const database = await testDatabase(t)
    const config = { LINK_GUESS_LIMIT_PER_MINUTE: 5, REDIS_PREFIX: 'test:links:' }
    const first = await startServiceWithLink(t, { config, database })
    const second = await testService(t, { config, database, index: false })
    const request = async ({ app }: TestService, path: string, remoteAddress: string) =>
      (await app.inject({ url: path, remoteAddress })).statusCode
    const requestUnknownPaths = async (service: TestService, count: number, address: string) => {
      const statuses: number[] = []
      for (let n = 0; n < count; n += 1)
        statuses.push(await request(service, getUnknownPath(n), address))
      return statuses
    }

    const statuses = await withinOneMinute(async (network) => {
      const address = `192.0.${network}.9`
      return [
        ...(await requestUnknownPaths(first, 5, address)),
        await request(second, getUnknownPath(6), address),
        await request(second, getUnknownPath(7), address),
        await request(second, first.url, address),
      ]
    })
    t.same(statuses, [404, 404, 404, 404, 404, 429, 429, 200])

    first.redis.disconnect()
    t.same(
      await withinOneMinute((network) => requestUnknownPaths(first, 6, `192.0.${network}.10`)),
      [404, 404, 404, 404, 404, 429],
    )
  },
)

t.test('requests are limited per link, whoever sends them', async (t) => {
  const { app, db } = await startServiceWithLink(t, { config: { LINK_LIMIT_PER_MINUTE: 3 } })
  const createUrl = async () => `/quote/share/${await createQuoteLink(db, { number: 'P-1' })}`
  const otherUrl = await createUrl()
  const { statuses, limited, other } = await withinOneMinute(async () => {
    // An earlier attempt may have used another link in this minute.
    const url = await createUrl()
    const statuses: number[] = []
    for (let n = 0; n < 8; n += 1)
      statuses.push((await app.inject({ url, remoteAddress: `192.0.2.${n}` })).statusCode)
    return { statuses, limited: await app.inject(url), other: await app.inject(otherUrl) }
  })
  t.same(statuses.slice(0, 3), [200, 200, 200])
  t.equal(statuses.at(-1), 429)
  t.equal(limited.statusCode, 429)
  t.ok(Number(limited.headers['retry-after']) > 0)
  t.match(limited.body, 'Demasiadas peticiones')
  t.equal(other.statusCode, 200, 'another link of the same quote opens')
})

t.test('requests for a closed link are limited like those for an open one', async (t) => {
  const service = await startServiceWithLink(t, { config: { LINK_LIMIT_PER_MINUTE: 3 } })
  const { app, db } = service
  const statuses = await withinOneMinute(async () => {
    const url = `/quote/share/${await createQuoteLink(db, { number: 'P-1' })}`
    await revokeQuoteLink(db, await findNewestLinkId(service))
    const statuses: number[] = []
    for (let n = 0; n < 5; n += 1) statuses.push((await app.inject(url)).statusCode)
    return statuses
  })
  t.same(statuses, [410, 410, 410, 429, 429])
})

t.test('a hundred customers behind one address open their links (S44)', async (t) => {
  const { app, db } = await startServiceWithLink(t, {
    config: { LINK_LIMIT_PER_MINUTE: 5, LINK_GUESS_LIMIT_PER_MINUTE: 1 },
  })
  const remoteAddress = '192.0.2.1'
  for (let n = 0; n < 100; n += 1) {
    const url = `/quote/share/${await createQuoteLink(db, { number: 'P-1' })}`
    await app.inject({ url: getUnknownPath(n), remoteAddress })
    t.equal((await app.inject({ url, remoteAddress })).statusCode, 200)
  }
})

t.test('only a proxy in TRUST_PROXY is trusted, and another one is logged once (S9)', async (t) => {
  const lines: string[] = []
  const through = (visitor: string) => ({
    url: getUnknownPath(1),
    remoteAddress: '10.0.0.1',
    headers: { 'x-forwarded-for': visitor },
  })
  const guessAs = async (app: TestService['app'], visitors: string[]) => {
    const statuses: number[] = []
    for (const visitor of visitors) statuses.push((await app.inject(through(visitor))).statusCode)
    return statuses
  }
  const distrusting = await startServiceWithLink(t, {
    config: { LINK_GUESS_LIMIT_PER_MINUTE: 2 },
    log: (line) => lines.push(line),
  })
  const trusting = await startServiceWithLink(t, {
    config: { LINK_GUESS_LIMIT_PER_MINUTE: 2, TRUST_PROXY: ['10.0.0.0/8'] },
    log: (line) => lines.push(line),
  })
  const statuses = await withinOneMinute(async (network) => {
    const visitors = [1, 2, 3].map((n) => `192.${network}.2.${n}`)
    const spoofed = [1, 2, 3].map((n) => `203.0.113.${n}, 192.${network}.2.9`)
    return [
      await guessAs(distrusting.app, visitors),
      await guessAs(trusting.app, visitors),
      await guessAs(trusting.app, spoofed),
    ]
  })
  t.same(statuses[0]?.at(-1), 429, 'without TRUST_PROXY all visitors have its address')
  t.same(statuses[1], [404, 404, 404])
  t.same(statuses[2], [404, 404, 429], 'an address that the visitor adds does not count')
  const warnings = lines.filter((line) => line.includes('TRUST_PROXY is empty'))
  t.equal(warnings.length, 1)
  t.match(warnings[0], '"network":"10.')
  t.notMatch(lines.join(), '10.0.0.1', 'no whole address, not even of a private network')
})

t.test('errors are pages, unless the request is for JSON', async (t) => {
  const { app, db, url } = unchanged
  const closed = await createQuoteLink(db, { number: 'P-1' })
  await revokeQuoteLink(db, await findNewestLinkId({ db }))
  const cases: [string, { url: string; method?: 'POST' }, number][] = [
    ['unknown', { url: getUnknownPath(1) }, 404],
    ['revoked', { url: `/quote/share/${closed}` }, 410],
    ['unknown format', { url: `${url}?format=x` }, 406],
    ['another method', { url, method: 'POST' }, 405],
    ['malformed path', { url: '/quote/share/%ff' }, 404],
  ]
  for (const [name, options, status] of cases)
    for (const [accept, type] of [
      [undefined, 'text/html; charset=utf-8'],
      ['*/*', 'text/html; charset=utf-8'],
      ['text/html,*/*;q=0.8', 'text/html; charset=utf-8'],
      ['application/pdf', 'text/html; charset=utf-8'],
      ['image/png', 'text/html; charset=utf-8'],
      ['application/json', 'application/problem+json; charset=utf-8'],
      ['application/problem+json', 'application/problem+json; charset=utf-8'],
    ]) {
      const headers = accept === undefined ? {} : { accept }
      const response = await app.inject({ ...options, headers })
      t.equal(response.statusCode, status, `${name} ${accept}`)
      t.equal(response.headers['content-type'], type, `${name} ${accept}`)
      t.equal(response.headers['referrer-policy'], 'no-referrer')
    }
  t.equal(
    (await app.inject(`${getUnknownPath(1)}?format=json`)).headers['content-type'],
    'application/problem+json; charset=utf-8',
  )
})

t.test(
  'views are counted only with COUNT_VIEWS, only of people, and without personal data (S11)',
  async (t) => {
    const uncounted = await startServiceWithLink(t)
    await uncounted.app.inject(uncounted.url)
    const lines: string[] = []
    const counting = await startServiceWithLink(t, {
      config: { COUNT_VIEWS: true },
      log: (line) => lines.push(line),
    })
    const before = await counting.db.selectFrom('quote_shares').selectAll().execute()
    for (const format of formats)
      t.equal((await counting.app.inject(`${counting.url}?format=${format}`)).statusCode, 200)
    await counting.app.inject({ method: 'HEAD', url: counting.url })
    await counting.app.inject(getUnknownPath(1))
    for (const agent of [
      'WhatsApp/2.23.20.0',
      'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
      'facebookexternalhit/1.1',
      'TelegramBot (like TwitterBot)',
    ])
      await counting.app.inject({ url: counting.url, headers: { 'user-agent': agent } })
    await counting.app.inject({ url: counting.url, headers: { 'sec-purpose': 'prefetch' } })
    const readViews = () => counting.db.selectFrom('quote_share_views').selectAll().execute()
    const counted = await eventually(readViews, (rows) => rows.length >= 3)
    t.equal(counted.length, 3)
    t.same(Object.keys(counted[0] ?? {}).sort(), ['share_id', 'viewed_at'])
    t.same(await counting.db.selectFrom('quote_shares').selectAll().execute(), before)
    t.equal((await uncounted.db.selectFrom('quote_share_views').selectAll().execute()).length, 0)

    await counting.db.schema.alterTable('quote_share_views').renameTo('missing').execute()
    const openTwice = async () => {
      for (const _ of [1, 2])
        t.equal(
          (await counting.app.inject(counting.url)).statusCode,
          200,
          'a quote opens even if its view cannot be recorded',
        )
    }
    await openTwice()
    const linesWith = (text: string) => lines.filter((line) => line.includes(text))
    const failures = () => linesWith('Views of quote links cannot be counted')
    await eventually(async () => failures().length, Boolean)
    await openTwice()
    await counting.db.schema.alterTable('missing').renameTo('quote_share_views').execute()
    await counting.app.inject(counting.url)
    const recoveries = () => linesWith('Views of quote links are counted again')
    await eventually(async () => recoveries().length, Boolean)
    t.match(failures(), [/quote_share_views/], 'the log has the cause once')
    t.equal(recoveries().length, 1)
  },
)

t.test(
  'no id, number, hash or API key opens a quote, and no token is an API key (S2, S4)',
  async (t) => {
    const { app, db, token } = await startServiceWithLink(t)
    const key = await createApiKey(db, {
      kind: 'secret',
      name: 'x',
      scopes: ['search:read', 'stats:read'],
    })
    const { id, quote_id, token_hash, content_hash } = await db
      .selectFrom('quote_shares')
      .selectAll()
      .executeTakeFirstOrThrow()
    const wrongTokens = [
      id,
      String(quote_id),
      'P-1',
      token_hash.toString('hex'),
      token_hash.toString('base64url'),
      content_hash,
      key,
      secretOf(key),
      '0'.repeat(43),
    ]
    for (const wrongToken of wrongTokens)
      t.equal((await app.inject(`/quote/share/${wrongToken}`)).statusCode, 404, wrongToken)
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

t.test('no response repeats Host or X-Forwarded-Host (S12)', async (t) => {
  const { app, url } = unchanged
  const evil = {
    host: 'evil.example',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'gopher',
  }
  for (const path of [url, `${url}?format=json`, getUnknownPath(1)]) {
    const response = await app.inject({ url: path, headers: evil })
    t.notMatch(response.body + JSON.stringify(response.headers), /evil|gopher/)
  }
  t.match((await app.inject(url)).body, 'href="?format=pdf"', 'the page links to its PDF')
})

t.test('the JSON has the fields of the contract and no other (S15)', async (t) => {
  const { app, url } = unchanged
  const response = await app.inject({ url, headers: acceptJson })
  const shared = response.json()
  t.same(Object.keys(shared), ['status', 'link', 'contentHash', 'document'])
  t.same(Object.keys(shared.link), ['expiresAt'])
  const names = [
    'buyer',
    'currency',
    'issuedOn',
    'language',
    'legal',
    'legalTranslations',
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
  'a cached quote returns 410 once its link is revoked, even with If-None-Match (S7, S8)',
  async (t) => {
    const { app, db, url } = await startServiceWithLink(t)
    for (const format of [...formats, ...formats])
      t.equal((await app.inject(`${url}?format=${format}`)).statusCode, 200)
    const { id } = await db.selectFrom('quote_shares').select('id').executeTakeFirstOrThrow()
    await revokeQuoteLink(db, id)
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
  'a request during a truncation of all quotes waits and is then 404, without a deadlock',
  async (t) => {
    const { app, pool, url } = await startServiceWithLink(t)
    const truncating = await pool.connect()
    await truncating.query('begin')
    await truncating.query('lock table quotes in access exclusive mode')
    const opening = app.inject(url)
    await eventually(
      async () =>
        (
          await pool.query(
            `select from pg_stat_activity
             where datname = current_database() and wait_event_type = 'Lock'
               and query like '%read_quote_share(%'`,
          )
        ).rowCount,
      (count) => count === 1,
    )
    // Truncating locks the links too. A query that locks them before the quotes would deadlock.
    await truncating.query('truncate quotes cascade')
    await truncating.query('commit')
    truncating.release()
    t.equal((await opening).statusCode, 404)
  },
)

t.test(
  'reading a quote that is deleted meanwhile does not count as a failed attempt',
  async (t) => {
    const { app, db, url } = await startServiceWithLink(t, {
      config: { LINK_GUESS_LIMIT_PER_MINUTE: 1 },
    })
    await sql`
    create or replace function read_quote_share_document(token_hash bytea)
    returns text language plpgsql security definer as 'begin delete from quotes; return null; end'
  `.execute(db)
    t.equal(
      (await app.inject(url)).statusCode,
      404,
      'the quote was deleted after the link was found',
    )
    t.equal((await app.inject(url)).statusCode, 404, 'the first request for an unknown link')
    t.equal((await app.inject(url)).statusCode, 429, 'the second one')
  },
)

t.test('a quote whose link is revoked while it is read is not shown (S8)', async (t) => {
  const { app, db } = await startServiceWithLink(t)
  // Reads the document, and revokes the link before the page, JSON or PDF is made of it.
  await sql`
    create or replace function read_quote_share_document(token_hash bytea)
    returns text language plpgsql security definer as $$
    declare
      found_document text;
    begin
      update quote_shares s set revoked_at = now() where s.token_hash = $1
      returning s.document into found_document;
      return found_document;
    end $$`.execute(db)
  for (const format of formats) {
    const token = await createQuoteLink(db, { number: 'P-1' })
    const response = await app.inject(`/quote/share/${token}?format=${format}`)
    t.equal(response.statusCode, 410, format)
    t.notMatch(response.body, 'Martillo')
  }
})

t.test('at the log level trace the process writes no token of any request (S13)', async (t) => {
  const database = await testDatabase(t)
  await addQuote(database.db, 'P-1')
  const token = await createQuoteLink(database.db, { number: 'P-1' })
  const { address, output, child, exit } = await startApi(t, database)
  const unknownToken = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
  const bodies: string[] = []
  for (const path of [
    `/${token}`,
    `/${unknownToken}`,
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
        headers: {
          ...acceptJson,
          referer: `${address}/quote/share/${token}`,
          cookie: `t=${token}`,
        },
      })
      bodies.push(await response.text())
      for (const [name, value] of response.headers) t.notMatch(value, token.slice(0, 20), name)
    }
  }
  await fetch(`${address}/api/search?q=${token}`, { headers: { authorization: `Bearer ${token}` } })
  await database.db.schema.alterTable('quote_shares').renameTo('missing').execute()
  t.equal((await fetch(`${address}/quote/share/${token}`)).status, 503)
  child.kill('SIGTERM')
  await exit
  t.ok(output().length > 1_000)
  t.match(output(), '"level":50', 'the failure was logged')
  for (const secret of [token, unknownToken, encodeURIComponent(token)])
    t.notOk(output().includes(secret.slice(0, 20)) || bodies.join('').includes(secret.slice(0, 20)))
})

/** Starts the API as a process with the log level trace. */
async function startApi(t: Test, { roles }: TestDatabase) {
  const { redisUrl, meiliUrls, meiliMasterKey } = await servers()
  const directory = await mkdtemp(join(tmpdir(), 'tqs-links-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const port = await chooseFixedPort()
  const program = startProgram(t, ['src/server.ts'], {
    API_DATABASE_URL: roles.api,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: `test:${port}:`,
    MEILI_URL: meiliUrls[0],
    MEILI_SEARCH_KEY: deriveSearchKey(meiliMasterKey),
    COMPANY_FILE: writeCompanyFile(directory),
    PORT: String(port),
    OPS_PORT: '0',
    LINK_LIMIT_PER_MINUTE: '1000000',
    LINK_GUESS_LIMIT_PER_MINUTE: '1000000',
    LOG_LEVEL: 'trace',
  })
  const address = `http://127.0.0.1:${port}`
  const requestStatus = () =>
    fetch(`${address}/quote/share/x`).then(
      ({ status }) => status,
      () => 0,
    )
  if ((await eventually(requestStatus, (status) => status === 404)) !== 404)
    throw new Error(program.output())
  return { address, ...program }
}

const minuteMs = 60_000

/**
 * Returns the result of `requestAll` from a run within one minute of the clock, because the limits
 * count per minute. If a minute ends during a run, repeats it from addresses of another network.
 */
async function withinOneMinute<Result>(
  requestAll: (network: number) => Promise<Result>,
): Promise<Result> {
  for (let network = 1; ; network += 1) {
    const minute = Math.floor(Date.now() / minuteMs)
    const result = await requestAll(network)
    if (Math.floor(Date.now() / minuteMs) === minute) return result
  }
}
