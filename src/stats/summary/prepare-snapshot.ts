// Prepares a transaction to read the summary: which tables it locks, and how PostgreSQL plans.
import { sql, type Transaction } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { hasBreakdown, type StatsRequest } from '../schema.ts'

/**
 * In the order that docs/statistics.md defines for every program.
 * test/stats/summary/summary-locks.test.ts compares it with the functions of the database.
 */
export const summaryTables = [
  'quote_summary',
  'quote_changes',
  'quote_figures',
  'quote_figures_unfolded',
  'quote_validity',
  'quote_validity_unfolded',
  'customer_figures',
  'customer_figures_unfolded',
  'product_figures',
  'product_figures_unfolded',
]

/**
 * Locks the tables of the summary and sets the planner for the rest of the transaction. All
 * statements are one text, so that they take one round trip to PostgreSQL. A query parameter would
 * break this: PostgreSQL accepts only one statement with parameters.
 */
export async function prepareSnapshot(
  transaction: Transaction<Tables>,
  request: Pick<StatsRequest, 'by'>,
): Promise<void> {
  await sql`${lockBeforeSnapshot(request)}; ${planShortStatements}`.execute(transaction)
}

/**
 * The snapshot begins with the first query, after these locks. TRUNCATE ignores snapshots: it
 * empties a table also for an older snapshot. Without the locks, statistics could lack the rows of
 * a truncated table and still have the version from before the truncate.
 * test/stats/summary/summary-locks.test.ts checks that no table is missing.
 */
function lockBeforeSnapshot(request: Pick<StatsRequest, 'by'>) {
  // A breakdown also reads quotes and names. Locking this view locks its tables.
  const tables = hasBreakdown(request) ? ['breakdown_sources', ...summaryTables] : summaryTables
  return sql`lock table ${sql.join(tables.map((table) => sql.id(table)))} in access share mode`
}

/**
 * For statements of a few milliseconds. Parallel workers and compiled expressions (JIT) would cost
 * more than they save. Sequential scans would read the dead rows that folding leaves behind while
 * an old snapshot is open. A generic plan is reused, and does not depend on table statistics, which
 * are out of date after a bulk write.
 *
 * test/stats/summary/cached-plans.test.ts fails without `enable_seqscan = off`. No test fails
 * without the other settings: they only save time.
 */
const planShortStatements = sql`
  set local max_parallel_workers_per_gather = 0;
  set local jit = off;
  set local enable_seqscan = off;
  set local plan_cache_mode = force_generic_plan
`
