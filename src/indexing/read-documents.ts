// Reads products from PostgreSQL as the documents that go into the index.
import type { Kysely } from 'kysely'
import { toUnitPrice } from '../company/money.ts'
import type { Tables } from '../database/table-types.ts'
import type { ProductDocument } from '../search-engine/product-document.ts'
import { enyePrefixes } from '../text/enye-words.ts'
import { distantNumberForms } from '../text/plurals.ts'
import { codeKey, foldedCodeKey } from '../text/product-codes.ts'
import { sizeForms } from '../text/sizes.ts'

const longestCode = 40

function endings(key: string): string[] {
  const code = key.slice(0, longestCode)
  const found = code === '' ? [] : [code]
  for (let start = 1; start < code.length - 1; start++) found.push(code.slice(start))
  return found
}

/** Reads active products as they are now, as documents, by id. Ids without one (deleted, inactive) are absent. */
export async function readDocuments(db: Kysely<Tables>, ids: string[]): Promise<ProductDocument[]> {
  const rows = await documentRows(db).where('products.id', 'in', ids).execute()
  return rows.map(toDocument)
}

/** Reads up to `limit` active products with an id above `after`, in the order of their ids: the whole catalogue in pages. */
export async function readDocumentsAfter(
  db: Kysely<Tables>,
  after: string,
  limit: number,
): Promise<ProductDocument[]> {
  const rows = await documentRows(db)
    .where('products.id', '>', after)
    .orderBy('products.id')
    .limit(limit)
    .execute()
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
    price:
      row.price !== null && row.currency !== null ? toUnitPrice(row.price, row.currency) : null,
    hsCode: row.hs_code,
    originCountry: row.origin_country,
    skuKey,
    skuForms: endings(foldedCodeKey(row.sku)),
    sizes: sizeForms(row.name),
    otherNumbers: distantNumberForms(row.name),
    enye: enyePrefixes(row.name),
    popularity: row.step ?? 0,
    quotedRank: row.rank,
  }
}
