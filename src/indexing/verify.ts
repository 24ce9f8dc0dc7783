// Compares an index with the catalogue, document by document, and queues differences for repair.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Index } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import { hashDocument, readDocuments } from './documents.ts'
import { indexExists } from './engine.ts'
import { queueProducts } from './outbox.ts'
import type { IndexAddress } from './registration.ts'
import { bisectWrite } from './upload.ts'

// The index and the catalogue cannot be read at the same instant.
const driftRecheckPauseMs = 400
/** A document must differ in this many comparisons, for the same reason. */
const comparisons = 3
const pageSize = 1_000

/** The ids of the documents that differ from the catalogue. */
type IndexDrift = {
  /** Products without a document. */
  missing: string[]
  /** Documents whose contents differ from their product. */
  stale: string[]
  /** Documents without an active product. */
  extra: string[]
}
type DriftKind = keyof IndexDrift

type VerifyOptions = {
  /** Called after each page of products with the number of products compared so far. */
  onProgress?: (productCount: number) => void
  /** Called for each page, in every phase. Throws to stop the comparison. */
  throwIfStopped?: () => void
}

/**
 * Compares ids and content hashes in pages and returns the number of products and the drift.
 * Compares differing documents again, and ignores pending changes. Throws if the index does not
 * exist or the engine is unreachable.
 */
export async function verifyIndex(
  address: IndexAddress,
  { onProgress = () => undefined, throwIfStopped = () => undefined }: VerifyOptions = {},
): Promise<IndexDrift & { products: number }> {
  const { db, client, indexName } = address
  if (!(await indexExists(client, indexName)))
    throw new Error(`The index ${indexName} does not exist. Build it first.`)
  let products = 0
  let found = new Map<string, DriftKind>()
  const compare = async (ids: string[]) => {
    throwIfStopped()
    for (const [id, kind] of await comparePage(address, ids)) found.set(id, kind)
  }
  for (let ids = await readProductIds(db, '0'); ids.length > 0; ) {
    await compare(ids)
    products += ids.length
    onProgress(products)
    ids = await readProductIds(db, ids.at(-1) ?? '')
  }
  for (let offset = 0; ; offset += pageSize) {
    const ids = await readDocumentIds(client.index(indexName), offset)
    if (ids.length === 0) break
    await compare(await selectExtraIds(db, ids))
  }
  for (let comparison = 2; comparison <= comparisons && found.size > 0; comparison++) {
    await sleep(driftRecheckPauseMs)
    const ids = [...found.keys()]
    found = new Map()
    for (let from = 0; from < ids.length; from += pageSize)
      await compare(ids.slice(from, from + pageSize))
  }
  const listIds = (kind: DriftKind) => [...found.keys()].filter((id) => found.get(id) === kind)
  return { products, missing: listIds('missing'), stale: listIds('stale'), extra: listIds('extra') }
}

/**
 * Queues the products that differ. Deletes documents that no change of a product can delete, so the
 * key of the client must allow `documents.delete`.
 */
export async function queueRepair(
  { db, client, indexName, registrationName }: IndexAddress,
  drift: IndexDrift,
): Promise<void> {
  // No change of a product can remove a document whose id is not the id of a product.
  const foreignIds = drift.extra.filter((id) => !isProductId(id))
  if (foreignIds.length > 0) await bisectWrite(client.index(indexName), { ids: foreignIds })
  await queueProducts(db, registrationName, listDriftIds(drift).filter(isProductId))
}

export function listDriftIds({ missing, stale, extra }: IndexDrift): string[] {
  return [...missing, ...stale, ...extra]
}

/** Returns the ids of the next page of active products. */
async function readProductIds(db: Kysely<Tables>, afterId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('products')
    .select('id')
    .where('active', '=', true)
    .where('id', '>', afterId)
    .orderBy('id')
    .limit(pageSize)
    .execute()
  return rows.map(({ id }) => id)
}

async function readDocumentIds(index: Index, offset: number): Promise<string[]> {
  const page = { fields: ['id' as const], limit: pageSize, offset }
  return (await index.getDocuments<{ id: string }>(page)).results.map(({ id }) => id)
}

/** Returns those of these ids that no active product has. */
async function selectExtraIds(db: Kysely<Tables>, ids: string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from products where active and id = any(${ids.filter(isProductId)}::bigint[])
  `.execute(db)
  const activeIds = new Set(rows.map(({ id }) => id))
  return ids.filter((id) => !activeIds.has(id))
}

/** Returns which of these documents differ, and how, except those of products with changes. */
async function comparePage(
  { db, client, indexName, registrationName }: IndexAddress,
  ids: string[],
): Promise<[id: string, DriftKind][]> {
  if (ids.length === 0) return []
  const { results } = await client
    .index(indexName)
    .getDocuments<{ id: string; contentHash?: string }>({
      ids,
      fields: ['id', 'contentHash'],
      limit: ids.length,
    })
  // A document of another program has no hash.
  const indexed = new Map(results.map(({ id, contentHash = '' }) => [id, contentHash]))
  const productIds = ids.filter(isProductId)
  const documents = productIds.length > 0 ? await readDocuments(db, productIds) : []
  const expected = new Map(documents.map((document) => [document.id, hashDocument(document)]))
  const differing = ids.filter((id) => indexed.get(id) !== expected.get(id))
  const { rows } = await sql<{ id: string }>`
    select product_id as id from index_outbox
    where registration_name = ${registrationName}
      and product_id = any(${differing.filter(isProductId)}::bigint[])
  `.execute(db)
  const pendingIds = new Set(rows.map(({ id }) => id))
  const kindOf = (id: string) => {
    if (!indexed.has(id)) return 'missing'
    return expected.has(id) ? 'stale' : 'extra'
  }
  return differing.filter((id) => !pendingIds.has(id)).map((id) => [id, kindOf(id)])
}

/** In the form in which PostgreSQL writes it: '007' is the id of no product. */
const isProductId = (id: string) => /^(0|[1-9]\d{0,17})$/.test(id)
