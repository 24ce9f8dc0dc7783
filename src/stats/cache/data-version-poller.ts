// Keeps a recent reading of the data version. The API processes take turns in reading PostgreSQL
// and share the readings through Redis. Without Redis each process reads PostgreSQL itself.
import type { Kysely } from 'kysely'
import type { PrimaryHistory } from '../../database/replica/primary-history.ts'
import type { Tables } from '../../database/table-types.ts'
import { timeouts } from '../../timeouts.ts'
import {
  type DataVersion,
  type DataVersionReading,
  readDatabaseId,
  readDataVersion,
  readTimeline,
  readVersionAndPosition,
} from './data-version.ts'
import type { DataVersionExchange, PollLock } from './data-version-exchange.ts'

export class DataVersionPoller {
  readonly #db: Kysely<Tables>
  readonly #shared: Pick<DataVersionExchange, 'exchangeReadings'>
  readonly #history: PrimaryHistory | null
  #latest: DataVersionReading | null = null
  #hasFailed = false
  /** When a request asked for a reading. */
  #askedAt = performance.now()
  #pending: { startedAt: number; finished: Promise<DataVersionReading | null> } | null = null
  #tick: Promise<void> | null = null
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  /** With a `history`, adds each reading to it, whichever process has read it. */
  constructor(
    db: Kysely<Tables>,
    shared: Pick<DataVersionExchange, 'exchangeReadings'>,
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

  /** Returns the latest reading, of this or another process; null before the first one. */
  latest(): DataVersionReading | null {
    this.#askedAt = performance.now()
    return this.#latest
  }

  /** Returns a recent reading, or reads PostgreSQL. Returns null if PostgreSQL does not respond. */
  async recent(): Promise<DataVersionReading | null> {
    const latest = this.#latest
    if (latest && performance.now() - latest.readAt < timeouts.stats.recentDataVersion.ms)
      return latest
    return this.#read()
  }

  /**
   * Reads PostgreSQL in the background. Only a query of its own tells this process whether it
   * reaches PostgreSQL, and which database it reaches.
   */
  check(): void {
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

  /** Exchanges readings, and reads PostgreSQL if necessary. Returns the pause before the next. */
  async #poll(): Promise<number> {
    const known = this.#latest
    const mayLock = !this.#pending && !this.#hasFailed
    const result = known && (await this.#shared.exchangeReadings(known, { mayLock }))
    if (result?.reading) this.#adopt(result.reading)
    // Not awaited: while a query hangs, the readings of other processes are still used.
    if (result?.lock) void this.#readAndPublish(result.lock)
    // A process that cannot read PostgreSQL leaves the lock to the others and tries on its own.
    else if (!result || this.#hasFailed) this.check()
    const { dataVersionExchange, dataVersionPoll } = timeouts.stats
    const isAlone = !result || this.#hasFailed || result.lock?.isAwaited === false
    if (!result && this.#isIdle()) return timeouts.process.idlePoll.ms
    return isAlone ? dataVersionPoll.ms : dataVersionExchange.ms
  }

  /** Never with a replica: it is compared with frequent readings of the primary. */
  #isIdle(): boolean {
    const idleMs = performance.now() - this.#askedAt
    return !this.#history && !this.#hasFailed && idleMs > timeouts.process.idleAfter.ms
  }

  /** Uses a reading of another process if it is of the same generation, and newer. */
  #adopt(reading: DataVersionReading): void {
    const latest = this.#latest
    if (latest?.version.generation !== reading.version.generation) return
    if (reading.readAt > latest.readAt) this.#setLatest(reading)
  }

  #setLatest(reading: DataVersionReading): void {
    this.#latest = reading
    const { databaseId, version, readAt, wal } = reading
    if (wal) this.#history?.add({ databaseId, version, readAt, ...wal })
  }

  async #readAndPublish(lock: PollLock): Promise<void> {
    const reading = await this.#read()
    // A query that was already running may have begun before the lock was acquired.
    if (reading && reading.readAt >= lock.acquiredAt) lock.publish(reading)
    else lock.release()
  }

  /** Starts a query, or joins the running one. Returns null if it failed. */
  #read(): Promise<DataVersionReading | null> {
    if (this.#pending) return this.#pending.finished
    const startedAt = performance.now()
    const finished = this.#readOnce(startedAt).finally(() => {
      this.#pending = null
    })
    this.#pending = { startedAt, finished }
    return finished
  }

  async #readOnce(readAt: number): Promise<DataVersionReading | null> {
    try {
      const reading = await this.#readDatabase(readAt)
      this.#hasFailed = false
      this.#setLatest(reading)
      return reading
    } catch {
      // Not logged: a request that needs PostgreSQL reports the failure.
      this.#hasFailed = true
      return null
    }
  }

  async #readDatabase(readAt: number): Promise<DataVersionReading> {
    if (!this.#history) {
      const version = await readDataVersion(this.#db)
      return { version, databaseId: await this.#databaseIdOf(version), readAt }
    }
    const { version, position } = await readVersionAndPosition(this.#db)
    const timeline = await this.#timelineOf(version)
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

  /** Reads the id again only if the generation changed: another database has another generation. */
  async #databaseIdOf(version: DataVersion): Promise<string> {
    const latest = this.#latest
    if (latest?.version.generation === version.generation) return latest.databaseId
    return readDatabaseId(this.#db, version)
  }
}
