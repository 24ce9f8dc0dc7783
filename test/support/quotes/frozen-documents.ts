// Writes quotes and reads the documents of their links, for tests.
import { type Insertable, type NotNull, sql } from 'kysely'
import type { Database } from '../../../src/database/postgres-pool.ts'
import type { Tables } from '../../../src/database/table-types.ts'
import { createQuoteLink, type NewLink } from '../../../src/quotes/links/manage-links.ts'
import { hashLinkToken } from '../../../src/quotes/links/read-link.ts'

export type Quote = Insertable<Tables['quotes']>
export type Line = Omit<Insertable<Tables['quote_lines']>, 'quote_id' | 'position' | 'net'> & {
  position?: number
}

export const minimalQuote: Quote = {
  number: 'P-1',
  status: 'sent',
  currency: 'EUR',
  issued_on: '2026-03-02',
}
export const minimalLine: Line = { description: 'Martillo', quantity: '1', unit_price: '10' }

/** Writes a quote as docs/data-model.md requires: SQL functions compute its nets and totals. */
export async function writeQuote(db: Database, quote: Quote, lines: Line[]): Promise<void> {
  const { id } = await db
    .insertInto('quotes')
    .values(quote)
    .returning('id')
    .executeTakeFirstOrThrow()
  for (const [
    index,
    { position = index + 1, discount_percent = '0', ...rest },
  ] of lines.entries()) {
    const net = sql<string>`line_net(
      ${rest.quantity ?? null}, ${rest.unit_price ?? null}, ${discount_percent},
      currency_digits(${quote.currency}))`
    await db
      .insertInto('quote_lines')
      .values({ quote_id: id, position, discount_percent, ...rest, net })
      .execute()
  }
  await sql`
    update quotes set (net, tax, gross) = (select net, tax, gross from quote_totals(${id}))
    where id = ${id}`.execute(db)
}

/** Creates a link, and returns its row. */
export async function createAndReadLink(db: Database, request: NewLink) {
  return readLinkRow(db, hashLinkToken(await createQuoteLink(db, request)))
}

/** Returns the row of a link. */
export async function readLinkRow(db: Database, tokenHash: Buffer) {
  return db
    .selectFrom('quote_shares')
    .selectAll()
    .where('token_hash', '=', tokenHash)
    .$narrowType<{ document: NotNull }>()
    .executeTakeFirstOrThrow()
}
