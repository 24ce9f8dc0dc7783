// Imports a quote file: stages its rows, groups them into quotes, checks and writes the quotes.
import type { ClientBase, Pool } from 'pg'
import { createRowChecker } from '../cells/check-row.ts'
import { readKnownCodes } from '../cells/known-codes.ts'
import { readRows } from '../csv/read-rows.ts'
import { quoteFileColumns } from '../file-columns.ts'
import type { ImportOptions, ImportSummary } from '../import-options.ts'
import { runInImportTransaction } from '../import-transaction.ts'
import { type ImportWarning, throwIfWarned } from '../import-warnings.ts'
import { createProblemsTable, throwIfRowsAreInvalid } from '../row-problems.ts'
import { stageRows } from '../staging-table.ts'
import { rejectInvalidRows } from '../write-rejected-rows.ts'
import { assembleQuotes } from './assemble-quotes.ts'
import { createMissingCustomers } from './match-customers.ts'
import { findMissingQuotes, type Period } from './missing-quotes.ts'
import { createQuoteRowRules } from './quote-cell-rules.ts'
import {
  addContradictionProblems,
  addPositionProblems,
  computedQuoteColumns,
  dropInvalidQuotes,
  groupRowsByQuote,
} from './quote-row-consistency.ts'
import { addNegativeTotalProblems, computeLines, computeTotals } from './quote-totals.ts'
import { findQuoteWarnings } from './quote-warnings.ts'
import { writeQuotes } from './write-quotes.ts'

export type QuoteImportOptions = ImportOptions & {
  /** The file has every quote of this period. A warning names those that it does not have. */
  fullPeriod?: Period
}

/** `read` and `rejected` count rows; `inserted`, `updated` and `unchanged` count quotes. */
export type QuotesSummary = ImportSummary & {
  /** Quotes of the file that were not imported because of an invalid row. */
  rejectedQuotes: number
  /** Older versions in the database that are superseded now. */
  superseded: number
  /** Customers created. */
  customers: number
}

/**
 * Imports a CSV of quotes with one row for each line: all quotes or none, or all valid quotes if
 * `rejectedRows` is given. Number and version identify a quote. The file describes whole quotes, so
 * a column that the file does not have counts as empty. If the import is rejected, throws an
 * ImportError and leaves the database unchanged.
 */
export async function importQuotes(
  pool: Pool,
  csv: AsyncIterable<string | Buffer>,
  options: QuoteImportOptions = {},
): Promise<QuotesSummary> {
  const { onStep, rejectedRows, fullPeriod } = options
  return runInImportTransaction(pool, { ...options, kind: 'quotes' }, async (client) => {
    const codes = await readKnownCodes(client)
    onStep?.('reading')
    const rows = await readRows(csv, quoteFileColumns, options)
    const { columns, format } = rows
    const { read, suggestedFormat } = await stageRows(client, rows, {
      signal: options.signal,
      onProgress: options.onProgress,
      fileColumns: quoteFileColumns,
      computedColumns: computedQuoteColumns,
      checkRow: createRowChecker(createQuoteRowRules(codes, format), columns),
      keyColumn: 'number',
    })
    onStep?.('checking')
    await collectProblems(client)
    if (!rejectedRows) await throwIfRowsAreInvalid(client, suggestedFormat)
    // Before the invalid rows leave `staged`: a quote with an invalid row is not missing.
    const missing = fullPeriod ? await findMissingQuotes(client, fullPeriod) : []
    const layout = { columns, fileColumns: quoteFileColumns, format }
    const rejected = rejectedRows
      ? await rejectInvalidRows(client, rejectedRows, layout, await dropInvalidQuotes(client))
      : 0
    const rejectedQuotes = rejectedRows ? await countRows(client, 'invalid_quotes') : 0
    onStep?.('writing')
    const { baseCurrency } = codes
    const { warnings, ...counts } = await writeValidQuotes(client, baseCurrency, (found) => {
      if (options.isStrict) throwIfWarned([...missing, ...found])
    })
    return { read, rejected, rejectedQuotes, ...counts, warnings: [...missing, ...warnings] }
  })
}

/** Assembles and writes the quotes in `staged_quotes`, unless `checkWarnings` throws. */
async function writeValidQuotes(
  client: ClientBase,
  baseCurrency: string,
  checkWarnings: (warnings: ImportWarning[]) => void,
): Promise<Omit<QuotesSummary, 'read' | 'rejected' | 'rejectedQuotes'>> {
  await computeLines(client)
  await computeTotals(client)
  const customers = await createMissingCustomers(client)
  await assembleQuotes(client, baseCurrency)
  const warnings = await findQuoteWarnings(client, baseCurrency)
  checkWarnings(warnings)
  const written = await writeQuotes(client)
  const total = await countRows(client, 'imported_quotes')
  const unchanged = total - written.inserted - written.updated
  return { customers, unchanged, ...written, warnings }
}

async function collectProblems(client: ClientBase): Promise<void> {
  await client.query('analyze staged (line, number, quote_version)')
  await createProblemsTable(client)
  await groupRowsByQuote(client)
  await addContradictionProblems(client)
  await addPositionProblems(client)
  await addNegativeTotalProblems(client)
}

async function countRows(
  client: ClientBase,
  table: 'imported_quotes' | 'invalid_quotes',
): Promise<number> {
  const { rows } = await client.query<{ count: string }>(`select count(*) from ${table}`)
  return Number(rows[0]?.count)
}
