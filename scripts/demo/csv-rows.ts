// Rows of the demo data as CSV text, the form in which the import takes them.
import { Readable } from 'node:stream'
import type { ProductColumn, QuoteColumn } from '../../src/imports/file-columns.ts'

/** Text of every column of a row; the empty text stands for nothing. */
export type ProductRow = Record<ProductColumn, string>
/** One line of a quote, with the fields of the quote repeated. */
export type QuoteRow = Record<QuoteColumn, string>

const rowsPerChunk = 2000

/** A header and the rows as UTF-8 CSV (RFC 4180, lines ended by LF), as a stream of bytes that reads no further ahead than it is read. */
export function toCsv<Column extends string>(
  rows: Iterable<Record<Column, string>> | AsyncIterable<Record<Column, string>>,
  columns: readonly Column[],
): Readable {
  return Readable.from(csvChunks(rows, columns), { objectMode: false })
}

async function* csvChunks<Column extends string>(
  rows: Iterable<Record<Column, string>> | AsyncIterable<Record<Column, string>>,
  columns: readonly Column[],
): AsyncGenerator<string> {
  let chunk = `${columns.join(',')}\n`
  let pending = 0
  for await (const row of rows) {
    chunk += `${columns.map((column) => quoted(row[column])).join(',')}\n`
    if (++pending === rowsPerChunk) {
      yield chunk
      chunk = ''
      pending = 0
    }
  }
  if (chunk) yield chunk
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
