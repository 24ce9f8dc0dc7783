// Writes rows of the demo data as CSV, the format of the imports.
import { Readable } from 'node:stream'
import type { QuoteColumn } from '../../src/imports/file-format.ts'
import type { ProductColumn } from '../../src/products/fields.ts'

/** The columns of the demo's products. */
export const demoProductColumns = [
  'sku',
  'name',
  'description',
  'category',
  'brand',
  'unit',
  'price',
  'currency',
  'hs_code',
  'origin_country',
  'active',
] as const satisfies ProductColumn[]

/** The text of each column. An empty text means no value. */
export type ProductRow = Record<(typeof demoProductColumns)[number], string>
/** One line of a quote. The fields of the quote are repeated in each line. */
export type QuoteRow = Record<QuoteColumn, string>

type Batches<Column extends string> =
  | Iterable<Record<Column, string>[]>
  | AsyncIterable<Record<Column, string>[]>

/**
 * Returns a header and the rows as UTF-8 CSV (RFC 4180, lines end with LF). The stream reads
 * batches only as fast as it is consumed.
 */
export function toCsv<Column extends string>(
  batches: Batches<Column>,
  columns: readonly Column[],
): Readable {
  return Readable.from(csvChunks(batches, columns), { objectMode: false })
}

async function* csvChunks<Column extends string>(
  batches: Batches<Column>,
  columns: readonly Column[],
): AsyncGenerator<string> {
  yield `${columns.join(',')}\n`
  for await (const rows of batches)
    yield rows
      .map((row) => `${columns.map((column) => quoteIfNeeded(row[column])).join(',')}\n`)
      .join('')
}

function quoteIfNeeded(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
