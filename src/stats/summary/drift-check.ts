// The drift check: compares the summary with the quotes in the background, one month at a time.
// verify-and-rebuild.ts has the full comparison, which `scripts/stats.ts verify` makes.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { FailureLog, type FailureTexts, type TaskLog } from '../../monitoring/log/failure-log.ts'
import { type BackgroundTask, repeatInBackground } from './repeated-task.ts'

export type DriftObserver = { countDriftCheck(): void; countDriftCheckFailure(): void }

/**
 * The result for a month. `month` is its first day. `differentRows` names the rows of the summary
 * that differ from the quotes, at most 20. `hasChanged` says whether the result differs from that
 * of the last check of this month, in any process.
 */
type MonthResult = { month: string; differentRows: string[]; hasChanged: boolean }

const failureTexts: FailureTexts = {
  failure: (cause) =>
    `The statistics summary cannot be compared with the quotes (${cause}): ` +
    'wrong statistics would not be noticed',
  recovery: 'The statistics summary is compared with the quotes again',
}

/**
 * Checks a month after each interval until `stop`: the newest month first, then the older ones,
 * then the newest again. `stop` waits for the running check. All processes on a database together
 * check one month in each interval. A difference is logged when it is found, and when it is gone. A
 * failed check is counted, and logged once per cause.
 */
export function startDriftCheck(
  db: Kysely<Tables>,
  { log, observer, intervalMs }: { log: TaskLog; observer: DriftObserver; intervalMs: number },
): BackgroundTask {
  const failures = new FailureLog(log, failureTexts)
  return repeatInBackground({
    pauseMs: intervalMs,
    async run() {
      const result = await checkNextMonth(db, intervalMs)
      if (result) {
        observer.countDriftCheck()
        logResult(log, result)
      }
      // Without a result, another process has begun the check. It may have failed.
      if (failures.isFailing() && (result || (await isLastCheckCompleted(db))))
        failures.logSuccess()
      return intervalMs
    },
    reportFailure(error) {
      observer.countDriftCheckFailure()
      failures.logFailure(error)
    },
  })
}

/**
 * Checks the next month. Returns null if a process began a check less than `intervalMs` ago. The
 * claim of a month is committed before its check. So a month whose check fails is skipped instead
 * of retried forever.
 */
export async function checkNextMonth(
  db: Kysely<Tables>,
  intervalMs: number,
): Promise<MonthResult | null> {
  const claim = await sql<{ month: string | null }>`
    select claim_summary_check(${intervalMs} * interval '1 millisecond') as month
  `.execute(db)
  const month = claim.rows[0]?.month
  if (!month) return null
  const { rows } = await sql<Omit<MonthResult, 'month'>>`
    select found_rows as "differentRows", is_news as "hasChanged" from run_summary_check(${month})
  `.execute(db)
  const [result] = rows
  if (!result) throw new Error('run_summary_check returned no row')
  return { month, ...result }
}

function logResult(log: TaskLog, { month, differentRows, hasChanged }: MonthResult): void {
  if (!hasChanged) return
  const name = month.slice(0, 7)
  if (differentRows.length === 0) log.info(`The statistics of ${name} agree with the quotes again`)
  else
    log.error(
      `The statistics of ${name} do not agree with the quotes: ` +
        'keep this line and follow StatsDrift in docs/operations/runbook.md. ' +
        `Different rows of the summary, at most 20: ${differentRows.join('; ')}`,
    )
}

/** Returns whether the process that began the last check also completed it. */
async function isLastCheckCompleted(db: Kysely<Tables>): Promise<boolean> {
  const { isCompleted } = await db
    .selectFrom('summary_check')
    .select((eb) => eb('completed_at', '>=', eb.ref('claimed_at')).as('isCompleted'))
    .executeTakeFirstOrThrow()
  return Boolean(isCompleted)
}

/**
 * Returns the result of the drift checks of all processes. `differentRowCount` is the number of
 * rows of the summary that differ from the quotes, at most 20 for each month. `checkAgeSeconds` is
 * the time since the last completed check. Before the first one, it is the time since the migration
 * that added the check.
 */
export async function readDrift(
  db: Kysely<Tables>,
): Promise<{ differentRowCount: number; checkAgeSeconds: number }> {
  return db
    .selectFrom('summary_check')
    .select([
      // A rebuild begins another generation. Differences that were found before no longer count.
      sql<number>`(
        select count(distinct name)::integer from summary_differences, unnest(different_rows) name
        where generation = (select generation from quote_summary)
      )`.as('differentRowCount'),
      sql<number>`greatest(extract(epoch from now() - completed_at), 0)::float8`.as(
        'checkAgeSeconds',
      ),
    ])
    .executeTakeFirstOrThrow()
}
