// Folding: what writers appended moves into the grains, in the background. Figures are the same before and after.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'

const batchSize = 5_000
const foldEveryMs = 1_000

/** Folds one batch and returns how many deltas that were: 0 when there are none, or when another process folds at this moment. */
export async function foldBatch(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{
    folded: number
  }>`select fold_quote_deltas(${batchSize}) as folded`.execute(db)
  return rows[0]?.folded ?? 0
}

/** Folds every second until `stop`, which waits for the batch under way. A batch that fails is tried again: nothing of it was done. */
export function keepFolding(db: Kysely<Tables>): { stop(): Promise<void> } {
  let stopped = false
  let timer: NodeJS.Timeout
  let running: Promise<void> = Promise.resolve()

  async function fold(): Promise<void> {
    const folded = await foldBatch(db).catch(() => 0)
    // A full batch means that there is more.
    if (!stopped) schedule(folded === batchSize ? 0 : foldEveryMs)
  }
  function schedule(afterMs: number): void {
    timer = setTimeout(() => {
      running = fold()
    }, afterMs).unref()
  }
  schedule(foldEveryMs)

  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}

/** Makes the summary afresh from the quotes, in one transaction. Writers and readers go on meanwhile. */
export async function rebuildSummary(db: Kysely<Tables>): Promise<void> {
  await sql`select rebuild_quote_summary()`.execute(db)
}
