// Loads the data of the demo into an empty database with the same imports that users run.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { sql } from 'kysely'
import type { Pool } from 'pg'
import { addDays, countDays } from '../../src/company/calendar.ts'
import type { Database } from '../../src/database/postgres-pool.ts'
import { importProducts } from '../../src/imports/import-products.ts'
import { importQuotes } from '../../src/imports/quotes/import-quotes.ts'
import { formatCount } from '../../src/text/count-noun.ts'
import { listRetailProducts, listRetailQuoteLines, readInvoiceLines } from './online-retail.ts'

/** The quote whose link the demo prints: sent, still valid, with taxes, discounts and terms. */
export const linkedQuoteNumber = 'EJ-014'
/** The first product and the first invoice of the Online Retail data. */
const [firstSku, firstInvoice] = ['85123A', '536365']
const progressIntervalMs = 2_000
const rowsPerChunk = 1_000

export function readExampleProducts(): string {
  return readFileSync(join(import.meta.dirname, '../../demo/products.csv'), 'utf8')
}

/** Returns demo/quotes.csv, whose dates take the first day of 2026 for `today` (YYYY-MM-DD). */
export function readExampleQuotes(today: string): string {
  const days = countDays('2026-01-01', today)
  return readFileSync(join(import.meta.dirname, '../../demo/quotes.csv'), 'utf8').replace(
    /\b\d{4}-\d\d-\d\d\b/g,
    (day) => addDays(day, days),
  )
}

/** Whether all data is loaded: the examples are loaded last. */
export async function isLoaded(db: Database): Promise<boolean> {
  const { rows } = await sql`select from quotes where number = ${linkedQuoteNumber}`.execute(db)
  return rows.length > 0
}

/**
 * Throws if the database holds other data than the demo's, which would be mixed. Accepts what an
 * interrupted load has left.
 */
export async function rejectForeignData(db: Database): Promise<void> {
  const { rows } = await sql`
    select where exists (select from products)
        and not exists (select from products where sku = ${firstSku})
      or exists (select from quotes)
        and not exists (select from quotes where number = ${firstInvoice})
  `.execute(db)
  if (rows.length > 0)
    throw new Error(
      'The database of DATABASE_URL holds data that is not the demo’s. ' +
        'Set DATABASE_URL to an empty database, or unset it.',
    )
}

/**
 * Imports the real products and invoices, and the examples with dates around `today`. Each import
 * is atomic and skips existing rows, so that the next start completes an interrupted load.
 */
export async function loadDemoData(
  pool: Pool,
  today: string,
  reportProgress: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const lines = await readInvoiceLines()
  const toSource = (rows: Iterable<Record<string, string>>) => Readable.from(toCsv(rows))
  await importProducts(pool, toSource(listRetailProducts(lines)), { signal })
  await importProducts(pool, Readable.from([readExampleProducts()]), { signal })
  let reportedAt = Date.now()
  await importQuotes(pool, toSource(listRetailQuoteLines(lines)), {
    onProgress: (rows) => {
      if (Date.now() - reportedAt < progressIntervalMs) return
      reportedAt = Date.now()
      reportProgress(`${formatCount(rows)} quote lines read`)
    },
    onStep: (step) => reportProgress(`quotes: ${step}`),
    signal,
  })
  await importQuotes(pool, Readable.from([readExampleQuotes(today)]), { signal })
}

/** Yields a header and the rows as CSV. */
export function* toCsv(rows: Iterable<Record<string, string>>): Generator<string> {
  const quote = (cell: string) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)
  const lines: string[] = []
  let isFirst = true
  for (const row of rows) {
    if (isFirst) lines.push(Object.keys(row).join())
    isFirst = false
    lines.push(Object.values(row).map(quote).join())
    if (lines.length > rowsPerChunk) yield `${lines.splice(0).join('\n')}\n`
  }
  yield lines.map((line) => `${line}\n`).join('')
}

/** Returns how many rows the database holds, in words. */
export async function describeData(db: Database): Promise<string> {
  const { rows } = await sql<Record<'products' | 'quotes' | 'lines', number>>`
    select (select count(*)::integer from products) as products,
      (select count(*)::integer from quotes) as quotes,
      (select count(*)::integer from quote_lines) as lines
  `.execute(db)
  const { products = 0, quotes = 0, lines = 0 } = rows[0] ?? {}
  return (
    `the database holds ${formatCount(products)} products, ${formatCount(quotes)} quotes and ` +
    `${formatCount(lines)} quote lines`
  )
}
