// Imports products or quotes from a CSV file.
import type { Pool } from 'pg'
import { readImportConfig } from '../src/config.ts'
import { openPool } from '../src/database/postgres-pool.ts'
import { openCsv } from '../src/imports/csv/open-csv-file.ts'
import { openRejectedRowsFile } from '../src/imports/csv/rejected-rows-file.ts'
import {
  productFileColumns,
  quoteFields,
  quoteFileColumns,
  quoteLineFields,
} from '../src/imports/file-columns.ts'
import type { FileKind, ImportOptions, ImportSummary } from '../src/imports/import-options.ts'
import { InvalidFileError } from '../src/imports/invalid-file-error.ts'
import { importProducts } from '../src/imports/products/import-products.ts'
import { importQuotes, type QuotesSummary } from '../src/imports/quotes/import-quotes.ts'
import { runCommand, UsageError } from './cli/command.ts'
import { showProgress } from './cli/import-progress.ts'

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
${inTwoLines(productFileColumns.allowed)}
  The sku identifies a product. Columns that the file does not have keep their values. price and
  currency must both be given or both be empty. active is true (or yes, sí, verdadero, 1, or empty)
  or false (or no, falso, 0), in upper or lower case.

Columns of quotes (required: ${quoteFileColumns.required.join(', ')}):
${inTwoLines(quoteFields)}
  and for each line of the quote, which is one row:
${inTwoLines(quoteLineFields)}
  number and version (1 if empty) identify a quote. Its rows may be anywhere in the file, and the
  fields of the quote must be the same on each of them. The file gives a quote as a whole: its lines
  are replaced if they changed, and a column that the file does not have is empty.
  status is draft, sent, accepted, rejected, expired or superseded. A newer version, even a draft,
  makes the older versions superseded.
  rate is the number of base currency units for one unit of the quote's currency: 1 or empty for
  the base currency, empty if it is unknown.
  position may be empty on all rows of a quote: its lines are then numbered in file order.
  An unknown customer (name, tax id, country) is created; existing customers are not changed.

Exit status: 0 imported, even if rows were rejected to a file; 1 nothing was imported; 2 wrong
usage; 130 stopped by Ctrl+C, nothing was imported.
`

const importers = { products: importProducts, quotes: importQuotes }

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
  const startedAt = performance.now()
  const source = await openCsv(file, process.stdin, stop.signal).catch(addFileName(file))
  const rejects = rejectsName ? await openRejectedRowsFile(rejectsName, file) : undefined
  const progress = showProgress(kind, source.fractionRead)
  try {
    const options: ImportOptions = {
      ...progress,
      signal: stop.signal,
      ...(rejects && { rejects: rejects.stream }),
    }
    const summary = await importers[kind](pool, source.csv, options).catch(addFileName(file))
    await rejects?.publish(summary.rejected)
    progress.end()
    console.log(describeSummary(kind, summary, (performance.now() - startedAt) / 1000))
    if (rejectsName && summary.rejected > 0)
      console.log(`The rejected rows are in ${rejectsName}, with their lines and the reasons.`)
    return 0
  } catch (error) {
    progress.end()
    if (!stop.signal.aborted) throw error
    console.error('Stopped: nothing was imported.')
    return stop.signal.reason
  } finally {
    await rejects?.discard()
  }
}

function describeSummary(
  kind: FileKind,
  summary: ImportSummary & Partial<QuotesSummary>,
  seconds: number,
): string {
  const format = (count: number) => count.toLocaleString('en')
  const { read, inserted, updated, unchanged, rejected } = summary
  const { rejectedQuotes, superseded, customers } = summary
  const memoryMb = Math.round(process.resourceUsage().maxRSS / 1000)
  const duration = `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`
  const rate = `${format(Math.round(read / seconds))} rows/s`
  const counts = [
    `${format(inserted)} inserted`,
    `${format(updated)} updated`,
    `${format(unchanged)} unchanged`,
    ...(rejectedQuotes === undefined ? [] : [`${format(rejectedQuotes)} rejected`]),
  ]
  return [
    `${format(read)} ${read === 1 ? 'row' : 'rows'} read, ${format(rejected)} rejected, ` +
      `in ${duration} (${rate}, ${memoryMb} MB of memory).`,
    `${kind}: ${counts.join(', ')}.`,
    ...(superseded ? [`${format(superseded)} older versions are superseded now.`] : []),
    ...(customers ? [`${format(customers)} customers created.`] : []),
    ...(read === 0 ? ['The file has a header but no rows: nothing to import.'] : []),
  ].join('\n')
}

/** Returns a handler that puts the name of the file before the message of an InvalidFileError. */
function addFileName(file: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof InvalidFileError)) throw error
    throw new Error(`${file === '-' ? 'standard input' : file}: ${error.message}`, { cause: error })
  }
}

function inTwoLines(columns: readonly string[]): string {
  const half = Math.ceil(columns.length / 2)
  return [columns.slice(0, half), columns.slice(half)]
    .map((part) => `  ${part.join(' ')}`)
    .join('\n')
}
