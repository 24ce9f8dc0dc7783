// GET /quote/share/{token}: the gate, the two representations, and what must never be seen.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import canonicalize from 'canonicalize'
import t from 'tap'
import { hashLinkToken } from '../../src/quotes/link-token.ts'
import { createShareLink, revokeShareLink } from '../../src/quotes/share-links.ts'
import { addQuote } from '../support/quotes.ts'
import { company, testService } from '../support/test-service.ts'

const today = '2026-11-21'
const json = { accept: 'application/json' }

async function service(
  t: Parameters<typeof testService>[0],
  options: Parameters<typeof testService>[1] = {},
) {
  return testService(t, { clock: () => new Date(`${today}T10:00:00Z`), ...options })
}

t.test(
  'S14, S15, S17, S24: shows the quote as a page, and as JSON to programs, without a cookie, a referrer or anything internal',
  async (t) => {
    const own = await service(t)
    await addQuote(own.db, 'P-1')
    const token = await createShareLink(own.db, { number: 'P-1' })
    const url = `/quote/share/${token}`

    const page = await own.app.inject({
      url,
      headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
    })
    t.equal(page.statusCode, 200)
    t.equal(page.headers['content-type'], 'text/html; charset=utf-8')
    for (const shown of [
      'P-1',
      'Martillo',
      '1.245,60',
      '1.507,18',
      '261,58',
      'Gracias por su interés.',
      company.seller.legalName,
    ]) {
      t.ok(page.body.includes(shown), shown)
    }
    t.ok(
      page.body.includes('Cliente &lt;b&gt;Ejemplo&lt;/b&gt; &amp; Cía.'),
      'markup in a name is text',
    )
    t.match((await own.app.inject({ url: `${url}?lang=en` })).body, /<html[^>]* lang="en"/)

    const answer = await own.app.inject({ url, headers: json })
    t.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
    const shared = answer.json()
    t.match(shared, {
      status: 'sent',
      document: { number: 'P-1', totals: { gross: { amount: '1507.18', currency: 'EUR' } } },
    })
    t.equal(
      shared.contentHash,
      createHash('sha256')
        .update(canonicalize(shared.document) ?? '')
        .digest('hex'),
    )
    t.same(
      (await own.app.inject(`${url}?format=json&utm_source=mail&utm_source=again`)).json(),
      shared,
      'what mail tools append is ignored',
    )

    for (const response of [page, answer]) {
      t.notMatch(response.body, /margen secreto/)
      t.notMatch(response.body, /internal/i)
      t.equal(response.headers['set-cookie'], undefined)
      t.equal(response.headers['cache-control'], 'private, no-store')
      t.equal(response.headers['x-robots-tag'], 'noindex, nofollow')
      t.equal(response.headers['referrer-policy'], 'no-referrer')
      t.equal(response.headers['x-content-type-options'], 'nosniff')
      t.match(String(response.headers['content-security-policy']), /default-src 'none'/)
      t.match(String(response.headers['content-security-policy']), /frame-ancestors 'none'/)
      t.notMatch(String(response.headers['content-security-policy']), /unsafe/)
    }
    t.notMatch(page.body, /<script/i)
    const head = await own.app.inject({ method: 'HEAD', url })
    t.same([head.statusCode, head.body], [200, ''])
    t.equal((await own.app.inject({ url, headers: { accept: 'image/png' } })).statusCode, 406)
  },
)

