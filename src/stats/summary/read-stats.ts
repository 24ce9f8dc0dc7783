// Reads the statistics from the summary, in one snapshot.
import { type Kysely, sql } from 'kysely'
import type { Company } from '../../company/company.ts'
import { repeatIfBroken } from '../../database/broken-connections.ts'
import type { Tables } from '../../database/table-types.ts'
import { assembleStats } from '../assemble-stats.ts'
import { type DataVersion, readDataVersion } from '../cache/data-version.ts'
import type { StatsRequest, StatsWithoutAsOf } from '../schema.ts'

/**
 * Returns the statistics and the data version that they contain. Revenue is the net of accepted
 * quotes. Each amount is converted on its own, rounded half up to the digits of the base currency,
 * and then added.
 */
export async function readStats(
  db: Kysely<Tables>,
  company: Company,
  request: StatsRequest,
): Promise<{ stats: StatsWithoutAsOf; version: DataVersion }> {
  const read = () =>
    db
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute(async (transaction) => {
        await lockSummary(transaction, { withBreakdown: request.by !== undefined })
        const version = await readDataVersion(transaction)
        return { stats: await assembleStats(transaction, company, request), version }
      })
  return repeatIfBroken(read)
}

/**
 * Locks the summary before the snapshot of the transaction is taken: otherwise a concurrent
 * truncate would be visible to some of its statements. Every program locks in this order, so that
 * a reader and a truncate cannot deadlock.
 *
 * The settings are for statements of a few milliseconds: parallel workers and compiled expressions
 * (JIT) would cost more. Sequential scans would read the dead rows that folding leaves behind while
 * an old snapshot is open. A generic plan can be reused, and needs no statistics of the tables.
 */
export async function lockSummary(
  transaction: Kysely<Tables>,
  { withBreakdown = false } = {},
): Promise<void> {
  // Breakdowns read quotes and names too. The view stands for these tables.
  const sources = withBreakdown ? sql`breakdown_sources, ` : sql``
  await sql`
    lock table ${sources}quote_summary, quote_changes, quote_figures, quote_figures_unfolded,
      quote_validity, quote_validity_unfolded, customer_figures, customer_figures_unfolded,
      product_figures, product_figures_unfolded in access share mode;
    set local max_parallel_workers_per_gather = 0;
    set local jit = off;
    set local enable_seqscan = off;
    set local plan_cache_mode = force_generic_plan
  `.execute(transaction)
}
