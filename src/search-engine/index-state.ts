// Follows the state of the indexes: the instant up to which each contains every committed change,
// and the version of its contents, which decides whether cached answers are valid.
import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { differsOnlyInTimeline } from '../database/database-identity.ts'
import type { Tables } from '../database/table-types.ts'
import type { RedisAccess } from '../redis/optional-redis.ts'
import { type PollLock, type PollResult, SharedPolling } from '../redis/shared-polling.ts'
import { timeouts } from '../timeouts.ts'

export type IndexState = {
  /** The index contains every change committed up to this instant; null while it is unknown. */
  indexedAt: string | null
  /**
   * Identifies the contents of the index. Null while changes are pending or the state is unknown:
   * then no cached answer may be used.
   */
  version: string | null
  /**
   * False if the index was built from a different database, or from a later state of this one, or
   * if this database has no record of what the index contains. After a failover of PostgreSQL it
   * stays true for a minute, while the indexer compares the index with the catalogue.
   */
  isOfThisDatabase: boolean
}

export type FollowedIndexStates = {
  /** Returns the state of the index of this engine. */
  current(registrationName: string): IndexState
  stop(): void
}

const unknownState: IndexState = { indexedAt: null, version: null, isOfThisDatabase: true }

type FollowOptions = {
  db: Kysely<Tables>
  registrationNames: string[]
  /** Called often with the version of the company's words in the database. */
  onWordsVersion(version: string): void
  /** Without it, as without Redis, each process reads PostgreSQL. */
  shared?: SharedPolling
}

/** Returns what processes need to read the states together. */
export function shareIndexStates(redis: RedisAccess | null, keyPrefix: string): SharedPolling {
  const { indexStateLock, indexStateMaxAge } = timeouts.searchEngine
  return new SharedPolling(redis, `${keyPrefix}index-states`, {
    lockMs: indexStateLock.ms,
    maxAgeMs: indexStateMaxAge.ms,
    responseMs: timeouts.stats.redisVersionResponse.ms,
    pauseMs: timeouts.stats.redisPause.ms,
  })
}

/**
 * Follows the states of the indexes of these engines. One process reads them four times a second,
 * for all that share Redis. Without Redis a process that gets no searches reads them once a second.
 * While PostgreSQL is unreachable, `current` returns the last known instant and no version. Records
 * every ten seconds that the indexes are used. The same query reads the version of the company's
 * words.
 */
export function followIndexStates(options: FollowOptions): FollowedIndexStates {
  const follower = new IndexStateFollower(options)
  follower.start()
  return follower
}

class IndexStateFollower implements FollowedIndexStates {
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

  current(registrationName: string): IndexState {
    this.#askedAt = performance.now()
    if (this.#isIdle) {
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
    this.#timer = setTimeout(async () => this.#schedule(await this.#refresh()), delayMs).unref()
  }

  /**
   * Applies what another process has read, and reads PostgreSQL if no other process does. Returns
   * the pause before the next refresh in milliseconds.
   */
  async #refresh(): Promise<number> {
    this.#isIdle = false
    const { sharedIndexStatePoll, indexStateInterval } = timeouts.searchEngine
    const result = await this.#pollRedis()
    if (!result) return this.#refreshWithoutRedis()
    this.#applyPublished(result)
    const { lock } = result
    // This process reads for all. Not awaited: while the query hangs, it uses what other processes
    // publish.
    if (lock) {
      void this.#read(lock)
      const isAlone = this.#hasFailed || !lock.isAwaited
      return isAlone ? indexStateInterval.ms : sharedIndexStatePoll.ms
    }
    // Another process reads.
    if (!this.#hasFailed) return sharedIndexStatePoll.ms
    // After a failed read this process leaves the lock to others, and reads for itself.
    await this.#read(null)
    return indexStateInterval.ms
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
    const rows = parseRows(published.text)
    if (rows) this.#apply(rows, published.readAt)
  }

  /** Reads PostgreSQL. Returns a longer pause if no search has asked for a state for a while. */
  async #refreshWithoutRedis(): Promise<number> {
    await this.#read(null)
    const idleMs = performance.now() - this.#askedAt
    this.#isIdle = !this.#hasFailed && idleMs > timeouts.process.idleAfter.ms
    const { process, searchEngine } = timeouts
    return this.#isIdle ? process.idlePoll.ms : searchEngine.indexStateInterval.ms
  }

