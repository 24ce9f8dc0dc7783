// Builds the index afresh beside the live one and swaps them, so that search never pauses and changes go on reaching it.
import { type Kysely, sql } from 'kysely'
import { type EnqueuedTask, type Meilisearch, MeilisearchApiError } from 'meilisearch'
import type { Tables } from '../database/tables.ts'
import { nextIndexName } from './engine-keys.ts'
import { exampleDocument, indexExists, indexShape } from './index-state.ts'
import { requireLease } from './lease.ts'
import { indexSettings, readDocumentsAfter } from './product-index.ts'
import { park, requeueIfPlaceLost, type SyncTarget, syncBatch } from './sync.ts'
import { deleteDocuments, type Line, maxPayloadBytes, putLines, requireSuccess, toLine } from './upload.ts'

const taskWait = { timeout: 600_000, interval: 20 }
const syncEveryMs = 100

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
  await removeIndex(engine, next.indexName)
  await done(builder, builder.createIndex(next.indexName, { primaryKey: 'id' }))
  await done(builder, engine.index(next.indexName).updateSettings(indexSettings))

  const alive = new AbortController()
  const giveUp = () => {
    alive.signal.throwIfAborted()
    check()
  }
  let changedAt = Number.NEGATIVE_INFINITY
  const pace = () => (!isReplacing ? paces.alone : performance.now() - changedAt > calmAfterMs ? paces.calm : paces.busy)
  const filling = fill(next, { pace, check: giveUp, onProgress: onProgress ?? (() => undefined) })
  let isFilling = true
  const filled = filling.finally(() => {
    isFilling = false
  })
  filled.catch(() => undefined)
  try {
    while (isFilling && isReplacing) {
      check()
      if ((await syncBatch(live, next.engineName)) > 0) changedAt = performance.now()
      else await Promise.race([filled, pause(syncEveryMs)])
    }
  } catch (error) {
    alive.abort(error)
    await filled.catch(() => undefined)
    throw error
  }
  const count = await filled
  if (count === 0) await showFields(next)

  // The last few are caught up with the live index at rest, so that nothing is put into it that the new one lacks.
  for (let rounds = 0; (await syncBatch(next)) > few && rounds < 10; rounds++) {
    check()
    await syncBatch(live, next.engineName)
  }
  while ((await syncBatch(next)) > 0) check()

  const swap = engine.swapIndexes([{ indexes: [next.indexName, live.indexName], rename: !isReplacing }])
  const lastTask = await done(builder, swap)
  await finish(live, next.engineName, { ...start, lastTask })
  await removeIndex(engine, next.indexName)
  return count
}

/** An engine that never saw a field refuses every search in it by name, also where there is nothing to find. */
async function showFields({ engine, indexName }: SyncTarget): Promise<void> {
  const document = exampleDocument()
  await putLines(engine.index(indexName), [toLine(document)])
  await deleteDocuments(engine.index(indexName), [document.id])
}

/** So few changes are put in while the live index rests. */
const few = 500

/** Removes an index, if it is there. */
export async function removeIndex(engine: Meilisearch, indexName: string): Promise<void> {
  try {
    await done(engine, engine.deleteIndex(indexName))
  } catch (error) {
    const isAbsent = error instanceof TaskFailed ? error.code === 'index_not_found' : isNotFound(error)
    if (!isAbsent) throw error
  }
}

const isNotFound = (error: unknown) => error instanceof MeilisearchApiError && error.response.status === 404

class TaskFailed extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** Waits until the task has succeeded and answers its number. `observer` is a client that may see it. */
async function done(observer: Meilisearch, enqueued: Promise<EnqueuedTask>): Promise<number> {
  const task = await observer.tasks.waitForTask(await enqueued, taskWait)
  if (task.error) throw new TaskFailed(task.error.code, `Meilisearch: task ${task.status}: ${task.error.message}`)
  requireSuccess(task)
  return task.uid
}

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

/** How the uploads are cut: a change of the live index waits in the engine's queue for those before it, and large ones go faster. */
type Pace = { uploadsAtOnce: number; most: number; aimMs: number }

const paces = {
  /** There is no live index: nothing waits. */
  alone: { uploadsAtOnce: 2, most: 20_000, aimMs: Number.POSITIVE_INFINITY },
  calm: { uploadsAtOnce: 2, most: 10_000, aimMs: Number.POSITIVE_INFINITY },
  /** Changes are coming in: each waits for one upload at most, and that is cut to take about so long. */
  busy: { uploadsAtOnce: 1, most: 20_000, aimMs: 2_500 },
} satisfies Record<string, Pace>

const calmAfterMs = 10_000
const fewest = 2_500

type FillOptions = { pace: () => Pace; check: () => void; onProgress: (documents: number) => void }

/** Streams the catalogue into the new index, the next upload being read while the engine works on the one before. */
async function fill(next: SyncTarget, { pace, check, onProgress }: FillOptions): Promise<number> {
  const index = next.engine.index(next.indexName)
  let perSecond = 2_000 // documents that the engine takes, a guess to begin with
  let count = 0
  const uploads: Promise<void>[] = []
  const size = () => {
    if (uploads.length === 0 && count === 0) return fewest // so that the engine has something to do
    return Math.round(Math.min(pace().most, Math.max(fewest, (perSecond * pace().aimMs) / 1_000)))
  }

  async function upload(lines: Line[]): Promise<void> {
    const startedAt = performance.now()
    try {
      const { refused } = await putLines(index, lines)
      await park(next.db, next.engineName, refused)
    } catch (error) {
      const ids = lines.map((line) => line.id)
      await requeueIfPlaceLost({ ...next, engineName: next.lease?.engineName ?? next.engineName }, ids)
      throw error
    }
    perSecond = (lines.length / (performance.now() - startedAt)) * 1_000
    count += lines.length
    onProgress(count)
  }

  const parts = catalogue(next.db, size)
  try {
    for (let reading = parts.next(); ; ) {
      const { value: lines, done } = await reading
      if (done) break
      reading = parts.next()
      reading.catch(() => undefined)
      while (uploads.length >= pace().uploadsAtOnce) await uploads.shift()
      check()
      const one = upload(lines)
      one.catch(() => undefined)
      uploads.push(one)
    }
  } finally {
    // All must be over before a failure is told: an upload under way would meet the next attempt.
    await Promise.allSettled(uploads)
  }
  await Promise.all(uploads)
  return count
}

const pageSize = 5_000

/** The whole catalogue in the order of ids, in parts of about `size()` lines and at most one payload's bytes. */
async function* catalogue(db: Kysely<Tables>, size: () => number): AsyncGenerator<Line[], undefined> {
  let part: Line[] = []
  let bytes = 0
  for (let after = '0'; ; ) {
    const documents = await readDocumentsAfter(db, after, Math.min(pageSize, size()))
    const last = documents.at(-1)
    if (!last) break
    after = last.id
    for (const line of documents.map(toLine)) {
      const length = Buffer.byteLength(line.text)
      if (part.length > 0 && bytes + length > maxPayloadBytes) {
        yield part
        part = []
        bytes = 0
      }
      part.push(line)
      bytes += length
    }
    if (part.length >= size()) {
      yield part
      part = []
      bytes = 0
    }
  }
  if (part.length > 0) yield part
  return undefined
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
