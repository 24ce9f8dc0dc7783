// The fields of a product's document in the search index, and those that a hit shows.
import type { Money } from '../company/money.ts'

export type ProductDocument = {
  id: string
  sku: string
  name: string
  description: string | null
  category: string | null
  brand: string | null
  unit: string | null
  price: Money | null
  hsCode: string | null
  originCountry: string | null
  /**
   * The SKU in lower case without separators, for the exact match that comes first. Also a second
   * key, if many SKUs may have the first one (toDistinctSkuKey).
   */
  skuKey: string | string[]
  /**
   * The SKU key and its endings, without accents. The engine matches prefixes only; the middle of a
   * code is the prefix of one of its endings.
   */
  skuForms: string[]
  /** Sizes in their indexed form ("18 V" as "18v", "2 x 4" as "2x4"), as people type them. */
  sizes: string[]
  /**
   * Forms of words in the name that the engine would not find: the singular of plural ones and the
   * plural of singular ones ("motor" for "motores"), and words beside symbols ("3m" for "3M™").
   */
  otherForms: string[]
  /** The words of the name with ñ, and their prefixes. */
  enye: string[]
  /** How often the product is quoted, in steps from 0 (never) to 9 (`step` in popularity.ts). */
  popularity: number
  /**
   * The number of words in the name. Of equal matches, the one with the shorter name comes first.
   */
  nameWords: number
  /** Its place among the 100 products that are quoted most often, from 1; null for all others. */
  quotedRank: number | null
}

/** The attributes that a hit shows. The engine reports match positions for these only. */
export const shownAttributes = [
  'id',
  'sku',
  'name',
  'description',
  'category',
  'brand',
  'unit',
  'price',
  'hsCode',
  'originCountry',
] as const satisfies (keyof ProductDocument)[]
