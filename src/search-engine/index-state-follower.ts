// Follows the state of the indexes, in turn with the other processes that share Redis: the instant
// up to which each index contains every committed change, and the version of its contents.
import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import type { RedisAccess } from '../redis/optional-redis.ts'
import { type PollLock, type PollResult, SharedPolling } from '../redis/shared-polling.ts'
import { timeouts } from '../timeouts.ts'
import {
  type IndexState,
  type IndexStateRow,
  parseStateRows,
  readIndexStates,
  toState,
} from './read-index-states.ts'

const unknownState: IndexState = { indexedAt: null, version: null, isOfThisDatabase: true }

type FollowOptions = {
  db: Kysely<Tables>
  registrationNames: string[]
  /** Called often with the version of the company's words in the database. */
  onCompanyWordsVersion(version: string): void
  /** Without it, as without Redis, each process reads PostgreSQL. */
  shared?: SharedPolling
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
 * Follows the states of the indexes of these engines. Records every ten seconds that the indexes
 * are used. The same query reads the version of the company's words. `#refresh` decides who reads:
 *
 *     Redis    the lock                 this process           and refreshes again after
 *     down     -                        reads for itself       250 ms, or 1 s without searches
 *     up       is held by this process  reads for all          100 ms, or 250 ms if alone
 *     up       is held by another       uses what that reads   100 ms
 *     up       not tried: its last      reads for itself       250 ms
 *              read has failed
 *
 * Before its first read, a process does not use Redis. While PostgreSQL is unreachable, `current`
 * returns the last known instant and no version.
 */
export class IndexStateFollower {
  readonly #options: FollowOptions
  readonly #states = new Map<string, IndexState>()
  #readAt = Number.NEGATIVE_INFINITY
  #usedAt = Number.NEGATIVE_INFINITY
  /** Identifies the database and the engines. Null until PostgreSQL has been read. */
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

  /** Returns the state of the index of this engine. */
  current(registrationName: string): IndexState {
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

  /** Follows the table above once. Returns the pause before the next refresh in milliseconds. */
  async #refresh(): Promise<number> {
    this.#isIdle = false
    const result = await this.#pollRedis()
    if (result) this.#applyPublished(result)
    const lock = result?.lock
    const isAlone = lock ? !lock.isAwaited : !result || this.#hasFailed
    // Not awaited: while the query hangs, this process uses what other processes publish.
    if (lock) void this.#read(lock)
    else if (isAlone) await this.#read(null)
    const unusedMs = performance.now() - this.#askedAt
    this.#isIdle = !result && !this.#hasFailed && unusedMs > timeouts.process.idleAfter.ms
    return choosePause(isAlone, this.#isIdle)
  }

  /** Returns null without Redis, and before PostgreSQL was read for the first time. */
  async #pollRedis(): Promise<PollResult | null> {
    const { shared } = this.#options
    if (!this.#scope || !shared) return null
    const mayLock = !this.#isReading && !this.#hasFailed
    return shared.poll(this.#scope, { mayLock })
  }

  /** Applies what another process has published, if it is newer. */
  #applyPublished({ published }: PollResult): void {
    if (!published || published.readAt <= this.#readAt) return
    const rows = parseStateRows(published.text)
    if (rows) this.#apply(rows, published.readAt)
  }

  async #read(lock: PollLock | null): Promise<void> {
    if (this.#isReading) return lock?.release()
    this.#isReading = true
    const scope = this.#scope
    const readAt = performance.now()
    const { db, registrationNames } = this.#options
    // A failed read is not logged: the health check reports PostgreSQL, and `current` returns no
    // version once the last read is too old.
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
    const rowOf = new Map(rows.map((row) => [row.name, row]))
    // A database restored to a state before the registration has no row of an engine.
    for (const name of this.#options.registrationNames)
      this.#states.set(name, toState(rowOf.get(name), this.#states.get(name)))
    // Every row has the same version of the words and the same identity of the database.
    const [first] = rows
    if (first) {
      this.#scope = scopeOf(first.identity, this.#options.registrationNames)
      this.#options.onCompanyWordsVersion(first.wordsVersion)
    }
    this.#readAt = readAt
  }

  async #recordUse(now: number): Promise<void> {
    if (now - this.#usedAt <= timeouts.searchEngine.useRecord.ms) return
    this.#usedAt = now
    // An index whose use is not recorded for a minute may be removed, but the next attempt is
    // sooner.
    await recordUse(this.#options.db, this.#options.registrationNames).catch(() => undefined)
  }
}

function choosePause(isAlone: boolean, isIdle: boolean): number {
  if (isIdle) return timeouts.process.idlePoll.ms
  const { indexStateInterval, sharedIndexStatePoll } = timeouts.searchEngine
  return isAlone ? indexStateInterval.ms : sharedIndexStatePoll.ms
}

/** It is a hash, because an identity has characters that keys of a Redis Cluster may not have. */
const scopeOf = (identity: string, registrationNames: string[]): string =>
  createHash('sha256')
    .update([identity, ...registrationNames].join(' '))
    .digest('base64url')
    .slice(0, 20)

async function recordUse(db: Kysely<Tables>, registrationNames: string[]): Promise<void> {
  const seconds = timeouts.searchEngine.useRecord.ms / 2_000
  await sql`
    update search_engines set used_at = now()
    where name = any(${registrationNames}) and used_at < now() - make_interval(secs => ${seconds})
  `.execute(db)
}
