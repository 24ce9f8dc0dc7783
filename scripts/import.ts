// Imports products or quotes from a CSV file.
import type { Pool } from 'pg'
import { readImportConfig } from '../src/config.ts'
import { openPool } from '../src/database/postgres-pool.ts'
import {
  productLayout,
  quoteFields,
  quoteLayout,
  quoteLineFields,
} from '../src/imports/column-names.ts'
import { BadFile } from '../src/imports/csv/invalid-file.ts'
import { openCsv } from '../src/imports/csv/open-csv-file.ts'
import { openRejectsFile } from '../src/imports/csv/rejects-file.ts'
import type { ImportOptions, ImportSummary } from '../src/imports/import-options.ts'
import { importProducts } from '../src/imports/products/import-products.ts'
import { importQuotes } from '../src/imports/quotes/import-quotes.ts'
import { runCommand, UsageError } from './cli/command.ts'
import { showProgress } from './cli/import-progress.ts'

const help = `
Usage: node scripts/import.ts products FILE [--rejects FILE]
       node scripts/import.ts quotes FILE [--rejects FILE]

Imports a CSV file into DATABASE_URL in one transaction: everything, or, when anything is wrong, nothing.
FILE is a CSV file, a gzipped one, or - for standard input.

  --rejects FILE  import what is good and write the bad rows to this CSV file, with the line and the reason before their columns. Mend them
                  there and import that file: the columns line and reason are read over. A quote with a bad row is rejected whole.
                  There is such a file only when rows were rejected; an older one of that name goes.

The file: UTF-8, cells separated by commas, in quotation marks where they need it; the first row names the columns, in any order. Blanks around
a cell are taken off, an empty cell is no value, blank rows are skipped. Numbers are plain: 1234.5. Dates are 2026-12-31.

Columns of products (required: ${productLayout.required.join(', ')}):
${listed(productLayout.columns)}
  A product is known by its sku. Columns that the file does not have keep their values. price and currency go together.
  active is true (or yes, sí, verdadero, 1; also when empty) or false (no, falso, 0), in capitals or not.

Columns of quotes (required: ${quoteLayout.required.join(', ')}):
${listed(quoteFields)}
  and for each line, one row:
${listed(quoteLineFields)}
  A quote is known by its number and version (1 when empty); its rows may stand anywhere in the file, and the fields of the quote must be the same on
  each of them. The file gives a quote as a whole: its lines are replaced when they changed, and a column that the file does not have is empty.
  status is draft, sent, accepted, rejected, expired or superseded; a newer version, also a draft, makes the older ones superseded.
  rate is base currency units per one unit of the quote's currency: 1 or empty for the base currency, empty when not known.
  position may be left empty on all rows of a quote: then they are numbered in the order of the file.
  A customer that is not known yet (name, tax id, country) is created; known ones stay as they are.

Exit status: 0 imported, also when rows were rejected to a file; 1 nothing was imported; 2 wrong usage; 130 stopped by Ctrl+C, nothing imported.
`

const imports = { products: importProducts, quotes: importQuotes }

await runCommand(
  help,
  { rejects: { type: 'string' } },
  async ({ rejects }, [kind, file, ...others]) => {
    if (kind !== 'products' && kind !== 'quotes')
      throw new UsageError('Say what to import: products FILE or quotes FILE.')
    if (!file) throw new UsageError('Say which file to import, or - for standard input.')
    if (others.length > 0)
      throw new UsageError(`One file at a time: ${others.join(' ')} is too much.`)
    if (rejects === '') throw new UsageError('--rejects needs the name of a file.')
    const pool = openPool(readImportConfig().DATABASE_URL, { connections: 2 })
    try {
      return await runImport(pool, kind, file, rejects)
    } finally {
      await pool.end()
    }
  },
)

async function runImport(
  pool: Pool,
  kind: keyof typeof imports,
  file: string,
  rejectsName: string | undefined,
): Promise<number> {
  const stop = new AbortController()
  // The reason is the exit status, by the custom of shells: 128 and the number of the signal.
  process.once('SIGINT', () => stop.abort(130)).once('SIGTERM', () => stop.abort(143))
  const started = performance.now()
  const source = await openCsv(file, process.stdin, stop.signal).catch(nameFile(file))
  const rejects = rejectsName ? await openRejectsFile(rejectsName, file) : undefined
  const progress = showProgress(source.fractionRead)
  try {
    const options: ImportOptions = {
      ...progress,
      signal: stop.signal,
      ...(rejects && { rejects: rejects.stream }),
    }
    const summary = await imports[kind](pool, source.csv, options).catch(nameFile(file))
    await rejects?.keep(summary.rejected)
    progress.end()
    console.log(describe(kind, summary, (performance.now() - started) / 1000))
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

function describe(
  kind: keyof typeof imports,
  summary: ImportSummary & Partial<Awaited<ReturnType<typeof importQuotes>>>,
  seconds: number,
): string {
  const number = (value: number) => value.toLocaleString('en')
  const memory = Math.round(process.resourceUsage().maxRSS / 1000)
  const { read, inserted, updated, unchanged, rejected, rejectedQuotes, superseded, customers } =
    summary
  const outcome = [
    `${number(inserted)} inserted, ${number(updated)} updated, ${number(unchanged)} unchanged`,
    ...(rejectedQuotes === undefined ? [] : [`${number(rejectedQuotes)} rejected`]),
  ].join(', ')
  return [
    `${number(read)} ${read === 1 ? 'row' : 'rows'} read, ${number(rejected)} rejected, in ${seconds.toFixed(seconds < 10 ? 2 : 1)} s (${number(Math.round(read / seconds))} rows/s, ${memory} MB of memory).`,
    `${kind}: ${outcome}.`,
    ...(superseded ? [`${number(superseded)} older versions are superseded now.`] : []),
    ...(customers ? [`${number(customers)} customers created.`] : []),
    ...(read === 0 ? ['The file has a header but no rows: nothing to import.'] : []),
  ].join('\n')
}

function nameFile(file: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof BadFile)) throw error
    throw new Error(`${file === '-' ? 'standard input' : file}: ${error.message}`, { cause: error })
  }
}

function listed(columns: readonly string[]): string {
  const half = Math.ceil(columns.length / 2)
  return [columns.slice(0, half), columns.slice(half)]
    .map((part) => `  ${part.join(' ')}`)
    .join('\n')
}
