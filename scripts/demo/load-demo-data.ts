// Loads the demo data into an empty database with the same imports that users run.
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Pool } from 'pg'
import { toLocalDate } from '../../src/company/calendar.ts'
import type { Company } from '../../src/company/company-file.ts'
import type { Database } from '../../src/database/postgres-pool.ts'
import { quoteColumns } from '../../src/imports/file-format.ts'
import { importProducts } from '../../src/imports/import-products.ts'
import { importQuotes } from '../../src/imports/quotes/import-quotes.ts'
import { demoProductColumns, toCsv } from './csv-rows.ts'
import { exampleProducts, exampleQuotes, linkedQuoteNumber } from './invented-data/example-rows.ts'
import {
  emptyProductsSummary,
  emptyQuotesSummary,
  onlineRetailQuoteColumns,
  readInvoiceLines,
  readOnlineRetailProducts,
  readOnlineRetailQuotes,
} from './real-data/online-retail-data.ts'

/** The first product and the first invoice of the Online Retail data. */
const [firstSku, firstInvoice] = ['85123A', '536365']
const progressIntervalMs = 2_000
const rawFile = join(import.meta.dirname, '../../demo/online_retail_2010_2011.csv.gz')

/** Whether all data is loaded: the examples are loaded last. */
export async function isLoaded(db: Database): Promise<boolean> {
  const example = await db
    .selectFrom('quotes')
    .select('id')
    .where('number', '=', linkedQuoteNumber)
    .executeTakeFirst()
  return example !== undefined
}

/**
 * Throws if the database holds other data than the demo's, which would be mixed. Accepts what an
 * interrupted load has left.
 */
export async function rejectForeignData(db: Database): Promise<void> {
  const { rows } = await sql<{ foreign: boolean }>`
    select exists (select from products)
        and not exists (select from products where sku = ${firstSku})
      or exists (select from quotes)
        and not exists (select from quotes where number = ${firstInvoice}) as "foreign"
  `.execute(db)
  if (rows[0]?.foreign)
    throw new Error(
      'The database of DATABASE_URL holds data that is not the demo’s. ' +
        'Set DATABASE_URL to an empty database, or unset it.',
    )
}

/**
 * Imports the catalogue, the invoices as quotes, and the examples dated around today. Each import
 * is atomic and skips existing rows, so that the next start completes an interrupted load.
 */
export async function loadDemoData(
  pool: Pool,
  company: Company,
  reportProgress: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const invoiceLines = await Array.fromAsync(readInvoiceLines(rawFile))
  const products = emptyProductsSummary()
  await importProducts(
    pool,
    toCsv([await readOnlineRetailProducts(invoiceLines, products)], demoProductColumns),
    {
      signal,
    },
  )
  await importProducts(pool, toCsv([exampleProducts()], demoProductColumns), { signal })
  reportProgress(
    `${products.products} products imported; ${products.withoutName} of ${products.codes} codes ` +
      'skipped, because they never have a name',
  )

  const quotes = emptyQuotesSummary()
  let reportedAt = Date.now()
  const onProgress = (lines: number) => {
    if (Date.now() - reportedAt < progressIntervalMs) return
    reportedAt = Date.now()
    reportProgress(`${lines.toLocaleString('en-GB')} quote lines read`)
  }
  const onStep = (step: string) => reportProgress(`quotes: ${step}`)
  await importQuotes(
    pool,
    toCsv(readOnlineRetailQuotes(invoiceLines, quotes), onlineRetailQuoteColumns),
    { onProgress, onStep, signal },
  )
  const skipped =
    `${quotes.quantityNotAboveZero} lines without a positive quantity and ` +
    `${quotes.priceNotAboveZero} without a positive price skipped`
  reportProgress(
    `${quotes.accepted} accepted and ${quotes.rejected} rejected quotes imported with ` +
      `${quotes.lines} lines; ${skipped}`,
  )

  await importQuotes(
    pool,
    toCsv([exampleQuotes(toLocalDate(company.timeZone, new Date()))], quoteColumns),
    { signal },
  )
}

/** Counts the rows in the database. */
export async function countData(
  db: Database,
): Promise<{ products: number; quotes: number; lines: number }> {
  const count = async (table: 'products' | 'quotes' | 'quote_lines') => {
    const { count } = await db
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<string>().as('count'))
      .executeTakeFirstOrThrow()
    return Number(count)
  }
  return {
    products: await count('products'),
    quotes: await count('quotes'),
    lines: await count('quote_lines'),
  }
}
