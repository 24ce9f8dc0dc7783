// The real part of the demo data: the invoice lines of demo/online_retail_2010_2011.csv.gz as rows of the product and quote imports.
// demo/NOTICE.md tells where they come from. Amounts and quantities stay the text that they are in the file.
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import type { QuoteColumn } from '../../src/imports/file-columns.ts'
import type { ProductRow } from './csv-rows.ts'
import { countryCodes } from './online-retail-countries.ts'

/** What became of the codes of the file. */
export type ProductsSummary = {
  /** Codes, those that differ only by case counted once. */
  codes: number
  products: number
  /** Codes never described by a name, only by notes: left out. None of them was ever sold. */
  withoutName: number
  /** Products that never had a positive price. */
  withoutPrice: number
}

/** What became of the invoices and lines of the file. A line dropped for both reasons counts under its quantity. */
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

/** The columns that quotes from this file fill. */
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
 * A product for every code that was ever described by a name, in the order in which the codes appear. The name is the most frequent one (of equals
 * the first seen), the price the last positive one, none if there was none. Fills `summary`, which is complete when the rows end.
 */
export async function* readOnlineRetailProducts(
  file: string,
  summary = emptyProductsSummary(),
): AsyncGenerator<ProductRow> {
  const codes = new Map<string, { uses: Map<string, number>; price: string }>()
  for await (const lines of readInvoiceLines(file)) {
    for (const { sku, description, price } of lines) {
      let code = codes.get(sku)
      if (!code) {
        code = { uses: new Map(), price: '' }
        codes.set(sku, code)
      }
      if (isName(description)) code.uses.set(description, (code.uses.get(description) ?? 0) + 1)
      // The file is in the order of time, so that the last price seen is the latest.
      if (isAboveZero(price)) code.price = price
    }
  }
  for (const [sku, { uses, price }] of codes) {
    summary.codes++
    const name = mostFrequent(uses)
    if (name === undefined) {
      summary.withoutName++
      continue
    }
    summary.products++
    if (price === '') summary.withoutPrice++
    yield {
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
    }
  }
}

/**
 * The lines of the quotes, in the order of the file (one invoice has its lines in two places). An invoice is a quote accepted on its day, a
 * cancellation (C…) one rejected on its day with its quantities positive; adjustments of bad debt (A…) are no quotes. Lines whose quantity or price is
 * then not above zero are dropped. Fills `summary`, which is complete when the rows end. Throws for a country that is not in the list.
 */
export async function* readOnlineRetailQuotes(
  file: string,
  summary = emptyQuotesSummary(),
): AsyncGenerator<OnlineRetailQuoteRow> {
  const linesByInvoice = new Map<string, number>()
  for await (const lines of readInvoiceLines(file)) {
    for (const line of lines) {
      const linesBefore = linesByInvoice.get(line.invoice) ?? 0
      if (linesBefore === 0) linesByInvoice.set(line.invoice, 0)
      if (line.invoice.startsWith('A')) {
        summary.adjustmentLines++
        continue
      }
      const cancelled = line.invoice.startsWith('C')
      const quantity = cancelled ? line.quantity.replace('-', '') : line.quantity
      if (!isAboveZero(quantity)) {
        summary.quantityNotAboveZero++
        continue
      }
      if (!isAboveZero(line.price)) {
        summary.priceNotAboveZero++
        continue
      }
      const position = linesBefore + 1
      linesByInvoice.set(line.invoice, position)
      summary.lines++
      yield {
        number: line.invoice,
        status: cancelled ? 'rejected' : 'accepted',
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
  }
  for (const [invoice, lines] of linesByInvoice) {
    if (invoice.startsWith('A')) summary.adjustmentInvoices++
    else if (lines === 0) summary.invoicesWithoutLines++
    else summary[invoice.startsWith('C') ? 'rejected' : 'accepted']++
  }
}

type InvoiceLine = {
  invoice: string
  /** In upper case, the spelling of almost every line: codes that differ only by case are one product. */
  sku: string
  description: string
  quantity: string
  day: string
  price: string
  customer: string
  country: string
}

const header = 'InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country'

/** Batch by batch, because half a million steps of an asynchronous loop take longer than the parsing. */
async function* readInvoiceLines(file: string): AsyncGenerator<InvoiceLine[]> {
  // An error anywhere in the pipeline ends the chunks with it, so the callback has nothing to add.
  const chunks: AsyncIterable<string> = pipeline(
    createReadStream(file),
    createGunzip({ chunkSize: 65_536 }),
    () => {},
  ).setEncoding('utf8')
  let first = true
  let rest = ''
  for await (const chunk of chunks) {
    // No field of the file holds a line break, so that every line break ends a record.
    const text = rest + chunk
    const end = text.lastIndexOf('\n') + 1
    const records = parse(text.slice(0, end))
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

/** Whether a description names the product: with letters, and not a lower-case note such as "damaged" or "wrongly coded 20713". */
function isName(description: string): boolean {
  return /\p{L}/u.test(description) && description !== description.toLowerCase()
}

function isAboveZero(decimal: string): boolean {
  return !decimal.startsWith('-') && /[1-9]/.test(decimal)
}

function mostFrequent(uses: Map<string, number>): string | undefined {
  let most: string | undefined
  for (const [name, count] of uses)
    if (most === undefined || count > (uses.get(most) ?? 0)) most = name
  return most
}

function countryCode(name: string): string {
  const code = countryCodes.get(name)
  if (code === undefined)
    throw new Error(`Online Retail data: the country ${name} is not known here`)
  return code
}
