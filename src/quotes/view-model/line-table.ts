// The table of quote lines: the formatted cells of each line, and which columns are shown.

import type { Language } from '../../company/languages.ts'
import { formatCountry } from '../formats/country-names.ts'
import { formatDecimal, formatMoney, formatPercent, isZero } from '../formats/number-formats.ts'
import { formatUnit } from '../formats/unit-names.ts'
import { quoteTexts } from '../quote-texts/quote-texts.ts'
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
}

const columnKeys = ['quantity', 'unitPrice', 'discount', 'tax', 'surcharge', 'net'] as const
type ColumnKey = (typeof columnKeys)[number]
const optionalColumns = new Set<ColumnKey>(['discount', 'tax', 'surcharge'])

/** A column of numbers. `width` is the length of its longest text in characters. */
export type LineColumn = { key: ColumnKey; label: string; width: number }

/** Returns the line with all values formatted in a language. */
export function buildLineRow(line: Line, language: Language): LineRow {
  const { discountPercent, taxRate, surchargeRate } = line
  return {
    position: String(line.position),
    description: line.description,
    details: buildLineDetails(line, language),
    quantity: formatQuantity(line, language),
    unitPrice: formatMoney(line.unitPrice, language),
    discount: isZero(discountPercent) ? '' : formatPercent(discountPercent, language),
    tax: taxRate === null ? '' : formatPercent(taxRate, language),
    surcharge: surchargeRate === null ? '' : formatPercent(surchargeRate, language),
    net: formatMoney(line.net, language),
  }
}

/** Returns the columns from left to right, without the optional columns that no line uses. */
export function buildLineColumns(
  rows: LineRow[],
  taxLabel: string,
  language: Language,
): LineColumn[] {
  const shownKeys = columnKeys.filter(
    (key) => !optionalColumns.has(key) || rows.some((row) => row[key] !== ''),
  )
  return shownKeys.map((key) => {
    const label = key === 'tax' ? taxLabel : quoteTexts[language][key]
    let width = label.length
    for (const row of rows) width = Math.max(width, row[key].length)
    return { key, label, width }
  })
}

/** Returns the total width of the columns in characters. */
export function sumColumnWidths(columns: LineColumn[]): number {
  return columns.reduce((sum, { width }) => sum + width, 0)
}

function buildLineDetails({ sku, hsCode, originCountry }: Line, language: Language) {
  const texts = quoteTexts[language]
  const details: LabelledText[] = []
  if (sku !== null) details.push({ label: texts.sku, text: sku })
  if (hsCode !== null) details.push({ label: texts.hsCode, text: hsCode })
  if (originCountry !== null)
    details.push({ label: texts.origin, text: formatCountry(originCountry, language) })
  return details
}

function formatQuantity({ quantity, unit }: Line, language: Language): string {
  const number = formatDecimal(quantity, language)
  return unit === null ? number : `${number}\u00a0${formatUnit(unit, quantity, language)}`
}
