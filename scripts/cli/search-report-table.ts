// Formats the report on what people search for, as tables for the terminal or as CSV.
import type { Kysely } from 'kysely'
import type { Tables } from '../../src/database/table-types.ts'
import {
  type ReportedText,
  readReportByDay,
  readSearchReport,
} from '../../src/search-report/read-report.ts'
import { formatTextCell } from '../../src/stats/stats-csv.ts'
import { formatCount } from '../../src/text/count-noun.ts'
import { alignColumns } from './align-columns.ts'

/** Returns the totals of the last `days` days. */
export async function formatSearchReport(db: Kysely<Tables>, days: number): Promise<string> {
  const report = await readSearchReport(db, days)
  const { from, searches, withoutResult, frequent, unsuccessful, unknownWords } = report
  if (searches === 0) return `No search was counted since ${from}.`
  const share = ((withoutResult / searches) * 100).toFixed(1)
  return [
    `Since ${from}: ${formatCount(searches)} searches, ` +
      `${formatCount(withoutResult)} without a result (${share} %).`,
    ...section('Most frequent queries', frequent),
    ...section('Queries without a result', unsuccessful),
    ...section('Words that no product has', unknownWords),
  ].join('\n')
}

function section(title: string, texts: ReportedText[]): string[] {
  if (texts.length === 0) return ['', `${title}: none that five callers searched for.`]
  const rows = texts.map(({ text, searches, withoutResult }) => [
    formatCount(searches),
    formatCount(withoutResult),
    text,
  ])
  return ['', `${title}:`, alignColumns([['searches', 'without result', 'text'], ...rows])]
}

/** Returns the counts of each of the last `days` days. */
export async function formatSearchReportAsCsv(db: Kysely<Tables>, days: number): Promise<string> {
  const rows = await readReportByDay(db, days)
  return [
    'day,kind,text,searches,without_result',
    ...rows.map(({ day, kind, text, searches, withoutResult }) =>
      [day, kind, formatTextCell(text), searches, withoutResult].join(','),
    ),
  ].join('\n')
}
