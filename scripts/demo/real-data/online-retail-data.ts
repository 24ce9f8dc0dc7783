// The real part of the demo data: converts the invoice lines of demo/online_retail_2010_2011.csv.gz
// to rows of the product and quote imports. demo/NOTICE.md describes their origin. Prices and
// quantities remain text, exactly as in the file.
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import type { QuoteColumn } from '../../../src/imports/file-format.ts'
import type { ProductRow } from '../csv-rows.ts'
import { countryCodes } from './online-retail-countries.ts'

/** Counts of the product codes in the file. */
export type ProductsSummary = {
  /** Codes that differ only by case count once. */
  codes: number
  products: number
  /** Codes described only by notes, never by a name. They are skipped. None was ever sold. */
  withoutName: number
  /** Products without a positive price in any line. */
  withoutPrice: number
}

/**
 * Counts of the invoices and lines in the file. A line skipped for both reasons counts once, under
 * its quantity.
 */
export type QuotesSummary = {
  accepted: number
  rejected: number
  lines: number
  quantityNotAboveZero: number
  priceNotAboveZero: number
  invoicesWithoutLines: number
  adjustmentInvoices: number
  adjustmentLines: number
}

/** The columns of the quote import that this file fills. */
export const onlineRetailQuoteColumns = [
  'number',
  'status',
  'issued_on',
  'decided_on',
  'customer_name',
  'country',
  'currency',
  'rate',
  'language',
  'position',
  'sku',
  'description',
  'quantity',
  'unit',
  'unit_price',
] as const satisfies readonly QuoteColumn[]
export type OnlineRetailQuoteRow = Record<(typeof onlineRetailQuoteColumns)[number], string>

export function emptyProductsSummary(): ProductsSummary {
  return { codes: 0, products: 0, withoutName: 0, withoutPrice: 0 }
}

export function emptyQuotesSummary(): QuotesSummary {
  return {
    accepted: 0,
    rejected: 0,
    lines: 0,
    quantityNotAboveZero: 0,
    priceNotAboveZero: 0,
    invoicesWithoutLines: 0,
    adjustmentInvoices: 0,
    adjustmentLines: 0,
  }
}

/**
 * Returns a product for each code that has a name, in the order of the file. The name is the most
 * frequent one (on a tie the first), the price the last positive one, if any. Fills `summary`.
 */
export async function readOnlineRetailProducts(
  source: LineSource,
  summary = emptyProductsSummary(),
): Promise<ProductRow[]> {
  const codes = new Map<string, { uses: Map<string, number>; price: string }>()
  for await (const lines of toBatches(source)) {
    for (const { sku, description, price } of lines) {
      let code = codes.get(sku)
      if (!code) {
        code = { uses: new Map(), price: '' }
        codes.set(sku, code)
      }
      code.uses.set(description, (code.uses.get(description) ?? 0) + 1)
      // The file is sorted by time, so the last price is the latest.
      if (isAboveZero(price)) code.price = price
    }
  }
  const products: ProductRow[] = []
  for (const [sku, { uses, price }] of codes) {
    summary.codes++
    const name = mostFrequentName(uses)
    if (name === undefined) {
      summary.withoutName++
      continue
    }
    summary.products++
    if (price === '') summary.withoutPrice++
    products.push({
      sku,
      name,
      description: '',
      category: '',
      brand: '',
      unit: 'C62',
      price,
      currency: price && 'GBP',
      hs_code: '',
      origin_country: '',
      active: 'true',
    })
  }
  return products
}

/**
 * Yields batches of quote lines in the order of the file, where one invoice has lines in two
 * places. An invoice becomes a quote accepted on its day. A cancellation (C…) becomes one rejected
 * on its day, with positive quantities. Adjustments of bad debt (A…) are skipped, and so are lines
 * without a positive quantity and price. `summary` is complete after the last batch. Throws for a
 * country that is not in the list.
 */
export async function* readOnlineRetailQuotes(
  source: LineSource,
  summary = emptyQuotesSummary(),
): AsyncGenerator<OnlineRetailQuoteRow[]> {
  const linesByInvoice = new Map<string, number>()
  for await (const lines of toBatches(source))
    yield lines.flatMap((line) => toQuoteRow(line, linesByInvoice, summary) ?? [])
  for (const [invoice, lines] of linesByInvoice) {
    if (invoice.startsWith('A')) summary.adjustmentInvoices++
    else if (lines === 0) summary.invoicesWithoutLines++
    else summary[invoice.startsWith('C') ? 'rejected' : 'accepted']++
  }
}

