// Imports a quote file: stages its rows, groups them into quotes, checks and writes the quotes.
//
// The steps hand over their rows in temporary tables, in this order. The commit drops the tables.
//
// table                     one row for each      created in             read in
// staged                    row of the file       staging-table          checks, totals, assembly
// problems                  problem of a row      row-problems           write-rejected-rows
// staged_quotes             quote of the file     quote-row-consistency  checks, totals, assembly
// rejected                  row not imported      write-rejected-rows    write-rejected-rows
// invalid_quotes            quote not imported    quote-row-consistency  quote-row-consistency
// imported_lines            line of a valid quote quote-totals           warnings, write-quotes
// imported_totals           valid quote           quote-totals           assemble-quotes
// current_versions          number of a quote     assemble-quotes        assembly, write-quotes
// imported_quotes           valid quote           assemble-quotes        warnings, write-quotes
// warnings                  warning               quote-warnings         quote-warnings
// usual_rates               currency              unusual-rates          unusual-rates
// quotes_with_changed_lines quote to update       write-quotes           write-quotes
import type { Writable } from 'node:stream'
import type { ClientBase, Pool } from 'pg'
import { createRowChecker } from '../cells/check-row.ts'
import { readKnownCodes } from '../cells/known-codes.ts'
import { type FileRows, readRows } from '../csv/read-rows.ts'
import { quoteFileColumns } from '../file-columns.ts'
import type { ImportOptions, ImportSummary } from '../import-options.ts'
import { runInImportTransaction } from '../import-transaction.ts'
import { throwIfWarned } from '../import-warnings.ts'
import { createProblemsTable, throwIfRowsAreInvalid } from '../row-problems.ts'
import { stageRows } from '../staging-table.ts'
import { createRejectedTable, writeRejectedRows } from '../write-rejected-rows.ts'
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
      ...options,
      computedColumns: computedQuoteColumns,
      checkRow: createRowChecker(createQuoteRowRules(codes, format), columns),
      keyColumn: 'number',
    })
    onStep?.('checking')
    await collectProblems(client)
    if (!rejectedRows) await throwIfRowsAreInvalid(client, suggestedFormat)
    // Before the invalid rows leave `staged`: a quote with an invalid row is not missing.
    const missing = fullPeriod ? await findMissingQuotes(client, fullPeriod) : []
    const rejections = rejectedRows
      ? await rejectInvalidQuotes(client, rejectedRows, rows)
      : { rejected: 0, rejectedQuotes: 0 }
    onStep?.('writing')
    const customers = await assembleValidQuotes(client, codes.baseCurrency)
    const found = await findQuoteWarnings(client, codes.baseCurrency)
    const warnings = [...missing, ...found]
    if (options.isStrict) throwIfWarned(warnings)
    return { read, ...rejections, customers, ...(await writeQuotes(client)), warnings }
  })
}

/** Writes the rows of quotes with an invalid row to `rejectedRows`, and drops these quotes. */
async function rejectInvalidQuotes(
  client: ClientBase,
  rejectedRows: Writable,
  file: FileRows,
): Promise<{ rejected: number; rejectedQuotes: number }> {
  await createRejectedTable(client)
  const rejectedQuotes = await dropInvalidQuotes(client)
  const rejected = await writeRejectedRows(client, rejectedRows, file)
  return { rejected, rejectedQuotes }
}

/** Creates `imported_quotes` and `imported_lines`. Returns the number of customers created. */
async function assembleValidQuotes(client: ClientBase, baseCurrency: string): Promise<number> {
  await computeLines(client)
  await computeTotals(client)
  const customers = await createMissingCustomers(client)
  await assembleQuotes(client, baseCurrency)
  return customers
}

async function collectProblems(client: ClientBase): Promise<void> {
  await client.query('analyze staged (line, number, quote_version)')
  await createProblemsTable(client)
  await groupRowsByQuote(client)
  await addContradictionProblems(client)
  await addPositionProblems(client)
  await addNegativeTotalProblems(client)
}
