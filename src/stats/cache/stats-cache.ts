// The cache of statistics in this process: stale-while-revalidate, validated by the version of the
// summary.
//
// What a request gets depends on the age of the cached statistics: the time since they were last
// known to be current. They are constants with these names:
//
//   below refreshAgeMs  The cached statistics are sent.
//   below maxAgeMs      They are sent, and refreshed in the background.
//   from maxAgeMs       The request waits for a refresh, at most `refreshWaitMs`. If the refresh
//                       fails or takes longer, the cached statistics are sent as stale.
//   none cached         The same with those in Redis. If it has none either, the request waits
//                       at most `firstComputationMs`. It gets 503 if PostgreSQL is unavailable or
//                       takes longer, and 500 if computing fails because of a defect.
//
// Sometimes a wait for a refresh is unlikely to help: PostgreSQL is known not to respond, or an
// earlier request has waited for the same refresh in vain. Then a request that can get older
// statistics waits only `refreshWaitDuringOutageMs`.
//
// A refresh takes the statistics of this process if they are of the latest version of the summary,
// and otherwise those in Redis. If neither are, it computes them. If it fails or is slow, older
// statistics are sent as stale: those in Redis or those in this process, whichever are newer. Each
// new cause of a failure is logged once.
import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import pTimeout, { TimeoutError } from 'p-timeout'
import type { TaskLog } from '../../monitoring/log/failure-log.ts'
import { maxRunningStats } from '../../overload/concurrency-limit.ts'
import { ResponseBodies } from '../response-body.ts'
import type { StatsRequest } from '../schema.ts'
import type { ObservedVersion, SummaryFollower } from '../summary/summary-follower.ts'
import { isAtLeast } from '../summary/summary-state.ts'
import { ComputationFailures } from './computation-failures.ts'
import { formatMoment, type Moment } from './moments.ts'
import type { ComputedStats, SharedStatsCache } from './shared-stats-cache.ts'

// A committed change must be visible within two seconds.
export const maxAgeMs = 2_000
// The refresh ends before the statistics are two seconds old. Polls are more frequent.
export const refreshAgeMs = 800
// Computing takes 17 ms at a million quotes (p95), so a longer wait means a failure.
export const refreshWaitMs = 1_000
// A longer wait is unlikely to help.
export const refreshWaitDuringOutageMs = 1
// PostgreSQL ends a statement of the API after the same time.
export const firstComputationMs = 10_000
// With a poll every half second, a refresh rarely needs another one.
const versionMaxAgeMs = 700
// A poll reads one row and waits half a second for a fold, so longer means that PostgreSQL hangs.
export const versionResponseMs = 1_000

/**
 * - `hit`: found in this process or in Redis, and younger than `maxAgeMs`.
 * - `miss`: computed for this request.
 * - `collapsed`: computed for an earlier request that was still waiting for the same statistics.
 * - `stale`: not younger than `maxAgeMs`, because computing or folding failed or was slow.
 *   Statistics from Redis that were sent because computing failed or was slow are `stale` whatever
 *   their age.
 */
export type CacheResult = 'hit' | 'miss' | 'collapsed' | 'stale'

/**
 * `ageMs` is the time since the statistics were last known to be current. `asOf` is that moment,
 * rounded down to the second, as RFC 3339 text.
 */
export type CachedStats = {
  cacheResult: CacheResult
  bodies: ResponseBodies
  ageMs: number
  asOf: string
}

const maxEntries = 500
/** The size of an entry is that of its bodies plus the number of characters of its JSON. */
const maxBytes = 20_000_000

/** `knownCurrentAt` advances while the data does not change, and `asOf` is that moment as text. */
type Entry = ComputedStats & { bodies: ResponseBodies; asOf: string }

/** An entry that is current, and how a refresh got it. */
type Refreshed = { entry: Entry; cacheResult: 'hit' | 'miss' }

/**
 * A refresh that is running. `fromRedis` is what Redis has, which may be out of date. It never
 * rejects, and it does not wait for PostgreSQL. `isSlow`: a request has waited for the refresh in
 * vain.
 */
type Refresh = {
  finished: Promise<Refreshed>
  fromRedis: Promise<ComputedStats | null>
  isSlow: boolean
}

export type StatsCacheOptions = {
  redisCache: Pick<SharedStatsCache, 'read' | 'write'>
  summary: Pick<SummaryFollower, 'latest' | 'readIfOlderThan' | 'readInBackground' | 'isFailing'>
  compute(request: StatsRequest): Promise<ComputedStats>
  log: TaskLog
  /** Returns the current moment. Default: performance.now(). */
  now?(): Moment
}

