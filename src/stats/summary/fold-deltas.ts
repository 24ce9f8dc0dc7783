// Folds the deltas that writers append into the summary, and rebuilds the summary from the quotes.
// Folding does not change any statistic.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { timeouts } from '../../timeouts.ts'
import { FoldFailureLog, type FoldLog } from './fold-failure-log.ts'
import { readUnfoldedChanges } from './unfolded-changes.ts'

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

export type FoldObserver = { countFoldFailure(): void }

/**
 * Folds every second until `stop`, which waits for the running batch. A failed batch is rolled
 * back, counted and repeated a second later. Each cause of failures is logged once.
 */
export function startFolding(
  db: Kysely<Tables>,
  { log, observer }: { log: FoldLog; observer: FoldObserver },
): { stop(): Promise<void> } {
  const failures = new FoldFailureLog(log)
  let isStopped = false
  let timer: NodeJS.Timeout
  let runningBatch: Promise<void> = Promise.resolve()

  async function fold(): Promise<number> {
    try {
      const folded = await foldBatch(db)
      if (failures.isFailing() && (folded > 0 || (await hasNoDeltas(db)))) failures.logRecovery()
      return folded
    } catch (error) {
      observer.countFoldFailure()
      failures.logFailure(error)
      return 0
    }
  }
  async function foldAndSchedule(): Promise<void> {
    const isMoreLeft = (await fold()) === batchSize
    if (!isStopped) schedule(isMoreLeft ? 0 : timeouts.stats.fold.ms)
  }
  function schedule(delayMs: number): void {
    timer = setTimeout(() => {
      runningBatch = foldAndSchedule()
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

/** A batch of zero deltas proves nothing: another process may hold the lock, and fail. */
async function hasNoDeltas(db: Kysely<Tables>): Promise<boolean> {
  return (await readUnfoldedChanges(db)).count === 0
}

/** Rebuilds the summary from the quotes in one transaction, without blocking writers or readers. */
export async function rebuildSummary(db: Kysely<Tables>): Promise<void> {
  await sql`select rebuild_quote_summary()`.execute(db)
}