/** Returns null for a skipped line. */
function toQuoteRow(
  line: InvoiceLine,
  linesByInvoice: Map<string, number>,
  summary: QuotesSummary,
): OnlineRetailQuoteRow | null {
  const linesBefore = linesByInvoice.get(line.invoice) ?? 0
  if (linesBefore === 0) linesByInvoice.set(line.invoice, 0)
  if (line.invoice.startsWith('A')) {
    summary.adjustmentLines++
    return null
  }
  const isCancelled = line.invoice.startsWith('C')
  const quantity = isCancelled ? line.quantity.replace('-', '') : line.quantity
  if (!isAboveZero(quantity)) {
    summary.quantityNotAboveZero++
    return null
  }
  if (!isAboveZero(line.price)) {
    summary.priceNotAboveZero++
    return null
  }
  const position = linesBefore + 1
  linesByInvoice.set(line.invoice, position)
  summary.lines++
  return {
    number: line.invoice,
    status: isCancelled ? 'rejected' : 'accepted',
    issued_on: line.day,
    decided_on: line.day,
    customer_name: line.customer && `Customer ${line.customer}`,
    country: countryCode(line.country),
    currency: 'GBP',
    rate: '1',
    language: line.country === 'Spain' ? 'es' : 'en',
    position: String(position),
    sku: line.sku,
    description: line.description,
    quantity,
    unit: 'C62',
    unit_price: line.price,
  }
}

/** The path of the file, or batches of its lines that were read before. */
export type LineSource = string | InvoiceLine[][]

function toBatches(source: LineSource): AsyncIterable<InvoiceLine[]> | InvoiceLine[][] {
  return typeof source === 'string' ? readInvoiceLines(source) : source
}

export type InvoiceLine = {
  invoice: string
  /** In upper case, as in almost every line: codes that differ only by case are one product. */
  sku: string
  description: string
  quantity: string
  day: string
  price: string
  customer: string
  country: string
}

const columnCount = 8
const header = 'InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country'

/**
 * Reads the file in batches of lines: half a million steps of an asynchronous loop would take
 * longer than the parsing.
 */
export async function* readInvoiceLines(file: string): AsyncGenerator<InvoiceLine[]> {
  // An error in the pipeline is thrown by the loop below, so the callback does nothing.
  const chunks: AsyncIterable<string> = pipeline(
    createReadStream(file),
    createGunzip({ chunkSize: 65_536 }),
    () => {},
  ).setEncoding('utf8')
  let first = true
  let rest = ''
  for await (const chunk of chunks) {
    // No field of the file contains a line break, so every line break ends a record.
    const text = rest + chunk
    const end = text.lastIndexOf('\n') + 1
    const records = text.slice(0, end).split('\n').slice(0, -1).map(splitLine)
    rest = text.slice(end)
    if (first && String(records.shift()) !== header)
      throw new Error(`${file} is not the Online Retail data: its first line must be ${header}`)
    first = false
    yield records.map(invoiceLine)
  }
  if (first || rest !== '')
    throw new Error(
      `${file} is not the Online Retail data: it is empty or ends in the middle of a line`,
    )
}

/** Few lines have quotation marks. Only those need the parser, which is many times slower. */
function splitLine(line: string): string[] {
  const fields = line.includes('"') ? (parse(line)[0] ?? []) : line.split(',')
  if (fields.length !== columnCount)
    throw new Error(`Online Retail data: a line does not have ${columnCount} fields: ${line}`)
  return fields
}

function invoiceLine(record: string[]): InvoiceLine {
  const [
    invoice = '',
    code = '',
    description = '',
    quantity = '',
    date = '',
    price = '',
    customer = '',
    country = '',
  ] = record
  return {
    invoice,
    sku: code.toUpperCase(),
    description,
    quantity,
    day: date.slice(0, 10),
    price,
    customer,
    country,
  }
}

/**
 * Whether a description is a product name: it contains letters, and is not a lower-case note such
 * as "damaged" or "wrongly coded 20713".
 */
function isName(description: string): boolean {
  return /\p{L}/u.test(description) && description !== description.toLowerCase()
}

function isAboveZero(decimal: string): boolean {
  return !decimal.startsWith('-') && /[1-9]/.test(decimal)
}

function mostFrequentName(uses: Map<string, number>): string | undefined {
  let most: string | undefined
  for (const [description, count] of uses) {
    if (!isName(description)) continue
    if (most === undefined || count > (uses.get(most) ?? 0)) most = description
  }
  return most
}

function countryCode(name: string): string {
  const code = countryCodes.get(name)
  if (code === undefined)
    throw new Error(`Online Retail data: the country ${name} has no ISO code in this program`)
  return code
}
