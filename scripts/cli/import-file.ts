// Imports one file for the command line: opens it, shows the progress, and describes the result.
import type { Readable } from 'node:stream'
import type { Pool } from 'pg'
import { ImportError } from '../../src/imports/file-format.ts'
import type { FileKind } from '../../src/imports/file-kinds.ts'
import { importProducts, type ProductImportOptions } from '../../src/imports/import-products.ts'
import { importWords } from '../../src/imports/import-words.ts'
import { importQuoteStatuses } from '../../src/imports/quotes/import-quote-statuses.ts'
import { importQuotes, type QuoteImportOptions } from '../../src/imports/quotes/import-quotes.ts'
import { type ImportSource, openFile } from '../../src/imports/readers/file-source.ts'
import type { ImportOptions } from '../../src/imports/run-import.ts'
import { findUnprintable } from '../../src/quotes/pdf/pdf-text.ts'
import { type AnySummary, describeSummary, exitStatusOf, showProgress } from './import-report.ts'
import { openRejectsFile, type RejectsFile } from './rejects-file.ts'

type Importer = (pool: Pool, source: ImportSource, options: ImportOptions) => Promise<AnySummary>

const importers: Record<FileKind, Importer> = {
  products: importProducts,
  quotes: (pool, source, options) => importQuotes(pool, source, { ...options, findUnprintable }),
  'quote-statuses': importQuoteStatuses,
  synonyms: (pool, source, options) => importWords(pool, 'synonyms', source, options),
  pins: (pool, source, options) => importWords(pool, 'pins', source, options),
  'hidden-words': (pool, source, options) => importWords(pool, 'hidden-words', source, options),
}

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
  const source = await openFile(file, standardInput, signal).catch(explain)
  const fractionRead = 'fractionRead' in source ? source.fractionRead : () => undefined
  const progress = showProgress(kind, fractionRead)
  let rejects: RejectsFile | undefined
  try {
    if (rejectsName) rejects = await openRejectsFile(rejectsName, file)
    const importOptions: ImportOptions = {
      ...options,
      ...progress,
      signal,
      ...(rejects && { rejectedRows: rejects.stream }),
    }
    const summary = await importers[kind](pool, source, importOptions).catch(explain)
    await rejects?.publish(summary.rejected)
    const seconds = (performance.now() - startedAt) / 1000
    const rejectsFile = rejectsName && summary.rejected > 0 ? rejectsName : undefined
    return {
      text: isJson
        ? JSON.stringify({
            kind,
            seconds,
            isDryRun: options?.isDryRun ?? false,
            ...summary,
            rejectsFile: rejectsFile ?? null,
          })
        : describeSummary(kind, summary, {
            seconds,
            rejectsFile,
            isDryRun: options?.isDryRun ?? false,
          }),
      status: exitStatusOf(summary),
    }
  } finally {
    progress.end()
    await rejects?.discard()
    if ('close' in source) await source.close()
  }
}

/** Returns a handler that puts the name of the file before the message of an ImportError. */
function explainImportError({ file }: FileImport): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ImportError)) throw error
    const name = file === '-' ? 'standard input' : file
    throw new Error(`${name}: ${error.message}`, { cause: error })
  }
}
