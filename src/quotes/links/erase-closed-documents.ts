// Erases the documents of links that were closed longer ago than the retention time. This is for
// data protection, because a frozen document contains names and addresses of customers.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { describeError } from '../../monitoring/describe-error.ts'
import type { LogLine } from '../../monitoring/log/program-log.ts'
import { countNoun } from '../../text/count-noun.ts'
import { timeouts } from '../../timeouts.ts'

const batchSize = 500

/**
 * Erases the documents of links that expired or were revoked longer ago than the retention time,
 * which is in the database, and deletes old views. The links, their hashes and dates stay. Works in
 * batches. Returns the number of erased documents.
 */
export async function eraseDocumentsOfClosedLinks(
  db: Kysely<Tables>,
  signal?: AbortSignal,
): Promise<number> {
  let total = 0
  for (;;) {
    const { rows } = await sql<{ erased: number }>`
      select purge_quote_shares(${batchSize}) as erased
    `.execute(db)
    const erased = rows[0]?.erased ?? 0
    total += erased
    if (erased < batchSize || signal?.aborted) return total
  }
}

type EraseOptions = {
  signal: AbortSignal
  log: LogLine
  /** Called after each attempt. */
  onResult?: (succeeded: boolean) => void
}

/** Erases documents at once and then regularly, until `signal` is aborted. Logs failures. */
export async function eraseDocumentsRegularly(
  db: Kysely<Tables>,
  { signal, log, onResult = () => undefined }: EraseOptions,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const erased = await eraseDocumentsOfClosedLinks(db, signal)
      onResult(true)
      if (erased > 0) log(`Erased ${countNoun(erased, 'document')} of links closed long ago.`)
    } catch (error) {
      onResult(false)
      const cause = describeError(error)
      log(`Could not erase documents of closed links; retrying in an hour: ${cause}`, 'error')
    }
    // Rejects when the signal is aborted, which ends the loop.
    await sleep(timeouts.quotes.erasure.ms, undefined, { signal }).catch(() => undefined)
  }
}