  async #read(lock: PollLock | null): Promise<void> {
    if (this.#isReading) return lock?.release()
    this.#isReading = true
    const scope = this.#scope
    const readAt = performance.now()
    const { db, registrationNames } = this.#options
    // A failed read is not logged: the health check reports PostgreSQL, and `current` returns no
    // version once the last read is too old.
    const rows = await readStates(db, registrationNames).catch(() => undefined)
    this.#isReading = false
    this.#hasFailed = rows === undefined
    if (!rows) return lock?.release()
    // A query that hung may return after another process has published a newer state.
    if (readAt > this.#readAt) this.#apply(rows, readAt)
    if (this.#scope === scope) lock?.publish(JSON.stringify(rows))
    else lock?.release()
    await this.#recordUse(readAt)
  }

  #apply(rows: RegisteredOrEmptyRow[], readAt: number): void {
    const registered = new Map(rows.filter(isRegistered).map((row) => [row.name, row]))
    // A database restored to a state before the registration has no row of an engine.
    for (const name of this.#options.registrationNames)
      this.#states.set(name, toState(registered.get(name), this.#states.get(name)))
    // Every row has the same version of the words and the same identity of the database.
    const [first] = rows
    if (first) {
      this.#scope = scopeOf(first.identity, this.#options.registrationNames)
      this.#options.onWordsVersion(first.wordsVersion)
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

/** It is a hash, because an identity has characters that keys of a Redis Cluster may not have. */
const scopeOf = (identity: string, registrationNames: string[]): string =>
  createHash('sha256')
    .update([identity, ...registrationNames].join(' '))
    .digest('base64url')
    .slice(0, 20)

/** Returns null if the text is not what a process of this version publishes. */
function parseRows(text: string): RegisteredOrEmptyRow[] | null {
  try {
    const rows: unknown = JSON.parse(text)
    const isRow = (row: unknown): row is RegisteredOrEmptyRow =>
      typeof row === 'object' && row !== null && 'wordsVersion' in row && 'identity' in row
    return Array.isArray(rows) && rows.every(isRow) ? rows : null
  } catch {
    // Another program may have written to the key.
    return null
  }
}

/** An empty row, with `name` null, is returned if none of the engines is registered. */
type RegisteredOrEmptyRow = Omit<StateRow, 'name'> & {
  name: string | null
  wordsVersion: string
  identity: string
}
const isRegistered = (row: RegisteredOrEmptyRow): row is RegisteredOrEmptyRow & StateRow =>
  row.name !== null

type StateRow = {
  name: string
  /** RFC 3339 text. */
  indexedAt: string | null
  isUpToDate: boolean
  version: string
  isOfThisDatabase: boolean
}

function toState(row: StateRow | undefined, previous: IndexState | undefined): IndexState {
  const lastKnown = previous?.indexedAt ?? null
  if (!row) return { indexedAt: lastKnown, version: null, isOfThisDatabase: false }
  const { indexedAt } = row
  const isNewer = indexedAt !== null && (lastKnown === null || indexedAt > lastKnown)
  return {
    indexedAt: isNewer ? indexedAt : lastKnown,
    version: row.isUpToDate ? row.version : null,
    isOfThisDatabase: row.isOfThisDatabase,
  }
}

/**
 * Returns the states of these engines, or one row without a name if none is registered. If all
 * outbox rows are settled, the index contains every change committed before now. Otherwise, or
 * while the indexer writes, it contains those up to the recorded instant. The indexer increments
 * the version after it has written. A failover, a crash or a restored copy may lose commits and set
 * that number back, so the version also contains the timeline of the database and the start of its
 * server. The query skips settled rows: while an old snapshot is in use there may be a million.
 */
export async function readStates(
  db: Kysely<Tables>,
  registrationNames: string[],
): Promise<RegisteredOrEmptyRow[]> {
  const failoverSeconds = timeouts.searchEngine.useAfterFailover.ms / 1_000
  const { rows } = await sql<Omit<RegisteredOrEmptyRow, 'indexedAt'> & { indexedAt: Date | null }>`
    select name,
      case when is_pending then indexed_at else now() end as "indexedAt",
      not is_pending as "isUpToDate",
      concat_ws(
        ' ', identity, extract(epoch from pg_postmaster_start_time()), engine.version
      ) as version,
      indexed_at is not null and (
        coalesce(database_identity = identity, true)
        or ${differsOnlyInTimeline(sql`identity`)}
          and indexed_at > now() - make_interval(secs => ${failoverSeconds})
      ) as "isOfThisDatabase",
      words.version::text as "wordsVersion",
      identity
    from search_words_version as words
      cross join (select database_identity() as identity offset 0) as database
      left join lateral (
        select *, indexed_at is null or is_writing
          or coalesce(database_identity <> identity, false)
          or ${unsettledChangesCondition} as is_pending
        from search_engines e where name = any(${registrationNames})
      ) as engine on true
  `.execute(db)
  return rows.map((row) => ({ ...row, indexedAt: row.indexedAt?.toISOString() ?? null }))
}

/**
 * An SQL condition: there are outbox rows of the engine `e` that its settled snapshot does not see
 * (docs/indexing.md explains the terms).
 */
export const unsettledChangesCondition = sql`(
  exists (
    select from product_changes c
    where c.engine = e.name and c.xid >= pg_snapshot_xmax(e.settled_snapshot)
  ) or exists (
    select from product_changes c
    where c.engine = e.name
      and c.xid = any (array(select pg_snapshot_xip(e.settled_snapshot)))
  )
)`

async function recordUse(db: Kysely<Tables>, registrationNames: string[]): Promise<void> {
  const seconds = timeouts.searchEngine.useRecord.ms / 2_000
  await sql`
    update search_engines set used_at = now()
    where name = any(${registrationNames}) and used_at < now() - make_interval(secs => ${seconds})
  `.execute(db)
}
