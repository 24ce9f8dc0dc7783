// Deletes what the search report no longer keeps: counts after 90 days, and after 30 days hashes of
// texts that few callers searched for.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { type RegularTaskOptions, repeatRegularly } from '../monitoring/regular-task.ts'

// It keeps whole days.
const purgeMs = 3_600_000

/** Purges the report at once and then every hour until `signal` is aborted. Logs failures. */
export async function purgeReportRegularly(
  db: Kysely<Tables>,
  options: RegularTaskOptions,
): Promise<void> {
  await repeatRegularly(() => sql`select purge_search_report()`.execute(db), {
    ...options,
    intervalMs: purgeMs,
    failure: 'Could not purge the search report',
  })
}
