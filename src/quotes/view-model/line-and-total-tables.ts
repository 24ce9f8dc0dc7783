// The table of quote lines, and the rows of the totals.
import {
  formatCountry,
  formatDecimal,
  formatMoney,
  formatPercent,
  formatUnit,
  getLanguage,
  getTexts,
  isZero,
  type Locale,
} from '../formats.ts'
import { isCounted, type QuoteDocument } from '../schema.ts'

type Line = QuoteDocument['lines'][number]
const columnKeys = ['quantity', 'unitPrice', 'discount', 'tax', 'surcharge', 'net'] as const
type ColumnKey = (typeof columnKeys)[number]
const optionalColumns = new Set<ColumnKey>(['discount', 'tax', 'surcharge'])

type LineRow = ReturnType<typeof buildLineRow>

/**
 * Returns the formatted lines. Each has the sum of the nets up to it, because tables of several
 * pages carry it from page to page.
 */
export function buildLineRows(lines: Line[], locale: Locale) {
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
  return lines.map((line) => {
    if (isCounted(line)) sum += BigInt(line.net.amount.replace('.', ''))
    const text = (sum < 0n ? -sum : sum).toString().padStart(digits + 1, '0')
    const whole = text.slice(0, text.length - digits)
    const fraction = digits === 0 ? '' : `.${text.slice(-digits)}`
    return `${sum < 0n ? '-' : ''}${whole}${fraction}`
  })
}

/** Missing values are empty texts. */
function buildLineRow(line: Line, locale: Locale) {
  const { kind = 'line', discountPercent, taxRate, surchargeRate, subtotal } = line
  if (kind === 'heading' || kind === 'text') {
    const net = subtotal ? formatMoney(subtotal, locale) : ''
    const empty = { quantity: '', unitPrice: '', discount: '', tax: '', surcharge: '' }
    return { kind, position: '', description: line.description, details: [], ...empty, net }
  }
  return {
    kind,
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

/**
 * Returns the columns of numbers from left to right, without the optional ones that no line uses.
 * `width` is the length of the longest text in characters.
 */
export function buildLineColumns(rows: LineRow[], taxLabel: string, locale: Locale) {
  const shownKeys = columnKeys.filter(
    (key) => !optionalColumns.has(key) || rows.some((row) => row[key] !== ''),
  )
  return shownKeys.map((key) => {
    const label = key === 'tax' ? taxLabel : getTexts(locale)[key]
    let width = label.length
    for (const row of rows) width = Math.max(width, row[key].length)
    return { key, label, width }
  })
}

export function sumColumnWidths(columns: { width: number }[]): number {
  return columns.reduce((sum, { width }) => sum + width, 0)
}

function buildLineDetails({ kind, sku, hsCode, originCountry }: Line, locale: Locale) {
  const texts = getTexts(locale)
  const details: { label: string; text: string }[] = []
  if (kind === 'optional') details.push({ label: texts.optional, text: '' })
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

type TotalRow = {
  label: string
  /** Under the label: the amount that a tax applies to, or that the quote states no tax. */
  note?: string | null
  amount: string
  kind?: 'discounts' | 'gross' | 'due'
}

/** Returns the rows from top to bottom. Discounts have a row only if there are any. */
export function buildTotalRows({ totals, seller }: QuoteDocument, locale: Locale): TotalRow[] {
  const texts = getTexts(locale)
  const { discounts, discount, net, taxes, gross, untaxedBase, withheld } = totals
  const format = (amount: Totals['net']) => formatMoney(amount, locale)
  const rows: TotalRow[] = []
  if (!isZero(discounts.amount))
    rows.push({ label: texts.discounts, amount: format(discounts), kind: 'discounts' })
  if (discount) {
    rows.push({ label: texts.subtotal, amount: format(discount.base) })
    const percent = discount.percent === null ? '' : ` ${formatPercent(discount.percent, locale)}`
    rows.push({
      label: `${texts.globalDiscount}${percent}`,
      amount: format(negate(discount.amount)),
    })
  }
  rows.push({ label: texts.netTotal, amount: format(net) })
  const taxLabel = chooseTaxLabel(totals, locale)
  for (const { rate, surchargeRate, base, amount, surchargeAmount } of taxes) {
    const note = texts.onBase(format(base))
    const label = texts.taxAt(taxLabel, formatPercent(rate, locale))
    rows.push({ label, note, amount: format(amount) })
    if (surchargeRate === null || surchargeAmount === null) continue
    const surchargeLabel = texts.surchargeAt(formatPercent(surchargeRate, locale))
    rows.push({ label: surchargeLabel, note, amount: format(surchargeAmount) })
  }
  // So the bases add up to the net. Without any tax, the total says so.
  if (untaxedBase && taxes.length > 0)
    rows.push({ label: texts.untaxed, note: texts.onBase(format(untaxedBase)), amount: '—' })
  const note = taxes.length === 0 ? texts.noTax : null
  rows.push({ label: texts.total, note, amount: format(gross), kind: 'gross' })
  if (withheld) {
    const name = seller.country === 'ES' ? `${texts.withheld} IRPF` : texts.withheld
    rows.push({
      label: `${name} ${formatPercent(withheld.rate, locale)}`,
      note: texts.onBase(format(net)),
      amount: format(negate(withheld.amount)),
    })
    rows.push({ label: texts.amountDue, amount: format(withheld.amountDue), kind: 'due' })
  }
  return rows
}

/** A discount is below zero if the sum of the lines is. Withheld tax may be zero. */
function negate({ amount, currency }: Totals['net']): Totals['net'] {
  if (isZero(amount)) return { amount, currency }
  return { amount: amount.startsWith('-') ? amount.slice(1) : `-${amount}`, currency }
}

/**
 * The English name of VAT in existing documents. It is compared with theirs, so it must not change
 * with the English text `tax`.
 */
const frozenVatLabel = 'VAT'

export function chooseTaxLabel(totals: Totals, locale: Locale): string {
  const { taxLabel } = totals
  const own = taxLabel?.[getLanguage(locale)]
  if (own !== undefined) return own
  // Older documents name the tax only in es and en, or not at all. If the tax is VAT, its usual
  // name in this language is used, and otherwise its English name.
  const english = taxLabel?.en ?? frozenVatLabel
  return english === frozenVatLabel ? getTexts(locale).tax : english
}
