// Reads the report on what people search for, for the command line and the dashboard, and deletes
// what is too old.
import { type Static, Type } from '@sinclair/typebox'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { type RegularTaskOptions, repeatRegularly } from '../monitoring/regular-task.ts'

export const maxReportDays = 90
// It keeps whole days.
const purgeMs = 3_600_000
const maxReportTexts = 50

const ReportedText = Type.Object({
  text: Type.String(),
  searches: Type.Integer(),
  withoutResult: Type.Integer(),
})

export const SearchReport = Type.Object({
  /** The first day, in UTC. */
  from: Type.String(),
  days: Type.Integer(),
  searches: Type.Integer(),
  withoutResult: Type.Integer(),
  frequent: Type.Array(ReportedText),
  unsuccessful: Type.Array(ReportedText),
  unknownWords: Type.Array(ReportedText),
})
export type SearchReport = Static<typeof SearchReport>
export type ReportedText = Static<typeof ReportedText>

/** Returns the first day (UTC, YYYY-MM-DD) of the last `days` days. */
function firstReportDay(days: number): string {
  return new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10)
}

/** Returns the most frequent texts of the last `days` days, today included. */
export async function readSearchReport(db: Kysely<Tables>, days: number): Promise<SearchReport> {
  const from = firstReportDay(days)
  const { rows } = await sql<Omit<SearchReport, 'from' | 'days'>>`
    with texts as materialized (
      select kind, text, sum(searches)::float8 as searches,
        sum(without_result)::float8 as "withoutResult"
      from search_report_counts where day >= ${from}
      group by kind, text
    )
    select
      (select coalesce(sum(searches), 0) from search_report_days where day >= ${from})::float8
        as searches,
      (select coalesce(sum(without_result), 0) from search_report_days where day >= ${from})::float8
        as "withoutResult",
      ${listTexts(sql`kind = 'query'`, sql`searches`)} as frequent,
      ${listTexts(sql`kind = 'query' and "withoutResult" > 0`, sql`"withoutResult"`)}
        as unsuccessful,
      ${listTexts(sql`kind = 'word'`, sql`searches`)} as "unknownWords"
  `.execute(db)
  const [report] = rows
  if (!report) throw new Error('The report query returned no row.')
  return { from, days, ...report }
}

const listTexts = (condition: ReturnType<typeof sql>, order: ReturnType<typeof sql>) => sql`(
  select coalesce(json_agg(listed), '[]') from (
    select text, searches, "withoutResult" from texts where ${condition}
    order by ${order} desc, text limit ${sql.lit(maxReportTexts)}
  ) as listed
)`

type ReportRow = {
  day: string
  kind: 'all' | 'query' | 'word'
  text: string
  searches: string
  withoutResult: string
}

/** Returns the counts of each day, newest first: of all searches, and of each kept text. */
export async function readReportByDay(db: Kysely<Tables>, days: number): Promise<ReportRow[]> {
  const from = firstReportDay(days)
  const { rows } = await sql<ReportRow>`
    select day::text, kind, text, searches::text, without_result::text as "withoutResult"
    from (
      select day, 'all' as kind, '' as text, searches, without_result
      from search_report_days where day >= ${from}
      union all
      select day, kind, text, searches, without_result
      from search_report_counts where day >= ${from}
    ) as counted
    order by counted.day desc, kind, counted.searches desc, text
  `.execute(db)
  return rows
}

/** Deletes counts after 90 days, at once and then every hour until `signal` is aborted. */
export async function purgeReportRegularly(
  db: Kysely<Tables>,
  options: RegularTaskOptions,
): Promise<void> {
  await repeatRegularly(() => sql`select purge_search_report()`.execute(db), {
    ...options,
    intervalMs: purgeMs,
    failure: 'Could not purge the search report',
  })
}
