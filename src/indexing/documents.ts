// Reads products from PostgreSQL and converts them into the documents of the index.
import { hash } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import {
  namesWithCodes,
  type ProductRow,
  type SearchedName,
  searchedNames,
  shownColumns,
  toProduct,
} from '../products/fields.ts'
import {
  type ProductDocument,
  toWordsAttribute,
  type WordsAttribute,
} from '../search-engine/document-fields.ts'
import { listSkuForms, toFoldedCodeKey, toSkuKey } from '../text/sku-keys.ts'
import { listOtherNumbers, readText, toLookAlike, toSearchedText } from '../text/tokens.ts'

/** Words and codes are read from this much of a value. Only descriptions are longer. */
const maxSearchedLength = 1_000

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
    .select([...shownColumns, 'popularity.step as popularity', 'popularity.rank as quotedRank'])
}

export type IndexedRow = ProductRow & { popularity: number | null; quotedRank: number | null }

/** Returns the document without its content hash, which `toDocumentLine` adds. */
export function toDocument(row: IndexedRow): ProductDocument {
  const product = toProduct(row)
  const text = (name: SearchedName) =>
    (product[name] ?? '').slice(0, maxSearchedLength).toWellFormed()
  const name = readText(row.name)
  const words = name.words.map(({ text }) => text)
  const codes = namesWithCodes.flatMap((each) => readText(text(each)).codes)
  const foldedSku = toFoldedCodeKey(row.sku)
  const searched = searchedNames.map((each) => [toWordsAttribute(each), toSearchedText(text(each))])
  return {
    ...product,
    ...(Object.fromEntries(searched) as Record<WordsAttribute, string>),
    skuKeys: [...new Set([toSkuKey(row.sku), foldedSku])],
    skuForms: listSkuForms(foldedSku),
    lookAlike: toLookAlike(foldedSku),
    otherWords: [...new Set([...name.otherWords, ...listOtherNumbers(words)])],
    codes: [...new Set(codes.map((code) => code.text))],
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
