// Generates any number of quotes: six years, forty countries, three currencies, every status, 5,000
// customers, and lines of 4,000 products. Always the same for the same count.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../../src/database/table-types.ts'
import { rebuildSummary } from '../../../src/stats/summary/check-months.ts'

/** The last day of the six years in which generated quotes are issued. */
export const lastDay = '2026-11-21'

const linesPerQuote = 5
/** Each customer is in one of the forty countries. */
const customers = 5_000
const products = 4_000

/** Returns a statement that inserts `count` quotes, numbered from `first` + 1. */
function insertGenerated(count: number, first: number) {
  return sql`
    insert into quotes (number, customer_id, status, country, currency, rate, issued_on,
      valid_until, decided_on, net, gross)
    select 'B' || n, 1 + place + 40 * ((hashint4(n * 13) & 1048575) % ${sql.lit(customers / 40)}),
      status, (select array_agg(code order by code) from countries)[1 + place],
      currency,
      case currency when 'EUR' then 1 when 'USD' then 0.9 + (n % 100) * 0.001 else 0.006 end,
      issued, issued + 30 + n % 31,
      case when status in ('accepted', 'rejected') then issued + n % 20 end, net, net
    from (
      select n,
        date '2020-11-22' + ((n - ${first}::bigint) * 2190 / ${count})::integer as issued,
        currency, (hashint4(n * 7) & 1023) % 40 as place,
        case
          when drawn < 15 then 'sent' when drawn < 20 then 'draft' when drawn < 75 then 'accepted'
          when drawn < 90 then 'rejected' else 'expired'
        end as status,
        round((hashint4(n * 11) & 1048575) / 100.0,
          case currency when 'JPY' then 0 else 2 end) as net
      from (
        select n, (array['EUR', 'USD', 'JPY'])[1 + (hashint4(n * 3) & 1023) % 3] as currency,
          (hashint4(n * 5) & 1023) % 100 as drawn
        from generate_series(${first}::integer + 1, ${first}::integer + ${count}::integer) as n
      ) draws
    ) generated`
}

/** Inserts the lines of the generated quotes from number `first` + 1 to `first` + `count`. */
async function insertGeneratedLines(
  db: Kysely<Tables>,
  count: number,
  first: number,
): Promise<void> {
  await sql`
    insert into quote_lines (quote_id, position, sku, description, quantity, unit_price, net)
    select q.id, position,
      'SKU-' || (hashint4(n * 17 + position) & 1048575) % ${sql.lit(products)}, 'Generated', 1, 1,
      (hashint4(n * 19 + position) & 65535) * case q.currency when 'JPY' then 1 else 0.01 end
    from generate_series(${first}::integer + 1, ${first}::integer + ${count}::integer) as n
      join quotes q on q.number = 'B' || n and q.version = 1
      cross join generate_series(1, ${sql.lit(linesPerQuote)}) as position
  `.execute(db)
}

/** Inserts the customers and products of the generated quotes. */
async function insertNames(db: Kysely<Tables>): Promise<void> {
  await sql`
    insert into customers (id, name) overriding system value
    select n, 'Customer ' || n from generate_series(1, ${sql.lit(customers)}) as n
  `.execute(db)
  await sql`
    insert into products (sku, name)
    select 'SKU-' || n - 1, 'Product ' || n from generate_series(1, ${sql.lit(products)}) as n
  `.execute(db)
}

/**
 * Inserts `count` quotes with lines into a database without quotes, and builds the summary from
 * them. It neither analyses nor vacuums anything.
 */
export async function generateQuotes(db: Kysely<Tables>, count: number): Promise<void> {
  await insertNames(db)
  await setSummaryTriggers(db, 'disable')
  for (let done = 0; done < count; done += insertedAtOnce)
    await insertGeneratedQuotes(db, Math.min(insertedAtOnce, count - done), done)
  await setSummaryTriggers(db, 'enable')
  await rebuildSummary(db)
}

const insertedAtOnce = 250_000

/** Inserts quotes and their lines with two statements. Folds nothing. */
export async function insertGeneratedQuotes(
  db: Kysely<Tables>,
  count: number,
  first: number,
): Promise<void> {
  await insertGenerated(count, first).execute(db)
  await insertGeneratedLines(db, count, first)
}

/** The functions of the triggers that maintain the summary. Other triggers stay enabled. */
const triggerFunctions = ['append_quote_changes', 'append_line_changes', 'subtract_lines_of_quote']

/** Enables or disables these triggers. Throws if there are none: nothing would be measured. */
export async function setSummaryTriggers(
  db: Kysely<Tables>,
  state: 'enable' | 'disable',
): Promise<void> {
  const { rows } = await sql<{ table: string; name: string }>`
    select tgrelid::regclass::text as table, tgname as name
    from pg_trigger join pg_proc on pg_proc.oid = tgfoid
    where not tgisinternal and proname = any(${triggerFunctions})
  `.execute(db)
  if (rows.length === 0) throw new Error(`No trigger calls ${triggerFunctions.join(' or ')}.`)
  for (const { table, name } of rows)
    await sql`
      alter table ${sql.table(table)} ${sql.raw(state)} trigger ${sql.id(name)}
    `.execute(db)
}
