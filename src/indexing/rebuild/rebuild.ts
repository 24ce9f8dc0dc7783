// Builds the index afresh beside the live one and swaps them, so that search never pauses and changes go on reaching it.
import type { Kysely } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Tables } from '../../database/table-types.ts'
import { hasChanges, type SyncTarget, syncBatch } from '../change-sync.ts'
import { deleteDocuments, putLines, toLine } from '../document-upload.ts'
import { nextIndexName } from '../engine-keys.ts'
import { done, removeIndex, removeRemains } from '../engine-tasks.ts'
import { indexSettings } from '../index-settings.ts'
import { type Filling, startFilling } from './bulk-upload.ts'
import { exampleDocument, indexExists } from './rebuild-reason.ts'
import { begin, finish, forgetBuild, nextName } from './rebuild-record.ts'

const syncEveryMs = 100
/** A change may take 5 s. When so much of that is gone, what it waits for is taken back, whatever it is. */
const patienceMs = 3_000

type RebuildOptions = {
  /** A client that may create indexes and see every task. Default: the target's engine. */
  builder?: Meilisearch
  onProgress?: (documents: number) => void
  /** Called often; throws to give up. */
  check?: () => void
  /** How many of the changes made meanwhile are caught up with at a time, so that a change of the live index can wait for them. Default: 5,000. */
  part?: number
}

/**
 * Fills a new index from the catalogue, swaps it in, records up to which instant it is complete, and answers how many products it read. Changes
 * made meanwhile go into the live index as ever, and into the new one before it is swapped in. Throws, with the live index as it was, when the
 * engine refuses the whole; a single document that it refuses is parked.
 */
export async function rebuild(
  db: Kysely<Tables>,
  engine: Meilisearch,
  {
    builder = engine,
    onProgress = () => undefined,
    check = () => undefined,
    part = 5_000,
    ...rest
  }: Omit<SyncTarget, 'db' | 'engine'> & RebuildOptions,
): Promise<number> {
  const live: SyncTarget = { ...rest, db, engine }
  const next: SyncTarget = {
    ...live,
    indexName: nextIndexName(live.indexName),
    engineName: nextName(live),
  }
  try {
    return await build(live, next, { builder, onProgress, check, part })
  } catch (error) {
    // What cannot be forgotten now is forgotten when an indexer takes its turn.
    await forgetBuild(live).catch(() => undefined)
    throw error
  }
}

async function build(
  live: SyncTarget,
  next: SyncTarget,
  { builder, onProgress, check, part }: Required<RebuildOptions>,
): Promise<number> {
  const { engine } = live
  const isReplacing = await indexExists(engine, live.indexName)
  const start = await begin(live, isReplacing)
  await removeRemains(engine, builder, next.indexName)
  await done(builder, builder.createIndex(next.indexName, { primaryKey: 'id' }))
  await done(builder, engine.index(next.indexName).updateSettings(indexSettings))

  const filling = startFilling(next, { observer: builder, check, onProgress })
  try {
    while (isReplacing && !filling.isOver()) {
      check()
      if (await hasChanges(live)) await followMeanwhile(live, filling)
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
  for (
    let rounds = 0;
    (await syncBatch(next, { most: part })) > few(part) && rounds < mostRounds;
    rounds++
  ) {
    check()
    await syncBatch(live, { alsoPendingFor: next.engineName, most: part })
  }
  while ((await syncBatch(next)) > 0) check()

  const swap = engine.swapIndexes([
    { indexes: [next.indexName, live.indexName], rename: !isReplacing },
  ])
  const lastTask = await done(builder, swap)
  await finish(live, { ...start, lastTask })
  await removeIndex(engine, next.indexName)
  return count
}

/** Carries what changed into the live index. The new one gives way, for the engine does one thing after the other. */
async function followMeanwhile(live: SyncTarget, filling: Filling): Promise<void> {
  await filling.giveWay()
  const syncing = syncBatch(live, { alsoPendingFor: nextName(live) })
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
const few = (part: number) => part / 10
/** Where changes come in faster than they are caught up with, the live index must rest in the end. */
const mostRounds = 100

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
