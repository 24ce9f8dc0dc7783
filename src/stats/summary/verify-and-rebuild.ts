// What `scripts/stats.ts verify` and `scripts/stats.ts rebuild` do. drift-check.ts compares the
// summary with the quotes in the background.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'

/**
 * Compares the summary with the quotes in one snapshot and returns a line for each different row,
 * at most twenty.
 */
export async function findSummaryDifferences(db: Kysely<Tables>): Promise<string[]> {
  const { rows } = await sql<{ relation: string; rowKey: string }>`
    select relation, cell as "rowKey" from find_summary_differences('-infinity', 'infinity')
  `.execute(db)
  return rows.map(({ relation, rowKey }) => `${relation}: ${rowKey}`)
}

/**
 * Compares the amounts of each quote that has lines with the totals of its lines. Returns a line
 * for each different quote, at most twenty.
 */
export async function findQuotesWithWrongTotals(db: Kysely<Tables>): Promise<string[]> {
  const { rows } = await sql<{ number: string; version: number }>`
    select q.number, q.version from quotes q cross join lateral quote_totals(q.id) t
    where (q.net, q.tax) is distinct from (t.net, t.tax)
      and exists (select from quote_lines l where l.quote_id = q.id)
    order by q.number, q.version limit 20
  `.execute(db)
  return rows.map(({ number, version }) => `totals of quote ${number}, version ${version}`)
}

/** Rebuilds the summary from the quotes in one transaction, without blocking writers or readers. */
export async function rebuildSummary(db: Kysely<Tables>): Promise<void> {
  await sql`select rebuild_quote_summary()`.execute(db)
}
