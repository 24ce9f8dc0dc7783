// The cache of answers in this process: stale-while-revalidate, validated by the data version.
import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import pTimeout from 'p-timeout'
import { maxRunningStats } from '../../overload/concurrency-limit.ts'
import { timeouts } from '../../timeouts.ts'
import { ResponseBodies } from '../response-body.ts'
import type { StatsRequest } from '../schema.ts'
import { type DataVersion, type DataVersionReading, includesChangesOf } from './data-version.ts'
import type { DataVersionPoller } from './data-version-poller.ts'
import type { SharedAnswer, SharedStatsCache } from './shared-stats-cache.ts'

/**
 * - `hit`: found in this process and at most two seconds old.
 * - `shared`: found in Redis and at most two seconds old.
 * - `miss`: computed for this request.
 * - `collapsed`: computed for an earlier request that was still waiting for the same answer.
 * - `stale`: more than two seconds old, because computing failed or took too long.
 */
export type CacheOutcome = 'hit' | 'shared' | 'miss' | 'collapsed' | 'stale'

/**
 * `ageMs` is the time since the data was last known to be unchanged. `asOf` is that moment, rounded
 * down to the second, as RFC 3339 text.
 */
export type CachedAnswer = {
  bodies: ResponseBodies
  outcome: CacheOutcome
  ageMs: number
  asOf: string
}

const maxAnswers = 500
const maxCharacters = 20_000_000

/**
 * `currentAt` (performance.now) is the latest moment when the answer was known to be current, and
 * `asOf` is that moment as text.
 */
type Entry = {
  bodies: ResponseBodies
  version: DataVersion
  today: string
  currentAt: number
  asOf: string
}
type Refreshed = { entry: Entry; outcome: 'shared' | 'miss' | 'stale' }
type Refresh = { result: Promise<Refreshed>; isJoined: boolean }

export type StatsCacheOptions = {
  shared: Pick<SharedStatsCache, 'read' | 'write'>
  versions: Pick<DataVersionPoller, 'latest' | 'recent' | 'check' | 'isFailing'>
  /** Returns the current local day, as requests have it. */
  readToday(): string
  /**
   * Computes the answer without `asOf`, as JSON text, with the data version that it contains.
   * `currentAt` (performance.now) is the latest moment when it is known to have been current.
   * Default: when the computation began.
   */
  compute(
    request: StatsRequest,
  ): Promise<Pick<SharedAnswer, 'body' | 'version' | 'position'> & { currentAt?: number }>
  /** Called with a WAL position at or after every change in an answer, if it is known. */
  recordSentPosition?(position: number): void
}

export class StatsCache {
  readonly #shared: StatsCacheOptions['shared']
  readonly #versions: StatsCacheOptions['versions']
  readonly #readToday: StatsCacheOptions['readToday']
  readonly #compute: StatsCacheOptions['compute']
  readonly #recordSentPosition: StatsCacheOptions['recordSentPosition']
  readonly #entries = new LRUCache<string, Entry>({ max: maxAnswers, maxSize: maxCharacters })
  readonly #refreshes = new Map<string, Promise<Refreshed>>()
  readonly #limitConcurrency = pLimit(maxRunningStats)

  constructor({ shared, versions, readToday, compute, recordSentPosition }: StatsCacheOptions) {
    this.#shared = shared
    this.#versions = versions
    this.#readToday = readToday
    this.#compute = compute
    this.#recordSentPosition = recordSentPosition
  }

  /**
   * Returns a current answer without a promise if there is one. Otherwise computes it, and falls
   * back to an older one. Throws the error of `compute` if there is no answer at all.
   */
  read(request: StatsRequest): CachedAnswer | Promise<CachedAnswer> {
    const key = cacheKeyOf(request)
    const entry = this.#entries.get(key)
    if (entry?.today !== request.today) return this.#waitForRefresh(key, request, entry)
    const ageMs = this.#confirmAndGetAge(entry)
    if (ageMs >= timeouts.stats.maxAge.ms) return this.#waitForRefresh(key, request, entry)
    // The error is ignored here. The next request that has to wait for a refresh reports it.
    if (ageMs >= timeouts.stats.refreshAge.ms)
      this.#refresh(key, request).result.catch(() => undefined)
    return answerOf(entry, 'hit', ageMs)
  }

