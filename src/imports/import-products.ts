// Imports a product file: stages its rows, checks them, and inserts or updates products by SKU.
import type { ClientBase, Pool } from 'pg'
import { type ProductColumn, type ProductField, productFields } from '../products/fields.ts'
import { countNoun, formatCount } from '../text/count-noun.ts'
import {
  type CellCheck,
  checkCountry,
  checkCurrency,
  checkDecimal,
  checkHsCode,
  checkLength,
  checkSku,
  checkUnit,
  checkYesOrNo,
  type KnownCodes,
  readKnownCodes,
  sqlListOfNoWords,
} from './cells/cell-checks.ts'
import {
  type CellReader,
  createFormatReaders,
  readCode,
  readSingleBlanks,
  readUnit,
} from './cells/cell-readers.ts'
import { type CrossCellRule, createRowReader, type RowRules } from './cells/row-rules.ts'
import { type FileFormat, ImportError, productFileColumns } from './file-format.ts'
import {
  type ImportOptions,
  type ImportSummary,
  runInImportTransaction,
} from './import-transaction.ts'
import {
  CaseList,
  findUnknownUnits,
  type ImportWarning,
  readWarning,
  throwIfWarned,
} from './import-warnings.ts'
import type { ImportSource } from './readers/file-source.ts'
import { openTable } from './readers/open-table.ts'
import {
  addRepeatedKeyProblems,
  createProblemsTable,
  moveInvalidRowsToRejects,
  throwIfKeysAreUnknown,
  throwIfRowsAreInvalid,
} from './row-problems.ts'
import { stageRows } from './staging-table.ts'

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
 * SKU identifies a product. Columns that the file does not have keep their values. If the import is
 * rejected, throws an ImportError and leaves the database unchanged.
 */
export async function importProducts(
  pool: Pool,
  source: ImportSource,
  options: ProductImportOptions = {},
): Promise<ProductsSummary> {
  const { onStep, rejectedRows, isFull = false, isStrict = false } = options
  return runInImportTransaction(pool, { ...options, kind: 'products' }, async (client) => {
    const codes = await readKnownCodes(client)
    onStep?.('reading')
    const cleanedSkus = new CaseList('invisible_characters')
    const file = await openTable(source, productFileColumns, options)
    const { columns, format } = file
    const read = await stageRows(client, file, {
      ...options,
      readRow: createRowReader(createProductRowRules(codes, columns, format), columns, cleanedSkus),
      keyColumn: 'sku',
    })
    onStep?.('checking')
    await client.query('analyze staged (file_line, sku)')
    await createProblemsTable(client)
    await addRepeatedKeyProblems(client, 'sku')
    await addIncompleteProductProblems(client, columns)
    if (!rejectedRows) await throwIfRowsAreInvalid(client)
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
        })
    }
    const rejected = await moveInvalidRowsToRejects(client, rejectedRows, file)
    onStep?.('writing')
    const warnings = [
      ...cleanedSkus.list(),
      ...(await findSimilarSkus(client)),
      ...(await findUnknownUnits(client)),
    ]
    if (isStrict) throwIfWarned(warnings)
    const { inserted, updated } = await writeProducts(client, columns, isFull)
    const unchanged = read - rejected - inserted - updated
    const deactivation = isFull ? await deactivateMissingProducts(client) : noneDeactivated
    const { readAs } = file
    return { readAs, read, inserted, updated, unchanged, rejected, warnings, ...deactivation }
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

const noneDeactivated = { deactivated: 0, deactivatedSkus: [] }

function createProductRowRules(
  codes: KnownCodes,
  columns: readonly string[],
  format: FileFormat,
): RowRules<ProductColumn> {
  return {
    nonEmpty: ['sku', 'name'],
    readers: { ...createFormatReaders(productFileColumns, format), ...cellReaders },
    cells: createCellChecks(codes),
    // If the file has only one of the two columns, the product in the database may have the other.
    crossCellRules:
      columns.includes('price') && columns.includes('currency') ? priceAndCurrency : [],
  }
}

const fields = Object.values<ProductField>(productFields)

