// Imports a quote file: stages it, puts its rows together to quotes, checks them, and inserts or updates what is new in it, by number and version.
import type { ClientBase, Pool } from 'pg'
import { rowChecker } from '../cell-checks.ts'
import { quoteColumns, quoteLayout } from '../column-names.ts'
import { readRows } from '../csv/header-and-rows.ts'
import type { ImportOptions, ImportSummary } from '../import-options.ts'
import { inImportTransaction } from '../import-transaction.ts'
import { readCodes } from '../known-codes.ts'
import { reject } from '../rejected-rows.ts'
import { refuseProblems, startProblems } from '../row-problems.ts'
import { stage } from '../staging-table.ts'
import { quoteChecks } from './quote-checks.ts'
import { createCustomers, loadLines, loadQuotes } from './quote-values.ts'
import {
  computedQuoteColumns,
  dropBadQuotes,
  findBadPositions,
  findDisagreements,
  groupQuotes,
} from './rows-to-quotes.ts'
import { writeQuotes } from './write-quotes.ts'

/** `read` and `rejected` are rows, one for each line of a quote; `inserted`, `updated` and `unchanged` are quotes. */
export type QuotesSummary = ImportSummary & {
  /** Quotes of the file that were not imported because of a bad row. */
  rejectedQuotes: number
  /** Older versions that were in the database and are superseded now. */
  superseded: number
  /** Customers created. */
  customers: number
}

/**
 * Imports a CSV of quotes, one row for each line, all or nothing, or without its bad quotes if `rejects` takes their rows. A quote is known by its number
 * and version; the file gives it as a whole, so that a column that the file does not have is empty. Throws a BadFile for a file that cannot be
 * imported, and leaves the database as it was then.
 */
export async function importQuotes(
  pool: Pool,
  csv: AsyncIterable<string | Buffer>,
  options: ImportOptions = {},
): Promise<QuotesSummary> {
  const { onStep, signal, rejects } = options
  return inImportTransaction(pool, { kind: 'quotes', signal, onStep }, async (client) => {
    const codes = await readCodes(client)
    onStep?.('reading')
    const rows = await readRows(csv, quoteLayout, signal)
    const check = rowChecker(quoteChecks(codes), rows.columns)
    const read = await stage(client, rows, {
      ...options,
      columns: quoteColumns,
      computed: computedQuoteColumns,
      check,
      keyColumn: 'number',
    })
    onStep?.('checking')
    await client.query('analyze staged (line, number, quote_version)')
    await startProblems(client)
    await groupQuotes(client)
    await findDisagreements(client)
    await findBadPositions(client)
    if (!rejects) await refuseProblems(client)
    const rejected = rejects
      ? await reject(client, rejects, rows.columns, await dropBadQuotes(client))
      : 0
    onStep?.('writing')
    await loadLines(client)
    const customers = await createCustomers(client)
    await loadQuotes(client, codes.baseCurrency)
    const written = await writeQuotes(client)
    const total = await countRows(client, 'new_quotes')
    const rejectedQuotes = rejects ? await countRows(client, 'bad_quotes') : 0
    return {
      read,
      rejected,
      rejectedQuotes,
      customers,
      unchanged: total - written.inserted - written.updated,
      ...written,
    }
  })
}

async function countRows(client: ClientBase, table: 'new_quotes' | 'bad_quotes'): Promise<number> {
  const { rows } = await client.query<{ count: string }>(`select count(*) from ${table}`)
  return Number(rows[0]?.count)
}
