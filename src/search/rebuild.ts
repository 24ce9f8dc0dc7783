// Builds the index afresh beside the live one and swaps them, so that search never pauses and changes go on reaching it.
import { type Kysely, sql } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Tables } from '../database/tables.ts'
import { nextIndexName } from './engine-keys.ts'
import { done, removeIndex, removeRemains } from './engine-tasks.ts'
import { type Filling, startFilling } from './filling.ts'
import { exampleDocument, indexExists, indexShape } from './index-state.ts'
import { requireLease } from './lease.ts'
import { indexSettings } from './product-index.ts'
import { hasChanges, type SyncTarget, syncBatch } from './sync.ts'
import { deleteDocuments, putLines, toLine } from './upload.ts'

const syncEveryMs = 100
/** A change may take 5 s. When so much of that is gone, what it waits for is taken back, whatever it is. */
const patienceMs = 3_000

type RebuildOptions = {
  /** A client that may create indexes and see every task. Default: the target's engine. */
  builder?: Meilisearch
  onProgress?: (documents: number) => void
  /** Called often; throws to give up. */
  check?: () => void
}

/**
 * Fills a new index from the catalogue, swaps it in, records up to which instant it is complete, and answers how many products it read. Changes
 * made meanwhile go into the live index as ever, and into the new one before it is swapped in. Throws, with the live index as it was, when the
 * engine refuses the whole; a single document that it refuses is parked.
 */
export async function rebuild(
  db: Kysely<Tables>,
  engine: Meilisearch,
  { builder = engine, onProgress, check = () => undefined, ...rest }: Omit<SyncTarget, 'db' | 'engine'> & RebuildOptions,
): Promise<number> {
  const live: SyncTarget = { ...rest, db, engine }
  // The new index has pending rows of its own: what is put into the live one meanwhile.
  const next: SyncTarget = { ...live, indexName: nextIndexName(live.indexName), engineName: `${live.engineName}~next` }
  const isReplacing = await indexExists(engine, live.indexName)
  const start = await begin(live, next.engineName, isReplacing)
  await removeRemains(engine, builder, next.indexName)
  await done(builder, builder.createIndex(next.indexName, { primaryKey: 'id' }))
  await done(builder, engine.index(next.indexName).updateSettings(indexSettings))

  const filling = startFilling(next, { observer: builder, check, onProgress: onProgress ?? (() => undefined) })
  try {
    while (isReplacing && !filling.isOver()) {
      check()
      if (await hasChanges(live)) await followMeanwhile(live, next.engineName, filling)
      else await Promise.race([filling.filled, pause(syncEveryMs)])
    }
  } catch (error) {
    filling.stop(error)
    await filling.filled.catch(() => undefined)
    throw error
  }
  const count = await filling.filled
  if (count === 0) await showFields(next)

  // What changed meanwhile, in parts that a change of the live index can wait for; the last few with that at rest, so that it gets nothing that
  // the new one lacks.
  for (let rounds = 0; (await syncBatch(next, { most: part })) > few && rounds < mostRounds; rounds++) {
    check()
    await syncBatch(live, { alsoPendingFor: next.engineName, most: part })
  }
  while ((await syncBatch(next)) > 0) check()

  const swap = engine.swapIndexes([{ indexes: [next.indexName, live.indexName], rename: !isReplacing }])
  const lastTask = await done(builder, swap)
  await finish(live, next.engineName, { ...start, lastTask })
  await removeIndex(engine, next.indexName)
  return count
}

/** Carries what changed into the live index. The new one gives way, for the engine does one thing after the other. */
async function followMeanwhile(live: SyncTarget, nextName: string, filling: Filling): Promise<void> {
  await filling.giveWay()
  const syncing = syncBatch(live, { alsoPendingFor: nextName })
  const hurry = setTimeout(() => void filling.giveWay(true).catch(() => undefined), patienceMs)
  await syncing.finally(() => clearTimeout(hurry))
}

/** An engine that never saw a field refuses every search in it by name, also where there is nothing to find. */
async function showFields({ engine, indexName }: SyncTarget): Promise<void> {
  const document = exampleDocument()
  await putLines(engine.index(indexName), [toLine(document)])
  await deleteDocuments(engine.index(indexName), [document.id])
}

/** So few changes are put in while the live index rests. */
const few = 500
const part = 5_000
/** Where changes come in faster than they are caught up with, the live index must rest in the end. */
const mostRounds = 100

type Start = { startedAt: Date; truncations: string[] }

/** Notes when the build begins and what it covers. Without a live index to follow, everything pending so far is covered by it. */
async function begin({ db, engineName, lease }: SyncTarget, nextName: string, isReplacing: boolean): Promise<Start> {
  return db.transaction().execute(async (transaction) => {
    if (lease) await requireLease(transaction, lease)
    const { startedAt } = await transaction.selectNoFrom(sql<Date>`clock_timestamp()`.as('startedAt')).executeTakeFirstOrThrow()
    await transaction.deleteFrom('product_changes').where('engine', '=', nextName).execute()
    await transaction.deleteFrom('parked_documents').where('engine', '=', nextName).execute()
    if (!isReplacing) {
      await transaction.deleteFrom('product_changes').where('engine', '=', engineName).execute()
      await transaction.updateTable('search_engines').set({ indexed_at: null }).where('name', '=', engineName).execute()
    }
    const truncations = await transaction
      .selectFrom('product_changes')
      .select('id')
      .where('engine', '=', engineName)
      .where('product_id', 'is', null)
      .execute()
    return { startedAt, truncations: truncations.map((row) => row.id) }
  })
}

async function finish(
  { db, engineName, lease }: SyncTarget,
  nextName: string,
  { startedAt, truncations, lastTask }: Start & { lastTask: number },
) {
  await db.transaction().execute(async (transaction) => {
    if (lease) await requireLease(transaction, lease)
    await sql`delete from product_changes where id = any(${truncations}::bigint[])`.execute(transaction)
    await transaction.deleteFrom('parked_documents').where('engine', '=', engineName).execute()
    await transaction.updateTable('parked_documents').set({ engine: engineName }).where('engine', '=', nextName).execute()
    await sql`
      update search_engines set shape = ${indexShape()}, version = version + 1, last_task = ${lastTask}, indexed_at = greatest(indexed_at, ${startedAt}),
        rebuild_asked_at = case when rebuild_asked_at > ${startedAt} then rebuild_asked_at end
      where name = ${engineName}
    `.execute(transaction)
  })
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
