// Reads products from PostgreSQL and converts them into the documents of the index.
import { hash } from 'node:crypto'
import type { Kysely } from 'kysely'
import { toUnitPrice } from '../company/money.ts'
import type { Tables } from '../database/table-types.ts'
import type { ProductDocument } from '../search-engine/document-fields.ts'
import { listEnyePrefixes } from '../text/enye-words.ts'
import { listSkuForms, toFoldedCodeKey, toSkuKey } from '../text/sku-keys.ts'
import { listOtherNumbers, readText, toLookAlike, toSearchedText } from '../text/tokens.ts'

/** Words and codes are read from this much of a description. */
export const maxDescriptionLength = 1_000

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
      'popularity.step as popularity',
      'popularity.rank as quotedRank',
    ])
}

export type ProductRow = Awaited<ReturnType<ReturnType<typeof selectProducts>['execute']>>[number]

/** Returns the document without its content hash, which `toDocumentLine` adds. */
export function toDocument(row: ProductRow): ProductDocument {
  const name = readText(row.name)
  const words = name.words.map(({ text }) => text)
  const description = (row.description ?? '').slice(0, maxDescriptionLength).toWellFormed()
  const otherTexts = [row.sku, row.brand ?? '', description].map(readText)
  const codes = [name, ...otherTexts].flatMap((text) => text.codes.map((code) => code.text))
  const foldedSku = toFoldedCodeKey(row.sku)
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
    skuKeys: [...new Set([toSkuKey(row.sku), foldedSku])],
    skuForms: listSkuForms(foldedSku),
    lookAlike: toLookAlike(foldedSku),
    words: toSearchedText(row.name),
    otherWords: [...new Set([...name.otherWords, ...listOtherNumbers(words)])],
    brandWords: toSearchedText(row.brand ?? ''),
    categoryWords: toSearchedText(row.category ?? ''),
    skuWords: toSearchedText(row.sku),
    descriptionWords: toSearchedText(description),
    codes: [...new Set(codes)],
    enye: listEnyePrefixes(row.name),
    popularity: row.popularity ?? 0,
    nameWords: row.name.match(/[\p{L}\p{N}]+/gu)?.length ?? 0,
    quotedRank: row.quotedRank,
  }
}

/** A document as one line of NDJSON. Its field `contentHash` is a hash of all other fields. */
export type DocumentLine = { id: string; text: string }

/** Returns the document with its content hash as one line. */
export function toDocumentLine(document: ProductDocument): DocumentLine {
  const json = JSON.stringify(document)
  return { id: document.id, text: `${json.slice(0, -1)},"contentHash":"${hashJson(json)}"}\n` }
}

/** Returns 132 bits of the SHA-1 of a document without its content hash, in 22 characters. */
export const hashDocument = (document: ProductDocument) => hashJson(JSON.stringify(document))

const hashJson = (json: string) => hash('sha1', json, 'base64url').slice(0, 22)
