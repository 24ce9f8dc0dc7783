// Follows the state of the indexes, in turn with the other processes that share Redis: the instant
// up to which each index contains every committed change, and the version of its contents.
import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import type { RedisAccess } from '../redis/optional-redis.ts'
import {
  type PollLock,
  type PollResult,
  type PublishedValue,
  SharedPolling,
} from '../redis/shared-polling.ts'
import { timeouts } from '../timeouts.ts'
import {
  advanceState,
  type IndexState,
  type IndexStateRow,
  parseStateRows,
  readIndexStates,
} from './read-index-states.ts'

const unknownState: IndexState = { indexedAt: null, version: null, isOfThisDatabase: true }

type FollowOptions = {
  db: Kysely<Tables>
  registrationNames: string[]
  /** Called often with the version of the company's words in the database. */
  onCompanyWordsVersion(version: string): void
  /** Without it, as without Redis, each process reads PostgreSQL. */
  sharedStates?: SharedPolling
}

/** Returns what processes need to read the states together. */
export function shareIndexStates(redis: RedisAccess | null, keyPrefix: string): SharedPolling {
  const { indexStateLock, indexStateMaxAge } = timeouts.searchEngine
  return new SharedPolling(redis, `${keyPrefix}index-states`, {
    lockMs: indexStateLock.ms,
    maxAgeMs: indexStateMaxAge.ms,
    responseMs: timeouts.searchEngine.indexStateResponse.ms,
    pauseMs: timeouts.searchEngine.indexStatePause.ms,
  })
}

/**
 * Follows the states of the indexes of these engines, and records that the indexes are used. The
 * same query reads the version of the company's words. `#refresh` decides which process reads.
 */
export class IndexStateFollower {
  readonly #options: FollowOptions
  readonly #states = new Map<string, IndexState>()
  #readAt = Number.NEGATIVE_INFINITY
  #usedAt = Number.NEGATIVE_INFINITY
  /** Identifies the database and the engines. Null until PostgreSQL has been read once. */
  #scope: string | null = null
  #isReading = false
  #hasFailed = false
  /** When a search last asked for a state. */
  #askedAt = performance.now()
  #isIdle = false
  /** Undefined while a refresh runs. The refresh sets the next one when it ends. */
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(options: FollowOptions) {
    this.#options = options
  }

  start(): void {
    this.#schedule(0)
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  /**
   * Notes that a search needs the states, which ends an idle pause. Returns the last known state of
   * the index of this engine. While PostgreSQL is unreachable, it has no version.
   */
  askForState(registrationName: string): IndexState {
    this.#askedAt = performance.now()
    if (this.#isIdle && this.#timer) {
      this.#isIdle = false
      clearTimeout(this.#timer)
      this.#schedule(0)
    }
    const state = this.#states.get(registrationName) ?? unknownState
    const isRecent = performance.now() - this.#readAt < timeouts.searchEngine.indexStateMaxAge.ms
    return isRecent ? state : { ...state, version: null }
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return
    this.#timer = setTimeout(async () => {
      this.#timer = undefined
      this.#schedule(await this.#refresh())
    }, delayMs).unref()
  }

  /**
   * Gets the states once. Returns the pause before the next refresh in milliseconds.
   *
   *     Redis    the lock                 this process           pause
   *     down     -                        reads for itself       indexStateInterval, or idlePoll
   *                                                              without searches
   *     up       is held by this process  reads for all          sharedIndexStatePoll, or
   *                                                              indexStateInterval if alone
   *     up       not tried: its last      reads for itself       indexStateInterval
   *              read has failed
   *     up       is held by another       uses what that reads   sharedIndexStatePoll
   */
  async #refresh(): Promise<number> {
    this.#isIdle = false
    const { indexStateInterval, sharedIndexStatePoll } = timeouts.searchEngine
    const result = await this.#pollRedis()
    if (!result) {
      await this.#read(null)
      const unusedMs = performance.now() - this.#askedAt
      this.#isIdle = !this.#hasFailed && unusedMs > timeouts.process.idleAfter.ms
      return this.#isIdle ? timeouts.process.idlePoll.ms : indexStateInterval.ms
    }
    const { published, lock } = result
    if (published) this.#applyPublished(published)
    if (lock) {
      // Not awaited: while the query hangs, this process uses what other processes publish.
      void this.#read(lock)
      return lock.isAwaited ? sharedIndexStatePoll.ms : indexStateInterval.ms
    }
    if (this.#hasFailed) {
      await this.#read(null)
      return indexStateInterval.ms
    }
    return sharedIndexStatePoll.ms
  }

  /** Returns null without Redis, and before PostgreSQL was read for the first time. */
  async #pollRedis(): Promise<PollResult | null> {
    const { sharedStates } = this.#options
    if (!this.#scope || !sharedStates) return null
    const mayLock = !this.#isReading && !this.#hasFailed
    return sharedStates.poll(this.#scope, { mayLock })
  }

  /** Applies what another process has published, if it is newer. */
  #applyPublished({ text, readAt }: PublishedValue): void {
    if (readAt <= this.#readAt) return
    const rows = parseStateRows(text)
    if (rows) this.#apply(rows, readAt)
  }

  async #read(lock: PollLock | null): Promise<void> {
    if (this.#isReading) return lock?.release()
    this.#isReading = true
    const scope = this.#scope
    const readAt = performance.now()
    const { db, registrationNames } = this.#options
    // A failed read is not logged: the health check reports PostgreSQL, and `askForState` returns
    // no version once the last read is too old.
    const rows = await readIndexStates(db, registrationNames).catch(() => undefined)
    this.#isReading = false
    this.#hasFailed = rows === undefined
    if (!rows) return lock?.release()
    // A query that hung may return after another process has published a newer state.
    if (readAt > this.#readAt) this.#apply(rows, readAt)
    if (this.#scope === scope) lock?.publish(JSON.stringify(rows))
    else lock?.release()
    await this.#recordUse(readAt)
  }

  #apply(rows: IndexStateRow[], readAt: number): void {
    const { registrationNames, onCompanyWordsVersion } = this.#options
    for (const name of registrationNames) {
      // A database restored to a state before the registration has no row of an engine.
      const row = rows.find((candidate) => candidate.name === name)
      this.#states.set(name, advanceState(row, this.#states.get(name)))
    }
    const [anyRow] = rows
    if (anyRow) {
      this.#scope = scopeOf(anyRow.identity, registrationNames)
      onCompanyWordsVersion(anyRow.wordsVersion)
    }
    this.#readAt = readAt
  }

  async #recordUse(now: number): Promise<void> {
    if (now - this.#usedAt <= timeouts.searchEngine.useRecord.ms) return
    this.#usedAt = now
    // An index whose use is not recorded for a minute may be removed, but the next attempt is
    // sooner.
    await updateUsedAt(this.#options.db, this.#options.registrationNames).catch(() => undefined)
  }
}

/** It is a hash, because an identity has characters that keys of a Redis Cluster may not have. */
const scopeOf = (identity: string, registrationNames: string[]): string =>
  createHash('sha256')
    .update([identity, ...registrationNames].join(' '))
    .digest('base64url')
    .slice(0, 20)

async function updateUsedAt(db: Kysely<Tables>, registrationNames: string[]): Promise<void> {
  const seconds = timeouts.searchEngine.useRecord.ms / 2_000
  await sql`
    update search_engines set used_at = now()
    where name = any(${registrationNames}) and used_at < now() - make_interval(secs => ${seconds})
  `.execute(db)
}
