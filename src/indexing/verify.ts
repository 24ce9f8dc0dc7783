// Compares an index with the catalogue, document by document, and queues differences for repair.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Index } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import { hashDocument, readDocuments, readDocumentsAfter } from './documents.ts'
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
  { db, client, indexName, registrationName }: IndexAddress,
  { onProgress = () => undefined, throwIfStopped = () => undefined }: VerifyOptions = {},
): Promise<IndexDrift & { products: number }> {
  if (!(await indexExists(client, indexName)))
    throw new Error(`The index ${indexName} does not exist. Build it first.`)
  const index = client.index(indexName)
  const suspectIds = await findExtraDocuments(db, index, throwIfStopped)
  let products = 0
  let documents = await readDocumentsAfter(db, '0', pageSize)
  for (let last = documents.at(-1); last; last = documents.at(-1)) {
    const hashes = await readHashes(
      index,
      documents.map(({ id }) => id),
    )
    for (const document of documents)
      if (hashes.get(document.id) !== hashDocument(document)) suspectIds.push(document.id)
    products += documents.length
    onProgress(products)
    throwIfStopped()
    documents = await readDocumentsAfter(db, last.id, pageSize)
  }
  const drift = await confirmDrift([...new Set(suspectIds)], (ids) => {
    throwIfStopped()
    return compareSuspects(db, index, registrationName, ids)
  })
  return { products, ...drift }
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

/** Returns the ids of documents without an active product. */
async function findExtraDocuments(
  db: Kysely<Tables>,
  index: Index,
  throwIfStopped: () => void,
): Promise<string[]> {
  const extraIds: string[] = []
  for (let offset = 0; ; offset += pageSize) {
    throwIfStopped()
    const { results } = await index.getDocuments<{ id: string }>({
      fields: ['id'],
      limit: pageSize,
      offset,
    })
    if (results.length === 0) return extraIds
    const ids = results.map(({ id }) => id)
    const { rows } = await sql<{ id: string }>`
      select id from products where active and id = any(${ids.filter(isProductId)}::bigint[])
    `.execute(db)
    const activeIds = new Set(rows.map((row) => row.id))
    extraIds.push(...ids.filter((id) => !activeIds.has(id)))
  }
}

/**
 * Compares the suspects repeatedly and returns those that differ every time. `comparePage` returns
 * those of one page that differ.
 */
async function confirmDrift(
  suspectIds: string[],
  comparePage: (ids: string[]) => Promise<IndexDrift>,
): Promise<IndexDrift> {
  let drift: IndexDrift = { missing: [], stale: [], extra: [] }
  let ids = suspectIds
  for (let comparison = 1; comparison <= comparisons && ids.length > 0; comparison++) {
    if (comparison > 1) await sleep(driftRecheckPauseMs)
    drift = { missing: [], stale: [], extra: [] }
    for (let start = 0; start < ids.length; start += pageSize) {
      const found = await comparePage(ids.slice(start, start + pageSize))
      drift.missing.push(...found.missing)
      drift.stale.push(...found.stale)
      drift.extra.push(...found.extra)
    }
    ids = listDriftIds(drift)
  }
  return drift
}

/** Returns the suspects that still differ, except products with pending changes. */
async function compareSuspects(
  db: Kysely<Tables>,
  index: Index,
  registrationName: string,
  ids: string[],
): Promise<IndexDrift> {
  const indexedHashes = await readHashes(index, ids)
  const productIds = ids.filter(isProductId)
  const documents = productIds.length > 0 ? await readDocuments(db, productIds) : []
  const expectedHashes = new Map(documents.map((document) => [document.id, hashDocument(document)]))
  const { rows } = await sql<{ id: string }>`
    select product_id as id from index_outbox
    where registration_name = ${registrationName} and product_id = any(${productIds}::bigint[])
  `.execute(db)
  const pendingIds = new Set(rows.map((row) => row.id))
  const drift: IndexDrift = { missing: [], stale: [], extra: [] }
  for (const id of ids) {
    const [indexed, expected] = [indexedHashes.get(id), expectedHashes.get(id)]
    if (indexed === expected || pendingIds.has(id)) continue
    if (indexed === undefined) drift.missing.push(id)
    else if (expected === undefined) drift.extra.push(id)
    else drift.stale.push(id)
  }
  return drift
}

/** Returns the content hashes of existing documents by id; '' for a document without a hash. */
async function readHashes(index: Index, ids: string[]): Promise<Map<string, string>> {
  const { results } = await index.getDocuments<{ id: string; contentHash?: string }>({
    ids,
    fields: ['id', 'contentHash'],
    limit: ids.length,
  })
  return new Map(results.map((document) => [document.id, document.contentHash ?? '']))
}

/** In the form in which PostgreSQL writes it: '007' is the id of no product. */
const isProductId = (id: string) => /^(0|[1-9]\d{0,17})$/.test(id)
