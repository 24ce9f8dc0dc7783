// The cache of statistics in this process: stale-while-revalidate, validated by the data version.
import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import pTimeout from 'p-timeout'
import { maxRunningStats } from '../../overload/concurrency-limit.ts'
import { timeouts } from '../../timeouts.ts'
import { ResponseBodies } from '../response-body.ts'
import type { StatsRequest } from '../schema.ts'
import { type DataVersion, includesChangesOf, type ObservedVersion } from './data-version.ts'
import type { DataVersionPoller } from './data-version-poller.ts'
import type { SharedStats, SharedStatsCache } from './shared-stats-cache.ts'

/**
 * - `hit`: found in this process and at most two seconds old.
 * - `shared`: found in Redis and at most two seconds old.
 * - `miss`: computed for this request.
 * - `collapsed`: computed for an earlier request that was still waiting for the same statistics.
 * - `stale`: more than two seconds old, because computing failed or took too long.
 */
export type CacheOutcome = 'hit' | 'shared' | 'miss' | 'collapsed' | 'stale'

/**
 * `ageMs` is the time since the data was last known to be unchanged. `asOf` is that moment, rounded
 * down to the second, as RFC 3339 text.
 */
export type CachedStats = {
  bodies: ResponseBodies
  outcome: CacheOutcome
  ageMs: number
  asOf: string
}

const maxEntries = 500
const maxCharacters = 20_000_000

/**
 * `currentAt` (performance.now) is the latest moment when the statistics were known to be current,
 * and `asOf` is that moment as text.
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
  versions: Pick<DataVersionPoller, 'latest' | 'recent' | 'readInBackground' | 'isFailing'>
  /** Returns the current local day, as requests have it. */
  readToday(): string
  /**
   * Computes the statistics without `asOf`, as JSON text, with the data version that they contain.
   * `currentAt` (performance.now) is the latest moment when they are known to have been current.
   * Default: when the computation began.
   */
  compute(
    request: StatsRequest,
  ): Promise<Pick<SharedStats, 'body' | 'version' | 'position'> & { currentAt?: number }>
  /** Called with a WAL position at or after every change in cached statistics, if it is known. */
  recordSentPosition?(position: number): void
}

export class StatsCache {
  readonly #shared: StatsCacheOptions['shared']
  readonly #versions: StatsCacheOptions['versions']
  readonly #readToday: StatsCacheOptions['readToday']
  readonly #compute: StatsCacheOptions['compute']
  readonly #recordSentPosition: StatsCacheOptions['recordSentPosition']
  readonly #entries = new LRUCache<string, Entry>({ max: maxEntries, maxSize: maxCharacters })
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
   * Returns current statistics without a promise if they are cached. Otherwise computes them, and
   * falls back to older ones. Throws the error of `compute` if there are none at all.
   */
  read(request: StatsRequest): CachedStats | Promise<CachedStats> {
    const key = cacheKeyOf(request)
    const entry = this.#entries.get(key)
    if (entry?.today !== request.today) return this.#waitForRefresh(key, request, entry)
    const ageMs = this.#renewAndGetAge(entry)
    if (ageMs >= timeouts.stats.maxAge.ms) return this.#waitForRefresh(key, request, entry)
    // The error is ignored here. The next request that has to wait for a refresh reports it.
    if (ageMs >= timeouts.stats.refreshAge.ms)
      this.#refresh(key, request).result.catch(() => undefined)
    return toCachedStats(entry, 'hit', ageMs)
  }

  /**
   * Returns the age of the entry in milliseconds. If neither the data nor the local day has changed
   * since it was last known to be current, first renews that moment. The day is read again here,
   * because a request may have waited across midnight.
   */
  #renewAndGetAge(entry: Entry): number {
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
  ): Promise<CachedStats> {
    const { result, isJoined } = this.#refresh(key, request)
    try {
      const { entry, outcome } = await pTimeout(result, {
        milliseconds: this.#maxWaitMs(older),
        message: 'Computing the statistics takes too long',
      })
      const ageMs = this.#renewAndGetAge(entry)
      if (ageMs >= timeouts.stats.maxAge.ms) return toCachedStats(entry, 'stale', ageMs)
      const isCollapsed = outcome === 'miss' && isJoined
      return toCachedStats(entry, isCollapsed ? 'collapsed' : outcome, ageMs)
    } catch (error) {
      this.#versions.readInBackground()
      if (!older) throw error
      return toCachedStats(older, 'stale', this.#renewAndGetAge(older))
    }
  }

  #maxWaitMs(older: Entry | undefined): number {
    if (!older) return timeouts.stats.firstComputation.ms
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
      const currentAt = this.#clampToRequest(request, latest.readAt, requestedAt)
      return { entry: this.#store(key, shared, currentAt), outcome: 'shared' }
    }
    try {
      return await this.#limitConcurrency(() => this.#computeAndShare(key, request, requestedAt))
    } catch (error) {
      this.#versions.readInBackground()
      // Another process may have computed newer statistics before PostgreSQL became unreachable.
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
  ): Promise<{ shared: SharedStats | null; latest: ObservedVersion | null }> {
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
  #clampToRequest({ today }: StatsRequest, moment: number, requestedAt: number): number {
    return this.#readToday() === today ? moment : Math.min(moment, requestedAt)
  }

  async #computeAndShare(
    key: string,
    request: StatsRequest,
    requestedAt: number,
  ): Promise<Refreshed> {
    const startedAt = this.#clampToRequest(request, performance.now(), requestedAt)
    const { currentAt: knownAt = startedAt, ...computed } = await this.#compute(request)
    const currentAt = Math.min(startedAt, knownAt)
    const computedAtEpochMs = toEpochMs(currentAt)
    const shared = { ...computed, today: request.today, computedAtEpochMs }
    const entry = this.#store(key, shared, currentAt)
    // Shared only under the id of the database that the statistics were computed from.
    const latest = this.#versions.latest()
    if (latest?.version.generation === shared.version.generation)
      this.#shared.write(latest.databaseId, key, shared)
    else this.#versions.readInBackground()
    return { entry, outcome: 'miss' }
  }

  #store(key: string, shared: SharedStats, currentAt: number): Entry {
    const { body, version, today, position } = shared
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
 * Whether the statistics in Redis are newer than those of this process. Numbers of changes are
 * comparable only within a generation. Otherwise the times of the computations are compared.
 */
function isNewer(shared: SharedStats, local: Entry): boolean {
  if (shared.version.generation !== local.version.generation)
    return toMonotonic(shared.computedAtEpochMs) > local.currentAt
  if (shared.version.changes !== local.version.changes)
    return shared.version.changes > local.version.changes
  return shared.today > local.today
}

function toCachedStats({ bodies, asOf }: Entry, outcome: CacheOutcome, ageMs: number): CachedStats {
  return { bodies, outcome, ageMs, asOf }
}

/** Returns a moment of performance.now() as RFC 3339 text, rounded down to the second. */
function formatInstant(moment: number): string {
  return new Date(Math.floor(toEpochMs(moment) / 1_000) * 1_000).toISOString().replace('.000Z', 'Z')
}

/**
 * The key contains every parameter that the statistics depend on. The company and the clock are the
 * same for all requests of a process. No parameter can contain a space.
 */
function cacheKeyOf({ from, to, date, country, currency, compare, by }: StatsRequest): string {
  const period = `${date} ${from ?? ''} ${to ?? ''}`
  // Joining an array would take as long as the rest of a hit.
  return `${period} ${country ?? ''} ${currency ?? ''} ${compare ?? ''} ${by ?? ''}`
}
