// Empties the documents of links that were closed longer ago than the retention time, for data
// protection: a frozen document contains names and addresses of customers.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { describeError } from '../../monitoring/describe-error.ts'
import type { LogLine } from '../../monitoring/program-log.ts'
import { countNoun } from '../../text/count-noun.ts'
import { timeouts } from '../../timeouts.ts'

const batchSize = 500

/**
 * Empties the documents of expired and revoked links, in batches, and deletes old views. Hashes and
 * dates stay. Returns the number of documents. The retention time is in the database.
 */
export async function purgeLinks(db: Kysely<Tables>, signal?: AbortSignal): Promise<number> {
  let total = 0
  for (;;) {
    const { rows } = await sql<{ emptied: number }>`
      select purge_quote_shares(${batchSize}) as emptied
    `.execute(db)
    const emptied = rows[0]?.emptied ?? 0
    total += emptied
    if (emptied < batchSize || signal?.aborted) return total
  }
}

type PurgeOptions = {
  signal: AbortSignal
  log: LogLine
  /** Called after each purge. */
  onResult?: (succeeded: boolean) => void
}

/** Purges links at once and then every hour until `signal` is aborted. Logs failures. */
export async function purgeLinksRegularly(
  db: Kysely<Tables>,
  { signal, log, onResult = () => undefined }: PurgeOptions,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const emptied = await purgeLinks(db, signal)
      onResult(true)
      if (emptied > 0)
        log(`Emptied the documents of ${countNoun(emptied, 'link')} closed long ago.`)
    } catch (error) {
      onResult(false)
      const cause = describeError(error)
      log(`Links could not be purged, which is tried again in an hour: ${cause}`, 'error')
    }
    // Rejects when the signal is aborted, which ends the loop.
    await sleep(timeouts.quotes.purge.ms, undefined, { signal }).catch(() => undefined)
  }
}
