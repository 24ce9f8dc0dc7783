// Full imports of products: those that are not in the file become inactive, up to a safety limit.
import type { ClientBase } from 'pg'
import { formatCount } from '../../text/count-noun.ts'
import { ImportError } from '../import-error.ts'

/** In percent of the active products. A file that was cut short would exceed it. */
export const defaultDeactivationLimitPercent = 10

const maxListedSkus = 100
const maxSkusInMessage = 5

/**
 * Creates the temporary table `missing_products`: active products that are not in `staged`. Returns
 * their number.
 */
export async function createMissingProductsTable(client: ClientBase): Promise<number> {
  const { rowCount } = await client.query(`
    create temporary table missing_products on commit drop as
    select id, sku from products
    where active and not exists (select from staged where staged.sku = products.sku)`)
  return rowCount ?? 0
}

/** Throws an ImportError if more than `limitPercent` of the active products are missing. */
export async function throwIfTooManyMissing(
  client: ClientBase,
  limitPercent: number,
): Promise<void> {
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

/** Makes the missing products inactive, and returns their number and the first SKUs. */
export async function deactivateMissingProducts(
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
