// Deletes what the search report no longer keeps: counts after 90 days, and after 30 days hashes of
// texts that few callers searched for.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { type RegularTaskOptions, repeatRegularly } from '../monitoring/regular-task.ts'
import { timeouts } from '../timeouts.ts'

/** Purges the report at once and then every hour until `signal` is aborted. Logs failures. */
export async function purgeReportRegularly(
  db: Kysely<Tables>,
  options: RegularTaskOptions,
): Promise<void> {
  await repeatRegularly(() => sql`select purge_search_report()`.execute(db), {
    ...options,
    intervalMs: timeouts.searchReport.purge.ms,
    failure: 'Could not purge the search report',
  })
}
