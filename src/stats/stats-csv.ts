// The statistics as CSV in long form: every row has the same columns, for filters and pivot tables.
import type { Money } from '../company/money.ts'
import { countedStatuses, type Outcome, outcomes } from '../database/quote-statuses.ts'
import type { Group } from './figures.ts'
import type { Stats } from './schema.ts'

/**
 * How a file is written: `csv` plainly, for programs, and for the spreadsheet programs of a
 * language with a decimal point or a decimal comma.
 */
export type CsvForm = 'csv' | 'csv-point' | 'csv-comma'

/** Without this mark, Excel in Windows takes UTF-8 for another encoding. */
const byteOrderMark = '\ufeff'

/** An outcome that is also a status has another column for its amount. */
function amountColumnOf(outcome: Outcome): 'revenue' | Outcome | `${Outcome}Net` {
  if (outcome === 'won') return 'revenue'
  return (countedStatuses as string[]).includes(outcome) ? `${outcome}Net` : outcome
}

const header = [
  'dimension',
  'key',
  'quotes',
  'accepted',
  'revenue',
  'currency',
  ...countedStatuses.filter((status) => status !== 'accepted'),
  ...outcomes.filter((outcome) => outcome !== 'won').map(amountColumnOf),
  'ofSent',
  'ofDecided',
  'ofSentValue',
  'ofDecidedValue',
  'meanDays',
  'medianDays',
] as const
/** Further columns if customers or products are listed. */
const breakdownHeader = ['name', 'lines', 'unconverted'] as const
type Column = (typeof header)[number] | (typeof breakdownHeader)[number]
const textColumns: ReadonlySet<Column> = new Set(['dimension', 'key', 'currency', 'name'])

type Row = Partial<Record<Column, number | string | null>>

/**
 * Returns CSV (RFC 4180). A decimal comma needs semicolons between the cells. openapi.ts describes
 * the rows. Rows of customers and products have the id or SKU as key, which is empty for quotes
 * without a customer or lines without a SKU. The last of them, with the dimension `otherCustomers`
 * or `otherProducts`, sums up all others. Its key is how many there are.
 */
export function formatCsv(stats: Stats, form: CsvForm): string {
  const separator = form === 'csv-comma' ? ';' : ','
  const columns = stats.byCustomer || stats.byProduct ? [...header, ...breakdownHeader] : header
  const lines = statsRows(stats).map((row) =>
    columns.map((column) => formatCell(column, row[column], form)),
  )
  const text = [columns, ...lines].map((cells) => `${cells.join(separator)}\r\n`).join('')
  return form === 'csv' ? text : byteOrderMark + text
}

function statsRows(stats: Stats): Row[] {
  return [
    { dimension: 'asOf', key: stats.asOf },
    ...periodRows(stats),
    ...stats.byCountry.map((group) => groupRow('country', group.country ?? 'unknown', group)),
    ...stats.byMonth.map((group) => groupRow('month', group.month, group)),
    ...(stats.byDay ?? []).map((group) => groupRow('day', group.day, group)),
    ...(stats.byCustomer ? customerRows(stats.byCustomer) : []),
    ...(stats.byProduct ? productRows(stats.byProduct) : []),
    ...comparisonRows(stats.comparison),
  ]
}

function periodRows({
  period,
  quotes,
  revenue,
}: Pick<Stats, 'period' | 'quotes' | 'revenue'>): Row[] {
  const { total, byStatus, money, acceptance, daysToDecision } = quotes
  const { average } = revenue
  const group = { ...quotes, quotes: total, accepted: byStatus.accepted, revenue: revenue.total }
  return [
    groupRow('total', `${period.from}/${period.to}`, group),
    ...Object.entries(byStatus).map(([status, count]) => ({
      dimension: 'status',
      key: status,
      quotes: count,
    })),
    ...acceptanceRows(acceptance),
    ...outcomes.map((outcome) => ({
      dimension: 'money',
      key: outcome,
      ...moneyCells(outcome, money[outcome]),
    })),
    { dimension: 'daysToDecision', key: 'quotes', quotes: daysToDecision.quotes },
    { dimension: 'daysToDecision', key: 'mean', meanDays: daysToDecision.mean },
    { dimension: 'daysToDecision', key: 'median', medianDays: daysToDecision.median },
    { dimension: 'average', ...(average && revenueCells(average)) },
    ...revenue.byCurrency.map((money) => currencyRow('currency', money)),
    ...revenue.unconverted.map((money) => currencyRow('unconverted', money)),
  ]
}

