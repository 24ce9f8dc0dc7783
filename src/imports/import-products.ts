// Imports a product file: checks its rows, and inserts or updates products by SKU.
import type { ClientBase, Pool } from 'pg'
import { countNoun, formatCount } from '../text/count-noun.ts'
import { sqlListOfNoWords } from './cells.ts'
import { ImportError } from './file-format.ts'
import { type ImportWarning, readWarning } from './import-warnings.ts'
import type { ImportSource } from './readers/file-source.ts'
import { addRepeatedKeyProblems, throwIfKeysAreUnknown } from './row-problems.ts'
import {
  type ImportContext,
  type ImportOptions,
  type ImportSummary,
  runImport,
} from './run-import.ts'

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
 * Imports a table of products: all rows or none, or all valid rows if `rejectedRows` is given. The
 * SKU identifies a product. Columns that the file does not have keep their values.
 */
export async function importProducts(
  pool: Pool,
  source: ImportSource,
  options: ProductImportOptions = {},
): Promise<ProductsSummary> {
  const { isFull = false, deactivationLimitPercent } = options
  return runImport(pool, source, options, {
    kind: 'products',
    analyzed: 'file_line, sku',
    async addProblems({ client, file }) {
      await addRepeatedKeyProblems(client, 'sku')
      await addIncompleteProductProblems(client, file.columns)
    },
    // Before the invalid rows leave `staged`: a product with an invalid row stays as it is.
    async compare(context) {
      if (isFull) await findMissingProducts(context, deactivationLimitPercent)
    },
    async write({ client, file }) {
      const warnings = await findSimilarSkus(client)
      const written = await writeProducts(client, file.columns, isFull)
      const deactivation = isFull
        ? await deactivateMissingProducts(client)
        : { deactivated: 0, deactivatedSkus: [] }
      return { ...written, ...deactivation, warnings }
    },
  })
}

/**
 * Returns a warning of SKUs that differ only by case or blanks from another one in the file, or of
 * new ones that differ so from an active product.
 */
function findSimilarSkus(client: ClientBase): Promise<ImportWarning[]> {
  const key = (sku: string) => `lower(regexp_replace(normalize(${sku}, nfc), '\\s+', '', 'g'))`
  return readWarning(
    client,
    'similar_skus',
    `with keyed as materialized (select sku, file_line, ${key('sku')} as key from staged)
    select min(file_line) as file_line,
      format('line %s: "%s" beside "%s"', min(file_line), min(sku), max(sku)) as example
    from keyed group by key having min(sku) <> max(sku)
    union all
    select file_line, format('line %s: "%s" beside "%s" in the database', file_line, keyed.sku,
      products.sku)
    from keyed join products on products.active and products.sku_key = code_key(keyed.sku)
    where products.sku <> keyed.sku and ${key('products.sku')} = keyed.key
      and not exists (select from products same where same.sku = keyed.sku)`,
  )
}

async function addIncompleteProductProblems(client: ClientBase, columns: string[]): Promise<void> {
  if (!columns.includes('name'))
    await client.query(`
      insert into problems (file_line, problem)
      select file_line, 'sku: there is no such product yet, and a new one needs the column name'
      from staged
      where not is_malformed and sku is not null
        and not exists (select from products where products.sku = staged.sku)`)
  if (columns.includes('price') !== columns.includes('currency'))
    await addIncompletePriceProblems(client, columns.includes('price') ? 'price' : 'currency')
}

/** A product has both a price and a currency, or neither. */
async function addIncompletePriceProblems(
  client: ClientBase,
  given: 'price' | 'currency',
): Promise<void> {
  const other = given === 'price' ? 'currency' : 'price'
  await client.query(`
    insert into problems (file_line, problem)
    select file_line, case
      when staged.${given} is null then '${given}: is empty, but the product has a ${other}: '
        'empty both, in a file with the column ${other}'
      else '${given}: the product has no ${other}: add the column ${other}'
        '${other === 'currency' ? ', or use --currency EUR' : ''}' end
    from staged left join products using (sku)
    where not is_malformed and sku is not null
      and (staged.${given} is null) <> (products.${other} is null)`)
}

/** In percent of the active products. A file that was cut short would exceed it. */
export const defaultDeactivationLimitPercent = 10

const maxListedSkus = 100
const maxSkusInMessage = 5

/**
 * Creates the temporary table `missing_products`: active products that are not in `staged`. Throws
 * an ImportError if they are more than the limit, or if the file may have them in invalid rows.
 */
async function findMissingProducts(
  { client, file }: ImportContext,
  limitPercent = defaultDeactivationLimitPercent,
): Promise<void> {
  await client.query(`
    create temporary table missing_products on commit drop as
    select id, sku from products
    where active and not exists (select from staged where staged.sku = products.sku)`)
  const { rows } = await client.query<{ missing: number; active: number; skus: string[] | null }>(
    `select (select count(*)::integer from missing_products) as missing,
      (select count(*)::integer from products where active) as active,
      (select array_agg(sku) from (
        select sku from missing_products order by sku limit ${maxSkusInMessage}
      ) first) as skus`,
  )
  const { missing = 0, active = 0, skus = [] } = rows[0] ?? {}
  if (missing === 0) return
  if (missing * 100 > active * limitPercent)
    throw new ImportError(
      `The file lacks ${formatCount(missing)} of ${formatCount(active)} active products ` +
        `(${(skus ?? []).join(', ')}${missing > maxSkusInMessage ? ', …' : ''}). --full would make ` +
        `them inactive, but the limit is ${limitPercent} %. Nothing was imported. If the file is ` +
        `complete, add --allow-removals ${Math.ceil((missing * 100) / active)}%.`,
    )
  await throwIfKeysAreUnknown(
    client,
    file,
    `The file lacks ${countNoun(missing, 'active product')}. Correct this first: ` +
      '--full would make a product inactive although the file may have it.',
  )
}

async function deactivateMissingProducts(
  client: ClientBase,
): Promise<{ deactivated: number; deactivatedSkus: string[] }> {
  const { rowCount } = await client.query(
    `update products set active = false
    from missing_products where missing_products.id = products.id`,
  )
  const { rows } = await client.query<{ sku: string }>(
    `select sku from missing_products order by sku limit ${maxListedSkus}`,
  )
  return { deactivated: rowCount ?? 0, deactivatedSkus: rows.map(({ sku }) => sku) }
}

/**
 * Updates the products that differ from the valid rows in `staged`, and inserts the new ones. Only
 * the columns of the file are written. In a full import every product of the file is active,
 * unless its column `active` says otherwise.
 */
async function writeProducts(
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

function convertCell(column: string): string {
  if (column === 'price') return 'staged.price::numeric'
  if (column === 'active')
    return `coalesce(lower(staged.active) not in (${sqlListOfNoWords}), true)`
  return `staged.${column}`
}
