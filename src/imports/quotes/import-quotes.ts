// Imports a quote file: stages its rows, groups them into quotes, checks and writes the quotes.
import type { ClientBase, Pool } from 'pg'
import { createProblemsTable, throwIfRowsAreBad } from '../bad-rows-message.ts'
import { createRowChecker } from '../cells/check-row.ts'
import { readKnownCodes } from '../cells/known-codes.ts'
import { readRows } from '../csv/read-rows.ts'
import { quoteColumns, quoteFileColumns } from '../file-columns.ts'
import type { ImportOptions, ImportSummary } from '../import-options.ts'
import { runInImportTransaction } from '../import-transaction.ts'
import { stageRows } from '../staging-table.ts'
import { rejectBadRows } from '../write-rejected-rows.ts'
import { assembleQuotes } from './assemble-quotes.ts'
import { createMissingCustomers } from './match-customers.ts'
import { createQuoteRowRules } from './quote-cell-rules.ts'
import {
  computedQuoteColumns,
  dropBadQuotes,
  findBadPositions,
  findContradictions,
  groupRowsByQuote,
} from './quote-row-consistency.ts'
import { computeLines, computeTotals } from './quote-totals.ts'
import { writeQuotes } from './write-quotes.ts'

/** `read` and `rejected` count rows; `inserted`, `updated` and `unchanged` count quotes. */
export type QuotesSummary = ImportSummary & {
  /** Quotes of the file that were not imported because of a bad row. */
  rejectedQuotes: number
  /** Older versions in the database that are superseded now. */
  superseded: number
  /** Customers created. */
  customers: number
}

/**
 * Imports a CSV of quotes with one row for each line: all quotes or none, or all good quotes if
 * `rejects` is given. Number and version identify a quote. The file gives the quote as a whole, so
 * a column that the file does not have is empty. Throws an InvalidFileError for a file that cannot
 * be imported, and leaves the database unchanged.
 */
export async function importQuotes(
  pool: Pool,
  csv: AsyncIterable<string | Buffer>,
  options: ImportOptions = {},
): Promise<QuotesSummary> {
  const { onStep, signal, rejects } = options
  return runInImportTransaction(pool, { ...options, kind: 'quotes' }, async (client) => {
    const codes = await readKnownCodes(client)
    onStep?.('reading')
    const rows = await readRows(csv, quoteFileColumns, signal)
    const read = await stageRows(client, rows, {
      ...options,
      columns: quoteColumns,
      computedColumns: computedQuoteColumns,
      checkRow: createRowChecker(createQuoteRowRules(codes), rows.columns),
      keyColumn: 'number',
    })
    onStep?.('checking')
    await findProblems(client)
    if (!rejects) await throwIfRowsAreBad(client)
    const rejected = rejects
      ? await rejectBadRows(client, rejects, rows.columns, await dropBadQuotes(client))
      : 0
    const rejectedQuotes = rejects ? await countRows(client, 'bad_quotes') : 0
    onStep?.('writing')
    await computeLines(client)
    await computeTotals(client)
    const customers = await createMissingCustomers(client)
    await assembleQuotes(client, codes.baseCurrency)
    const written = await writeQuotes(client)
    const total = await countRows(client, 'new_quotes')
    const unchanged = total - written.inserted - written.updated
    return { read, rejected, rejectedQuotes, customers, unchanged, ...written }
  })
}

async function findProblems(client: ClientBase): Promise<void> {
  await client.query('analyze staged (line, number, quote_version)')
  await createProblemsTable(client)
  await groupRowsByQuote(client)
  await findContradictions(client)
  await findBadPositions(client)
}

async function countRows(client: ClientBase, table: 'new_quotes' | 'bad_quotes'): Promise<number> {
  const { rows } = await client.query<{ count: string }>(`select count(*) from ${table}`)
  return Number(rows[0]?.count)
}
