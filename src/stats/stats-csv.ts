// The statistics as CSV in long form: every row has the same columns, for filters and pivot tables.
import type { Stats } from './schema.ts'

export type Locale = 'en' | 'es'

type Row = {
  dimension: string
  key?: string
  quotes?: number | string | null
  accepted?: number | string | null
  revenue?: string | null
  currency?: string
}

const header = ['dimension', 'key', 'quotes', 'accepted', 'revenue', 'currency']

/**
 * Returns CSV (RFC 4180). `es` has the semicolons and decimal commas of Spanish spreadsheets.
 * A ratio is in the column of the value that it relates to.
 */
export function formatCsv(stats: Stats, locale: Locale): string {
  const separator = locale === 'es' ? ';' : ','
  const lines = rowsOf(stats).map((row) => cellsOf(row, locale))
  return [header, ...lines].map((cells) => `${cells.join(separator)}\r\n`).join('')
}

function rowsOf(stats: Stats): Row[] {
  return [
    { dimension: 'asOf', key: stats.asOf },
    ...countAndRevenueRows(stats),
    ...stats.byCountry.map(({ country, quotes, accepted, revenue }) =>
      createRow('country', country ?? 'unknown', { quotes, accepted }, revenue),
    ),
    ...stats.byMonth.map(({ month, quotes, accepted, revenue }) =>
      createRow('month', month, { quotes, accepted }, revenue),
    ),
    ...comparisonRows(stats.comparison),
  ]
}

function countAndRevenueRows({
  period,
  quotes,
  revenue,
}: Pick<Stats, 'period' | 'quotes' | 'revenue'>): Row[] {
  const { total, byStatus, acceptance } = quotes
  const counts = { quotes: total, accepted: byStatus.accepted }
  return [
    createRow('total', `${period.from}/${period.to}`, counts, revenue.total),
    ...Object.entries(byStatus).map(([status, count]) =>
      createRow('status', status, { quotes: count }),
    ),
    ...Object.entries(acceptance).map(([kind, ratio]) =>
      createRow('acceptance', kind, { accepted: ratio }),
    ),
    createRow('average', '', {}, revenue.average),
    ...revenue.byCurrency.map((money) =>
      createRow('currency', money.currency, { accepted: money.quotes }, money),
    ),
    ...revenue.unconverted.map((money) =>
      createRow('unconverted', money.currency, { accepted: money.quotes }, money),
    ),
  ]
}

function comparisonRows(comparison: Stats['comparison']): Row[] {
  if (!comparison) return []
  const rows = countAndRevenueRows(comparison)
  return [
    ...rows.map((row) => ({ ...row, dimension: `comparison ${row.dimension}` })),
    { dimension: 'change', ...comparison.change },
  ]
}

function createRow(
  dimension: string,
  key: string,
  counts: Pick<Row, 'quotes' | 'accepted'>,
  money: { amount: string; currency: string } | null = null,
): Row {
  return {
    dimension,
    key,
    ...counts,
    ...(money && { revenue: money.amount, currency: money.currency }),
  }
}

function cellsOf(row: Row, locale: Locale): string[] {
  return [
    textCell(row.dimension),
    textCell(row.key ?? ''),
    numberCell(row.quotes, locale),
    numberCell(row.accepted, locale),
    numberCell(row.revenue, locale),
    textCell(row.currency ?? ''),
  ]
}

function numberCell(value: number | string | null | undefined, locale: Locale): string {
  const text = value == null ? '' : String(value)
  return locale === 'es' ? text.replace('.', ',') : text
}

/**
 * Returns a text cell. A cell that a spreadsheet would run as a formula gets a leading apostrophe,
 * also if blanks, control characters or invisible characters precede the sign, and also if the sign
 * is full-width. Numbers are written by `numberCell`, so a negative number stays a number.
 */
export function textCell(text: string): string {
  const safe = /^[\s\p{C}]*[=+\-@＝＋－＠]|^[\t\r]/u.test(text) ? `'${text}` : text
  return /[",;\r\n\t']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
