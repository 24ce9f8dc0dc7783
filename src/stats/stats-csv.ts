// The figures as CSV in long form: a row for each figure, the same columns for all, so that it can be filtered and pivoted.
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

/** The figures as CSV (RFC 4180). `es`: semicolons and decimal commas, as spreadsheets there expect. A ratio stands in the column that it is about. */
export function toCsv(stats: Stats, locale: Locale): string {
  const { comparison } = stats
  const rows = [
    ...headRows(stats),
    ...stats.byCountry.map(({ country, quotes, accepted, revenue }) =>
      row('country', country ?? 'unknown', { quotes, accepted }, revenue),
    ),
    ...stats.byMonth.map(({ month, quotes, accepted, revenue }) =>
      row('month', month, { quotes, accepted }, revenue),
    ),
    ...(comparison
      ? [
          ...headRows(comparison).map((one) => ({
            ...one,
            dimension: `comparison ${one.dimension}`,
          })),
          { dimension: 'change', ...comparison.change },
        ]
      : []),
  ]
  const separator = locale === 'es' ? ';' : ','
  const lines = rows.map(({ dimension, key = '', quotes, accepted, revenue, currency = '' }) => [
    textCell(dimension),
    textCell(key),
    numberCell(quotes, locale),
    numberCell(accepted, locale),
    numberCell(revenue, locale),
    textCell(currency),
  ])
  return [header, ...lines].map((cells) => `${cells.join(separator)}\r\n`).join('')
}

function headRows({
  period,
  quotes,
  revenue,
}: Pick<Stats, 'period' | 'quotes' | 'revenue'>): Row[] {
  const { total, byStatus, acceptance } = quotes
  return [
    row(
      'total',
      `${period.from}/${period.to}`,
      { quotes: total, accepted: byStatus.accepted },
      revenue.total,
    ),
    ...Object.entries(byStatus).map(([status, count]) => row('status', status, { quotes: count })),
    ...Object.entries(acceptance).map(([kind, ratio]) =>
      row('acceptance', kind, { accepted: ratio }),
    ),
    row('average', '', {}, revenue.average),
    ...revenue.byCurrency.map((money) =>
      row('currency', money.currency, { accepted: money.quotes }, money),
    ),
    ...revenue.unconverted.map((money) =>
      row('unconverted', money.currency, { accepted: money.quotes }, money),
    ),
  ]
}

function row(
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

function numberCell(value: number | string | null | undefined, locale: Locale): string {
  const text = value == null ? '' : String(value)
  return locale === 'es' ? text.replace('.', ',') : text
}

/**
 * A cell of text: one that a spreadsheet would run as a formula gets an apostrophe before it, also when the sign stands behind blanks, control or
 * invisible characters, or is full-width. Numbers do not come here: a negative one stays a number.
 */
export function textCell(text: string): string {
  const safe = /^[\s\p{C}]*[=+\-@＝＋－＠]|^[\t\r]/u.test(text) ? `'${text}` : text
  return /[",;\r\n\t']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
