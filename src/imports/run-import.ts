// What the imports of all kinds of files have in common: opening the file, staging and checking its
// rows, and what happens to the invalid ones.
import type { Writable } from 'node:stream'
import type { ClientBase, Pool } from 'pg'
import { createNotRecordedError } from '../company/company-record.ts'
import { createRowReader, type KnownCodes } from './cells.ts'
import type { TableOptions } from './file-format.ts'
import { type FileKind, fileKinds } from './file-kinds.ts'
import { type ImportStep, type LockHolder, runInImportTransaction } from './import-transaction.ts'
import {
  findUnknownUnits,
  type ImportWarning,
  listWarning,
  throwIfWarned,
} from './import-warnings.ts'
import type { ImportSource } from './readers/file-source.ts'
import { type ImportTable, openTable } from './readers/open-table.ts'
import {
  createProblemsTable,
  moveInvalidRowsToRejects,
  throwIfRowsAreInvalid,
} from './row-problems.ts'
import { stageRows } from './staging-table.ts'

export type ImportOptions = TableOptions & {
  /** Everything is checked and written, and then rolled back. */
  isDryRun?: boolean
  /**
   * Receives the invalid rows as CSV; the valid rows are then imported. The stream is ended before
   * the import is committed. If every row is valid, nothing is written to it. Without this option
   * an invalid row is an error.
   */
  rejectedRows?: Writable
  isStrict?: boolean
  /** Called with the number of rows read so far, many times a second. */
  onProgress?: (rows: number) => void
  /** Called with each step. `holder`: the session that the import waits for. */
  onStep?: (step: ImportStep, holder?: LockHolder) => void
  /** Stops the import: it throws the reason of the signal and leaves the database unchanged. */
  signal?: AbortSignal
}

export type ImportSummary = {
  /** How the file was read, in words. */
  readAs: string
  /** Rows in the file, without blank rows. */
  read: number
  /** Products, quotes, or rows of words. */
  inserted: number
  updated: number
  unchanged: number
  rejected: number
  warnings: ImportWarning[]
}

export type ImportContext = {
  client: ClientBase
  file: ImportTable
  codes: KnownCodes
  /** Rows in the file. */
  read: number
  /** Rows that were moved to the rejects. Before `write` there are none. */
  rejected: number
}

export type ImportSteps<Compared, Written> = {
  kind: FileKind
  /** SQL of further columns of `staged`. */
  computedColumns?: string[]
  /** The columns of `staged` whose statistics the checks need. */
  analyzed?: string
  /** Adds the problems between rows, and between the file and the database, to `problems`. */
  addProblems(context: ImportContext): Promise<void>
  /** Compares the file with the database before its invalid rows leave `staged`. */
  compare(context: ImportContext): Promise<Compared>
  write(context: ImportContext, compared: Compared): Promise<Written>
}

type Written = Pick<ImportSummary, 'inserted' | 'updated' | 'warnings'>

/**
 * Imports a table: all rows or none, or all valid rows if `rejectedRows` is given. If the import is
 * rejected, throws an ImportError and leaves the database unchanged.
 */
export async function runImport<Compared, Result extends Written>(
  pool: Pool,
  source: ImportSource,
  options: ImportOptions,
  steps: ImportSteps<Compared, Result>,
): Promise<ImportSummary & Result> {
  const { kind, computedColumns } = steps
  const { onStep, rejectedRows } = options
  const columns = fileKinds[kind]
  // Statuses have the lock of quotes: both write the same rows.
  const lock = kind === 'quote-statuses' ? 'quotes' : kind
  return runInImportTransaction(pool, { ...options, kind: lock }, async (client) => {
    const codes = await readKnownCodes(client, columns.allowed.includes('currency'))
    onStep?.('reading')
    const cleanedSkus: string[] = []
    const file = await openTable(source, columns, options)
    const readRow = createRowReader(columns, file.columns, file.format, codes, (example) =>
      cleanedSkus.push(example),
    )
    const read = await stageRows(client, file, { ...options, computedColumns, readRow })
    onStep?.('checking')
    if (steps.analyzed) await client.query(`analyze staged (${steps.analyzed})`)
    await createProblemsTable(client)
    const context = { client, file, codes, read, rejected: 0 }
    await steps.addProblems(context)
    if (!rejectedRows) await throwIfRowsAreInvalid(client)
    const compared = await steps.compare(context)
    context.rejected = await moveInvalidRowsToRejects(client, rejectedRows, file)
    onStep?.('writing')
    const written = await steps.write(context, compared)
    const warnings = [
      ...written.warnings,
      ...(columns.allowed.includes('unit') ? await findUnknownUnits(client) : []),
      ...listWarning('invisible_characters', cleanedSkus),
    ]
    if (options.isStrict) throwIfWarned(warnings)
    const { rejected } = context
    const unchanged = read - rejected - written.inserted - written.updated
    return { readAs: file.readAs, read, rejected, unchanged, ...written, warnings }
  })
}

/** Throws if the codes are needed and no company is recorded yet. */
async function readKnownCodes(client: ClientBase, areNeeded: boolean): Promise<KnownCodes> {
  const { rows } = await client.query<{
    base_currency: string
    currencies: string[]
    countries: string[]
  }>(`
    select base_currency, array(select code from currencies) as currencies,
      array(select code from countries) as countries
    from company`)
  const [company] = rows
  if (!company && areNeeded) throw createNotRecordedError()
  return {
    currencies: new Set(company?.currencies),
    countries: new Set(company?.countries),
    baseCurrency: company?.base_currency ?? '',
  }
}
