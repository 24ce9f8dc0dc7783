// Folds the deltas that writers append into the summary, and rebuilds the summary from the quotes.
// Folding does not change any statistic.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { timeouts } from '../../timeouts.ts'

const batchSize = 5_000

/**
 * Folds one batch and returns the number of deltas. Returns 0 if there are no deltas, or if another
 * process is folding.
 */
export async function foldBatch(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{
    folded: number
  }>`select fold_quote_deltas(${batchSize}) as folded`.execute(db)
  return rows[0]?.folded ?? 0
}

/**
 * Folds every second until `stop`, which waits for the running batch. A failed batch is rolled back
 * and repeated a second later.
 */
export function startFolding(db: Kysely<Tables>): { stop(): Promise<void> } {
  let isStopped = false
  let timer: NodeJS.Timeout
  let runningBatch: Promise<void> = Promise.resolve()

  async function fold(): Promise<void> {
    // Not logged: a request that needs PostgreSQL reports the failure. The next batch repeats it.
    const folded = await foldBatch(db).catch(() => 0)
    const isMoreLeft = folded === batchSize
    if (!isStopped) schedule(isMoreLeft ? 0 : timeouts.stats.fold.ms)
  }
  function schedule(delayMs: number): void {
    timer = setTimeout(() => {
      runningBatch = fold()
    }, delayMs).unref()
  }
  schedule(timeouts.stats.fold.ms)

  return {
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await runningBatch
    },
  }
}

/** Rebuilds the summary from the quotes in one transaction, without blocking writers or readers. */
export async function rebuildSummary(db: Kysely<Tables>): Promise<void> {
  await sql`select rebuild_quote_summary()`.execute(db)
}
