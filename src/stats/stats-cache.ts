// Answers kept in this process: confirmed by the position of the data, refreshed behind the caller's back, and given as stale when nothing else can be.
import { covers, type Follower } from './data-version.ts'
import { type Finished, finish } from './response-body.ts'
import type { Answer, SharedAnswers } from './shared-stats-cache.ts'

/**
 * hit: known to be current within the bound. shared: so is one that another process computed. miss: computed for this request; collapsed: for another
 * one that asked at the same time. stale: older than the bound, because computing failed or takes too long.
 */
export type How = 'hit' | 'shared' | 'miss' | 'collapsed' | 'stale'
export type Cached = { answer: Finished; how: How; ageMs: number }

/** A committed change shows within this time. */
const boundMs = 2_000
/** From this age on an answer is refreshed in the background: early enough to be done within the bound. */
const refreshAfterMs = 500
/** How long a caller waits for a refresh while there is an answer, if only one older than the bound. */
const patienceMs = 1_000
/** And while there is none. */
const lastPatienceMs = 10_000
const computationsAtOnce = 4
const keptAnswers = 500
const keptCharacters = 20_000_000

type Entry = Pick<Answer, 'position' | 'today'> & {
  answer: Finished
  size: number
  confirmedAt: number
}
type Refresh = Promise<{ entry: Entry; how: 'shared' | 'miss' | 'stale' }>

export type Options = {
  shared: SharedAnswers
  follower: Follower
  /** Computes the answer of a key on the local day `today`. */
  compute(key: string, today: string): Promise<Pick<Answer, 'body' | 'position'>>
}

/**
 * Returns a reader of answers by key and local day: at once when there is one within the bound. Throws what `compute` throws when there is no
 * answer at all. Every age is that of the state of the data, as far as it is known.
 */
export function answerCache({
  shared,
  follower,
  compute,
}: Options): (key: string, today: string) => Cached | Promise<Cached> {
  const entries = new Map<string, Entry>()
  const refreshes = new Map<string, Refresh>()
  const atMost = limit(computationsAtOnce)
  let characters = 0
  let newest: Entry | null = null

  /** The age of an entry: as long as the position stands and the day is not over, it is as new as the last look. */
  function ageOf(entry: Entry, today: string): number {
    const seen = follower.latest()
    if (
      seen &&
      seen.askedAt > entry.confirmedAt &&
      entry.today === today &&
      covers(entry.position, seen.position)
    ) {
      entry.confirmedAt = seen.askedAt
    }
    return performance.now() - entry.confirmedAt
  }

  function keep(key: string, entry: Entry): void {
    forget(key)
    entries.set(key, entry)
    newest = entry
    characters += entry.size
    // The first of a Map is the one that was used least recently.
    for (const oldest of entries.keys()) {
      if (entries.size <= keptAnswers && characters <= keptCharacters) break
      forget(oldest)
    }
  }

  function forget(key: string): void {
    characters -= entries.get(key)?.size ?? 0
    entries.delete(key)
  }

  function entryOf(
    { body, position, today }: Omit<Answer, 'computedAt'>,
    confirmedAt: number,
  ): Entry {
    return { answer: finish(body), position, today, size: body.length, confirmedAt }
  }

  async function load(key: string, today: string): Refresh {
    const [known, seen] = await Promise.all([shared.read(key), follower.recent()])
    if (known && seen && known.today === today && covers(known.position, seen.position)) {
      const entry = entryOf(known, seen.askedAt)
      keep(key, entry)
      return { entry, how: 'shared' }
    }
    try {
      return await atMost(async () => {
        const startedAt = performance.now()
        const computedAt = Date.now()
        const computed = { ...(await compute(key, today)), today }
        const entry = entryOf(computed, startedAt)
        keep(key, entry)
        shared.write(key, { ...computed, computedAt })
        return { entry, how: 'miss' }
      })
    } catch (error) {
      if (!known || entries.has(key)) throw error
      const entry = entryOf(known, performance.now() - Math.max(0, Date.now() - known.computedAt))
      keep(key, entry)
      return { entry, how: 'stale' }
    }
  }

  /** One refresh at a time for each key and day. */
  function refresh(key: string, today: string): { work: Refresh; joined: boolean } {
    const name = `${today} ${key}`
    const running = refreshes.get(name)
    if (running) return { work: running, joined: true }
    const work = load(key, today).finally(() => refreshes.delete(name))
    refreshes.set(name, work)
    return { work, joined: false }
  }

  async function wait(key: string, today: string, old: Entry | undefined): Promise<Cached> {
    const { work, joined } = refresh(key, today)
    try {
      const done = await soon(work, old ? (follower.failing() ? 0 : patienceMs) : lastPatienceMs)
      const ageMs = ageOf(done.entry, today)
      const how = done.how === 'miss' && joined ? 'collapsed' : done.how
      return { answer: done.entry.answer, how: ageMs < boundMs ? how : 'stale', ageMs }
    } catch (error) {
      if (!old) throw error
      return { answer: old.answer, how: 'stale', ageMs: ageOf(old, today) }
    }
  }

  return (key, today) => {
    const entry = entries.get(key)
    if (entry?.today !== today) return wait(key, today, entry)
    const ageMs = ageOf(entry, today)
    if (ageMs >= boundMs) return wait(key, today, entry)
    // The one used last goes to the end of the Map, unless it is there already.
    if (entry !== newest) {
      entries.delete(key)
      entries.set(key, entry)
      newest = entry
    }
    if (ageMs >= refreshAfterMs) refresh(key, today).work.catch(() => undefined)
    return { answer: entry.answer, how: 'hit', ageMs }
  }
}

/** The result of `work`, or an error when it takes longer. */
async function soon<Result>(work: Promise<Result>, limitMs: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('refreshing takes too long')), limitMs)
  })
  return Promise.race([work, limit]).finally(() => clearTimeout(timer))
}

/** Runs at most `count` works at once; the others wait for their turn. */
function limit(count: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running >= count) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}
