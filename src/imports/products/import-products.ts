// Imports a product file: stages it, checks it, and inserts or updates what is new in it, by SKU.
import type { ClientBase, Pool } from 'pg'
import { rowChecker } from '../cell-checks.ts'
import { productColumns, productLayout } from '../column-names.ts'
import { readRows } from '../csv/header-and-rows.ts'
import type { ImportOptions, ImportSummary } from '../import-options.ts'
import { inImportTransaction } from '../import-transaction.ts'
import { readCodes } from '../known-codes.ts'
import { reject } from '../rejected-rows.ts'
import { refuseProblems, startProblems } from '../row-problems.ts'
import { stage } from '../staging-table.ts'
import { inactiveWords, productChecks } from './product-checks.ts'

/**
 * Imports a CSV of products, all or nothing, or without its bad rows if `rejects` takes them. A product is known by its SKU; columns that the file
 * does not have keep their values. Throws a BadFile for a file that cannot be imported, and leaves the database as it was then.
 */
export async function importProducts(
  pool: Pool,
  csv: AsyncIterable<string | Buffer>,
  options: ImportOptions = {},
): Promise<ImportSummary> {
  const { onStep, signal, rejects } = options
  return inImportTransaction(pool, { kind: 'products', signal, onStep }, async (client) => {
    const codes = await readCodes(client)
    onStep?.('reading')
    const rows = await readRows(csv, productLayout, signal)
    const check = rowChecker(productChecks(codes), rows.columns)
    const read = await stage(client, rows, {
      ...options,
      columns: productColumns,
      check,
      keyColumn: 'sku',
    })
    onStep?.('checking')
    await client.query('analyze staged (line, sku)')
    await startProblems(client)
    await findRepeatedSkus(client)
    if (!rejects) await refuseProblems(client)
    const rejected = rejects ? await reject(client, rejects, rows.columns) : 0
    onStep?.('writing')
    const { inserted, updated } = await write(client, rows.columns)
    return { read, inserted, updated, unchanged: read - rejected - inserted - updated, rejected }
  })
}

async function findRepeatedSkus(client: ClientBase): Promise<void> {
  await client.query(`
    insert into problems (line, reason)
    select s.line, 'sku: is on line ' || case when s.line = repeated.first then repeated.second else repeated.first end || ' too'
    from staged s
    join (select sku, min(line) as first, (array_agg(line order by line))[2] as second from staged
      where malformed is null and sku is not null group by sku having count(*) > 1) repeated on repeated.sku = s.sku
    where s.malformed is null`)
}

async function write(
  client: ClientBase,
  columns: string[],
): Promise<{ inserted: number; updated: number }> {
  const values = columns
    .filter((column) => column !== 'sku')
    .map((column) => ({ column, value: valueIn(column) }))
  const list = values.map(({ column }) => column)
  const updated = await client.query(`
    update products p set ${values.map(({ column, value }) => `${column} = ${value}`).join(', ')}
    from staged s
    where p.sku = s.sku and (${list.map((column) => `p.${column}`)}) is distinct from (${values.map(({ value }) => value)})`)
  const inserted = await client.query(`
    insert into products (sku, ${list})
    select s.sku, ${values.map(({ value }) => value)} from staged s
    where not exists (select from products p where p.sku = s.sku) order by s.line`)
  return { inserted: inserted.rowCount ?? 0, updated: updated.rowCount ?? 0 }
}

function valueIn(column: string): string {
  if (column === 'price') return 's.price::numeric'
  if (column === 'active')
    return `coalesce(lower(s.active) not in (${inactiveWords.map((word) => `'${word}'`)}), true)`
  return `s.${column}`
}
