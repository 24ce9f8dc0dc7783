// Counts how often products are quoted. This popularity decides between equal hits, and orders the
// hits of the empty query.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'

// Shorter than the limit of a request of the indexer, so that PostgreSQL ends the count.
export const popularityTimeout = { ms: 240_000 }

/**
 * The letters "popt" as a number; no other advisory lock uses it. Without the lock, two
 * indexers that count at the same time would wait for each other's rows.
 */
const advisoryLock = 1_886_351_476

/**
 * Counts for each product the quotes of the 12 months before the latest quote. Drafts and
 * superseded versions do not count. Queues the products whose step or rank has changed, for every
 * index, and returns their number: 0 if another indexer is counting. Throws if PostgreSQL needs
 * longer than `popularityTimeout`; then nothing has changed.
 */
export async function refreshPopularity(db: Kysely<Tables>): Promise<number> {
  return db.transaction().execute(async (transaction) => {
    await sql`
      select set_config('statement_timeout', ${String(popularityTimeout.ms)}, true)
    `.execute(transaction)
    const { rows } = await sql`
      select from pg_try_advisory_xact_lock(${advisoryLock}) as is_locked where is_locked
    `.execute(transaction)
    return rows.length > 0 ? updatePopularity(transaction) : 0
  })
}

/**
 * Stores the counts and queues changed products in one statement. `step` is the popularity of a
 * document: 1 to 9, on a logarithmic scale. `rank` is the place among the 100 most quoted products.
 * Every part of the statement reads the table as it was before, so `before` has the old counts.
 */
async function updatePopularity(db: Kysely<Tables>): Promise<number> {
  const result = await sql<{ changed: string }>`
    with quoted as (
      select p.id as product_id, count(distinct l.quote_id)::integer as times_quoted
      from quotes q
        join quote_lines l on l.quote_id = q.id
        join products p on p.sku = l.sku
      where q.status not in ('draft', 'superseded')
        and q.issued_on > (
          select max(issued_on) from quotes where status not in ('draft', 'superseded')
        ) - interval '12 months'
      group by p.id
    ), ranked as (
      select product_id, times_quoted,
        least(9, 1 + floor(log(2, times_quoted)))::smallint as step,
        row_number() over (order by times_quoted desc, product_id) as place
      from quoted
    ), counted as (
      select product_id, times_quoted, step, case when place <= 100 then place::smallint end as rank
      from ranked
    ), removed as (
      delete from product_popularity p
      where not exists (select from counted c where c.product_id = p.product_id)
      returning product_id
    ), stored as (
      insert into product_popularity as p (product_id, times_quoted, step, rank)
      select product_id, times_quoted, step, rank from counted
      on conflict (product_id) do update
        set times_quoted = excluded.times_quoted, step = excluded.step, rank = excluded.rank
        where (p.times_quoted, p.step, p.rank)
          is distinct from (excluded.times_quoted, excluded.step, excluded.rank)
      returning product_id
    ), before as (
      select product_id, step, rank from product_popularity
    ), changed as (
      select product_id from removed
      union
      select c.product_id from counted c left join before b using (product_id)
      where (b.step, b.rank) is distinct from (c.step, c.rank)
    ), queued as (
      insert into index_outbox (registration_name, product_id)
      select i.registration_name, c.product_id from changed c cross join search_indexes i
    )
    select count(*) as changed from changed
  `.execute(db)
  return Number(result.rows[0]?.changed ?? 0)
}
