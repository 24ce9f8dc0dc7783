// Imports a product file: stages its rows, checks them, and inserts or updates products by SKU.
import type { Pool } from 'pg'
import { countNoun } from '../../text/count-noun.ts'
import { readKnownCodes } from '../cells/known-codes.ts'
import { createRowReader } from '../cells/row-rules.ts'
import { openRows } from '../csv/read-rows.ts'
import { productFileColumns } from '../file-columns.ts'
import { runInImportTransaction } from '../import-transaction.ts'
import type { ImportOptions, ImportSummary } from '../options-and-summary.ts'
import { moveInvalidRowsToRejects } from '../rejected-rows.ts'
import {
  addRepeatedKeyProblems,
  createProblemsTable,
  throwIfKeysAreUnknown,
  throwIfRowsAreInvalid,
} from '../row-problems.ts'
import { stageRows } from '../staging-table.ts'
import { addIncompleteProductProblems } from './incomplete-products.ts'
import {
  createMissingProductsTable,
  deactivateMissingProducts,
  defaultDeactivationLimitPercent,
  throwIfTooManyMissing,
} from './missing-products.ts'
import { createProductRowRules } from './product-cell-rules.ts'
import { writeProducts } from './write-products.ts'

export type ProductImportOptions = ImportOptions & {
  /**
   * The file is the whole catalogue: products that are not in it become inactive. If the SKU of an
   * invalid row is unknown, nothing is imported unless the file has every active product.
   */
  isFull?: boolean
  /** How many percent of the active ones may become inactive (--allow-removals). Default: 10. */
  deactivationLimitPercent?: number
}

export type ProductsSummary = ImportSummary & {
  /** Products that became inactive because they are not in the file. */
  deactivated: number
  /** The first 100 of their SKUs. */
  deactivatedSkus: string[]
}

/**
 * Imports a CSV of products: all rows or none, or all valid rows if `rejectedRows` is given. The
 * SKU identifies a product. Columns that the file does not have keep their values. If the import is
 * rejected, throws an ImportError and leaves the database unchanged.
 */
export async function importProducts(
  pool: Pool,
  csv: AsyncIterable<string | Buffer>,
  options: ProductImportOptions = {},
): Promise<ProductsSummary> {
  const { onStep, rejectedRows, isFull = false } = options
  return runInImportTransaction(pool, { ...options, kind: 'products' }, async (client) => {
    const codes = await readKnownCodes(client)
    onStep?.('reading')
    const file = await openRows(csv, productFileColumns, options)
    const { columns, format } = file
    const { read, suggestedFormat } = await stageRows(client, file, {
      ...options,
      readRow: createRowReader(createProductRowRules(codes, columns, format), columns),
      keyColumn: 'sku',
    })
    onStep?.('checking')
    await client.query('analyze staged (file_line, sku)')
    await createProblemsTable(client)
    await addRepeatedKeyProblems(client, 'sku')
    await addIncompleteProductProblems(client, columns)
    if (!rejectedRows) await throwIfRowsAreInvalid(client, suggestedFormat)
    if (isFull) {
      // Before the invalid rows leave `staged`: a product with an invalid row stays as it is.
      const missing = await createMissingProductsTable(client)
      await throwIfTooManyMissing(
        client,
        options.deactivationLimitPercent ?? defaultDeactivationLimitPercent,
      )
      if (missing > 0)
        await throwIfKeysAreUnknown(client, file, {
          key: 'sku',
          reason:
            `The file lacks ${countNoun(missing, 'active product')}. Correct this first: ` +
            '--full would make a product inactive although the file may have it.',
          suggestedFormat,
        })
    }
    const rejected = await moveInvalidRowsToRejects(client, rejectedRows, file)
    onStep?.('writing')
    const { inserted, updated } = await writeProducts(client, columns, isFull)
    const unchanged = read - rejected - inserted - updated
    const deactivation = isFull ? await deactivateMissingProducts(client) : noneDeactivated
    return { read, inserted, updated, unchanged, rejected, warnings: [], ...deactivation }
  })
}

const noneDeactivated = { deactivated: 0, deactivatedSkus: [] }