/** How the cells of a kind are brought into their plain form. Others depend on the format. */
const readersByKind: Partial<Record<ProductField['cell'], CellReader>> = {
  line: readSingleBlanks,
  unit: readUnit,
  currency: readCode,
  country: readCode,
}
const cellReaders = Object.fromEntries(
  fields.flatMap(({ column, cell }) => {
    const reader = readersByKind[cell]
    return reader ? [[column, reader]] : []
  }),
)

function createCellChecks(codes: KnownCodes): Record<ProductColumn, CellCheck> {
  const checks: Record<ProductField['cell'], (maxLength: number) => CellCheck> = {
    sku: () => checkSku,
    text: checkLength,
    line: checkLength,
    unit: () => checkUnit,
    price: () => checkDecimal({ wholeDigits: 15, decimals: 4 }),
    currency: () => checkCurrency(codes),
    hs_code: () => checkHsCode,
    country: () => checkCountry(codes),
    boolean: () => checkYesOrNo,
  }
  return Object.fromEntries(
    fields.map(({ column, cell, maxLength = 0 }) => [column, checks[cell](maxLength)]),
  ) as Record<ProductColumn, CellCheck>
}

const priceAndCurrency: CrossCellRule<ProductColumn>[] = [
  {
    columns: ['currency', 'price'],
    findProblem: (currency: string, price: string) =>
      price && !currency ? 'is missing: a price needs its currency' : undefined,
  },
  {
    columns: ['price', 'currency'],
    findProblem: (price: string, currency: string) =>
      currency && !price ? 'is missing: a currency needs its price' : undefined,
  },
]

async function addIncompleteProductProblems(client: ClientBase, columns: string[]): Promise<void> {
  if (!columns.includes('name')) await addMissingNameProblems(client)
  if (columns.includes('price') !== columns.includes('currency'))
    await addIncompletePriceProblems(client, columns.includes('price') ? 'price' : 'currency')
}

async function addMissingNameProblems(client: ClientBase): Promise<void> {
  await client.query(`
    insert into problems (file_line, problem)
    select file_line, 'sku: there is no such product yet, and a new one needs the column name'
    from staged
    where not is_malformed and sku is not null
      and not exists (select from products where products.sku = staged.sku)`)
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
      else '${given}: the product has no ${other}: add the column ${other}' end
    from staged left join products using (sku)
    where not is_malformed and sku is not null
      and (staged.${given} is null) <> (products.${other} is null)`)
}

/** In percent of the active products. A file that was cut short would exceed it. */
export const defaultDeactivationLimitPercent = 10

const maxListedSkus = 100
const maxSkusInMessage = 5

/**
 * Creates the temporary table `missing_products`: active products that are not in `staged`. Returns
 * their number.
 */
async function createMissingProductsTable(client: ClientBase): Promise<number> {
  const { rowCount } = await client.query(`
    create temporary table missing_products on commit drop as
    select id, sku from products
    where active and not exists (select from staged where staged.sku = products.sku)`)
  return rowCount ?? 0
}

async function throwIfTooManyMissing(client: ClientBase, limitPercent: number): Promise<void> {
  const { rows } = await client.query<{ missing: string; active: string; skus: string[] | null }>(
    `select (select count(*) from missing_products) as missing,
      (select count(*) from products where active) as active,
      (select array_agg(sku) from (
        select sku from missing_products order by sku limit ${maxSkusInMessage}
      ) first) as skus`,
  )
  const missing = Number(rows[0]?.missing)
  const active = Number(rows[0]?.active)
  if (missing * 100 <= active * limitPercent) return
  const rest = missing > maxSkusInMessage ? ', …' : ''
  throw new ImportError(
    `The file lacks ${formatCount(missing)} of ${formatCount(active)} active products ` +
      `(${(rows[0]?.skus ?? []).join(', ')}${rest}). --full would make them inactive, but the ` +
      `limit is ${limitPercent} %. Nothing was imported. If the file is complete, add ` +
      `--allow-removals ${Math.ceil((missing * 100) / active)}%.`,
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