export class StatsCache {
  readonly #redisCache: StatsCacheOptions['redisCache']
  readonly #summary: StatsCacheOptions['summary']
  readonly #compute: StatsCacheOptions['compute']
  readonly #failures: ComputationFailures
  readonly #now: () => Moment
  readonly #entries = new LRUCache<string, Entry>({ max: maxEntries, maxSize: maxBytes })
  readonly #refreshes = new Map<string, Refresh>()
  readonly #limitConcurrency = pLimit(maxRunningStats)

  constructor(options: StatsCacheOptions) {
    this.#redisCache = options.redisCache
    this.#summary = options.summary
    this.#compute = options.compute
    this.#failures = new ComputationFailures(options.log)
    this.#now = options.now ?? (() => performance.now())
  }

  /**
   * Returns current statistics from the cache, or computes them. Falls back to older ones. If there
   * are none at all, throws the error of `compute`, or a TimeoutError if it takes too long.
   */
  async read(request: StatsRequest): Promise<CachedStats> {
    const key = cacheKeyOf(request)
    const entry = this.#entries.get(key)
    if (!entry) return this.#waitForRefresh(key, request, null)
    this.#advanceIfCurrent(entry)
    const ageMs = this.#ageMsOf(entry)
    if (ageMs >= maxAgeMs) return this.#waitForRefresh(key, request, entry)
    if (ageMs >= refreshAgeMs) this.#refresh(key, request)
    return toResult(entry, 'hit', ageMs)
  }

  /** Advances the moment when the entry was last known to be current, if it still is. */
  #advanceIfCurrent(entry: Entry): void {
    const latest = this.#summary.latest()
    if (latest && isAtLeast(entry.version, latest.version)) advance(entry, latest.currentAt)
  }

  #ageMsOf(entry: Entry): number {
    return this.#now() - entry.knownCurrentAt
  }

  async #waitForRefresh(
    key: string,
    request: StatsRequest,
    entry: Entry | null,
  ): Promise<CachedStats> {
    const isJoined = this.#refreshes.has(key)
    const isPrimaryFailing = this.#summary.isFailing(versionResponseMs)
    const refresh = this.#refresh(key, request)
    const redisStats = await refresh.fromRedis
    const waitMs = maxWaitMs(entry ?? redisStats, isPrimaryFailing || refresh.isSlow)
    const outcome = await waitFor(refresh, waitMs)
    if (outcome.state === 'finished') return this.#toResult(outcome.refreshed, isJoined)
    this.#summary.readInBackground()
    const older = this.#keepNewer(key, redisStats) ?? entry
    if (!older) throw outcome.error
    this.#advanceIfCurrent(older)
    return toResult(older, 'stale', this.#ageMsOf(older))
  }

  /** `isJoined`: an earlier request had begun the refresh. */
  #toResult({ entry, cacheResult }: Refreshed, isJoined: boolean): CachedStats {
    this.#advanceIfCurrent(entry)
    const ageMs = this.#ageMsOf(entry)
    if (ageMs >= maxAgeMs) return toResult(entry, 'stale', ageMs)
    return toResult(entry, isJoined && cacheResult === 'miss' ? 'collapsed' : cacheResult, ageMs)
  }

  /** Starts a refresh, or joins the one that is running for the same key. */
  #refresh(key: string, request: StatsRequest): Refresh {
    const running = this.#refreshes.get(key)
    if (running) return running
    const versionAtStart = this.#summary.latest()
    const fromRedis = this.#readFromRedis(versionAtStart, key)
    const finished = this.#load(key, request, { versionAtStart, fromRedis }).finally(() =>
      this.#refreshes.delete(key),
    )
    // #load logs the error. Perhaps no request waits for the refresh.
    finished.catch(() => undefined)
    const refresh = { finished, fromRedis, isSlow: false }
    this.#refreshes.set(key, refresh)
    return refresh
  }

  /** Returns what Redis has of the generation that was observed, or null. */
  async #readFromRedis(
    observed: ObservedVersion | null,
    key: string,
  ): Promise<ComputedStats | null> {
    return observed && this.#redisCache.read(observed.version.generation, key)
  }

  /**
   * `fromRedis` is what Redis has of the generation of `versionAtStart`. If another one is observed
   * by now, Redis is read again.
   */
  async #load(
    key: string,
    request: StatsRequest,
    {
      versionAtStart,
      fromRedis,
    }: { versionAtStart: ObservedVersion | null; fromRedis: Promise<ComputedStats | null> },
  ): Promise<Refreshed> {
    try {
      const latest = await this.#summary.readIfOlderThan(versionMaxAgeMs)
      if (latest) {
        const entry = this.#entries.get(key)
        if (entry && isAtLeast(entry.version, latest.version)) {
          advance(entry, latest.currentAt)
          return { entry, cacheResult: 'hit' }
        }
        const isSame = latest.version.generation === versionAtStart?.version.generation
        const redisStats = await (isSame ? fromRedis : this.#readFromRedis(latest, key))
        if (redisStats && isAtLeast(redisStats.version, latest.version)) {
          const shared = this.#store(key, redisStats)
          advance(shared, latest.currentAt)
          return { entry: shared, cacheResult: 'hit' }
        }
      }
      const computed = await this.#limitConcurrency(() => this.#computeAndShare(key, request))
      return { entry: this.#store(key, computed), cacheResult: 'miss' }
    } catch (error) {
      this.#failures.recordFailure(key, error)
      this.#summary.readInBackground()
      throw error
    }
  }

  /**
   * Keeps the newer of the statistics in Redis and in this process. Null if there are none. Another
   * process may have computed newer ones before PostgreSQL became unreachable.
   */
  #keepNewer(key: string, redisStats: ComputedStats | null): Entry | null {
    const entry = this.#entries.get(key) ?? null
    if (!redisStats || (entry && !isNewer(redisStats, entry))) return entry
    return this.#store(key, redisStats)
  }

  async #computeAndShare(key: string, request: StatsRequest): Promise<ComputedStats> {
    const computed = await this.#compute(request)
    this.#failures.recordSuccess(key)
    this.#redisCache.write(key, computed)
    return computed
  }

  #store(key: string, computed: ComputedStats): Entry {
    const { stats, knownCurrentAt } = computed
    const asOf = formatMoment(knownCurrentAt)
    const statsSize = JSON.stringify(stats).length
    const bodies = new ResponseBodies(stats, () => {
      if (this.#entries.peek(key) !== entry) return
      // lru-cache keeps the old size when the same value is set again.
      this.#entries.delete(key)
      this.#entries.set(key, entry, { size: statsSize + bodies.countBytes() })
    })
    const entry: Entry = { ...computed, bodies, asOf }
    this.#entries.set(key, entry, { size: statsSize })
    return entry
  }
}