  /**
   * Returns the age in milliseconds. An entry is current while neither the data nor the local day
   * changes. The day is read again here, because a request may have waited across midnight.
   */
  #confirmAndGetAge(entry: Entry): number {
    const latest = this.#versions.latest()
    if (
      latest &&
      latest.readAt > entry.currentAt &&
      entry.today === this.#readToday() &&
      includesChangesOf(entry.version, latest.version)
    ) {
      entry.currentAt = latest.readAt
      entry.asOf = formatInstant(latest.readAt)
    }
    return performance.now() - entry.currentAt
  }

  async #waitForRefresh(
    key: string,
    request: StatsRequest,
    older: Entry | undefined,
  ): Promise<CachedAnswer> {
    const { result, isJoined } = this.#refresh(key, request)
    try {
      const { entry, outcome } = await pTimeout(result, {
        milliseconds: this.#maxWaitMs(older),
        message: 'Computing the statistics takes too long',
      })
      const ageMs = this.#confirmAndGetAge(entry)
      if (ageMs >= timeouts.stats.maxAge.ms) return answerOf(entry, 'stale', ageMs)
      const isCollapsed = outcome === 'miss' && isJoined
      return answerOf(entry, isCollapsed ? 'collapsed' : outcome, ageMs)
    } catch (error) {
      this.#versions.check()
      if (!older) throw error
      return answerOf(older, 'stale', this.#confirmAndGetAge(older))
    }
  }

  #maxWaitMs(older: Entry | undefined): number {
    if (!older) return timeouts.stats.firstAnswer.ms
    if (this.#versions.isFailing()) return timeouts.stats.refreshDuringOutage.ms
    return timeouts.stats.refresh.ms
  }

  /** Starts a refresh, or joins the one that is running for the same key and day. */
  #refresh(key: string, request: StatsRequest): Refresh {
    const refreshKey = `${request.today} ${key}`
    const running = this.#refreshes.get(refreshKey)
    if (running) return { result: running, isJoined: true }
    const result = this.#load(key, request).finally(() => this.#refreshes.delete(refreshKey))
    this.#refreshes.set(refreshKey, result)
    return { result, isJoined: false }
  }

  async #load(key: string, request: StatsRequest): Promise<Refreshed> {
    const requestedAt = performance.now()
    const { shared, latest } = await this.#readShared(key)
    const isCurrent =
      shared?.today === request.today &&
      latest !== null &&
      includesChangesOf(shared.version, latest.version)
    if (isCurrent) {
      const currentAt = this.#limitToDay(request, latest.readAt, requestedAt)
      return { entry: this.#store(key, shared, currentAt), outcome: 'shared' }
    }
    try {
      return await this.#limitConcurrency(() => this.#computeAndShare(key, request, requestedAt))
    } catch (error) {
      this.#versions.check()
      // Another process may have computed a newer answer before PostgreSQL became unreachable.
      const local = this.#entries.get(key)
      if (!shared || (local && !isNewer(shared, local))) throw error
      return {
        entry: this.#store(key, shared, toMonotonic(shared.computedAtEpochMs)),
        outcome: 'stale',
      }
    }
  }

  /**
   * Reads Redis and the data version, at the same time if the database is known. While PostgreSQL
   * is unreachable, the database is the one that was read last.
   */
  async #readShared(
    key: string,
  ): Promise<{ shared: SharedAnswer | null; latest: DataVersionReading | null }> {
    const known = this.#versions.latest()
    if (known) {
      const [shared, latest] = await Promise.all([
        this.#shared.read(known.databaseId, key),
        this.#versions.recent(),
      ])
      const isSameDatabase = latest === null || latest.databaseId === known.databaseId
      return { shared: isSameDatabase ? shared : null, latest }
    }
    const latest = await this.#versions.recent()
    return { shared: latest && (await this.#shared.read(latest.databaseId, key)), latest }
  }

  /** Returns `moment`, or `requestedAt` if the day of the request has ended since the request. */
  #limitToDay({ today }: StatsRequest, moment: number, requestedAt: number): number {
    return this.#readToday() === today ? moment : Math.min(moment, requestedAt)
  }

  async #computeAndShare(
    key: string,
    request: StatsRequest,
    requestedAt: number,
  ): Promise<Refreshed> {
    const startedAt = this.#limitToDay(request, performance.now(), requestedAt)
    const { currentAt: knownAt = startedAt, ...computed } = await this.#compute(request)
    const currentAt = Math.min(startedAt, knownAt)
    const computedAtEpochMs = toEpochMs(currentAt)
    const answer = { ...computed, today: request.today, computedAtEpochMs }
    const entry = this.#store(key, answer, currentAt)
    // Shared only under the id of the database that it was read from.
    const latest = this.#versions.latest()
    if (latest?.version.generation === answer.version.generation)
      this.#shared.write(latest.databaseId, key, answer)
    else this.#versions.check()
    return { entry, outcome: 'miss' }
  }

  #store(key: string, answer: SharedAnswer, currentAt: number): Entry {
    const { body, version, today, position } = answer
    if (position != null) this.#recordSentPosition?.(position)
    const asOf = formatInstant(currentAt)
    const entry = { bodies: new ResponseBodies(body), version, today, currentAt, asOf }
    this.#entries.set(key, entry, { size: body.length })
    return entry
  }
}

/** Converts a moment of Date.now() to performance.now(). A moment in the future becomes now. */
const toMonotonic = (epochMs: number) => performance.now() - Math.max(0, Date.now() - epochMs)

/** Converts a moment of performance.now() to Date.now(). */
const toEpochMs = (moment: number) => Date.now() - (performance.now() - moment)

/**
 * Whether the answer in Redis is newer than the one of this process. Numbers of changes of
 * different generations cannot be compared, so the times of the computations are.
 */
function isNewer(shared: SharedAnswer, local: Entry): boolean {
  if (shared.version.generation !== local.version.generation)
    return toMonotonic(shared.computedAtEpochMs) > local.currentAt
  if (shared.version.changes !== local.version.changes)
    return shared.version.changes > local.version.changes
  return shared.today > local.today
}

function answerOf({ bodies, asOf }: Entry, outcome: CacheOutcome, ageMs: number): CachedAnswer {
  return { bodies, outcome, ageMs, asOf }
}

/** Returns a moment of performance.now() as RFC 3339 text, rounded down to the second. */
function formatInstant(moment: number): string {
  return new Date(Math.floor(toEpochMs(moment) / 1_000) * 1_000).toISOString().replace('.000Z', 'Z')
}

/**
 * The key contains every parameter that the answer depends on. The company and the clock are the
 * same for all requests of a process. No parameter can contain a space.
 */
function cacheKeyOf({ from, to, date, country, currency, compare, by }: StatsRequest): string {
  const period = `${date} ${from ?? ''} ${to ?? ''}`
  // Joining an array would take as long as the rest of a hit.
  return `${period} ${country ?? ''} ${currency ?? ''} ${compare ?? ''} ${by ?? ''}`
}
