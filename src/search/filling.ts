// Fills a new index with the catalogue. The engine takes what waits in its queue into one batch, and the larger the index, the more a large batch
// saves: so as much as may wait is put there, and taken back as soon as a change of the live index would have to wait for it.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Meilisearch, Task } from 'meilisearch'
import { readAgain, readCatalogue } from './catalogue.ts'
import { takeBack } from './engine-tasks.ts'
import { park, requeueIfPlaceLost, type SyncTarget } from './sync.ts'
import { type Line, maxPayloadBytes, payloads, post, putLines, Refused, requireApplied } from './upload.ts'

/** Documents in an upload. */
const most = 20_000
const fewest = 2_500
/** What may be on its way at most; at the engine it lies on the disk. Here are only the ids of it. */
const mostBytes = 256_000_000
/** While changes are coming in, they wait for one upload at most, and that is cut to take about so long. */
const busyMs = 2_500
const calmAfterMs = 10_000
/** Documents that the engine takes in a second, a guess to begin with. */
const cautious = 1_000

export type Filling = {
  /** How many products were read, when the index holds them all. */
  filled: Promise<number>
  isOver(): boolean
  /**
   * Something changed, and the live index must have it soon: what the engine has to do for the new one is taken back, unless it is little. It is
   * sent again later. `isUrgent`: also when it should have been little.
   */
  giveWay(isUrgent?: boolean): Promise<void>
  /** Gives up: what is on its way is taken back, and then `filled` fails with the reason. */
  stop(reason: unknown): void
}

type Options = { observer: Meilisearch; check: () => void; onProgress: (documents: number) => void }

/** An upload that the engine has accepted. */
type Sent = { task: number; ids: string[]; bytes: number; at: number }

/**
 * Begins to fill the index. A document that the engine refuses is parked. `observer`: a client that may see every task; `check` is called often and
 * throws to give up. When it fails, nothing of it is left in the engine's queue, if the engine can be reached; one that lost its place queues for
 * the live index what it had sent.
 */
export function startFilling(next: SyncTarget, { observer, check, onProgress }: Options): Filling {
  const { db, engine } = next
  const index = engine.index(next.indexName)
  const stopped = new AbortController()
  const pages = readCatalogue(db)
  const again: string[][] = []
  let read: Line[] = []
  let sent: Sent[] = []
  let posting: { ids: string[]; answered: Promise<unknown> } | undefined
  let count = 0
  let perSecond = cautious
  let overAt = Number.NEGATIVE_INFINITY
  let changedAt = Number.NEGATIVE_INFINITY
  let isOver = false

  const isCalm = () => performance.now() - changedAt > calmAfterMs
  const onTheWay = () => sent.reduce((sum, { ids }) => sum + ids.length, 0)
  const size = () => {
    if (count === 0 && sent.length === 0) return fewest // so that the engine has something to do
    return isCalm() ? most : Math.round(Math.min(most, Math.max(fewest, (perSecond * busyMs) / 1_000)))
  }
  // It will probably stay calm for as long as it has been calm; what takes longer might have to be done twice.
  const hasRoom = () => {
    if (sent.length === 0) return true
    if (!isCalm() || sent.reduce((sum, { bytes }) => sum + bytes, 0) >= mostBytes) return false
    return onTheWay() < perSecond * ((performance.now() - changedAt) / 1_000)
  }

  /** Reads until there is enough for an upload, or nothing left. */
  async function gather(): Promise<void> {
    for (let bytes = length(read); read.length < size() && bytes < maxPayloadBytes; ) {
      const ids = again.shift()
      const lines = ids ? await readAgain(db, ids) : (await pages.next()).value
      if (!lines) return
      for (const line of lines) read.push(line)
      bytes += length(lines)
    }
  }
  let gathering = gather()
  const gatherOn = () => {
    gathering = gathering.then(gather)
    gathering.catch(() => undefined) // thrown where it is waited for
  }
  gathering.catch(() => undefined)

  async function sendNext(): Promise<boolean> {
    await gathering
    check()
    const lines = read.slice(0, size())
    read = read.slice(lines.length)
    if (lines.length === 0) return false
    gatherOn()
    for (const part of payloads(lines)) await send(part)
    return true
  }

  async function send(lines: Line[]): Promise<void> {
    const ids = lines.map(({ id }) => id)
    const request = post(index, lines)
    posting = { ids, answered: request.catch(() => undefined) }
    try {
      sent.push({ task: await request, ids, bytes: length(lines), at: performance.now() })
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

  /** Looks which uploads are over. They are carried out in their order. */
  async function settle(): Promise<void> {
    let settled = 0
    const since = Math.max(overAt, sent[0]?.at ?? 0)
    for (let first = sent[0]; first; first = sent[0]) {
      const task = await engine.tasks.getTask(first.task)
      if (task.status === 'enqueued' || task.status === 'processing') break
      if (task.status === 'canceled') {
        again.push(first.ids)
        gatherOn()
      } else {
        await require(task, first.ids)
        settled += first.ids.length
      }
      sent = sent.slice(1)
    }
    if (settled === 0) return
    overAt = performance.now()
    perSecond = (settled / (overAt - since)) * 1_000
    count += settled
    onProgress(count)
  }

  async function require(task: Task, ids: string[]): Promise<void> {
    try {
      requireApplied(task)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      await tellApart(await readAgain(db, ids))
    }
  }

  const takeAllBack = () =>
    takeBack(
      engine,
      observer,
      sent.map(({ task }) => task),
    )

  async function fill(): Promise<number> {
    try {
      for (;;) {
        check()
        stopped.signal.throwIfAborted()
        await settle()
        if (hasRoom() && (await sendNext())) continue
        if (sent.length === 0) return count
        await sleep(Math.min(100, Math.max(10, onTheWay() / 200)))
      }
    } catch (error) {
      await gathering.catch(() => undefined)
      // It must be over before the failure is told: it would meet the next attempt.
      await takeAllBack().catch(() => undefined)
      const ids = [...(posting?.ids ?? []), ...sent.flatMap((one) => one.ids)]
      await requeueIfPlaceLost({ ...next, engineName: next.lease?.engineName ?? next.engineName }, ids)
      throw error
    } finally {
      isOver = true
    }
  }

  const filled = fill()
  filled.catch(() => undefined)
  return {
    filled,
    isOver: () => isOver,
    async giveWay(isUrgent = false) {
      const wasCalm = isCalm()
      changedAt = performance.now()
      await posting?.answered
      if (onTheWay() <= fewest || !(wasCalm || isUrgent)) return
      perSecond = isUrgent && !wasCalm ? perSecond / 2 : cautious
      await takeAllBack()
    },
    stop: (reason) => stopped.abort(reason),
  }
}

const length = (lines: Line[]) => lines.reduce((sum, { text }) => sum + text.length, 0)
