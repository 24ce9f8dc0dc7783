// The indexer: takes its turn at an engine, builds the index when it is not what it should be, and carries every change into it.
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import { causeOf } from '../monitoring/error-cause.ts'
import { noteQuiet, registerEngine, type SyncTarget, syncBatch } from './change-sync.ts'
import { ensureEngineKeys, nextIndexName, replaceIndexerKeys } from './engine-keys.ts'
import { removeIndex, removeRemains } from './engine-tasks.ts'
import { keepLease, type Lease, LeaseLost, releaseLease, takeLease } from './indexer-lease.ts'
import { refreshPopularity } from './popularity.ts'
import { rebuild } from './rebuild/rebuild.ts'
import {
  hasRightCount,
  indexShape,
  readIndexState,
  reasonToRebuild,
} from './rebuild/rebuild-reason.ts'
import { forgetBuild } from './rebuild/rebuild-record.ts'

export type IndexerOptions = {
  db: Kysely<Tables>
  /** Opens the engine with a key. */
  openEngine: (key: string) => Meilisearch
  /** The indexer's own, which makes the keys that a turn works with. */
  engineKey: string
  indexName: string
  engineName: string
  popularityEveryMs: number
  say: (line: string) => void
}

const pollEveryMs = 100
const standByEveryMs = 1_000
const lookEveryMs = 5_000
const noteEveryMs = 2_000
const countEveryMs = 60_000
/** An engine that is back must not wait long for what changed meanwhile: the API uses it again within a second. */
const retryMs = { first: 200, most: 1_000 }
/** A request of the indexer before us that the engine had already let in when its keys were taken away should be queued by then. */
const settleMs = 500

/**
 * Works until `signal` ends it, or `isDone` holds; as long as another indexer holds the engine it stands by, and takes over within 10 s when that
 * one dies. However little there is to do, an index that is not what it should be is seen. Every trouble ends its turn and begins another, with
 * new keys, so that nothing of the turn before can arrive late. With `isDone` given, a trouble is thrown instead.
 */
export async function runIndexer(
  options: IndexerOptions,
  signal: AbortSignal,
  isDone?: () => Promise<boolean>,
): Promise<void> {
  const { db, engineName, say } = options
  const holder = `${hostname()}, process ${process.pid}, ${randomBytes(4).toString('hex')}`
  let retryAfterMs = retryMs.first
  let trouble = ''
  let isStandingBy = false
  while (!signal.aborted) {
    try {
      await registerEngine(db, engineName, () =>
        say('Waiting for transactions that began before this engine was known.'),
      )
      const lease = await takeLease(db, engineName, holder)
      if (lease) {
        isStandingBy = false
        const onCalm = () => {
          retryAfterMs = retryMs.first
          trouble = ''
        }
        return await takeTurn(options, lease, signal, isDone, onCalm)
      } else if (await isDone?.()) {
        return
      } else {
        if (!isStandingBy)
          say(
            `Another indexer is at work${isDone ? ' and does it. Waiting until the index is in step' : '. Standing by'}.`,
          )
        isStandingBy = true
        await pause(standByEveryMs, signal)
      }
    } catch (error) {
      if (signal.aborted) return
      if (isDone && !(error instanceof LeaseLost)) throw error
      const cause = causeOf(error)
      // Once: tried again every second it would fill the log.
      if (cause !== trouble) say(`${cause}. Trying again.`)
      trouble = cause
      await pause(retryAfterMs, signal)
      retryAfterMs = Math.min(retryMs.most, retryAfterMs * 2)
    }
  }
}

/** Whether the index holds every change and is built as it should be. */
export async function isInStep(db: Kysely<Tables>, engineName: string): Promise<boolean> {
  const state = await readIndexState(db, engineName)
  if (
    !state ||
    state.indexed_at === null ||
    state.shape !== indexShape() ||
    state.rebuild_asked_at !== null
  )
    return false
  return !(await db
    .selectFrom('product_changes')
    .select('id')
    .where('engine', '=', engineName)
    .limit(1)
    .executeTakeFirst())
}

