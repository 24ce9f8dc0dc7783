// Imports products or quotes from a CSV file.
import type { Pool } from 'pg'
import { readImportConfig } from '../src/config.ts'
import { openPool } from '../src/database/postgres-pool.ts'
import {
  productFileColumns,
  quoteFields,
  quoteFileColumns,
  quoteLineFields,
} from '../src/imports/file-columns.ts'
import type { FileKind } from '../src/imports/import-options.ts'
import { runCommand, UsageError } from './cli/command.ts'
import { importFile } from './cli/import-file.ts'

const help = `
Usage: node scripts/import.ts products FILE [--rejects FILE]
       node scripts/import.ts quotes FILE [--rejects FILE]

Imports a CSV file into DATABASE_URL in one transaction: everything, or nothing if a row is bad.
FILE is a CSV file, a gzipped CSV file, or - for standard input.

  --rejects FILE  import the good rows and write the bad rows to this CSV file, with the columns
                  line and reason before their own. Correct them there and import that file: the
                  columns line and reason are ignored. A quote with a bad row is rejected as a
                  whole. The file exists only if rows were rejected; an older one of that name is
                  removed.

Format: UTF-8, cells separated by commas and in quotation marks where necessary. The first row names
the columns, in any order. Spaces around a cell are removed, an empty cell means no value, and blank
rows are skipped. Numbers are plain: 1234.5. Dates are written 2026-12-31.

Columns of products (required: ${productFileColumns.required.join(', ')}):
${wrapInTwoLines(productFileColumns.allowed)}
  The sku identifies a product. Columns that the file does not have keep their values. price and
  currency must both be given or both be empty. active is true (or yes, sí, verdadero, 1, or empty)
  or false (or no, falso, 0), in upper or lower case.

Columns of quotes (required: ${quoteFileColumns.required.join(', ')}):
${wrapInTwoLines(quoteFields)}
  and for each line of the quote, which is one row:
${wrapInTwoLines(quoteLineFields)}
  number and version (1 if empty) identify a quote. Its rows may be anywhere in the file, and the
  fields of the quote must be the same on each of them. The file gives a quote as a whole: its lines
  are replaced if they changed, and a column that the file does not have is empty.
  status is draft, sent, accepted, rejected, expired or superseded. A newer version makes the older
  ones superseded when it was sent: with every status but draft and superseded.
  rate is the number of base currency units for one unit of the quote's currency: 1 or empty for
  the base currency, empty if it is unknown.
  position may be empty on all rows of a quote: its lines are then numbered in file order.
  An unknown customer (name, tax id, country) is created; existing customers are not changed.

Exit status: 0 imported, even if rows were rejected to a file; 1 nothing was imported; 2 wrong
usage; 130 stopped by Ctrl+C, nothing was imported.
`

await runCommand(
  help,
  { rejects: { type: 'string' } },
  async ({ rejects }, [kind, file, ...others]) => {
    if (kind !== 'products' && kind !== 'quotes')
      throw new UsageError('Name what to import: products FILE or quotes FILE.')
    if (!file) throw new UsageError('Name the file to import, or - for standard input.')
    if (others.length > 0)
      throw new UsageError(`Import one file at a time: remove ${others.join(' ')}.`)
    if (rejects === '') throw new UsageError('--rejects needs the name of a file.')
    const pool = openPool(readImportConfig().DATABASE_URL, { connections: 2 })
    try {
      return await runImport(pool, kind, file, rejects)
    } finally {
      await pool.end()
    }
  },
)

/** Returns the exit status. */
async function runImport(
  pool: Pool,
  kind: FileKind,
  file: string,
  rejectsName: string | undefined,
): Promise<number> {
  const stop = new AbortController()
  // The abort reason is the exit status, which shells define as 128 plus the number of the signal.
  process.once('SIGINT', () => stop.abort(130)).once('SIGTERM', () => stop.abort(143))
  const { signal } = stop
  try {
    console.log(
      await importFile(pool, { kind, file, standardInput: process.stdin, rejectsName, signal }),
    )
    return 0
  } catch (error) {
    if (!signal.aborted) throw error
    console.error('Stopped: nothing was imported.')
    return signal.reason
  }
}

function wrapInTwoLines(columns: readonly string[]): string {
  const half = Math.ceil(columns.length / 2)
  return [columns.slice(0, half), columns.slice(half)]
    .map((part) => `  ${part.join(' ')}`)
    .join('\n')
}
