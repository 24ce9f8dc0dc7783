// Generates any number of quotes: six years, forty countries, three currencies, every status.
// Always the same for the same count.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../../src/database/table-types.ts'

/** The last day of the six years in which generated quotes are issued. */
export const lastDay = '2026-11-21'

/** Returns a statement that inserts `count` quotes, numbered from `first` + 1. */
export function insertGenerated(count: number, first = 0) {
  return sql`
    insert into quotes (number, status, country, currency, rate, issued_on, valid_until,
      decided_on, net, gross)
    select 'B' || n, status, (select array_agg(code order by code) from countries)[1 + place],
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

/** Replaces all quotes with `count` generated ones, and rebuilds the summary. */
export async function generateQuotes(db: Kysely<Tables>, count: number): Promise<void> {
  await sql`truncate quotes cascade`.execute(db)
  await sql`alter table quotes disable trigger user`.execute(db)
  const step = 1_000_000
  for (let done = 0; done < count; done += step)
    await insertGenerated(Math.min(step, count - done), done).execute(db)
  await sql`alter table quotes enable trigger user`.execute(db)
  await sql`select rebuild_quote_summary()`.execute(db)
  await sql`analyze quotes, quote_figures, quote_validity`.execute(db)
}