function advance(entry: Entry, knownCurrentAt: Moment): void {
  if (knownCurrentAt <= entry.knownCurrentAt) return
  entry.knownCurrentAt = knownCurrentAt
  entry.asOf = formatMoment(knownCurrentAt)
}

/**
 * Whether the statistics in Redis are newer than those of this process. Their versions are
 * comparable only within a generation. Otherwise `knownCurrentAt` is compared.
 */
function isNewer(redisStats: ComputedStats, entry: ComputedStats): boolean {
  if (redisStats.version.generation !== entry.version.generation)
    return redisStats.knownCurrentAt > entry.knownCurrentAt
  return redisStats.version.number > entry.version.number
}

/**
 * How a wait for a refresh ended. The error of a failed refresh is logged by #load. A slow refresh
 * continues, and `error` is a TimeoutError.
 */
type Outcome =
  | { state: 'finished'; refreshed: Refreshed }
  | { state: 'failed' | 'slow'; error: unknown }

/** Waits for the refresh, and marks it as slow if it takes longer. Never rejects. */
function waitFor(refresh: Refresh, milliseconds: number): Promise<Outcome> {
  const ended = refresh.finished.then(
    (refreshed): Outcome => ({ state: 'finished', refreshed }),
    (error: unknown): Outcome => ({ state: 'failed', error }),
  )
  return pTimeout(ended, {
    milliseconds,
    fallback(): Outcome {
      refresh.isSlow = true
      return {
        state: 'slow',
        error: new TimeoutError('Computing the statistics takes too long'),
      }
    },
  })
}

/**
 * Returns how long a request waits for a refresh in milliseconds. Then it gets `older`, if there
 * are such statistics.
 */
function maxWaitMs(older: ComputedStats | null, isUnlikelyToFinish: boolean): number {
  if (!older) return firstComputationMs
  return isUnlikelyToFinish ? refreshWaitDuringOutageMs : refreshWaitMs
}

function toResult({ bodies, asOf }: Entry, cacheResult: CacheResult, ageMs: number): CachedStats {
  return { bodies, cacheResult, ageMs, asOf }
}

/**
 * The key contains every parameter that the statistics depend on. No parameter can contain a space.
 * The company is not part of it: all processes of a database have the same base currency and time
 * zone, because each checks them when it starts (src/company/company-record.ts).
 */
function cacheKeyOf({ date, from, to, country, currency, compare, by }: StatsRequest): string {
  // The Record type makes the compiler reject a missing parameter.
  const parameters: Record<keyof StatsRequest, string | undefined> = {
    date,
    from,
    to,
    country,
    currency,
    compare,
    by,
  }
  return Object.values(parameters).join(' ')
}
