// GET /quote/share/{token}: which links open and what they return.
// Numbers such as S14 are those of the attacks in docs/security.md.
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { createQuoteLink, revokeQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { addQuote, expireLinks } from '../support/database/add-quote.ts'
import { company } from '../support/database/company.ts'
import { waitLongForRenderings } from '../support/quotes/rendering-processes.ts'
import { startServiceWithLink, today } from '../support/service/service-with-link.ts'
import { testService } from '../support/service/test-service.ts'

waitLongForRenderings(t)

const acceptJson = { accept: 'application/json' }

/** Headers that differ between requests for any link, so they reveal nothing about a token. */
const perRequestHeaders = new Set([
  'x-request-id',
  'date',
  'ratelimit-remaining',
  'ratelimit-reset',
  'content-length',
])

async function startService(
  t: Parameters<typeof testService>[0],
  options: Parameters<typeof testService>[1] = {},
) {
  const clock = () => new Date(`${today}T10:00:00Z`)
  return testService(t, { clock, index: false, ...options })
}

/** For tests that change neither the quote nor its link. */
const unchanged = await startServiceWithLink(t)

t.test('returns the quote as a page, in the language of ?lang=', async (t) => {
  const { app, url } = unchanged
  const accept = 'text/html,application/xhtml+xml,*/*;q=0.8'
  const page = await app.inject({ url, headers: { accept } })
  t.equal(page.statusCode, 200)
  t.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  for (const text of [
    'P-1',
    'Martillo',
    '1.245,60',
    '1.507,18',
    '261,58',
    'Gracias por su interés.',
    company.seller.legalName,
  ]) {
    t.ok(page.body.includes(text), text)
  }
  t.ok(
    page.body.includes('Cliente &lt;b&gt;Ejemplo&lt;/b&gt; &amp; Cía.'),
    'markup in a name is text',
  )
  t.match((await app.inject({ url: `${url}?lang=en` })).body, /<html[^>]* lang="en"/)
})

t.test('returns the quote as JSON with the hash of its document', async (t) => {
  const { app, url } = unchanged
  const response = await app.inject({ url, headers: acceptJson })
  t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
  const linkedQuote = response.json()
  t.same(Object.keys(linkedQuote), ['status', 'link', 'contentHash', 'document'])
  t.match(linkedQuote, {
    status: 'sent',
    document: { number: 'P-1', totals: { gross: { amount: '1507.18', currency: 'EUR' } } },
  })
  const canonicalJson = canonicalize(linkedQuote.document) ?? ''
  t.equal(linkedQuote.contentHash, createHash('sha256').update(canonicalJson).digest('hex'))
  t.same(
    (await app.inject(`${url}?format=json&utm_source=mail&utm_source=again`)).json(),
    linkedQuote,
    'parameters that email tools append are ignored',
  )
})

t.test(
  'no response has a cookie, a referrer, a script or internal data (S14, S15, S17, S24)',
  async (t) => {
    const { app, url } = unchanged
    const page = await app.inject({ url, headers: { accept: 'text/html' } })
    for (const response of [page, await app.inject({ url, headers: acceptJson })]) {
      t.equal(response.statusCode, 200)
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
  },
)

const unknownToken = 'A'.repeat(43)

/** Returns the response for a token without what differs in every response. */
async function requestComparably(app: FastifyInstance, token: string, accept: string) {
  const response = await app.inject({ url: `/quote/share/${token}`, headers: { accept } })
  const headers = Object.entries(response.headers).filter(([name]) => !perRequestHeaders.has(name))
  const body = response.body.replaceAll(String(response.headers['x-request-id']), 'ID')
  return { status: response.statusCode, headers, body }
}

/** Checks that the tokens get the same 404 as an unknown one, and that it does not repeat them. */
async function checkSame404(t: Test, app: FastifyInstance, tokens: string[]): Promise<void> {
  for (const accept of ['application/json', 'text/html']) {
    const expected = await requestComparably(app, unknownToken, accept)
    t.equal(expected.status, 404)
    for (const token of tokens) {
      const response = await requestComparably(app, token, accept)
      t.same(response, expected, token.slice(0, 50))
      if (token.length >= 42) t.notMatch(response.body, token)
    }
  }
  for (const token of [unknownToken, ...tokens.slice(0, 2)]) {
    const url = `/quote/share/${token}`
    t.match(await app.inject({ method: 'HEAD', url }), { statusCode: 404, body: '' })
    t.equal((await app.inject(`${url}?format=pdf`)).statusCode, 404)
  }
}

t.test('an altered token returns the same 404 as an unknown one (S10)', async (t) => {
  const { app, url } = unchanged
  const token = url.slice('/quote/share/'.length)
  await checkSame404(t, app, [
    `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
    token.slice(0, -1),
    `${token}x`,
    token.toUpperCase(),
  ])
})

t.test('a malformed token returns the same 404 as an unknown one (S2, S3, S16)', async (t) => {
  const { app } = unchanged
  const words = ['shared', 'null', 'undefined', '*', 'true', '1', 'P-1', '{}', '']
  const encoded = ['%', '%25', '%00', '%ff%fe', '..%2f..%2fetc%2fpasswd', '[object%20Object]']
  const others = ['00000000-0000-4000-8000-000000000000', 'a/b', '[object Object]']
  const long = ['x'.repeat(400), 'x'.repeat(5_000)]
  await checkSame404(t, app, [...encoded, ...words, ...others, ...long])
  for (const url of ['/quote/share', '/quote/share?utm_source=mail', '/quote/share/?lang=en']) {
    const { statusCode, body } = await app.inject({ url, headers: { accept: 'text/html' } })
    t.equal(statusCode, 404, url)
    t.match(body, url.includes('lang=en') ? 'There is no quotation here' : 'Aquí no hay', url)
  }
})

t.test('a link to a draft or a deleted quote returns the same 404 (S6)', async (t) => {
  const { app, db } = await startService(t)
  const tokens: string[] = []
  for (const number of ['P-1', 'P-2']) {
    await addQuote(db, number)
    tokens.push(await createQuoteLink(db, { number }))
  }
  await db.updateTable('quotes').set({ status: 'draft' }).where('number', '=', 'P-1').execute()
  await db.deleteFrom('quotes').where('number', '=', 'P-2').execute()
  await checkSame404(t, app, tokens)
})

t.test(
  'an expired or revoked link returns 410 with the contact and nothing of the quote (S7)',
  async (t) => {
    const service = await startService(t)
    await addQuote(service.db, 'P-1')
    const expiring = await createQuoteLink(service.db, {
      number: 'P-1',
      expiry: new Date(Date.now() + 86_400_000),
    })
    const revoked = await createQuoteLink(service.db, { number: 'P-1' })
    for (const token of [expiring, revoked])
      t.equal((await service.app.inject(`/quote/share/${token}`)).statusCode, 200)
    const { id } = await service.db
      .selectFrom('quote_shares')
      .select('id')
      .where('expires_at', 'is', null)
      .executeTakeFirstOrThrow()
    t.equal(await revokeQuoteLink(service.db, id), true)
    t.equal(await revokeQuoteLink(service.db, id), false)
    await expireLinks(service.db)
    for (const [token, code] of [
      [expiring, 'link_expired'],
      [revoked, 'link_revoked'],
    ]) {
      const problem = await service.app.inject({
        url: `/quote/share/${token}`,
        headers: acceptJson,
      })
      t.equal(problem.statusCode, 410)
      t.match(problem.json(), { code, detail: company.seller.email })
      const page = await service.app.inject(`/quote/share/${token}`)
      t.equal(page.statusCode, 410)
      t.match(page.body, company.seller.email)
      t.equal(
        (await service.app.inject({ method: 'HEAD', url: `/quote/share/${token}` })).statusCode,
        410,
      )
      for (const body of [problem.body, page.body]) t.notMatch(body, /P-1|Martillo|1507|Cliente/)
    }
  },
)

t.test(
  'a quote past its validity still opens and is marked as expired from the next local day',
  async (t) => {
    // 23:30 in Madrid on the last day of validity is 22:30 UTC. The next day starts at 23:00 UTC.
    let now = new Date('2026-11-30T22:30:00Z')
    const service = await startService(t, { clock: () => now })
    await addQuote(service.db, 'P-1')
    const url = `/quote/share/${await createQuoteLink(service.db, { number: 'P-1' })}`
    t.equal((await service.app.inject({ url, headers: acceptJson })).json().status, 'sent')
    now = new Date('2026-11-30T23:00:00Z')
    t.equal((await service.app.inject({ url, headers: acceptJson })).json().status, 'expired')
    t.match((await service.app.inject(url)).body, /vencido/i)
  },
)

t.test('a newer version changes only the status of the old link', async (t) => {
  const service = await startService(t)
  await addQuote(service.db, 'P-1')
  const url = `/quote/share/${await createQuoteLink(service.db, { number: 'P-1' })}`
  const before = (await service.app.inject({ url, headers: acceptJson })).json()
  await service.db
    .updateTable('quotes')
    .set({ status: 'superseded', notes: 'otra cosa', net: '1', tax: '0', gross: '1' })
    .execute()
  const after = (await service.app.inject({ url, headers: acceptJson })).json()
  t.equal(after.status, 'superseded')
  t.same(after.document, before.document)
})

t.test('a failed query returns a 503 page or problem', async (t) => {
  const service = await startService(t)
  await service.db.schema.alterTable('quote_shares').renameTo('quote_shares_missing').execute()
  const problem = await service.app.inject({
    url: `/quote/share/${'A'.repeat(43)}`,
    headers: acceptJson,
  })
  t.equal(problem.statusCode, 503)
  t.ok(Number(problem.headers['retry-after']) > 0)
  t.notMatch(problem.body, /quote_shares/)
  t.equal((await service.app.inject(`/quote/share/${'A'.repeat(43)}`)).statusCode, 503)
})
