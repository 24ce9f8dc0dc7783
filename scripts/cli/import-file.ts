// Imports one file for the command line: opens it, shows the progress, and describes the result.
import type { Readable } from 'node:stream'
import type { Pool } from 'pg'
import { openCsv } from '../../src/imports/csv/open-csv-file.ts'
import type { FileKind, ImportOptions, ImportSummary } from '../../src/imports/import-options.ts'
import { InvalidFileError } from '../../src/imports/invalid-file-error.ts'
import { importProducts } from '../../src/imports/products/import-products.ts'
import { importQuotes, type QuotesSummary } from '../../src/imports/quotes/import-quotes.ts'
import { showProgress } from './import-progress.ts'
import { openRejectsFile } from './rejects-file.ts'

const importers = { products: importProducts, quotes: importQuotes }

type FileImport = {
  kind: FileKind
  /** The name of the file, or - for `standardInput`. */
  file: string
  standardInput: Readable
  /** The name of the file for rejected rows. */
  rejectsName?: string | undefined
  signal: AbortSignal
}

/**
 * Imports the file and returns a description of the result in some lines. Throws an error with the
 * name of the file if it cannot be imported. Aborting `signal` stops the import and leaves the
 * database unchanged.
 */
export async function importFile(pool: Pool, options: FileImport): Promise<string> {
  const { kind, file, standardInput, rejectsName, signal } = options
  const startedAt = performance.now()
  const source = await openCsv(file, standardInput, signal).catch(addFileName(file))
  const rejects = rejectsName ? await openRejectsFile(rejectsName, file) : undefined
  const progress = showProgress(kind, source.fractionRead)
  try {
    const importOptions: ImportOptions = {
      ...progress,
      signal,
      ...(rejects && { rejects: rejects.stream }),
    }
    const summary = await importers[kind](pool, source.csv, importOptions).catch(addFileName(file))
    await rejects?.publish(summary.rejected)
    const result = describeSummary(kind, summary, (performance.now() - startedAt) / 1000)
    return rejectsName && summary.rejected > 0
      ? `${result}\nThe rejected rows are in ${rejectsName}, with their lines and the reasons.`
      : result
  } finally {
    progress.end()
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
