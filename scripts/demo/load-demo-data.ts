// Loads the demo data into an empty database, through the same import that everybody uses.
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Pool } from 'pg'
import { toLocalDate } from '../../src/company/calendar.ts'
import type { Company } from '../../src/company/company.ts'
import type { Database } from '../../src/database/postgres-pool.ts'
import { productColumns, quoteColumns } from '../../src/imports/file-columns.ts'
import { importProducts } from '../../src/imports/products/import-products.ts'
import { importQuotes } from '../../src/imports/quotes/import-quotes.ts'
import { toCsv } from './csv-rows.ts'
import { exampleProducts, exampleQuotes, exampleShareNumber } from './example-rows.ts'
import {
  emptyProductsSummary,
  emptyQuotesSummary,
  onlineRetailQuoteColumns,
  readOnlineRetailProducts,
  readOnlineRetailQuotes,
} from './online-retail.ts'

/** With which the raw data begins. */
const [firstSku, firstInvoice] = ['85123A', '536365']
const rawFile = join(import.meta.dirname, '../../demo/online_retail_2010_2011.csv.gz')

/** Whether the data is there: the examples are loaded last. */
export async function isLoaded(db: Database): Promise<boolean> {
  const example = await db
    .selectFrom('quotes')
    .select('id')
    .where('number', '=', exampleShareNumber)
    .executeTakeFirst()
  return example !== undefined
}

/** Throws when the database holds somebody's own data: the demo's would be mixed into it. What an earlier load left unfinished may be there. */
export async function rejectForeignData(db: Database): Promise<void> {
  const { rows } = await sql<{ foreign: boolean }>`
    select exists (select from products) and not exists (select from products where sku = ${firstSku})
      or exists (select from quotes) and not exists (select from quotes where number = ${firstInvoice}) as "foreign"
  `.execute(db)
  if (rows[0]?.foreign)
    throw new Error(
      'The database of DATABASE_URL holds data that is not the demo’s. Name an empty one, or none.',
    )
}

/**
 * Imports the catalogue, the invoices as quotes, and the examples dated around today. Each import is all or nothing and changes nothing that is
 * there already, so that a load that was cut short is completed by the next one.
 */
export async function loadDemoData(
  pool: Pool,
  company: Company,
  reportProgress: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const products = emptyProductsSummary()
  await importProducts(pool, toCsv(readOnlineRetailProducts(rawFile, products), productColumns), {
    signal,
  })
  await importProducts(pool, toCsv(exampleProducts(), productColumns), { signal })
  reportProgress(
    `${products.products} products from ${products.codes} codes (${products.withoutName} were never described by a name)`,
  )

  const quotes = emptyQuotesSummary()
  let saidAt = Date.now()
  const onProgress = (lines: number) => {
    if (Date.now() - saidAt < 2_000) return
    saidAt = Date.now()
    reportProgress(`${lines.toLocaleString('en-GB')} quote lines read`)
  }
  const onStep = (step: string) => reportProgress(`quotes: ${step}`)
  await importQuotes(
    pool,
    toCsv(readOnlineRetailQuotes(rawFile, quotes), onlineRetailQuoteColumns),
    { onProgress, onStep, signal },
  )
  const dropped = `${quotes.quantityNotAboveZero} without a quantity above zero, ${quotes.priceNotAboveZero} without a price above zero`
  reportProgress(
    `${quotes.accepted} accepted and ${quotes.rejected} rejected quotes with ${quotes.lines} lines (left out: ${dropped})`,
  )

  await importQuotes(
    pool,
    toCsv(exampleQuotes(toLocalDate(company.timeZone, new Date())), quoteColumns),
    { signal },
  )
}

/** How much is there now. */
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