/** One turn: from taking the lease until it is given back, lost, or something goes wrong. `onCalm` hears that all is well. */
async function takeTurn(
  { db, openEngine, engineKey, indexName, engineName, popularityEveryMs, say }: IndexerOptions,
  lease: Lease & { wasGivenBack: boolean },
  signal: AbortSignal,
  isDone: (() => Promise<boolean>) | undefined,
  onCalm: () => void,
): Promise<void> {
  const kept = keepLease(db, lease)
  const [mustLook, mustNote] = [every(lookEveryMs), every(noteEveryMs)]
  const [mustCount, mustRefresh] = [every(countEveryMs), every(popularityEveryMs)]
  let refreshing: Promise<unknown> = Promise.resolve()
  let isOver = false
  const refresh = () => {
    refreshing = refreshPopularity(db).catch((error: unknown) =>
      say(`${causeOf(error)}. Popularity stays as it was.`),
    )
    return refreshing
  }
  try {
    const keeper = openEngine(engineKey)
    await ensureEngineKeys(keeper)
    const keys = await replaceIndexerKeys(keeper, { engineName, indexName, fence: lease.fence })
    if (!lease.wasGivenBack) await pause(settleMs, signal)
    const [engine, builder] = [openEngine(keys.documents), openEngine(keys.building)]
    const target: SyncTarget = { db, engine, indexName, engineName, lease }
    await removeRemains(engine, builder, nextIndexName(indexName))
    await forgetBuild(target)

    const check = () => {
      kept.check()
      signal.throwIfAborted()
    }
    const build = async (reason: string): Promise<void> => {
      say(`Building the index: ${reason}.`)
      // What such an index holds is no longer true: until it is built anew PostgreSQL answers better.
      if (reason === 'the engine holds older contents' || reason === 'the catalogue was emptied')
        await removeIndex(engine, indexName)
      if (reason === 'there is none') await refresh()
      const onProgress = (documents: number) => say(`Indexing: ${documents} products`)
      const count = await rebuild(db, engine, {
        indexName,
        engineName,
        lease,
        builder,
        check,
        onProgress,
      })
      say(`The index holds ${count} products.`)
    }
    const look = async (): Promise<void> => {
      const reason = await reasonToRebuild(target, builder)
      if (reason !== null) await build(reason)
    }
    const count = async (): Promise<void> => {
      if (await hasRightCount(target)) return
      await pause(settleMs, signal)
      if (!(await hasRightCount(target)))
        await build('it holds another number of products than the catalogue')
    }

    if (mustLook()) await look()
    if (!isDone) say('Following changes.')
    while (!signal.aborted) {
      kept.check()
      if (mustLook()) await look()
      if ((await syncBatch(target)) > 0) continue
      onCalm()
      const state = await readIndexState(db, engineName)
      if (mustNote()) await noteQuiet(target)
      if (state?.was_truncated || state?.rebuild_asked_at) await look()
      else if (mustCount()) await count()
      else if (mustRefresh()) void refresh()
      else if (await isDone?.()) break
      else await pause(pollEveryMs, signal)
    }
    isOver = true
  } finally {
    await refreshing
    kept.stop()
    // Whatever was sent is answered by now, also when the stop came in the midst of a build.
    if (isOver || signal.aborted) await releaseLease(db, lease).catch(() => undefined)
  }
}

/** Answers true at once, and then again whenever so many milliseconds have passed. */
function every(ms: number): () => boolean {
  let dueAt = Number.NEGATIVE_INFINITY
  return () => {
    const isDue = performance.now() >= dueAt
    if (isDue) dueAt = performance.now() + ms
    return isDue
  }
}

const pause = (ms: number, signal: AbortSignal) =>
  sleep(ms, undefined, { signal }).catch(() => undefined)
