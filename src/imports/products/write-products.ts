// Inserts new products and updates changed ones by SKU. Unchanged rows are not written.
import type { ClientBase } from 'pg'
import { sqlListOfNoWords } from '../cells/yes-no-cells.ts'

/**
 * Updates the products that differ from the valid rows in `staged`, and inserts the new ones. Only
 * the columns of the file are written. In a full import every product of the file is active,
 * unless its column `active` says otherwise.
 */
export async function writeProducts(
  client: ClientBase,
  columns: string[],
  isFull: boolean,
): Promise<{ inserted: number; updated: number }> {
  const assignments = columns
    .filter((column) => column !== 'sku')
    .map((column) => ({ column, value: convertCell(column) }))
  if (isFull && !columns.includes('active')) assignments.push({ column: 'active', value: 'true' })
  // A file with the column sku alone changes no product, and its new products were rejected.
  if (assignments.length === 0) return { inserted: 0, updated: 0 }
  const columnNames = assignments.map(({ column }) => column)
  const names = columnNames.join(', ')
  const existingValues = columnNames.map((name) => `products.${name}`).join(', ')
  const values = assignments.map(({ value }) => value).join(', ')
  const updated = await client.query(`
    update products
    set ${assignments.map(({ column, value }) => `${column} = ${value}`).join(', ')}
    from staged
    where products.sku = staged.sku
      and (${existingValues}) is distinct from (${values})`)
  if (!columns.includes('name')) return { inserted: 0, updated: updated.rowCount ?? 0 }
  const inserted = await client.query(`
    insert into products (sku, ${names})
    select sku, ${values} from staged
    where not exists (select from products where products.sku = staged.sku)
    order by file_line`)
  return { inserted: inserted.rowCount ?? 0, updated: updated.rowCount ?? 0 }
}

/** SQL that converts the text of a staged cell to the value of its column in products. */
function convertCell(column: string): string {
  if (column === 'price') return 'staged.price::numeric'
  if (column === 'active')
    return `coalesce(lower(staged.active) not in (${sqlListOfNoWords}), true)`
  return `staged.${column}`
}
