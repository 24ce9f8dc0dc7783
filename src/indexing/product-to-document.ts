// Reads products from PostgreSQL and converts them into the documents of the index.
import type { Kysely } from 'kysely'
import { toUnitPrice } from '../company/money.ts'
import type { Tables } from '../database/table-types.ts'
import type { ProductDocument } from '../search-engine/product-document.ts'
import { enyePrefixes } from '../text/enye-words.ts'
import { distantNumberForms } from '../text/plurals.ts'
import { sizeForms } from '../text/sizes.ts'
import { codeKey, foldedCodeKey } from '../text/sku-and-hs-codes.ts'

const maxCodeLength = 40

/** Reads these products as they are now. Deleted and inactive products are absent. */
export async function readDocuments(db: Kysely<Tables>, ids: string[]): Promise<ProductDocument[]> {
  const rows = await selectProducts(db).where('products.id', 'in', ids).execute()
  return rows.map(toDocument)
}

/** Reads up to `limit` active products with an id above `afterId`, ordered by id. */
export async function readDocumentsAfter(
  db: Kysely<Tables>,
  afterId: string,
  limit: number,
): Promise<ProductDocument[]> {
  const rows = await selectProducts(db)
    .where('products.id', '>', afterId)
    .orderBy('products.id')
    .limit(limit)
    .execute()
  return rows.map(toDocument)
}

function selectProducts(db: Kysely<Tables>) {
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

export type ProductRow = Awaited<ReturnType<ReturnType<typeof selectProducts>['execute']>>[number]

export function toDocument(row: ProductRow): ProductDocument {
  const skuKey = codeKey(row.sku)
  return {
    id: row.id,
    sku: row.sku,
    name: row.name,
    description: row.description,
    category: row.category,
    brand: row.brand,
    unit: row.unit,
    price:
      row.price !== null && row.currency !== null ? toUnitPrice(row.price, row.currency) : null,
    hsCode: row.hs_code,
    originCountry: row.origin_country,
    skuKey,
    skuForms: codeSuffixes(foldedCodeKey(row.sku)),
    sizes: sizeForms(row.name),
    otherNumbers: distantNumberForms(row.name),
    enye: enyePrefixes(row.name),
    popularity: row.step ?? 0,
    quotedRank: row.rank,
  }
}

/** The code and all its suffixes of at least two characters, so that a search finds the end too. */
function codeSuffixes(key: string): string[] {
  const code = key.slice(0, maxCodeLength)
  const suffixes = code === '' ? [] : [code]
  for (let start = 1; start < code.length - 1; start++) suffixes.push(code.slice(start))
  return suffixes
}
