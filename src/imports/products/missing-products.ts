// A full import: the products that the file does not have become inactive, up to a safety limit.
import type { ClientBase } from 'pg'
import { ImportError } from '../import-error.ts'

/** Percent of the active products. A file that was cut short would remove more. */
export const defaultRemovalLimit = 10

const maxListedSkus = 100
const maxSkusInMessage = 5

/** Creates the temporary table `removed_products`: active products that are not in `staged`. */
export async function findRemovedProducts(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table removed_products on commit drop as
    select p.id, p.sku from products p
    where p.active and not exists (select from staged s where s.sku = p.sku)`)
}

/** Throws an ImportError if more than `limitPercent` of the active products would go. */
export async function throwIfTooManyRemoved(
  client: ClientBase,
  limitPercent: number,
): Promise<void> {
  const { rows } = await client.query<{ removed: string; active: string; skus: string[] | null }>(
    `select (select count(*) from removed_products) as removed,
      (select count(*) from products where active) as active,
      (select array_agg(sku) from (
        select sku from removed_products order by sku limit ${maxSkusInMessage}
      ) first) as skus`,
  )
  const removed = Number(rows[0]?.removed)
  const active = Number(rows[0]?.active)
  if (removed * 100 <= active * limitPercent) return
  const format = (count: number) => count.toLocaleString('en')
  const rest = removed > maxSkusInMessage ? ', …' : ''
  throw new ImportError(
    `The file lacks ${format(removed)} of ${format(active)} active products ` +
      `(${(rows[0]?.skus ?? []).join(', ')}${rest}). --full would make them inactive, but the ` +
      `limit is ${limitPercent} %. Nothing was imported. If the file is complete, add ` +
      `--allow-removals ${Math.ceil((removed * 100) / active)}%.`,
  )
}

/** Makes the removed products inactive, and returns their number and the first SKUs. */
export async function deactivateRemovedProducts(
  client: ClientBase,
): Promise<{ deactivated: number; deactivatedSkus: string[] }> {
  const { rowCount } = await client.query(
    'update products p set active = false from removed_products r where r.id = p.id',
  )
  const { rows } = await client.query<{ sku: string }>(
    `select sku from removed_products order by sku limit ${maxListedSkus}`,
  )
  return { deactivated: rowCount ?? 0, deactivatedSkus: rows.map(({ sku }) => sku) }
}