t.test(
  'S2, S3, S6, S10, S16: unknown, malformed, altered, draft and deleted are one and the same 404',
  async (t) => {
    const own = await service(t)
    await addQuote(own.db, 'P-1')
    await addQuote(own.db, 'P-2')
    const token = await createShareLink(own.db, { number: 'P-1' })
    const deleted = await createShareLink(own.db, { number: 'P-2' })
    await own.db
      .updateTable('quotes')
      .set({ status: 'draft' })
      .where('number', '=', 'P-1')
      .execute()
    await own.db.deleteFrom('quotes').where('number', '=', 'P-2').execute()
    const wrong = [
      token,
      deleted,
      'A'.repeat(43),
      `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
      token.slice(0, -1),
      `${token}x`,
      token.toUpperCase(),
      ...[
        'shared',
        'null',
        'undefined',
        '%25',
        '*',
        'true',
        '1',
        'P-1',
        '00000000-0000-4000-8000-000000000000',
        '..%2f..%2fetc%2fpasswd',
        '%00',
        '[object Object]',
        'x'.repeat(400),
        'x'.repeat(5_000),
        '%',
        '%ff%fe',
        '%00',
        'a/b',
        '[object%20Object]',
        '{}',
        '',
      ].map((text) => text),
    ]
    for (const headers of [json, { accept: 'text/html' }]) {
      const answers = new Set<string>()
      for (const attempt of wrong) {
        const response = await own.app.inject({ url: `/quote/share/${attempt}`, headers })
        t.equal(response.statusCode, 404, attempt.slice(0, 50))
        // What counts requests and seconds differs by when, not by what was asked for.
        const {
          'x-request-id': id,
          date: _,
          'ratelimit-remaining': __,
          'ratelimit-reset': ___,
          ...rest
        } = response.headers
        answers.add(
          JSON.stringify([rest, response.body.replaceAll(String(id), 'ID')]).replace(
            /"content-length":"\d+"/,
            '',
          ),
        )
        t.notMatch(response.body, attempt.length >= 42 ? attempt : /never/)
      }
      t.equal(answers.size, 1, 'alike in body and headers')
    }
    for (const link of [token, deleted, '%']) {
      t.match(await own.app.inject({ method: 'HEAD', url: `/quote/share/${link}` }), {
        statusCode: 404,
        body: '',
      })
      t.equal((await own.app.inject(`/quote/share/${link}?format=pdf`)).statusCode, 404)
    }
  },
)

t.test(
  'S7: an expired or revoked link is 410 on every representation, with the contact and nothing of the quote',
  async (t) => {
    let now = new Date(`${today}T10:00:00Z`)
    const own = await service(t, { clock: () => now })
    await addQuote(own.db, 'P-1')
    const expiring = await createShareLink(own.db, {
      number: 'P-1',
      expiresAt: new Date(Date.now() + 86_400_000),
    })
    const revoked = await createShareLink(own.db, { number: 'P-1' })
    for (const token of [expiring, revoked])
      t.equal((await own.app.inject(`/quote/share/${token}`)).statusCode, 200)
    const { id } = await own.db
      .selectFrom('quote_shares')
      .select('id')
      .where('expires_at', 'is', null)
      .executeTakeFirstOrThrow()
    t.equal(await revokeShareLink(own.db, id), true)
    t.equal(await revokeShareLink(own.db, id), false)
    now = new Date(Date.now() + 2 * 86_400_000)
    for (const [token, code] of [
      [expiring, 'link_expired'],
      [revoked, 'link_revoked'],
    ]) {
      const problem = await own.app.inject({ url: `/quote/share/${token}`, headers: json })
      t.equal(problem.statusCode, 410)
      t.match(problem.json(), { code, detail: company.seller.email })
      const page = await own.app.inject(`/quote/share/${token}`)
      t.equal(page.statusCode, 410)
      t.match(page.body, company.seller.email)
      t.equal(
        (await own.app.inject({ method: 'HEAD', url: `/quote/share/${token}` })).statusCode,
        410,
      )
      for (const body of [problem.body, page.body]) t.notMatch(body, /P-1|Martillo|1507|Cliente/)
    }
  },
)

t.test(
  'a quote past its validity still opens, marked as expired from the next local day on',
  async (t) => {
    // 23:30 in Madrid on the last day is 22:30 UTC; half an hour later it is over.
    let now = new Date('2026-11-30T22:30:00Z')
    const own = await service(t, { clock: () => now })
    await addQuote(own.db, 'P-1')
    const url = `/quote/share/${await createShareLink(own.db, { number: 'P-1' })}`
    t.equal((await own.app.inject({ url, headers: json })).json().status, 'sent')
    now = new Date('2026-11-30T23:00:00Z')
    t.equal((await own.app.inject({ url, headers: json })).json().status, 'expired')
    t.match((await own.app.inject(url)).body, /vencido/i)
  },
)

t.test('a newer version leaves the old link as it was sent, but for its status', async (t) => {
  const own = await service(t)
  await addQuote(own.db, 'P-1')
  const url = `/quote/share/${await createShareLink(own.db, { number: 'P-1' })}`
  const before = (await own.app.inject({ url, headers: json })).json()
  await own.db
    .updateTable('quotes')
    .set({ status: 'superseded', notes: 'otra cosa', net: '1', tax: '0', gross: '1' })
    .execute()
  const after = (await own.app.inject({ url, headers: json })).json()
  t.equal(after.status, 'superseded')
  t.same(after.document, before.document)
})

t.test('S11, S13: the token is in no log line, and opening a link changes nothing', async (t) => {
  const lines: string[] = []
  const own = await service(t, { log: (line) => lines.push(line), config: { LOG_LEVEL: 'trace' } })
  await addQuote(own.db, 'P-1')
  const token = await createShareLink(own.db, { number: 'P-1' })
  const before = await own.db.selectFrom('quote_shares').selectAll().execute()
  for (const url of [
    `/quote/share/${token}`,
    `/quote/share/${token}?format=json`,
    `/quote/share/${token}/x`,
    `/quote/share/${token}?format=x`,
  ]) {
    await own.app.inject(url)
    await own.app.inject({ method: 'HEAD', url })
    await own.app.inject({ method: 'POST', url })
  }
  t.ok(lines.length > 0)
  t.notMatch(lines.join('\n'), token)
  t.same(await own.db.selectFrom('quote_shares').selectAll().execute(), before)
})

t.test('PostgreSQL gone is a 503 page or problem', async (t) => {
  const own = await service(t)
  await own.db.schema.alterTable('quote_shares').renameTo('away').execute()
  const problem = await own.app.inject({ url: `/quote/share/${'A'.repeat(43)}`, headers: json })
  t.equal(problem.statusCode, 503)
  t.ok(Number(problem.headers['retry-after']) > 0)
  t.notMatch(problem.body, /quote_shares/)
  t.equal((await own.app.inject(`/quote/share/${'A'.repeat(43)}`)).statusCode, 503)
})

t.test('scripts/share.ts creates, lists and revokes', async (t) => {
  const own = await service(t)
  await addQuote(own.db, 'P-1')
  await addQuote(own.db, 'P-9', { status: 'draft' })
  const run = (...words: string[]) => runWith('', ...words)
  const runWith = (input: string, ...words: string[]) =>
    spawnSync(process.execPath, [join(import.meta.dirname, '../../scripts/share.ts'), ...words], {
      input,
      env: {
        ...process.env,
        IMPORTER_DATABASE_URL: own.roles.importer,
        PUBLIC_BASE_URL: 'https://quotes.example/erp/',
      },
      encoding: 'utf8',
    })
  const made = run('create', 'P-1', '--expires', '30d', '--language', 'en')
  t.equal(made.status, 0, made.stderr)
  t.match(made.stdout.trim(), /^https:\/\/quotes\.example\/erp\/quote\/share\/[\w-]{43}$/)
  const path = `/quote/share/${made.stdout.trim().split('/').at(-1)}`
  t.match((await own.app.inject({ url: path, headers: json })).json(), {
    document: { language: 'en' },
    link: { expiresAt: /^20/ },
  })
  const listed = run('list', 'P-1')
  t.match(listed, { status: 0, stdout: /version 1\t.*expires 20/ })
  const id = listed.stdout.split('\t')[0] ?? ''
  t.match(run('revoke', id), { status: 0 })
  t.equal((await own.app.inject(path)).statusCode, 410)
  t.match(run('revoke', id), { status: 1, stderr: /no link/ })
  t.match(run('create', 'P-9'), { status: 1, stderr: /draft/ })
  t.match(run('create', 'P-404'), { status: 1, stderr: /no quote P-404/ })
  t.match(run('create', 'P-1', '--expires', 'soon'), { status: 2, stderr: /30d/ })
  t.match(run('create', 'P-1', '--version', '7'), { status: 1, stderr: /version 7/ })
  t.match(run('--help'), { status: 0, stdout: /Usage/ })

  const many = runWith('\ufeffP-1\r\n\nP-9\nP-1\nP-404\n', 'create', '--file', '-')
  t.match(
    many,
    { status: 1, stderr: /P-9: .*draft.*P-404: .*no quote.*2 links created, 2 rejected/s },
    'of many, the good ones are made',
  )
  const links = many.stdout
    .trim()
    .split('\n')
    .map((line) => line.split('\t'))
  t.same(
    links.map(([number]) => number),
    ['P-1', 'P-1'],
  )
  for (const [, url = ''] of links)
    t.equal((await own.app.inject(`/quote/share/${url.split('/').at(-1)}`)).statusCode, 200)
  const asJson = runWith('P-1\n', 'create', '--file', '-', '--json', '--expires', 'never')
  t.match(JSON.parse(asJson.stdout), {
    number: 'P-1',
    url: /^https:\/\/quotes\.example\/erp\/quote\/share\/[\w-]{43}$/,
    expiresAt: null,
  })
  const newest = asJson.stdout.split('/').at(-1)?.slice(0, 43) ?? ''
  const { id: viewed } = await own.db
    .selectFrom('quote_shares')
    .select('id')
    .where('token_hash', '=', hashLinkToken(newest))
    .executeTakeFirstOrThrow()
  await own.db
    .insertInto('quote_share_views')
    .values([{ share_id: viewed }, { share_id: viewed }])
    .execute()
  t.match(run('list', 'P-1').stdout, /never expires\topened 2 times, last 20/)
  t.match(JSON.parse(run('list', 'P-1', '--json').stdout.split('\n')[0] ?? ''), {
    id: viewed,
    version: 1,
    views: 2,
    revokedAt: null,
  })
  for (const bad of [
    ['create'],
    ['create', 'P-1', '--file', '-'],
    ['create', '--file', '-', '--version', '1'],
    ['list'],
    ['list', 'P-1', '--expires', '1d'],
    ['revoke', 'x'],
    ['x', 'P-1'],
    [],
  ])
    t.match(run(...bad), { status: 2, stderr: /See --help/ }, bad.join(' '))
  t.match(run('create', '--file', '/nowhere/numbers'), { status: 1, stderr: /ENOENT/ })
})
