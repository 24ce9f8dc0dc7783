// Inserts the quotes and customers of the tests of the statistics.
import { sql } from 'kysely'
import type { Database } from '../../src/database/postgres-pool.ts'
import { foldUntilCurrent } from '../../src/stats/summary/fold-statistics.ts'
import { buildQuote, customerName, type Quote } from './quote-builder.ts'

/**
 * Inserts quotes and their lines in one transaction, as writers have to. Then it folds, unless the
 * caller has opened the transaction, so that statistics contain the quotes at once.
 */
export async function insertQuotes(db: Database, quotes: Quote[]): Promise<void> {
  await insertUnfoldedQuotes(db, quotes)
  if (!db.isTransaction) await foldUntilCurrent(db)
}

/** The same without folding. */
export async function insertUnfoldedQuotes(db: Database, quotes: Quote[]): Promise<void> {
  const hasLines = quotes.some(({ lines = [] }) => lines.length > 0)
  if (hasLines && !db.isTransaction)
    await db.transaction().execute((transaction) => insertWithLines(transaction, quotes))
  else await insertWithLines(db, quotes)
}

async function insertWithLines(db: Database, quotes: Quote[]): Promise<void> {
  const inserted = await db
    .insertInto('quotes')
    .values(quotes.map(({ lines: _, ...row }) => ({ ...row, tax: '0', gross: row.net })))
    .returning(['id', 'number'])
    .execute()
  const ids = new Map(inserted.map(({ id, number }) => [number, id]))
  const lines = quotes.flatMap((quote) =>
    (quote.lines ?? []).map((line, index) => ({
      ...line,
      quote_id: ids.get(quote.number) ?? '',
      position: index + 1,
      description: 'Anything',
      quantity: '1',
      unit_price: '1',
    })),
  )
  // A statement has at most 65,535 parameters.
  for (let start = 0; start < lines.length; start += 5_000)
    await db
      .insertInto('quote_lines')
      .values(lines.slice(start, start + 5_000))
      .execute()
}

/** Inserts customers with the names that the expected statistics have. */
export async function insertCustomers(db: Database, ids: string[]): Promise<void> {
  await sql`
    insert into customers (id, name) overriding system value
    select * from unnest(${ids}::bigint[], ${ids.map(customerName)}::text[])
    on conflict do nothing
  `.execute(db)
}

/** Inserts an accepted quote of 100 EUR. */
export const insertQuote = (db: Database, number: string) =>
  insertQuotes(db, [buildQuote(number, {})])
