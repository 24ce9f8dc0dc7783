// Polls a value that PostgreSQL holds, so that a recent one is always known. The processes that
// share Redis take turns: one of them reads PostgreSQL for all (shared-polling.ts).
//
//     Redis   the lock                 this process                       pause
//     down    -                        reads for itself                   alone, or idlePoll if no
//                                                                         request needs the value
//     up      is held by this process  reads for all                      shared, or alone if no
//                                                                         other process polls
//     up      not tried: its last      reads for itself, and uses what    alone
//             read has failed          others publish
//     up      not tried: its last      uses what others publish           shared
//             read still runs
//     up      is held by another       uses what that process publishes   shared
//
// No request waits for a poll, and no poll waits for a query of PostgreSQL: while a query hangs,
// what other processes publish is still used.
import type { PollLock, PublishedValue, SharedPolling } from './shared-polling.ts'

// Nobody needs the result. Only processes without Redis poll PostgreSQL so often.
export const idleAfter = { ms: 10_000 }
// Cached statistics are sent up to the age of two seconds, also to the first caller.
export const idlePoll = { ms: 1_000 }

/** `readAt` is a moment (performance.now) before the query was sent. */
type Reading = { readAt: number }

export type PollerOptions<T extends Reading> = {
  /** Null if each process reads PostgreSQL for itself. */
  sharing: Pick<SharedPolling, 'poll'> | null
  /** Reads PostgreSQL. A failure is not logged: a request that needs PostgreSQL reports it. */
  read(readAt: number, previous: T | null): Promise<T>
  /** Returns which processes share values: those that know a value of the same scope. */
  scopeOf(value: T): string
  /** Returns the text that processes of the same scope share. */
  format(value: T): string
  /** Returns the value that was published in the scope of `known`; null if it is not valid. */
  parse(published: PublishedValue, known: T): T | null
  /** Called with each value that is newer than the last one. */
  onNewer(value: T): void
  /** Whether the process polls less often while no request needs the value. */
  mayIdle: boolean
  /** The pauses between two polls: of a process that shares with none, and of the others. */
  pauses: { aloneMs: number; sharedMs: number }
}

export class Poller<T extends Reading> {
  readonly #options: PollerOptions<T>
  #latest: T | null = null
  #hasFailed = false
  #query: { startedAt: number; finished: Promise<T | null> } | null = null
  /** When a request last asked for the value. */
  #askedAt = performance.now()
  #isIdle = false
  #poll: Promise<void> | null = null
  /** Undefined while a poll runs. The poll sets the next one when it ends. */
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(options: PollerOptions<T>) {
    this.#options = options
  }

  start(): void {
    this.#schedule(0)
  }

  /** Stops polling and waits for the query that is running. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#poll
    await this.#query?.finished
  }

  /**
   * Returns what this or another process read last; null before the first read. Ends an idle pause,
   * because a request needs the value.
   */
  latest(): T | null {
    this.#askedAt = performance.now()
    if (this.#isIdle && this.#timer) {
      this.#isIdle = false
      clearTimeout(this.#timer)
      this.#schedule(0)
    }
    return this.#latest
  }

  /**
   * Returns the latest value, and reads PostgreSQL first if that value is not younger than `ageMs`.
   * Returns null if this query fails.
   */
  async readIfOlderThan(ageMs: number): Promise<T | null> {
    const latest = this.#latest
    if (latest && performance.now() - latest.readAt < ageMs) return latest
    return this.#read()
  }

  /**
   * Reads PostgreSQL in the background. Only its own query tells this process whether it reaches
   * PostgreSQL, and which database it reaches.
   */
  readInBackground(): void {
    if (!this.#isStopped) void this.#read()
  }

  /** Whether the last query failed, or the running one has had no response for `responseMs`. */
  isFailing(responseMs: number): boolean {
    if (this.#hasFailed) return true
    return this.#query !== null && performance.now() - this.#query.startedAt > responseMs
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#poll = this.#pollOnce().then((pauseMs) => this.#schedule(pauseMs))
    }, delayMs).unref()
  }

  /** Returns the pause before the next poll in milliseconds. */
  async #pollOnce(): Promise<number> {
    const { sharing, scopeOf, parse, pauses } = this.#options
    this.#isIdle = false
    const known = this.#latest
    const mayLock = !this.#query && !this.#hasFailed
    const result = known && sharing && (await sharing.poll(scopeOf(known), { mayLock }))
    if (!result) {
      this.readInBackground()
      this.#isIdle = this.#isUnused()
      return this.#isIdle ? idlePoll.ms : pauses.aloneMs
    }
    const { published, lock } = result
    const value = published && parse(published, known)
    if (value) this.#usePublished(value)
    if (lock) void this.#readForAll(lock, known)
    else if (this.#hasFailed) this.readInBackground()
    const isAlone = this.#hasFailed || lock?.isAwaited === false
    return isAlone ? pauses.aloneMs : pauses.sharedMs
  }

  #isUnused(): boolean {
    if (!this.#options.mayIdle || this.#hasFailed) return false
    return performance.now() - this.#askedAt > idleAfter.ms
  }

  /** This process may have read another database meanwhile. */
  #usePublished(value: T): void {
    const { scopeOf } = this.#options
    if (this.#latest && scopeOf(this.#latest) === scopeOf(value)) this.#setIfNewer(value)
  }

  /** A query that hung may return after another process has published a newer value. */
  #setIfNewer(value: T): void {
    if (this.#latest && value.readAt <= this.#latest.readAt) return
    this.#latest = value
    this.#options.onNewer(value)
  }

  /** Publishes what it reads to the other processes, if they know the same scope as `known`. */
  async #readForAll(lock: PollLock, known: T): Promise<void> {
    const { scopeOf, format } = this.#options
    const value = await this.#read()
    // A query that was already running may have begun before the lock was acquired.
    const mayPublish = value !== null && value.readAt >= lock.acquiredAt
    if (mayPublish && scopeOf(value) === scopeOf(known)) lock.publish(format(value))
    else lock.release()
  }

  /** Starts a query, or joins the running one. Returns null if it failed. */
  #read(): Promise<T | null> {
    if (this.#query) return this.#query.finished
    const startedAt = performance.now()
    const finished = this.#readOnce(startedAt).finally(() => {
      this.#query = null
    })
    this.#query = { startedAt, finished }
    return finished
  }

  async #readOnce(startedAt: number): Promise<T | null> {
    const value = await this.#options.read(startedAt, this.#latest).catch(() => null)
    this.#hasFailed = value === null
    if (value) this.#setIfNewer(value)
    return value
  }
}
