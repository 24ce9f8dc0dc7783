// Turns rows of the table products into the fields of a hit.
import type { Selectable } from 'kysely'
import { toUnitPrice } from '../company/money.ts'
import type { Tables } from '../database/table-types.ts'
import type { Hit } from './schema.ts'

/** The columns that toProduct() needs. */
export const productColumns = [
  'id',
  'sku',
  'name',
  'description',
  'category',
  'brand',
  'unit',
  'price',
  'currency',
  'hs_code',
  'origin_country',
] as const satisfies (keyof Tables['products'])[]

export type ProductRow = Pick<Selectable<Tables['products']>, (typeof productColumns)[number]>

/** Returns a product without highlights. */
export function toProduct(row: ProductRow): Omit<Hit, 'highlights' | 'match'> {
  const { id, sku, name, description, category, brand, unit, price, currency } = row
  return {
    id,
    sku,
    name,
    description,
    category,
    brand,
    unit,
    price: price !== null && currency !== null ? toUnitPrice(price, currency) : null,
    hsCode: row.hs_code,
    originCountry: row.origin_country,
  }
}
