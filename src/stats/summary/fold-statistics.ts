// Folds the ledger of changed quotes into the summary.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { readSummaryState } from './summary-state.ts'

/** How many quotes and lines a statement folds. It takes about a second. */
const maxBatch = 10_000
/** On a busy machine a batch may take longer than the statements of requests may. */
const batchTimeoutMs = 120_000

/**
 * Folds everything that was committed before, in one transaction, so that readers see the summary
 * of one instant. Returns at once if another transaction is folding. Aborting `signal` ends it after
 * the current batch, and leaves everything in the ledger.
 */
export async function foldStatistics(
  db: Kysely<Tables>,
  batch = maxBatch,
  signal?: AbortSignal,
): Promise<void> {
  const fold = async (transaction: Kysely<Tables>) => {
    await sql`select set_config('statement_timeout', ${`${batchTimeoutMs}`}, true)`.execute(
      transaction,
    )
    let through: string | null = null
    do {
      signal?.throwIfAborted()
      through = await foldBatch(transaction, batch, through)
    } while (through !== null)
  }
  await (db.isTransaction ? fold(db) : db.transaction().execute(fold))
}

/** Folds until the summary contains everything that was committed before the call. */
export async function foldUntilCurrent(db: Kysely<Tables>, signal?: AbortSignal): Promise<void> {
  const startedAt = performance.now()
  for (;;) {
    signal?.throwIfAborted()
    const { isFoldDue, foldAgeMs } = await readSummaryState(db)
    if (!isFoldDue || (foldAgeMs ?? Number.POSITIVE_INFINITY) < performance.now() - startedAt)
      return
    await foldStatistics(db, maxBatch, signal)
    // Another process may be folding.
    await sleep(50)
  }
}

/** Returns what the next batch needs. Null: everything is folded, or another one is folding. */
async function foldBatch(
  db: Kysely<Tables>,
  batch: number,
  through: string | null,
): Promise<string | null> {
  const { rows } = await sql<{ through: string | null }>`
    select fold_statistics(${batch}, ${through}::pg_snapshot)::text as through
  `.execute(db)
  return rows[0]?.through ?? null
}