function customerRows({ rows, rest }: NonNullable<Stats['byCustomer']>): Row[] {
  return [
    ...rows.map((row) => breakdownRow('customer', row.customer?.id, row, row.customer?.name)),
    ...(rest ? [breakdownRow('otherCustomers', String(rest.customers), rest)] : []),
  ]
}

function productRows({ rows, rest }: NonNullable<Stats['byProduct']>): Row[] {
  return [
    ...rows.map((row) => breakdownRow('product', row.product?.sku, row, row.product?.name)),
    ...(rest ? [breakdownRow('otherProducts', String(rest.products), rest)] : []),
  ]
}

/** What else `totals` has is no column. */
function breakdownRow(
  dimension: string,
  key: string | undefined,
  { revenue, ...totals }: { revenue: Money; unconverted: number },
  name: string | null = null,
): Row {
  return { ...totals, dimension, key: key ?? '', name, ...revenueCells(revenue) }
}

function comparisonRows(comparison: Stats['comparison']): Row[] {
  if (!comparison) return []
  const rows = periodRows(comparison)
  return [
    ...rows.map((row) => ({ ...row, dimension: `comparison ${row.dimension}` })),
    { dimension: 'change', ...comparison.change },
  ]
}

function groupRow(dimension: string, key: string, group: Group): Row {
  const { quotes, accepted, revenue, byStatus, money, acceptance, daysToDecision } = group
  return {
    dimension,
    key,
    ...byStatus,
    quotes,
    accepted,
    ...Object.assign({}, ...outcomes.map((outcome) => moneyCells(outcome, money[outcome]))),
    ...revenueCells(revenue),
    ...acceptance,
    meanDays: daysToDecision.mean,
    medianDays: daysToDecision.median,
  }
}

/**
 * The rates by number are also in the column `accepted`, for clients from before the columns
 * `ofSent` and `ofDecided` existed. So that column mixes counts and ratios, and must be filtered by
 * dimension, as openapi.ts says.
 */
const acceptanceRows = (acceptance: Group['acceptance']): Row[] =>
  Object.entries(acceptance).map(([key, rate]) => ({
    dimension: 'acceptance',
    key,
    ...(!key.endsWith('Value') && { accepted: rate }),
    [key]: rate,
  }))

const moneyCells = (outcome: Outcome, { amount, currency }: Money): Row => ({
  [amountColumnOf(outcome)]: amount,
  currency,
})

const currencyRow = (dimension: string, money: Stats['revenue']['byCurrency'][number]): Row => ({
  dimension,
  key: money.currency,
  accepted: money.quotes,
  ...revenueCells(money),
})

const revenueCells = ({ amount, currency }: Money): Row => ({ revenue: amount, currency })

function formatCell(column: Column, value: Row[Column], form: CsvForm): string {
  return textColumns.has(column)
    ? formatTextCell(String(value ?? ''))
    : formatNumberCell(value, form)
}

function formatNumberCell(value: number | string | null | undefined, form: CsvForm): string {
  const text = value == null ? '' : String(value)
  return form === 'csv-comma' ? text.replace('.', ',') : text
}

/**
 * Returns a text cell. A cell that a spreadsheet would run as a formula gets a leading apostrophe,
 * even if blanks, control characters or invisible characters precede the sign, or if the sign is
 * full-width. Numbers are written by `formatNumberCell`, so a negative number stays a number.
 *
 * A cell with either separator or an apostrophe is quoted in every form, for programs that guess
 * the separator and the quotation mark from the text.
 */
export function formatTextCell(text: string): string {
  const safe = /^[\s\p{C}]*[=+\-@＝＋－＠]|^[\t\r]/u.test(text) ? `'${text}` : text
  return /[",;\r\n\t']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
