// Compares an index with the catalogue, document by document, and mends it by queueing what differs.
import { type Kysely, sql } from 'kysely'
import { type Index, type Meilisearch, MeilisearchApiError } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import { contentHash } from './document-upload.ts'
import { readDocuments, readDocumentsAfter } from './read-documents.ts'

/** Ids of products that are not in the index, of those that are in it with other contents, and of documents without an active product. */
export type Drift = { missing: string[]; stale: string[]; extra: string[] }

type Options = {
  db: Kysely<Tables>
  engine: Meilisearch
  indexName: string
  engineName: string
  onProgress?: (documents: number) => void
}

const pageSize = 1_000

/**
 * Compares by id and content hash, in pages. What changes meanwhile is looked at again, and a difference that is pending is none: it is on its
 * way. Answers how many products there are and what differs. Throws when the index is absent or does not answer.
 */
export async function verify({
  db,
  engine,
  indexName,
  engineName,
  onProgress,
}: Options): Promise<Drift & { products: number }> {
  const index = engine.index(indexName)
  const suspects = new Set<string>()
  let products = 0
  for (let after = '0'; ; ) {
    const documents = await readDocumentsAfter(db, after, pageSize)
    const last = documents.at(-1)
    if (!last) break
    after = last.id
    products += documents.length
    const indexed = await readHashes(
      index,
      documents.map((document) => document.id),
    )
    for (const document of documents)
      if (indexed.get(document.id) !== contentHash(JSON.stringify(document)))
        suspects.add(document.id)
    onProgress?.(products)
  }
  for (let offset = 0; ; offset += pageSize) {
    const { results } = await index.getDocuments<{ id: string }>({
      fields: ['id'],
      limit: pageSize,
      offset,
    })
    if (results.length === 0) break
    const ids = results.map(({ id }) => id)
    const active = await sql<{
      id: string
    }>`select id from products where active and id = any(${whole(ids)}::bigint[])`.execute(db)
    const known = new Set(active.rows.map((row) => row.id))
    for (const id of ids) if (!known.has(id)) suspects.add(id)
  }
  return { products, ...(await drifted(db, index, engineName, [...suspects])) }
}

/** Queues what differs, so that the indexer mends it. Answers how many products that is. */
export async function queueRepair(
  db: Kysely<Tables>,
  engine: Meilisearch,
  target: { indexName: string; engineName: string },
  drift: Drift,
) {
  const ids = [...drift.missing, ...drift.stale, ...drift.extra]
  // A document whose id can be no product's was put there by hand: nobody's change will ever remove it.
  const foreign = drift.extra.filter((id) => whole([id]).length === 0)
  if (foreign.length > 0) await engine.index(target.indexName).deleteDocuments(foreign).waitTask()
  await sql`insert into product_changes (engine, product_id) select ${target.engineName}, unnest(${whole(ids)}::bigint[])`.execute(
    db,
  )
  return ids.length
}

/** So often a suspect must be found different before it counts: the index and the catalogue cannot be read at one instant. */
const looks = 3
const lookEveryMs = 400

async function drifted(
  db: Kysely<Tables>,
  index: Index,
  engineName: string,
  suspects: string[],
): Promise<Drift> {
  let drift: Drift = { missing: [], stale: [], extra: [] }
  let ids = suspects
  for (let look = 1; look <= looks && ids.length > 0; look++) {
    drift = { missing: [], stale: [], extra: [] }
    for (let start = 0; start < ids.length; start += pageSize) {
      const page = ids.slice(start, start + pageSize)
      const indexed = await readHashes(index, page)
      const documents = await readDocuments(db, whole(page).length > 0 ? whole(page) : ['0'])
      const expected = new Map(
        documents.map((document) => [document.id, contentHash(JSON.stringify(document))]),
      )
      const { rows } = await sql<{ id: string }>`
        select product_id as id from product_changes where engine = ${engineName} and product_id = any(${whole(page)}::bigint[])
      `.execute(db)
      const pending = new Set(rows.map((row) => row.id))
      for (const id of page) {
        const [is, shouldBe] = [indexed.get(id), expected.get(id)]
        if (is === shouldBe || pending.has(id)) continue
        drift[is === undefined ? 'missing' : shouldBe === undefined ? 'extra' : 'stale'].push(id)
      }
    }
    ids = [...drift.missing, ...drift.stale, ...drift.extra]
    if (look < looks && ids.length > 0)
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
  }
  return drift
}

/** Content hashes of those of the documents that are there; an empty one for a document that has none. */
async function readHashes(index: Index, ids: string[]): Promise<Map<string, string>> {
  try {
    const { results } = await index.getDocuments<{ id: string; contentHash?: string }>({
      ids,
      fields: ['id', 'contentHash'],
      limit: ids.length,
    })
    return new Map(results.map((document) => [document.id, document.contentHash ?? '']))
  } catch (error) {
    if (error instanceof MeilisearchApiError && error.cause?.code === 'index_not_found')
      throw new Error(`There is no index ${index.uid} to compare with: build it first.`, {
        cause: error,
      })
    throw error
  }
}

const whole = (ids: string[]) => ids.filter((id) => /^\d{1,18}$/.test(id))
