// The real data of the demo, as rows of the product and quote imports. demo/NOTICE.md describes
// its origin. Prices and quantities remain text, exactly as in the file.
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { parse } from 'csv-parse/sync'

const demoData = join(import.meta.dirname, '../../demo')
/** ISO 3166-1 codes by the names in the file, empty for names of no country. */
const countryCodes = JSON.parse(
  readFileSync(join(demoData, 'online_retail_countries.json'), 'utf8'),
) as Record<string, string>

export type InvoiceLine = Record<
  'invoice' | 'sku' | 'description' | 'quantity' | 'day' | 'price' | 'customer' | 'country',
  string
>

/** Reads the lines of the invoices, which are sorted by time. */
export async function readInvoiceLines(): Promise<InvoiceLine[]> {
  const file = join(demoData, 'online_retail_2010_2011.csv.gz')
  const text = (await promisify(gunzip)(await readFile(file))).toString()
  // No field contains a line break. The first line is the header.
  return text.trimEnd().split('\n').slice(1).map(readLine)
}

function readLine(text: string): InvoiceLine {
  // Few lines have quotation marks. Only those need the parser, which is many times slower.
  const cells: string[] = text.includes('"') ? (parse(text)[0] ?? []) : text.split(',')
  if (cells.length !== 8) throw new Error(`Online Retail: not an invoice line: ${text}`)
  const [invoice = '', code = '', description = '', quantity = '', time = ''] = cells
  const [price = '', customer = '', country = ''] = cells.slice(5)
  // Codes that differ only by case are one product, and almost all lines have them in upper case.
  const sku = code.toUpperCase()
  return { invoice, sku, description, quantity, day: time.slice(0, 10), price, customer, country }
}

export type RetailProduct = Record<'sku' | 'name' | 'unit' | 'price' | 'currency', string>

/**
 * Returns a product for each code that has a name, in the order of the file. The name is the most
 * frequent one (on a tie the first), the price the last positive one, if any.
 */
export function listRetailProducts(lines: InvoiceLine[]): RetailProduct[] {
  const codes = new Map<string, { uses: Map<string, number>; price: string }>()
  for (const { sku, description, price } of lines) {
    const code = codes.get(sku) ?? { uses: new Map(), price: '' }
    codes.set(sku, code)
    if (isName(description)) code.uses.set(description, (code.uses.get(description) ?? 0) + 1)
    if (isAboveZero(price)) code.price = price
  }
  return [...codes].flatMap(([sku, { uses, price }]) => {
    const [name] = [...uses].toSorted(([, a], [, b]) => b - a)[0] ?? []
    return name ? { sku, name, unit: 'C62', price, currency: price && 'GBP' } : []
  })
}

/** Whether a description has capitals, unlike notes such as "damaged" or "wrongly coded 20713". */
const isName = (description: string) => description !== description.toLowerCase()
const isAboveZero = (decimal: string) => !decimal.startsWith('-') && /[1-9]/.test(decimal)

/**
 * Yields quote lines in the order of the file. An invoice becomes a quote accepted on its day. A
 * cancellation (C…) becomes one rejected on its day, with positive quantities. Adjustments of bad
 * debt (A…) are skipped, and so are lines without a positive quantity and price.
 */
export function* listRetailQuoteLines(lines: InvoiceLine[]) {
  const positions = new Map<string, number>()
  for (const { invoice, sku, description, quantity, day, price, customer, country } of lines) {
    const isCancelled = invoice.startsWith('C')
    const soldQuantity = isCancelled ? quantity.replace('-', '') : quantity
    if (invoice.startsWith('A') || !isAboveZero(soldQuantity) || !isAboveZero(price)) continue
    const position = (positions.get(invoice) ?? 0) + 1
    positions.set(invoice, position)
    yield {
      number: invoice,
      status: isCancelled ? 'rejected' : 'accepted',
      issued_on: day,
      decided_on: day,
      customer_name: customer && `Customer ${customer}`,
      country: countryCodes[country] ?? '',
      currency: 'GBP',
      language: country === 'Spain' ? 'es' : 'en',
      position: String(position),
      sku,
      description,
      quantity: soldQuantity,
      unit: 'C62',
      unit_price: price,
    }
  }
}
