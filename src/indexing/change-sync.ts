// Keeps an index in step with PostgreSQL: pending rows in, the products as they are now out, and a row is done when the engine says so.
import { type Kysely, sql } from 'kysely'
import type { Index, Meilisearch } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import {
  deleteDocuments,
  type Line,
  payloads,
  putLines,
  type Refusal,
  toLine,
  type Uploaded,
} from './document-upload.ts'
import { type Lease, LeaseLost, requireLease } from './indexer-lease.ts'
import { readDocuments } from './read-documents.ts'

const batchSize = 20_000
const readSize = 2_500
const uploadSize = 10_000

/** An engine and where its pending rows are. Without a `lease` nobody else may be at work on it. */
export type SyncTarget = {
  db: Kysely<Tables>
  engine: Meilisearch
  indexName: string
  engineName: string
  lease?: Lease | undefined
}

/**
 * Makes the database keep pending rows for this engine. Must come before the first build: for a new engine it waits until every transaction that
 * began before it is over, since their changes may have queued nothing. `onWait` is told when there are such.
 */
export async function registerEngine(
  db: Kysely<Tables>,
  engineName: string,
  onWait: () => void = () => undefined,
): Promise<void> {
  const known = await db
    .selectFrom('search_engines')
    .select('name')
    .where('name', '=', engineName)
    .executeTakeFirst()
  if (known) return
  const { rows } = await sql<{ id: string }>`
    with registered as (insert into search_engines (name) values (${engineName}) on conflict do nothing)
    select pg_current_xact_id()::text as id
  `.execute(db)
  for (let isFirst = true; await hasOlderTransaction(db, rows[0]?.id ?? '0'); isFirst = false) {
    if (isFirst) onWait()
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

async function hasOlderTransaction(db: Kysely<Tables>, id: string): Promise<boolean> {
  const { rows } = await sql<{
    found: boolean
  }>`select has_older_transaction(${id}::xid8) as found`.execute(db)
  return rows[0]?.found ?? false
}

/**
 * Carries one batch of pending changes into the index and returns how many rows it settled. At least once and idempotent: the rows are deleted
 * only after the engine applied them, and exactly those that were read, so that a change committed meanwhile stays pending. A document that the
 * engine refuses is parked. An indexer that lost its place meanwhile queues again what it sent, and throws LeaseLost.
 * `alsoPendingFor`: an index in the making, under this name, for which the same products are queued. `most`: so many rows at most.
 */
export async function syncBatch(
  target: SyncTarget,
  { alsoPendingFor, most = batchSize }: { alsoPendingFor?: string; most?: number } = {},
): Promise<number> {
  const { db, engine, indexName, engineName } = target
  const { readAt } = await db
    .selectNoFrom(sql<Date>`clock_timestamp()`.as('readAt'))
    .executeTakeFirstOrThrow()
  const pending = await db
    .selectFrom('product_changes')
    .select(['id', 'product_id'])
    .where('engine', '=', engineName)
    .orderBy('id')
    .limit(most)
    .execute()
  // Null stands for a truncated table, which is a rebuild's work.
  const read = pending.filter(
    (row): row is { id: string; product_id: string } => row.product_id !== null,
  )
  if (read.length === 0) return 0

  const productIds = [...new Set(read.map((row) => row.product_id))]
  try {
    const { refused, lastTask } = await bringUpToDate(db, engine.index(indexName), productIds)
    await settle(target, {
      rows: read.map((row) => row.id),
      productIds,
      refused,
      lastTask,
      alsoPendingFor,
    })
    if (pending.length < most && read.length === pending.length)
      await noteIndexed(db, engineName, readAt)
  } catch (error) {
    if (await requeueIfPlaceLost(target, productIds)) throw new LeaseLost()
    throw error
  }
  return read.length
}

/** Whether products are pending for this engine. */
export async function hasChanges({ db, engineName }: SyncTarget): Promise<boolean> {
  const pending = db
    .selectFrom('product_changes')
    .select('id')
    .where('engine', '=', engineName)
    .where('product_id', 'is not', null)
  return (await pending.limit(1).executeTakeFirst()) !== undefined
}

/**
 * Puts these products as they are now, and takes out those that are gone or inactive. Large uploads: each costs the engine a good deal of its own,
 * more than it costs to read on before the first.
 */
async function bringUpToDate(
  db: Kysely<Tables>,
  index: Index,
  productIds: string[],
): Promise<Uploaded> {
  const work: Promise<Uploaded>[] = []
  const absent: string[] = []
  let lines: Line[] = []
  const start = (one: Promise<Uploaded>) => {
    one.catch(() => undefined) // it is thrown below; until then it must not count as unhandled
    work.push(one)
  }
  const upload = () => {
    for (const part of payloads(lines)) start(putLines(index, part))
    lines = []
  }
  for (let from = 0; from < productIds.length; from += readSize) {
    const ids = productIds.slice(from, from + readSize)
    const documents = await readDocuments(db, ids)
    const present = new Set(documents.map((document) => document.id))
    absent.push(...ids.filter((id) => !present.has(id)))
    for (const document of documents) lines.push(toLine(document))
    if (lines.length >= uploadSize) upload()
  }
  upload()
  start(deleteDocuments(index, absent).then((lastTask) => ({ refused: [], lastTask })))
  // All must be over before anything is decided: what is still on its way could be applied after a later batch.
  const results = await Promise.allSettled(work)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
  const done = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  return {
    refused: done.flatMap(({ refused }) => refused),
    lastTask: Math.max(...done.map(({ lastTask }) => lastTask)),
  }
}

type Settled = {
  rows: string[]
  productIds: string[]
  refused: Refusal[]
  lastTask: number
  alsoPendingFor: string | undefined
}

async function settle(
  { db, engineName, lease }: SyncTarget,
  { rows, productIds, refused, lastTask, alsoPendingFor }: Settled,
) {
  await db.transaction().execute(async (transaction) => {
    if (lease) await requireLease(transaction, lease)
    await sql`delete from product_changes where id = any(${rows}::bigint[])`.execute(transaction)
    if (alsoPendingFor !== undefined) await queueProducts(transaction, alsoPendingFor, productIds)
    await sql`delete from parked_documents where engine = ${engineName} and product_id = any(${productIds}::bigint[])`.execute(
      transaction,
    )
    await park(transaction, engineName, refused)
    await sql`update search_engines set last_task = greatest(last_task, ${lastTask}) where name = ${engineName}`.execute(
      transaction,
    )
  })
}

/** Queues these products for an engine, as a change of each would. */
export async function queueProducts(
  db: Kysely<Tables>,
  engineName: string,
  productIds: string[],
): Promise<void> {
  await sql`insert into product_changes (engine, product_id) select ${engineName}, unnest(${productIds}::bigint[])`.execute(
    db,
  )
}

/** Keeps what the engine refused, with the reason, until the product changes. */
export async function park(
  db: Kysely<Tables>,
  engineName: string,
  refused: Refusal[],
): Promise<void> {
  if (refused.length === 0) return
  await sql`
    insert into parked_documents (engine, product_id, reason)
    select ${engineName}, * from unnest(${refused.map(({ id }) => id)}::bigint[], ${refused.map(({ reason }) => reason)}::text[])
    on conflict (engine, product_id) do update set reason = excluded.reason, parked_at = excluded.parked_at
  `.execute(db)
}

async function noteIndexed(db: Kysely<Tables>, engineName: string, instant: Date): Promise<void> {
  await db
    .updateTable('search_engines')
    .set({ indexed_at: instant })
    .where('name', '=', engineName)
    .where((eb) => eb.or([eb('indexed_at', 'is', null), eb('indexed_at', '<', instant)]))
    .execute()
}

/** Notes the present instant when nothing is pending: what changes after a quiet time is late from then on, not since the last change. */
export async function noteQuiet({ db, engineName }: SyncTarget): Promise<void> {
  await sql`
    update search_engines e set indexed_at = greatest(indexed_at, now())
    where name = ${engineName} and indexed_at is not null and not exists (select from product_changes where engine = e.name)
  `.execute(db)
}

const attempts = 20

/**
 * Whether another indexer has taken over; then what was sent may have been applied after the other's newer documents, and is queued again: for the
 * live index, from which it reaches one in the making.
 * Asks for a while, as long as PostgreSQL does not answer.
 */
export async function requeueIfPlaceLost(
  { db, lease }: SyncTarget,
  productIds: string[],
): Promise<boolean> {
  if (!lease) return false
  for (let attempt = 1; ; attempt++) {
    try {
      const holder = await db
        .selectFrom('indexer_leases')
        .select('fence')
        .where('engine', '=', lease.engineName)
        .executeTakeFirst()
      const isLost = holder?.fence !== lease.fence
      if (isLost) await queueProducts(db, lease.engineName, productIds)
      return isLost
    } catch (error) {
      if (attempt === attempts) throw error
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  }
}
