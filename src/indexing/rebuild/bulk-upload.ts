// Fills a new index with the catalogue. The engine takes what waits in its queue into one batch, and the larger the index, the more a large batch
// saves: so as much as may wait is put there, and taken back as soon as a change of the live index would have to wait for it.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Meilisearch, Task } from 'meilisearch'
import { park, requeueIfPlaceLost, type SyncTarget } from '../change-sync.ts'
import { type Line, payloads, post, putLines, Refused, requireApplied } from '../document-upload.ts'
import { takeBack } from '../engine-tasks.ts'
import { openCatalogue, readLines, textLength } from './catalogue-reader.ts'
import { newPace } from './upload-batch-size.ts'

export type Filling = {
  /** How many products were read, as soon as the index holds them all. */
  filled: Promise<number>
  isOver(): boolean
  /**
   * Something changed, and the live index must have it soon: what the engine has to do for the new one is taken back, unless it is little, and sent
   * again later. `isUrgent`: also what should have been little.
   */
  giveWay(isUrgent?: boolean): Promise<void>
  /** Gives up: what is on its way is taken back, and then `filled` fails with the reason. */
  stop(reason: unknown): void
}

type Options = { observer: Meilisearch; check: () => void; onProgress: (documents: number) => void }

/** An upload that the engine has accepted. Of the documents only the ids are kept, as one text: there may be a million of them. */
type Sent = { task: number; ids: string; documents: number; bytes: number; at: number }

/**
 * Begins to fill the index. A document that the engine refuses is parked. `observer`: a client that may see every task; `check` is called often and
 * throws to give up. When it fails, nothing of it is left in the engine's queue, if the engine can be reached; one that lost its place queues for
 * the live index what it had sent.
 */
export function startFilling(next: SyncTarget, { observer, check, onProgress }: Options): Filling {
  const { db, engine } = next
  const index = engine.index(next.indexName)
  const pace = newPace()
  const catalogue = openCatalogue(db, pace.size)
  const stopped = new AbortController()
  let sent: Sent[] = []
  let posting: { ids: string[]; answered: Promise<unknown> } | undefined
  let settledAt = Number.NEGATIVE_INFINITY
  let count = 0
  let isOver = false

  const onTheWay = () => ({
    uploads: sent.length,
    documents: sum(sent, 'documents'),
    bytes: sum(sent, 'bytes'),
  })
  const takeAllBack = () => {
    const tasks = sent.map(({ task }) => task)
    return takeBack(engine, observer, tasks)
  }

  async function send(lines: Line[]): Promise<void> {
    const ids = lines.map(({ id }) => id)
    const request = post(index, lines)
    posting = { ids, answered: request.catch(() => undefined) }
    try {
      const task = await request
      sent.push({
        task,
        ids: ids.join(' '),
        documents: ids.length,
        bytes: textLength(lines),
        at: performance.now(),
      })
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      await tellApart(lines)
      count += ids.length
    }
    posting = undefined
  }

  async function tellApart(lines: Line[]): Promise<void> {
    const { refused } = await putLines(index, lines)
    await park(db, next.engineName, refused)
  }

  /** Looks which uploads are over. The engine carries them out in their order. */
  async function settle(): Promise<void> {
    const since = Math.max(settledAt, sent[0]?.at ?? 0)
    let settled = 0
    for (let first = sent[0]; first; first = sent[0]) {
      const task = await engine.tasks.getTask(first.task)
      if (task.status === 'enqueued' || task.status === 'processing') break
      if (task.status === 'canceled') catalogue.again(first.ids.split(' '))
      else settled += await conclude(task, first)
      sent = sent.slice(1)
    }
    if (settled === 0) return
    settledAt = performance.now()
    pace.took(settled, settledAt - since)
    count += settled
    onProgress(count)
  }

  async function conclude(task: Task, { ids, documents }: Sent): Promise<number> {
    try {
      requireApplied(task)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      await tellApart(await readLines(db, ids.split(' ')))
    }
    return documents
  }

  async function fill(): Promise<number> {
    for (;;) {
      check()
      stopped.signal.throwIfAborted()
      await settle()
      if (pace.hasRoom(onTheWay())) {
        const lines = await catalogue.next()
        for (const part of payloads(lines)) await send(part)
        if (lines.length > 0) continue
      }
      if (sent.length === 0) return count
      await sleep(Math.min(100, Math.max(10, onTheWay().documents / 200)))
    }
  }

  async function giveUp(error: unknown): Promise<never> {
    await catalogue.rest()
    // It must be over before the failure is told: it would meet the next attempt.
    await takeAllBack().catch(() => undefined)
    const ids = [...(posting?.ids ?? []), ...sent.flatMap((upload) => upload.ids.split(' '))]
    await requeueIfPlaceLost(next, ids)
    throw error
  }

  const filled = fill()
    .catch(giveUp)
    .finally(() => {
      isOver = true
    })
  filled.catch(() => undefined)
  return {
    filled,
    isOver: () => isOver,
    async giveWay(isUrgent = false) {
      await posting?.answered
      if (pace.changed(onTheWay(), isUrgent)) await takeAllBack()
    },
    stop: (reason) => stopped.abort(reason),
  }
}

const sum = (sent: Sent[], what: 'documents' | 'bytes') =>
  sent.reduce((total, upload) => total + upload[what], 0)
