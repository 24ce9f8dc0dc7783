// The tokens of links: random, and stored only as hashes.
// Numbers such as S1 are those of the attacks in docs/security.md.
import { sql } from 'kysely'
import t from 'tap'
import { createQuoteLink } from '../../../src/quotes/links/manage-links.ts'
import { generateLinkToken, hashLinkToken } from '../../../src/quotes/links/read-link.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { minimalQuote, writeQuote } from '../../support/quotes/frozen-documents.ts'

t.test(
  'links have random tokens of 43 characters, and the database stores only their hashes (S1)',
  async (t) => {
    const { db } = await testDatabase(t)
    await writeQuote(db, minimalQuote, [])
    const tokens: string[] = []
    for (let n = 0; n < 100; n += 1) tokens.push(await createQuoteLink(db, { number: 'P-1' }))
    // The others without computing the document again, which takes a millisecond for each link.
    const others = Array.from({ length: 9_900 }, generateLinkToken)
    await sql`
      insert into quote_shares (quote_id, token_hash, document, content_hash)
      select quote_id, hash, document, content_hash
      from unnest(${others.map(hashLinkToken)}::bytea[]) as hash,
        (select * from quote_shares order by id limit 1) as share
    `.execute(db)
    tokens.push(...others)
    t.ok(tokens.every(isToken))
    t.equal(new Set(tokens.map((token) => token[0])).size, 64, 'every first character occurs')
    // Two of 10,000 random texts share 12 characters (72 bits) with a probability of about 1 in 10¹⁴.
    for (const part of [[0], [0, 12], [-12]])
      t.equal(new Set(tokens.map((token) => token.slice(...part))).size, tokens.length, `${part}`)

    const stored = await db
      .selectFrom('quote_shares')
      .select([
        sql<string>`encode(token_hash, 'hex')`.as('hash'),
        sql<string>`quote_shares::text`.as('row'),
      ])
      .execute()
    const hashes = new Set(stored.map(({ hash }) => hash))
    t.equal(hashes.size, tokens.length)
    t.ok(tokens.every((token) => hashes.has(hashLinkToken(token).toString('hex'))))
    // Neither the text of a token nor its bytes in hexadecimal digits.
    const secrets = new Set(tokens.flatMap((token) => [token, Buffer.from(token).toString('hex')]))
    const words = stored.flatMap(({ row }) => row.match(/[\w-]{43,}/g) ?? [])
    t.ok(words.length >= tokens.length, 'each row has at least a hash of this length')
    t.same(
      words.filter((word) => [43, 86].some((size) => partsOf(word, size).some(isSecret))),
      [],
    )

    function isSecret(part: string): boolean {
      return secrets.has(part)
    }
  },
)

/** Returns every part of this length. */
function partsOf(text: string, length: number): string[] {
  const count = Math.max(0, text.length - length + 1)
  return Array.from({ length: count }, (_, at) => text.slice(at, at + length))
}

function isToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text) && Buffer.from(text, 'base64url').length === 32
}
