// The table of quote lines, and the rows of the totals.
import { textsByLanguage } from '../../texts/languages.ts'
import {
  formatCountry,
  formatDecimal,
  formatMoney,
  formatPercent,
  formatUnit,
  getLanguage,
  isZero,
  type Locale,
} from '../formats.ts'
import type { QuoteDocument } from '../schema.ts'

type Line = QuoteDocument['lines'][number]
type LabelledText = { label: string; text: string }

/** A formatted line. Missing values are empty texts. */
export type LineRow = {
  position: string
  description: string
  details: LabelledText[]
  quantity: string
  unitPrice: string
  discount: string
  tax: string
  surcharge: string
  net: string
  /** The sum of the nets up to this line. Tables of several pages carry it from page to page. */
  runningTotal: string
}

const columnKeys = ['quantity', 'unitPrice', 'discount', 'tax', 'surcharge', 'net'] as const
type ColumnKey = (typeof columnKeys)[number]
const optionalColumns = new Set<ColumnKey>(['discount', 'tax', 'surcharge'])

/** A column of numbers. `width` is the length of its longest text in characters. */
export type LineColumn = { key: ColumnKey; label: string; width: number }

export function buildLineRows(lines: Line[], locale: Locale): LineRow[] {
  const runningTotals = sumUpToEachLine(lines)
  return lines.map((line, index) => ({
    ...buildLineRow(line, locale),
    runningTotal: formatMoney(
      { amount: runningTotals[index] ?? '', currency: line.net.currency },
      locale,
    ),
  }))
}

/** Returns the exact sums of the nets of the first line, the first two lines, and so on. */
function sumUpToEachLine(lines: Line[]): string[] {
  // All nets of a quote have the digits of its currency.
  const digits = lines[0]?.net.amount.split('.')[1]?.length ?? 0
  let sum = 0n
  return lines.map(({ net }) => {
    sum += BigInt(net.amount.replace('.', ''))
    const text = (sum < 0n ? -sum : sum).toString().padStart(digits + 1, '0')
    const whole = text.slice(0, text.length - digits)
    const fraction = digits === 0 ? '' : `.${text.slice(-digits)}`
    return `${sum < 0n ? '-' : ''}${whole}${fraction}`
  })
}

function buildLineRow(line: Line, locale: Locale): Omit<LineRow, 'runningTotal'> {
  const { discountPercent, taxRate, surchargeRate } = line
  return {
    position: String(line.position),
    description: line.description,
    details: buildLineDetails(line, locale),
    quantity: formatQuantity(line, locale),
    unitPrice: formatMoney(line.unitPrice, locale),
    discount: isZero(discountPercent) ? '' : formatPercent(discountPercent, locale),
    tax: taxRate === null ? '' : formatPercent(taxRate, locale),
    surcharge: surchargeRate === null ? '' : formatPercent(surchargeRate, locale),
    net: formatMoney(line.net, locale),
  }
}

/** Returns the columns from left to right, without the optional columns that no line uses. */
export function buildLineColumns(rows: LineRow[], taxLabel: string, locale: Locale): LineColumn[] {
  const shownKeys = columnKeys.filter(
    (key) => !optionalColumns.has(key) || rows.some((row) => row[key] !== ''),
  )
  return shownKeys.map((key) => {
    const label = key === 'tax' ? taxLabel : textsByLanguage[getLanguage(locale)].quotes[key]
    let width = label.length
    for (const row of rows) width = Math.max(width, row[key].length)
    return { key, label, width }
  })
}

export function sumColumnWidths(columns: LineColumn[]): number {
  return columns.reduce((sum, { width }) => sum + width, 0)
}

function buildLineDetails({ sku, hsCode, originCountry }: Line, locale: Locale) {
  const texts = textsByLanguage[getLanguage(locale)].quotes
  const details: LabelledText[] = []
  if (sku !== null) details.push({ label: texts.sku, text: sku })
  if (hsCode !== null) details.push({ label: texts.hsCode, text: hsCode })
  if (originCountry !== null)
    details.push({ label: texts.origin, text: formatCountry(originCountry, locale) })
  return details
}

function formatQuantity({ quantity, unit }: Line, locale: Locale): string {
  const number = formatDecimal(quantity, locale)
  return unit === null ? number : `${number}\u00a0${formatUnit(unit, quantity, locale)}`
}

type Totals = QuoteDocument['totals']

export type TotalRow = {
  label: string
  /** A note under the label: the amount that a tax applies to, or that the quote states no tax. */
  note: string | null
  amount: string
  kind?: 'discounts' | 'gross'
}

/** Returns the rows from top to bottom. Discounts have a row only if there are any. */
export function buildTotalRows(totals: Totals, locale: Locale): TotalRow[] {
  const texts = textsByLanguage[getLanguage(locale)].quotes
  const discounts: TotalRow = {
    label: texts.discounts,
    note: null,
    amount: formatMoney(totals.discounts, locale),
    kind: 'discounts',
  }
  const net: TotalRow = {
    label: texts.netTotal,
    note: null,
    amount: formatMoney(totals.net, locale),
  }
  const gross: TotalRow = {
    label: texts.total,
    note: totals.taxes.length === 0 ? texts.noTax : null,
    amount: formatMoney(totals.gross, locale),
    kind: 'gross',
  }
  const hasDiscounts = !isZero(totals.discounts.amount)
  const taxRows = totals.taxes.flatMap((tax) =>
    buildTaxRows(tax, chooseTaxLabel(totals, locale), locale),
  )
  // So the bases add up to the net. Without any tax, the total says so.
  const { untaxedBase } = totals
  const untaxed: TotalRow[] =
    untaxedBase && totals.taxes.length > 0
      ? [
          {
            label: texts.untaxed,
            note: texts.onBase(formatMoney(untaxedBase, locale)),
            amount: '—',
          },
        ]
      : []
  return [...(hasDiscounts ? [discounts] : []), net, ...taxRows, ...untaxed, gross]
}

/**
 * The English name of VAT in existing documents. It is compared with theirs, so it must not change
 * with textsByLanguage.en.quotes.tax.
 */
const frozenVatLabel = 'VAT'

export function chooseTaxLabel(totals: Totals, locale: Locale): string {
  const { taxLabel } = totals
  const own = taxLabel?.[getLanguage(locale)]
  if (own !== undefined) return own
  // Older documents name the tax only in es and en, or not at all. If the tax is VAT, its usual
  // name in this language is used, and otherwise its English name.
  const english = taxLabel?.en ?? frozenVatLabel
  return english === frozenVatLabel ? textsByLanguage[getLanguage(locale)].quotes.tax : english
}

function buildTaxRows(
  { rate, surchargeRate, base, amount, surchargeAmount }: Totals['taxes'][number],
  taxLabel: string,
  locale: Locale,
): TotalRow[] {
  const texts = textsByLanguage[getLanguage(locale)].quotes
  const onBase = texts.onBase(formatMoney(base, locale))
  const taxRow = {
    label: texts.taxAt(taxLabel, formatPercent(rate, locale)),
    note: onBase,
    amount: formatMoney(amount, locale),
  }
  if (surchargeRate === null || surchargeAmount === null) return [taxRow]
  const surchargeRow = {
    label: texts.surchargeAt(formatPercent(surchargeRate, locale)),
    note: onBase,
    amount: formatMoney(surchargeAmount, locale),
  }
  return [taxRow, surchargeRow]
}
