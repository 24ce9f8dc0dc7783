// Applies one batch of changed products from the outbox to the index.
import { type Kysely, sql } from 'kysely'
import type { Index, Meilisearch } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import {
  type DocumentLine,
  deleteDocuments,
  splitIntoPayloads,
  toDocumentLine,
  type UploadResult,
  uploadLines,
} from './document-upload.ts'
import { recordIndexedAt } from './index-status.ts'
import { type Lease, LeaseLost, requireLease } from './indexer-lease.ts'
import {
  deleteOutboxRows,
  type OutboxRow,
  queueProducts,
  readOutboxRows,
  requeueIfLeaseLost,
} from './outbox.ts'
import { parkDocuments, unparkDocuments } from './parked-documents.ts'
import { readDocuments } from './product-to-document.ts'

const batchSize = 20_000
const readSize = 2_500
/** Each upload has a fixed cost in the engine: more than reading this many products costs. */
const uploadSize = 10_000

/** An index and the outbox that feeds it. Without a `lease` no other indexer may be running. */
export type SyncTarget = {
  db: Kysely<Tables>
  engine: Meilisearch
  indexName: string
  engineName: string
  lease?: Lease | undefined
}

export type BatchOptions = {
  /** Queues the same products for this engine name too: a rebuild follows the live index. */
  alsoQueueFor?: string
  /** The largest number of outbox rows in the batch. Default: 20,000. */
  limit?: number
}

/**
 * Applies one batch of outbox rows to the index and returns their number. Delivery is at least
 * once and idempotent: rows are deleted after the engine has applied them, and only the rows that
 * were read, so a change that is committed meanwhile stays pending. Parks rejected documents.
 * Throws LeaseLost, after queueing the products again, if another indexer has taken over.
 */
export async function syncBatch(
  target: SyncTarget,
  { alsoQueueFor, limit = batchSize }: BatchOptions = {},
): Promise<number> {
  const { db, engine, indexName, engineName, lease } = target
  const readAt = await readClock(db)
  const rows = await readOutboxRows(db, engineName, limit)
  const changes = rows.filter(isProductChange)
  if (changes.length === 0) return 0

  const productIds = [...new Set(changes.map(({ productId }) => productId))]
  try {
    const upload = await applyChanges(db, engine.index(indexName), productIds)
    const rowIds = changes.map(({ id }) => id)
    await recordBatch(target, { rowIds, productIds, upload, alsoQueueFor })
    const isComplete = rows.length < limit && changes.length === rows.length
    if (isComplete) await recordIndexedAt(db, engineName, readAt)
  } catch (error) {
    if (lease && (await requeueIfLeaseLost(db, lease, productIds))) throw new LeaseLost()
    throw error
  }
  return changes.length
}

async function readClock(db: Kysely<Tables>): Promise<Date> {
  const { now } = await db
    .selectNoFrom(sql<Date>`clock_timestamp()`.as('now'))
    .executeTakeFirstOrThrow()
  return now
}

const isProductChange = (row: OutboxRow): row is { id: string; productId: string } =>
  row.productId !== null

/** Uploads these products as they are now. Deletes documents of deleted and inactive products. */
async function applyChanges(
  db: Kysely<Tables>,
  index: Index,
  productIds: string[],
): Promise<UploadResult> {
  const requests: Promise<UploadResult>[] = []
  const absentIds: string[] = []
  let lines: DocumentLine[] = []
  const upload = () => {
    for (const payload of splitIntoPayloads(lines)) {
      const request = uploadLines(index, payload)
      request.catch(() => undefined) // awaitAll() throws the error
      requests.push(request)
    }
    lines = []
  }
  for (let from = 0; from < productIds.length; from += readSize) {
    const ids = productIds.slice(from, from + readSize)
    const documents = await readDocuments(db, ids)
    const presentIds = new Set(documents.map(({ id }) => id))
    absentIds.push(...ids.filter((id) => !presentIds.has(id)))
    for (const document of documents) lines.push(toDocumentLine(document))
    if (lines.length >= uploadSize) upload()
  }
  upload()
  const deletion = deleteDocuments(index, absentIds)
  requests.push(deletion.then((lastTask) => ({ rejected: [], lastTask })))
  return awaitAll(requests)
}

/**
 * Waits for all requests, even if one fails, and then throws its error: the engine could still
 * apply a pending request after a later batch.
 */
async function awaitAll(requests: Promise<UploadResult>[]): Promise<UploadResult> {
  const outcomes = await Promise.allSettled(requests)
  const failure = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failure) throw failure.reason
  const results = outcomes.flatMap((outcome) =>
    outcome.status === 'fulfilled' ? [outcome.value] : [],
  )
  return {
    rejected: results.flatMap(({ rejected }) => rejected),
    lastTask: Math.max(...results.map(({ lastTask }) => lastTask)),
  }
}

type AppliedBatch = {
  rowIds: string[]
  productIds: string[]
  upload: UploadResult
  alsoQueueFor: string | undefined
}

/** Deletes the processed outbox rows and parks rejected documents, only while the lease is held. */
async function recordBatch(
  { db, engineName, lease }: SyncTarget,
  { rowIds, productIds, upload, alsoQueueFor }: AppliedBatch,
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    if (lease) await requireLease(transaction, lease)
    await deleteOutboxRows(transaction, rowIds)
    if (alsoQueueFor !== undefined) await queueProducts(transaction, alsoQueueFor, productIds)
    await unparkDocuments(transaction, engineName, productIds)
    await parkDocuments(transaction, engineName, upload.rejected)
    await sql`
      update search_engines set last_task = greatest(last_task, ${upload.lastTask})
      where name = ${engineName}
    `.execute(transaction)
  })
}
