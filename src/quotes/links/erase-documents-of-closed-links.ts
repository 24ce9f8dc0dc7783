// Erases the documents of links that were closed longer ago than the retention time. This is for
// data protection, because a frozen document contains names and addresses of customers.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { type RegularTaskOptions, repeatRegularly } from '../../monitoring/regular-task.ts'
import { countNoun } from '../../text/count-noun.ts'

// Documents stay for more than a year, so an hour more does not matter.
const erasureMs = 3_600_000

const batchSize = 500

/**
 * Erases the documents of links that expired or were revoked longer ago than the retention time
 * (`retention_days` in quote_share_settings). Also deletes views older than that. The links, their
 * hashes and dates stay. Works in batches. Returns the number of erased documents.
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

/**
 * Erases documents immediately and then at intervals of `erasureMs`, until `signal`
 * is aborted. Logs failures.
 */
export async function eraseDocumentsRegularly(
  db: Kysely<Tables>,
  options: RegularTaskOptions,
): Promise<void> {
  const { signal, log } = options
  const erase = async () => {
    const erased = await eraseDocumentsOfClosedLinks(db, signal)
    if (erased > 0) log(`Erased ${countNoun(erased, 'document')} of links closed long ago.`)
  }
  await repeatRegularly(erase, {
    ...options,
    intervalMs: erasureMs,
    failure: 'Could not erase documents of closed links',
  })
}
