// Imports a product file: stages its rows, checks them, and inserts or updates products by SKU.
import type { ClientBase, Pool } from 'pg'
import { createProblemsTable, throwIfRowsAreBad } from '../bad-rows-message.ts'
import { createRowChecker } from '../cells/check-row.ts'
import { readKnownCodes } from '../cells/known-codes.ts'
import { readRows } from '../csv/read-rows.ts'
import { productColumns, productFileColumns } from '../file-columns.ts'
import type { ImportOptions, ImportSummary } from '../import-options.ts'
import { runInImportTransaction } from '../import-transaction.ts'
import { stageRows } from '../staging-table.ts'
import { rejectBadRows } from '../write-rejected-rows.ts'
import { createProductRowRules, inactiveWords } from './product-cell-rules.ts'

/**
 * Imports a CSV of products: all rows or none, or all good rows if `rejects` is given. The SKU
 * identifies a product. Columns that the file does not have keep their values. Throws an
 * InvalidFileError for a file that cannot be imported, and leaves the database unchanged.
 */
export async function importProducts(
  pool: Pool,
  csv: AsyncIterable<string | Buffer>,
  options: ImportOptions = {},
): Promise<ImportSummary> {
  const { onStep, signal, rejects } = options
  return runInImportTransaction(pool, { ...options, kind: 'products' }, async (client) => {
    const codes = await readKnownCodes(client)
    onStep?.('reading')
    const rows = await readRows(csv, productFileColumns, signal)
    const read = await stageRows(client, rows, {
      ...options,
      columns: productColumns,
      checkRow: createRowChecker(createProductRowRules(codes), rows.columns),
      keyColumn: 'sku',
    })
    onStep?.('checking')
    await client.query('analyze staged (line, sku)')
    await createProblemsTable(client)
    await findRepeatedSkus(client)
    if (!rejects) await throwIfRowsAreBad(client)
    const rejected = rejects ? await rejectBadRows(client, rejects, rows.columns) : 0
    onStep?.('writing')
    const { inserted, updated } = await writeProducts(client, rows.columns)
    return { read, inserted, updated, unchanged: read - rejected - inserted - updated, rejected }
  })
}

async function findRepeatedSkus(client: ClientBase): Promise<void> {
  await client.query(`
    insert into problems (line, reason)
    select s.line, format('sku: is also on line %s',
      case when s.line = repeated.first then repeated.second else repeated.first end)
    from staged s
    join (
      select sku, min(line) as first, (array_agg(line order by line))[2] as second
      from staged
      where malformed is null and sku is not null
      group by sku having count(*) > 1
    ) repeated on repeated.sku = s.sku
    where s.malformed is null`)
}

/** Updates the products that differ from the file and inserts the new ones. */
async function writeProducts(
  client: ClientBase,
  columns: string[],
): Promise<{ inserted: number; updated: number }> {
  const assignments = columns
    .filter((column) => column !== 'sku')
    .map((column) => ({ column, value: convertCell(column) }))
  const names = assignments.map(({ column }) => column)
  const values = assignments.map(({ value }) => value)
  const updated = await client.query(`
    update products p
    set ${assignments.map(({ column, value }) => `${column} = ${value}`).join(', ')}
    from staged s
    where p.sku = s.sku and (${names.map((name) => `p.${name}`)}) is distinct from (${values})`)
  const inserted = await client.query(`
    insert into products (sku, ${names})
    select s.sku, ${values} from staged s
    where not exists (select from products p where p.sku = s.sku)
    order by s.line`)
  return { inserted: inserted.rowCount ?? 0, updated: updated.rowCount ?? 0 }
}

/** SQL that converts the text of a staged cell to the value of its column in products. */
function convertCell(column: string): string {
  if (column === 'price') return 's.price::numeric'
  if (column === 'active') {
    const words = inactiveWords.map((word) => `'${word}'`)
    return `coalesce(lower(s.active) not in (${words}), true)`
  }
  return `s.${column}`
}
