// Folds the changes that writers appended into the summary, and counts those that are not folded.
// Folding changes no statistic, only the cost of reading it. README.md explains the terms.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { FailureLog, type FailureTexts, type TaskLog } from '../../monitoring/log/failure-log.ts'
import { type BackgroundTask, repeatInBackground } from './repeated-task.ts'

// Readers add up unfolded changes, so few of them may accumulate.
const foldCheckMs = 1_000
// Few changes cost readers little, and folding them together updates fewer rows.
const foldAgeMs = 10_000

/** One batch takes about a second. */
export const batchSize = 20_000
/**
 * A row of product_figures_unfolded is folded into this many rows of product_figures: two date
 * kinds, four grains.
 */
const foldedRowsPerProductRow = 8
/**
 * If a fold moves at least this many rows, more may be waiting. A fold moves at most `batchSize`
 * rows of each table, but at most this many of product_figures_unfolded: the SQL function
 * fold_quote_changes divides the batch by the same number. test/stats/summary/folding.test.ts
 * checks it.
 */
export const fullBatchThreshold = batchSize / foldedRowsPerProductRow
/**
 * Every reader adds up the unfolded changes, which takes about 3 ms of processor time for this
 * many. Folding fewer at a time would update the same rows of the summary more often. Each update
 * leaves an old version of the row behind. Readers must visit and discard it while an old snapshot
 * is open.
 */
const maxUnfoldedChanges = 500

/**
 * Folds one batch and returns the number of rows that it moved. Returns 0 if there are none, or if
 * another process is folding.
 */
export async function foldBatch(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{
    moved: number
  }>`select fold_quote_changes(${batchSize}) as moved`.execute(db)
  return rows[0]?.moved ?? 0
}

export type FoldObserver = { countFoldFailure(): void }

const failureTexts: FailureTexts = {
  failure: (cause) =>
    `Changes of quotes cannot be folded into the statistics summary (${cause}): ` +
    'statistics become slower with every change',
  recovery: 'Changes of quotes are folded into the statistics summary again',
}

/**
 * Checks after each `foldCheckMs` whether changes have to be folded, and folds them.
 * `stop` waits for the running batch. A failed batch is rolled back, counted and repeated. Each
 * cause of failures is logged once.
 */
export function startFolding(
  db: Kysely<Tables>,
  { log, observer }: { log: TaskLog; observer: FoldObserver },
): BackgroundTask {
  const failures = new FailureLog(log, failureTexts)
  const pauseMs = foldCheckMs
  /** A statement with many quotes can append more rows than fit into one batch. */
  let mayHaveMore = false
  return repeatInBackground({
    pauseMs,
    async run() {
      const { count, oldestSeconds } = await readUnfoldedChanges(db)
      const isDue = mayHaveMore || count >= maxUnfoldedChanges || oldestSeconds * 1_000 >= foldAgeMs
      const moved = isDue ? await foldBatch(db) : 0
      // Changes that were appended during the fold wait for the next check: folding those few now
      // would update the same rows of the summary once more.
      mayHaveMore = moved >= fullBatchThreshold
      // If nothing was moved while changes remain, this is no recovery: another process may hold
      // the lock of folding and fail.
      if (moved > 0 || count === 0) failures.logSuccess()
      return mayHaveMore ? 0 : pauseMs
    },
    reportFailure(error) {
      observer.countFoldFailure()
      failures.logFailure(error)
    },
  })
}

/**
 * Returns the number of changes that are not folded, and the age of the oldest one. A statement
 * that changes many quotes counts as one change. The age begins with the transaction of the change,
 * and is 0 if there is no change. Throws if quote_summary has no row. Otherwise the count would be
 * 0 whatever the changes.
 *
 * quote_summary is named before the view unfolded_changes, so that it is locked first, as
 * docs/statistics.md requires. The view alone would lock quote_changes before it.
 */
export async function readUnfoldedChanges(
  db: Kysely<Tables>,
): Promise<{ count: number; oldestSeconds: number }> {
  const unfolded = db
    .selectFrom('unfolded_changes')
    .select([
      sql<number>`count(*)::integer`.as('count'),
      sql<number>`coalesce(extract(epoch from now() - min(created_at)), 0)::float8`.as(
        'oldestSeconds',
      ),
    ])
    .as('unfolded')
  return db
    .selectFrom(['quote_summary', unfolded])
    .select(['count', 'oldestSeconds'])
    .executeTakeFirstOrThrow()
}
