// Turns rows of the table products into the fields of a hit.
import { toUnitPrice } from '../company/money.ts'
import type { Hit } from './schema.ts'

export type ProductRow = {
  id: string
  sku: string
  name: string
  description: string | null
  category: string | null
  brand: string | null
  unit: string | null
  price: string | null
  currency: string | null
  hs_code: string | null
  origin_country: string | null
}

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
] as const satisfies (keyof ProductRow)[]

/** Returns a product without highlights. */
export function toProduct(row: ProductRow): Omit<Hit, 'highlights'> {
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
