// Deletes what the search report no longer keeps: counts after 90 days, and after 30 days hashes of
// texts that few callers searched for.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { describeError } from '../monitoring/describe-error.ts'
import { timeouts } from '../timeouts.ts'

/** Purges the report at once and then every hour until `signal` is aborted. Logs failures. */
export async function purgeReportRegularly(
  db: Kysely<Tables>,
  { signal, log }: { signal: AbortSignal; log: (line: string) => void },
): Promise<void> {
  while (!signal.aborted) {
    try {
      await sql`select purge_search_report()`.execute(db)
    } catch (error) {
      log(
        'The search report could not be purged, which is tried again in an hour: ' +
          describeError(error),
      )
    }
    // Rejects when the signal is aborted, which ends the loop.
    await sleep(timeouts.searchReport.purge.ms, undefined, { signal }).catch(() => undefined)
  }
}
