// Imports a quote file: stages its rows, groups them into quotes, checks and writes the quotes.
//
// The steps hand over their rows in these temporary tables, which the commit drops.
//
// table                      one row for each        created in               needs
// staged                     row of the file         staging-table            the file
// problems                   problem of a row        row-problems             staged
// staged_quotes              quote of the file       quote-row-consistency    staged
// imported_quote_lines       line of a valid quote   assemble-quotes          staged_quotes
// imported_totals            valid quote             assemble-quotes          imported_quote_lines
// current_versions           number of a quote       assemble-quotes          staged_quotes
// imported_quotes            valid quote             assemble-quotes          all of these
// quotes_with_changed_lines  quote to update         write-quotes             imported_quotes
//
// Only dropInvalidQuotes deletes from `staged_quotes`, and moveInvalidRowsToRejects from `staged`.
// `file_line` is the line of the file on which a row begins. `first_file_line` is that of the first
// row of a quote. It identifies a quote of the file.
import type { Pool } from 'pg'
import type { ImportSource } from '../readers/file-source.ts'
import { throwIfKeysAreUnknown } from '../row-problems.ts'
import { type ImportOptions, type ImportSummary, runImport } from '../run-import.ts'
import {
  addNegativeTotalProblems,
  createImportedQuoteLinesTable,
  createImportedQuotesTable,
  createImportedTotalsTable,
  createMissingCustomers,
} from './assemble-quotes.ts'
import { keepMissingColumns, throwIfLinesLoseColumns } from './keep-columns.ts'
import {
  addContradictionProblems,
  addPositionProblems,
  computedQuoteColumns,
  createStagedQuotesTable,
  dropInvalidQuotes,
} from './quote-row-consistency.ts'
import {
  type FindCharacters,
  findMissingQuotes,
  findQuoteWarnings,
  type Period,
} from './quote-warnings.ts'
import { writeQuotes } from './write-quotes.ts'

export type QuoteImportOptions = ImportOptions & {
  /** The file has every quote of this period. A warning names those that it does not have. */
  fullPeriod?: Period
  /** Columns that the file does not have are emptied in existing quotes. */
  isReplacing?: boolean
  /** Without it, no warning says that a quote has no PDF. */
  findUnprintable?: FindCharacters
}

/** `read` and `rejected` count rows; `inserted`, `updated` and `unchanged` count quotes. */
export type QuotesSummary = ImportSummary & {
  /**
   * Quotes of the file that were not imported because of an invalid row. A quote is not counted if
   * none of its rows has a version that can be read.
   */
  rejectedQuotes: number
  /** Older versions in the database that are superseded now. */
  superseded: number
  customers: number
}

/**
 * Imports a table of quotes with one row for each line: all quotes or none, or all valid quotes if
 * `rejectedRows` is given. Number and version identify a quote. Fields of an existing quote whose
 * column the file does not have stay, unless `isReplacing`. It is also rejected if the number of an
 * invalid row is unknown, because the quote of that row would be imported without it.
 */
export async function importQuotes(
  pool: Pool,
  source: ImportSource,
  options: QuoteImportOptions = {},
): Promise<QuotesSummary> {
  const { rejectedRows, fullPeriod, isReplacing, findUnprintable } = options
  return runImport(pool, source, options, {
    kind: 'quotes',
    computedColumns: computedQuoteColumns,
    analyzed: 'file_line, number, version_number',
    async addProblems({ client, file }) {
      await createStagedQuotesTable(client)
      await addContradictionProblems(client)
      await addPositionProblems(client)
      if (!isReplacing) {
        await throwIfLinesLoseColumns(client, file.columns)
        await keepMissingColumns(client, file.columns)
      }
      // Last, because it computes only quotes without any other problem.
      await addNegativeTotalProblems(client)
    },
    async compare({ client, file }) {
      if (rejectedRows)
        await throwIfKeysAreUnknown(
          client,
          file,
          'Correct this first: --rejects would import a quote without some of its lines.',
        )
      // Before the invalid rows leave `staged`: a quote with an invalid row is not missing.
      const missingQuotes = fullPeriod ? await findMissingQuotes(client, fullPeriod) : []
      return { missingQuotes, rejectedQuotes: rejectedRows ? await dropInvalidQuotes(client) : 0 }
    },
    async write({ client, codes }, { missingQuotes, rejectedQuotes }) {
      await createImportedQuoteLinesTable(client)
      await createImportedTotalsTable(client)
      const customers = await createMissingCustomers(client)
      await createImportedQuotesTable(client, codes.baseCurrency)
      const warnings = [
        ...missingQuotes,
        ...(await findQuoteWarnings(client, codes.baseCurrency, findUnprintable)),
      ]
      return { rejectedQuotes, customers, ...(await writeQuotes(client)), warnings }
    },
  })
}
