// Quote links under attack: other secrets as tokens, forged headers, and tokens in the output of a
// real process.
// Numbers such as S12 are those of the attacks in docs/security.md.
import t from 'tap'
import { createApiKey } from '../../../src/auth/api-keys.ts'
import { createQuoteLink } from '../../../src/quotes/links/manage-links.ts'
import { addQuote } from '../../support/database/add-quote.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { secretOf } from '../../support/key-parts.ts'
import { waitLongForRenderings } from '../../support/quotes/rendering-processes.ts'
import { startLinksApi } from '../../support/quotes/start-links-api.ts'
import {
  getUnknownLinkPath,
  startServiceWithLink,
} from '../../support/service/service-with-link.ts'

waitLongForRenderings(t)

// These tests mostly wait, so four run at once.
t.jobs = 4

const acceptJson = { accept: 'application/json' }

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
  const { app, url } = await startServiceWithLink(t, { config: { ALLOWED_HOSTS: ['*'] } })
  const evil = {
    host: 'evil.example',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'gopher',
  }
  for (const [path, status] of [
    [url, 200],
    [`${url}?format=json`, 200],
    [getUnknownLinkPath(1), 404],
  ] as const) {
    const response = await app.inject({ url: path, headers: evil })
    t.equal(response.statusCode, status, path)
    t.notMatch(response.body + JSON.stringify(response.headers), /evil|gopher/)
  }
  t.match((await app.inject(url)).body, 'href="?format=pdf"', 'the page links to its PDF')
})

t.test('at the log level trace the process writes no token of any request (S13)', async (t) => {
  const database = await testDatabase(t)
  await addQuote(database.db, 'P-1')
  const token = await createQuoteLink(database.db, { number: 'P-1' })
  const { address, output, child, exit } = await startLinksApi(t, database)
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
