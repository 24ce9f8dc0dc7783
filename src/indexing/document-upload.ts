// Carries documents into an index: in payloads of a bearable size, each with its content hash, and those that the engine refuses told apart.
import { hash } from 'node:crypto'
import { type Index, type Meilisearch, MeilisearchApiError, type Task } from 'meilisearch'
import type { ProductDocument } from '../search-engine/product-document.ts'

/** A document as it is sent: one line of NDJSON, with a hash of the rest as `contentHash`, which `verify` compares. */
export type Line = { id: string; text: string }

/** Why the engine refused the document with this id. */
export type Refusal = { id: string; reason: string }

/** What became of an upload. `lastTask`: the highest task number it took. */
export type Uploaded = { refused: Refusal[]; lastTask: number }

/** Meilisearch takes 100 MB unless told otherwise; this much is enough for speed and bearable for memory. */
export const maxPayloadBytes = 16_000_000

const wait = { timeout: 600_000, interval: 10 }

export function contentHash(json: string): string {
  return hash('sha1', json, 'base64url').slice(0, 22)
}

export function toLine(document: ProductDocument): Line {
  const json = JSON.stringify(document)
  return { id: document.id, text: `${json.slice(0, -1)},"contentHash":"${contentHash(json)}"}\n` }
}

/** Cuts the lines into payloads of at most 16 MB. */
export function payloads(lines: Line[]): Line[][] {
  const parts: Line[][] = []
  let bytes = maxPayloadBytes
  for (const line of lines) {
    const size = Buffer.byteLength(line.text)
    if (bytes + size > maxPayloadBytes) {
      parts.push([])
      bytes = 0
    }
    parts.at(-1)?.push(line)
    bytes += size
  }
  return parts
}

/**
 * Puts the documents and answers when the engine has applied them. A document that it refuses is told apart by halving the payload and does not
 * hold up the others. Throws when the trouble is not in a document: no answer, a wrong key, an absent index, a full disk.
 */
export async function putLines(index: Index, lines: Line[]): Promise<Uploaded> {
  if (lines.length === 0) return { refused: [], lastTask: -1 }
  try {
    return { refused: [], lastTask: await send(index, lines) }
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    const trial: Trial = { refused: [], accepted: 0, lastTask: error.task }
    await isolate(index, lines, error, trial)
    if (error.isInternal && trial.accepted === 0) throw error // as long as it takes no other document, the engine itself may be in trouble
    return trial
  }
}

type Trial = Uploaded & { accepted: number }

/** So many refused on their own without one accepted, by an error inside the engine, and it is the engine that is in trouble. */
const enoughToBlameTheEngine = 3

async function isolate(index: Index, lines: Line[], error: Refused, trial: Trial): Promise<void> {
  const [only] = lines
  if (lines.length === 1 && only) {
    trial.refused.push({ id: only.id, reason: error.message })
    if (error.isInternal && trial.accepted === 0 && trial.refused.length >= enoughToBlameTheEngine)
      throw error
    return
  }
  const middle = Math.ceil(lines.length / 2)
  for (const half of [lines.slice(0, middle), lines.slice(middle)]) {
    try {
      trial.lastTask = Math.max(trial.lastTask, await send(index, half))
      trial.accepted += half.length
    } catch (reason) {
      if (!(reason instanceof Refused)) throw reason
      trial.lastTask = Math.max(trial.lastTask, reason.task)
      await isolate(index, half, reason, trial)
    }
  }
}

/** The engine refused this payload because of what is in it. */
export class Refused extends Error {
  readonly isInternal: boolean
  readonly task: number

  constructor(reason: string, isInternal: boolean, task: number) {
    super(`Meilisearch: ${reason}`)
    this.isInternal = isInternal
    this.task = task
  }
}

/** Sends one payload and waits until it is applied; the number of its task. */
async function send(index: Index, lines: Line[]): Promise<number> {
  const task = await index.tasks.waitForTask(await post(index, lines), wait)
  requireApplied(task)
  return task.uid
}

/** Hands one payload over; the number of the task in which the engine will apply it. Throws Refused when it does not take such a payload at all. */
export async function post(index: Index, lines: Line[]): Promise<number> {
  const body = lines.map((line) => line.text).join('')
  try {
    return (await index.addDocumentsFromString(body, 'application/x-ndjson', { primaryKey: 'id' }))
      .taskUid
  } catch (error) {
    if (
      error instanceof MeilisearchApiError &&
      (error.response.status === 413 || error.response.status === 400)
    )
      throw new Refused(error.cause?.message ?? error.message, false, -1)
    throw error
  }
}

/** Throws why a task that is over did not put its documents in: Refused when it is for what is in them. */
export function requireApplied(task: Task): void {
  if (task.status === 'succeeded') return
  const { code = '', type = '', message = 'no reason given' } = task.error ?? {}
  const isContent =
    task.status === 'failed' && !code.startsWith('index_') && code !== 'no_space_left_on_device'
  if (isContent && (type === 'invalid_request' || type === 'internal'))
    throw new Refused(message, type === 'internal', task.uid)
  throw new Error(`Meilisearch: task ${task.status}: ${message}`)
}

/** Takes documents out and answers when the engine has applied it, with the number of the task. */
export async function deleteDocuments(index: Index, ids: string[]): Promise<number> {
  if (ids.length === 0) return -1
  const task = await index.deleteDocuments(ids).waitTask(wait)
  requireSuccess(task)
  return task.uid
}

/** A task that was accepted may still fail; this throws its reason. */
export function requireSuccess({ status, error }: Pick<Task, 'status' | 'error'>): void {
  if (status !== 'succeeded')
    throw new Error(`Meilisearch: task ${status}: ${error?.message ?? 'no reason given'}`)
}

/** The number of the newest task that the engine knows, -1 for one that has none. */
export async function newestTask(engine: Meilisearch): Promise<number> {
  const { results } = await engine.tasks.getTasks({ limit: 1 })
  return results[0]?.uid ?? -1
}
