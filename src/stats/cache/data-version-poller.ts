// Polls the data version, so that a recent one is always known. The API processes take turns in
// reading PostgreSQL, and share the result through Redis. Without Redis each process reads
// PostgreSQL itself.
import type { Kysely } from 'kysely'
import { readDatabaseId, readTimeline } from '../../database/database-identity.ts'
import type { PrimaryHistory } from '../../database/replica/primary-history.ts'
import type { Tables } from '../../database/table-types.ts'
import type { PollLock, SharedPolling } from '../../redis/shared-polling.ts'
import { timeouts } from '../../timeouts.ts'
import { type DataVersion, type ObservedVersion, readVersion } from './data-version.ts'
import { formatVersion, parseVersion, scopeOf } from './shared-data-version.ts'

export class DataVersionPoller {
  readonly #db: Kysely<Tables>
  readonly #shared: Pick<SharedPolling, 'poll'>
  readonly #history: PrimaryHistory | null
  #latest: ObservedVersion | null = null
  #hasFailed = false
  /** When a request last asked for the version. */
  #askedAt = performance.now()
  #pending: { startedAt: number; finished: Promise<ObservedVersion | null> } | null = null
  #tick: Promise<void> | null = null
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  /** With a `history`, adds each observed version to it, whichever process has read it. */
  constructor(
    db: Kysely<Tables>,
    shared: Pick<SharedPolling, 'poll'>,
    history: PrimaryHistory | null = null,
  ) {
    this.#db = db
    this.#shared = shared
    this.#history = history
  }

  start(): void {
    this.#schedule(0)
  }

  /** Stops polling and waits for the query that is running. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#tick
    await this.#pending?.finished
  }

  /** Returns what this or another process read last; null before the first read. */
  latest(): ObservedVersion | null {
    this.#askedAt = performance.now()
    return this.#latest
  }

  /** Returns a recent version, or reads PostgreSQL. Returns null if PostgreSQL does not respond. */
  async recent(): Promise<ObservedVersion | null> {
    const latest = this.#latest
    if (latest && performance.now() - latest.readAt < timeouts.stats.recentDataVersion.ms)
      return latest
    return this.#read()
  }

  /**
   * Reads PostgreSQL in the background. Only its own query tells this process whether it reaches
   * PostgreSQL, and which database it reaches.
   */
  readInBackground(): void {
    if (!this.#isStopped) void this.#read()
  }

  /** Whether the last query failed, or the running one has had no response for too long. */
  isFailing(): boolean {
    if (this.#hasFailed) return true
    if (!this.#pending) return false
    const elapsedMs = performance.now() - this.#pending.startedAt
    return elapsedMs > timeouts.stats.dataVersionResponse.ms
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return
    this.#timer = setTimeout(() => {
      this.#tick = this.#poll().then((nextDelayMs) => this.#schedule(nextDelayMs))
    }, delayMs).unref()
  }

  /**
   * Uses what another process has read since the last poll, and reads PostgreSQL if it is the turn
   * of this process, or without Redis. Returns the pause before the next poll.
   */
  async #poll(): Promise<number> {
    const { dataVersionPoll, redisVersionPoll } = timeouts.stats
    const known = this.#latest
    const mayLock = !this.#pending && !this.#hasFailed
    const result = known && (await this.#shared.poll(scopeOf(known), { mayLock }))
    if (!result) {
      this.readInBackground()
      return this.#isIdle() ? timeouts.process.idlePoll.ms : dataVersionPoll.ms
    }
    const { published, lock } = result
    const observed = published && parseVersion(published, known)
    if (observed && this.#isNewer(observed)) this.#setLatest(observed)
    // Not awaited: while a query hangs, what other processes have read is still used.
    if (lock) void this.#readForAll(lock, known)
    // A process that cannot read PostgreSQL leaves the lock to the others and tries on its own.
    else if (this.#hasFailed) this.readInBackground()
    const isAlone = this.#hasFailed || lock?.isAwaited === false
    return isAlone ? dataVersionPoll.ms : redisVersionPoll.ms
  }

  /** Never with a replica, which is compared with recent states of the primary. */
  #isIdle(): boolean {
    const idleMs = performance.now() - this.#askedAt
    return !this.#history && !this.#hasFailed && idleMs > timeouts.process.idleAfter.ms
  }

  /** This process may have read another generation meanwhile. */
  #isNewer({ version, readAt }: ObservedVersion): boolean {
    const latest = this.#latest
    return latest?.version.generation === version.generation && readAt > latest.readAt
  }

  #setLatest(observed: ObservedVersion): void {
    this.#latest = observed
    const { databaseId, version, readAt, wal } = observed
    if (wal) this.#history?.add({ databaseId, version, readAt, ...wal })
  }

  /** Publishes what it reads to the other processes that know the same database as `known`. */
  async #readForAll(lock: PollLock, known: ObservedVersion): Promise<void> {
    const observed = await this.#read()
    // A query that was already running may have begun before the lock was acquired.
    const mayPublish = observed !== null && observed.readAt >= lock.acquiredAt
    if (mayPublish && scopeOf(observed) === scopeOf(known)) lock.publish(formatVersion(observed))
    else lock.release()
  }

  /** Starts a query, or joins the running one. Returns null if it failed. */
  #read(): Promise<ObservedVersion | null> {
    if (this.#pending) return this.#pending.finished
    const startedAt = performance.now()
    const finished = this.#readOnce(startedAt).finally(() => {
      this.#pending = null
    })
    this.#pending = { startedAt, finished }
    return finished
  }

  async #readOnce(readAt: number): Promise<ObservedVersion | null> {
    try {
      const observed = await this.#readDatabase(readAt)
      this.#hasFailed = false
      this.#setLatest(observed)
      return observed
    } catch {
      // Not logged: a request that needs PostgreSQL reports the failure.
      this.#hasFailed = true
      return null
    }
  }

  async #readDatabase(readAt: number): Promise<ObservedVersion> {
    const { version, position } = await readVersion(this.#db, { withPosition: !!this.#history })
    const timeline = position === null ? null : await this.#timelineOf(version)
    return {
      version,
      databaseId: await this.#databaseIdOf(version),
      readAt,
      ...(position !== null && timeline !== null && { wal: { timeline, position } }),
    }
  }

  /** A server that is promoted or started has another generation. */
  async #timelineOf({ generation }: DataVersion): Promise<number | null> {
    const latest = this.#latest
    if (latest?.wal && latest.version.generation === generation) return latest.wal.timeline
    return readTimeline(this.#db)
  }

  /**
   * Reads the id again only if the generation changed: another database has another generation. A
   * role that may not read the id gets the generation instead. It is unique too, but changes more
   * often, so statistics in Redis do not survive a restart of PostgreSQL.
   */
  async #databaseIdOf(version: DataVersion): Promise<string> {
    const latest = this.#latest
    if (latest?.version.generation === version.generation) return latest.databaseId
    return (await readDatabaseId(this.#db)) ?? version.generation
  }
}
