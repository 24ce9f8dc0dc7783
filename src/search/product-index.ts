// The index: its settings, and the document that a product becomes. Both engine and rebuild go by these.
import type { Kysely } from 'kysely'
import type { Settings } from 'meilisearch'
import type { Tables } from '../database/tables.ts'
import { type Money, unitPrice } from '../money.ts'
import { codeKey, codePart } from './codes.ts'
import { maxTotal } from './schema.ts'
import { sizeForms } from './sizes.ts'
import { otherNumbers, synonyms } from './synonyms.ts'

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

/**
 * Measured on real queries with human grades: exactness before attribute, typos from 4 and 8 letters, none on numbers and codes. The order of
 * searchableAttributes is what the attribute rule goes by.
 */
export const indexSettings = {
  searchableAttributes: ['name', 'skuForms', 'sku', 'sizes', 'otherNumbers', 'brand', 'category', 'hsCode', 'description'],
  displayedAttributes: [...shownAttributes],
  // No more than is asked for: what the engine keeps for comparing and searching in values doubles what one changed product costs it.
  filterableAttributes: [
    {
      attributePatterns: ['brand', 'category', 'enye', 'hsCode', 'skuForms', 'skuKey'],
      features: { facetSearch: false, filter: { equality: true, comparison: false } },
    },
  ],
  facetSearch: false,
  sortableAttributes: ['quotedRank'],
  rankingRules: ['words', 'typo', 'proximity', 'exactness', 'attribute', 'sort', 'popularity:desc', 'name:asc'],
  typoTolerance: {
    enabled: true,
    minWordSizeForTypos: { oneTypo: 4, twoTypos: 8 },
    disableOnAttributes: ['hsCode', 'otherNumbers', 'sizes', 'sku', 'skuForms'], // in the order in which the engine gives them back
    disableOnWords: [],
    disableOnNumbers: true,
  },
  synonyms,
  faceting: { maxValuesPerFacet: maxFacetValues, sortFacetValuesBy: { '*': 'count' } },
  // A page that begins at the last offset is still whole.
  pagination: { maxTotalHits: maxTotal + 100 },
} satisfies Settings

const longestCode = 40

function endings(key: string): string[] {
  const code = key.slice(0, longestCode)
  const found = code === '' ? [] : [code]
  for (let start = 1; start < code.length - 1; start++) found.push(code.slice(start))
  return found
}

const enye = /ñ/u
/** The letter in any writing, also as n with a tilde of its own. */
const mayHoldEnye = /ñ|Ñ|\u0303/

/**
 * Words with ñ and their beginnings from the ñ on, folded but for it: the engine takes ñ for n, and with ñ typed names with ñ come first.
 * "Muñeca de caña" gives muñ, muñe, muñec, muñeca, cañ and caña.
 */
export function enyeForms(text: string): string[] {
  if (!mayHoldEnye.test(text)) return []
  const words = foldButEnye(text).match(/[\p{L}\p{N}]+/gu) ?? []
  const forms = words
    .filter((word) => enye.test(word))
    .flatMap((word) => Array.from({ length: word.length - word.indexOf('ñ') }, (_, extra) => word.slice(0, word.indexOf('ñ') + 1 + extra)))
  return [...new Set(forms)]
}

/** The words with ñ in what was typed, as they stand among the forms. */
export function enyeWords(text: string): string[] {
  return (foldButEnye(text).match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => enye.test(word))
}

function foldButEnye(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFC')
    .split('ñ')
    .map((piece) => piece.normalize('NFD').replace(/\p{M}/gu, ''))
    .join('ñ')
}

/** Reads active products as they are now, as documents, by id. Ids without one (deleted, inactive) are absent. */
export async function readDocuments(db: Kysely<Tables>, ids: string[]): Promise<ProductDocument[]> {
  const rows = await documentRows(db).where('products.id', 'in', ids).execute()
  return rows.map(toDocument)
}

/** Reads up to `limit` active products with an id above `after`, in the order of their ids: the whole catalogue in pages. */
export async function readDocumentsAfter(db: Kysely<Tables>, after: string, limit: number): Promise<ProductDocument[]> {
  const rows = await documentRows(db).where('products.id', '>', after).orderBy('products.id').limit(limit).execute()
  return rows.map(toDocument)
}

function documentRows(db: Kysely<Tables>) {
  return db
    .selectFrom('products')
    .leftJoin('product_popularity as popularity', 'popularity.product_id', 'products.id')
    .where('products.active', '=', true)
    .select([
      'products.id',
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
      'popularity.step',
      'popularity.rank',
    ])
}

type DocumentRow = Awaited<ReturnType<ReturnType<typeof documentRows>['execute']>>[number]

export function toDocument(row: DocumentRow): ProductDocument {
  const skuKey = codeKey(row.sku)
  return {
    id: row.id,
    sku: row.sku,
    name: row.name,
    description: row.description,
    category: row.category,
    brand: row.brand,
    unit: row.unit,
    price: row.price !== null && row.currency !== null ? unitPrice(row.price, row.currency) : null,
    hsCode: row.hs_code,
    originCountry: row.origin_country,
    skuKey,
    skuForms: endings(codePart(row.sku)),
    sizes: sizeForms(row.name),
    otherNumbers: otherNumbers(row.name),
    enye: enyeForms(row.name),
    popularity: row.step ?? 0,
    quotedRank: row.rank,
  }
}
