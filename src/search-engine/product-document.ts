// The document that a product becomes in the index: its shape, and what of it a search shows.
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
  /** The SKU without case and separators, for the exact match that comes first. */
  skuKey: string
  /** The code and its endings, without accents: the engine finds prefixes only, so the middle of a code is the prefix of an ending. */
  skuForms: string[]
  /** Sizes written together ("18 V" as "18v", "2 x 4" as "2x4"), as people type them. */
  sizes: string[]
  /** The words of the name in the other number: "motor" for "motores". */
  otherNumbers: string[]
  enye: string[]
  popularity: number
  quotedRank: number | null
}

/** Attributes that a hit shows; with them the engine also tells where it matched. */
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

export const maxFacetValues = 100

/** The most hits that a search counts and pages through. */
export const maxTotal = 1000
