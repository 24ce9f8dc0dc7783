// Inserts the quotes and customers of the tests of the statistics.
import { sql } from 'kysely'
import type { Database } from '../../src/database/postgres-pool.ts'
import { foldUntilCurrent } from '../../src/stats/summary/fold-statistics.ts'
import { buildQuote, customerName, type Quote } from './quote-builder.ts'

/**
 * Inserts quotes and their lines in one statement. Then it folds, unless the caller has opened a
 * transaction, so that statistics contain the quotes at once.
 */
export async function insertQuotes(db: Database, quotes: Quote[]): Promise<void> {
  await insertUnfoldedQuotes(db, quotes)
  if (!db.isTransaction) await foldUntilCurrent(db)
}

/** The same without folding. */
export async function insertUnfoldedQuotes(db: Database, quotes: Quote[]): Promise<void> {
  const lines = quotes.flatMap(({ number, lines = [] }) =>
    lines.map((line, index) => ({ ...line, number, position: index + 1 })),
  )
  await sql`
    with inserted as (
      insert into quotes (number, status, country, currency, rate, issued_on, valid_until,
        decided_on, net, gross, customer_id)
      select number, status, country, currency, rate, issued_on, valid_until, decided_on, net, net,
        customer_id
      from jsonb_populate_recordset(null::quotes, ${JSON.stringify(quotes)})
      returning id, number
    )
    insert into quote_lines (quote_id, position, sku, description, quantity, unit_price, net)
    select inserted.id, l.position, l.sku, 'Anything', 1, 1, l.net
    from jsonb_to_recordset(${JSON.stringify(lines)})
      as l (number text, position integer, sku text, net numeric)
    join inserted on inserted.number = l.number
  `.execute(db)
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
