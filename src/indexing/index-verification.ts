// Compares an index with the catalogue, document by document, and queues differences for repair.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Index } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import type { ProductDocument } from '../search-engine/document-fields.ts'
import { deleteDocuments, hashDocument } from './documents/document-upload.ts'
import { readDocuments, readDocumentsAfter } from './documents/product-to-document.ts'
import { indexExists } from './engine/engine-tasks.ts'
import type { IndexAddress } from './index-address.ts'
import { queueProducts } from './outbox.ts'
import { preventUnhandledRejection } from './scheduling/prevent-unhandled-rejection.ts'

// The index and the catalogue cannot be read at the same instant.
const driftRecheckPauseMs = 400

/** The ids of the documents that differ from the catalogue. */
type IndexDrift = {
  /** Products without a document. */
  missing: string[]
  /** Documents whose contents differ from their product. */
  stale: string[]
  /** Documents without an active product. */
  extra: string[]
}

const createEmptyDrift = (): IndexDrift => ({ missing: [], stale: [], extra: [] })

type VerifyOptions = {
  /** Called after each page of products with the number of products compared so far. */
  onProgress?: (productCount: number) => void
  /**
   * Called after each page of products and after every ten pages of documents, and awaited. It may
   * remove at most `limit` documents from the index, and returns how many it may have removed.
   */
  applyPendingChanges?: (limit: number) => Promise<number>
  /** Called for each page, in every phase. Throws to stop the comparison. */
  throwIfStopped?: () => void
}

const pageSize = 1_000
/** After this many pages of documents the index may change. */
const pagesBetweenChanges = 10
/** Half of the documents read between two changes: see findExtraDocuments(). */
const maxRemovedDocuments = (pageSize * pagesBetweenChanges) / 2

/**
 * Compares ids and content hashes in pages and returns the number of products and the drift.
 * Compares differing documents again, and ignores pending changes. Throws if the index does not
 * exist or the engine is unreachable.
 */
export async function verifyIndex(
  { db, client, indexName, registrationName }: IndexAddress,
  {
    onProgress = () => undefined,
    applyPendingChanges = async () => 0,
    throwIfStopped = () => undefined,
  }: VerifyOptions = {},
): Promise<IndexDrift & { products: number }> {
  if (!(await indexExists(client, indexName)))
    throw new Error(`The index ${indexName} does not exist. Build it first.`)
  const index = client.index(indexName)
  const suspectIds = new Set<string>()
  await findExtraDocuments(db, index, suspectIds, { throwIfStopped, applyPendingChanges })
  const products = await compareProducts(db, index, suspectIds, async (productCount) => {
    throwIfStopped()
    onProgress(productCount)
    await applyPendingChanges(maxRemovedDocuments)
  })
  const drift = await confirmDrift([...suspectIds], (ids) => {
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
  await deleteDocuments(client.index(indexName), foreignIds)
  await queueProducts(db, registrationName, listDriftIds(drift).filter(isProductId))
}

export function listDriftIds({ missing, stale, extra }: IndexDrift): string[] {
  return [...missing, ...stale, ...extra]
}

/**
 * Adds products whose document is missing or stale to `suspectIds`. Returns the number of products
 * read.
 */
async function compareProducts(
  db: Kysely<Tables>,
  index: Index,
  suspectIds: Set<string>,
  onPage: (productCount: number) => Promise<void>,
): Promise<number> {
  let productCount = 0
  for await (const documents of readPagesAhead(db)) {
    productCount += documents.length
    const ids = documents.map(({ id }) => id)
    const indexedHashes = await readHashes(index, ids)
    for (const document of documents) {
      if (indexedHashes.get(document.id) !== hashDocument(document)) suspectIds.add(document.id)
    }
    await onPage(productCount)
  }
  return productCount
}

/**
 * Reads the documents of all active products in pages. PostgreSQL reads the next page while
 * this one is used.
 */
async function* readPagesAhead(db: Kysely<Tables>): AsyncGenerator<ProductDocument[], void> {
  let documents = await readDocumentsAfter(db, '0', pageSize)
  for (let last = documents.at(-1); last; last = documents.at(-1)) {
    const nextPage = preventUnhandledRejection(readDocumentsAfter(db, last.id, pageSize))
    yield documents
    documents = await nextPage
  }
}

/**
 * Adds documents without an active product to `suspectIds`. The engine lists documents in a fixed
 * order. Each removed document moves the later ones forward by one. The offset therefore goes back
 * by the number that may have been removed. That number must be smaller than what was read, or the
 * loop never ends.
 */
async function findExtraDocuments(
  db: Kysely<Tables>,
  index: Index,
  suspectIds: Set<string>,
  {
    throwIfStopped,
    applyPendingChanges,
  }: Required<Pick<VerifyOptions, 'throwIfStopped' | 'applyPendingChanges'>>,
): Promise<void> {
  let offset = 0
  for (let page = 1; ; page++) {
    throwIfStopped()
    const { results } = await index.getDocuments<{ id: string }>({
      fields: ['id'],
      limit: pageSize,
      offset,
    })
    if (results.length === 0) return
    const ids = results.map(({ id }) => id)
    const { rows } = await sql<{ id: string }>`
      select id from products where active and id = any(${ids.filter(isProductId)}::bigint[])
    `.execute(db)
    const activeIds = new Set(rows.map((row) => row.id))
    for (const id of ids) if (!activeIds.has(id)) suspectIds.add(id)
    offset += pageSize
    if (page % pagesBetweenChanges === 0) offset -= await applyPendingChanges(maxRemovedDocuments)
  }
}

/**
 * A document must differ in this many comparisons, because the product and the document cannot be
 * read at the same instant.
 */
const comparisons = 3

/**
 * Compares the suspects repeatedly and returns those that differ every time. `comparePage` returns
 * those of one page that differ.
 */
async function confirmDrift(
  suspectIds: string[],
  comparePage: (ids: string[]) => Promise<IndexDrift>,
): Promise<IndexDrift> {
  let drift = createEmptyDrift()
  let ids = suspectIds
  for (let comparison = 1; comparison <= comparisons && ids.length > 0; comparison++) {
    if (comparison > 1) await sleep(driftRecheckPauseMs)
    drift = createEmptyDrift()
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
  const drift = createEmptyDrift()
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
