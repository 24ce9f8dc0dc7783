// Deletes what the search report no longer keeps: counts after 90 days, and after 30 days hashes of
// texts that few callers searched for.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { describeError } from '../monitoring/describe-error.ts'
import type { LogLine } from '../monitoring/log/program-log.ts'
import { timeouts } from '../timeouts.ts'

type PurgeOptions = {
  signal: AbortSignal
  log: LogLine
  /** Called after each purge. */
  onResult?: (succeeded: boolean) => void
}

/** Purges the report at once and then every hour until `signal` is aborted. Logs failures. */
export async function purgeReportRegularly(
  db: Kysely<Tables>,
  { signal, log, onResult = () => undefined }: PurgeOptions,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await sql`select purge_search_report()`.execute(db)
      onResult(true)
    } catch (error) {
      onResult(false)
      log(
        'The search report could not be purged, which is tried again in an hour: ' +
          describeError(error),
        'error',
      )
    }
    // Rejects when the signal is aborted, which ends the loop.
    await sleep(timeouts.searchReport.purge.ms, undefined, { signal }).catch(() => undefined)
  }
}
