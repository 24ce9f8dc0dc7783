// Imports one file for the command line: opens it, shows the progress, and describes the result.
import type { Readable } from 'node:stream'
import type { Pool } from 'pg'
import { openCsv } from '../../src/imports/csv/open-csv-file.ts'
import { type FileKind, ImportError } from '../../src/imports/file-format.ts'
import { importProducts, type ProductImportOptions } from '../../src/imports/import-products.ts'
import type { ImportOptions } from '../../src/imports/import-transaction.ts'
import { importWords } from '../../src/imports/import-words.ts'
import { importQuotes, type QuoteImportOptions } from '../../src/imports/quotes/import-quotes.ts'
import { showProgress } from './import-progress.ts'
import { type AnySummary, describeSummary, exitStatusOf } from './import-summary.ts'
import { openRejectsFile } from './rejects-file.ts'
import { explainAmbiguousDate, formatSuggestedCommand } from './suggested-command.ts'

type Importer = (
  pool: Pool,
  csv: AsyncIterable<Buffer>,
  options: ImportOptions,
) => Promise<AnySummary>

const importers: Record<FileKind, Importer> = {
  products: importProducts,
  quotes: importQuotes,
  synonyms: (pool, csv, options) => importWords(pool, 'synonyms', csv, options),
  pins: (pool, csv, options) => importWords(pool, 'pins', csv, options),
  'hidden-words': (pool, csv, options) => importWords(pool, 'hidden-words', csv, options),
}

/** The kinds of file that can be imported. */
export const fileKinds = Object.keys(importers) as FileKind[]

export type FileImport = {
  kind: FileKind
  /** The name of the file, or - for `standardInput`. */
  file: string
  standardInput: Readable
  /** The name of the file for rejected rows. */
  rejectsName?: string | undefined
  signal: AbortSignal
  /** Whether the result is described as JSON. */
  isJson?: boolean
  options?: ProductImportOptions & QuoteImportOptions
  /** The arguments of the command, to suggest a better one. */
  args?: string[]
}

/** A description of the result, and the exit status: 0, 3 for warnings, 4 for rejected rows. */
export type FileImportResult = { text: string; status: number }

/**
 * Imports the file and describes the result. Throws an error with the name of the file if it cannot
 * be imported. Aborting `signal` stops the import and leaves the database unchanged.
 */
export async function importFile(pool: Pool, request: FileImport): Promise<FileImportResult> {
  const { kind, file, standardInput, rejectsName, signal, options, isJson = false } = request
  const explain = explainImportError(request)
  const startedAt = performance.now()
  const source = await openCsv(file, standardInput, signal).catch(explain)
  const rejects = rejectsName ? await openRejectsFile(rejectsName, file) : undefined
  const progress = showProgress(kind, source.fractionRead)
  try {
    const importOptions: ImportOptions = {
      ...options,
      ...progress,
      signal,
      ...(rejects && { rejectedRows: rejects.stream }),
    }
    const summary = await importers[kind](pool, source.csv, importOptions).catch(explain)
    await rejects?.publish(summary.rejected)
    const seconds = (performance.now() - startedAt) / 1000
    const rejectsFile = rejectsName && summary.rejected > 0 ? rejectsName : undefined
    return {
      text: isJson
        ? JSON.stringify({ kind, seconds, ...summary, rejectsFile: rejectsFile ?? null })
        : describeSummary(kind, summary, seconds, rejectsFile),
      status: exitStatusOf(summary),
    }
  } finally {
    progress.end()
    await rejects?.discard()
  }
}

/**
 * Returns a handler that puts the name of the file before the message of an ImportError, and
 * the command that would import the file after it.
 */
function explainImportError({ file, args }: FileImport): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ImportError)) throw error
    const { message, suggestedFormat } = error
    const command =
      suggestedFormat && args
        ? '\nThe file has another format. This command reads it:\n' +
          `  ${formatSuggestedCommand(args, suggestedFormat)}` +
          explainAmbiguousDate(suggestedFormat)
        : ''
    const name = file === '-' ? 'standard input' : file
    throw new Error(`${name}: ${message}${command}`, { cause: error })
  }
}
