// Compares the summary with the quotes in the background, one month at a time, and repairs it.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { FailureLog, type FailureTexts, type TaskLog } from '../../monitoring/log/failure-log.ts'
import { repeat } from '../../monitoring/regular-task.ts'

export type CheckObserver = {
  countDriftCheck(): void
  countDriftCheckFailure(): void
  /** Called with the number of rows that differed and were repaired. */
  countRepairs(rows: number): void
}

const failureTexts: FailureTexts = {
  failure: (cause) =>
    `The statistics summary cannot be compared with the quotes (${cause}): ` +
    'wrong statistics would not be noticed',
  recovery: 'The statistics summary is compared with the quotes again',
}

/**
 * Checks a month after each interval until `stop`: the newest month first, then the older ones,
 * then the newest again. `stop` waits for the running check. All processes on a database together
 * check one month in each interval. A difference is logged, counted and repaired. A failed check is
 * counted, and logged once per cause.
 */
export function startMonthChecks(
  db: Kysely<Tables>,
  { log, observer, intervalMs }: { log: TaskLog; observer: CheckObserver; intervalMs: number },
): { stop(): Promise<void> } {
  const failures = new FailureLog(log, failureTexts)
  const check = async () => {
    const result = await checkNextMonth(db, intervalMs)
    if (!result) return
    observer.countDriftCheck()
    failures.logSuccess()
    if (result.repairedRows.length === 0) return
    observer.countRepairs(result.repairedRows.length)
    log.error(
      `The statistics of ${result.month.slice(0, 7)} did not agree with the quotes and are ` +
        'repaired: keep this line and follow StatsDrift in docs/operations/runbook.md. ' +
        `Wrong rows of the summary, at most 20 of each table: ${result.repairedRows.join('; ')}`,
    )
  }
  const stopping = new AbortController()
  const checking = repeat(check, {
    pauseMs: intervalMs,
    pausesFirst: true,
    signal: stopping.signal,
    onFailure(error) {
      observer.countDriftCheckFailure()
      failures.logFailure(error)
    },
  })
  return {
    async stop() {
      stopping.abort()
      await checking
    },
  }
}

/** Returns null if a process began a check less than `intervalMs` ago, or if there is no month. */
export async function checkNextMonth(
  db: Kysely<Tables>,
  intervalMs: number,
): Promise<{ month: string; repairedRows: string[] } | null> {
  const claim = await sql<{ month: string | null }>`
    select claim_month(${intervalMs} * interval '1 millisecond') as month
  `.execute(db)
  const month = claim.rows[0]?.month
  if (!month) return null
  const { rows } = await sql<{ repairedRows: string[] }>`
    select check_claimed_month(${month}) as "repairedRows"
  `.execute(db)
  return { month, repairedRows: rows[0]?.repairedRows ?? [] }
}

/** Returns the seconds since a process last completed a check, or since the migration. */
export async function readCheckAgeSeconds(db: Kysely<Tables>): Promise<number> {
  const { age } = await db
    .selectFrom('summary_check')
    .select(sql<number>`greatest(extract(epoch from now() - completed_at), 0)::float8`.as('age'))
    .executeTakeFirstOrThrow()
  return age
}

/** Compares the whole summary with the quotes. Returns a line for each row that differs. */
export async function findSummaryDifferences(db: Kysely<Tables>): Promise<string[]> {
  const { rows } = await sql<{ differences: string[] }>`
    select check_month(month, 'compare', is_oldest_of_year(month)) as differences
    from statistics_months() month
  `.execute(db)
  return [...new Set(rows.flatMap(({ differences }) => differences))]
}

/**
 * Recomputes the summary from the quotes in one transaction, without blocking writers or readers.
 */
export async function rebuildSummary(db: Kysely<Tables>): Promise<void> {
  await sql`select rebuild_summary()`.execute(db)
}

/**
 * Compares the amounts of each quote that has lines with the totals of its lines. Returns a line
 * for each different quote, at most twenty.
 */
export async function findQuotesWithWrongTotals(db: Kysely<Tables>): Promise<string[]> {
  const { rows } = await sql<{ number: string; version: number }>`
    select q.number, q.version from quotes q cross join lateral quote_totals(q.id) t
    where (q.net, q.tax) is distinct from (t.net, t.tax)
      and exists (select from quote_lines l where l.quote_id = q.id)
    order by q.number, q.version limit 20
  `.execute(db)
  return rows.map(({ number, version }) => `totals of quote ${number}, version ${version}`)
}
