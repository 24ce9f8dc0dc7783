// The cache of statistics in this process: stale-while-revalidate, validated by the version of the
// summary.
//
// What a request gets depends on the age of the cached statistics: the time since they were last
// known to be current. They are constants with these names:
//
//   below refreshAgeMs  The cached statistics are sent.
//   below maxAgeMs      They are sent, and refreshed in the background.
//   from maxAgeMs       The request waits for a refresh, until that has taken `refreshWaitMs`. If
//                       it fails or takes longer, the cached statistics are sent as stale.
//   none cached         The same with those in Redis. If it has none either, the request waits
//                       at most `firstComputationMs`. It gets 503 if PostgreSQL is unavailable or
//                       takes longer, and 500 if computing fails because of a defect.
//
// A refresh first keeps the statistics of Redis if they are newer than those of this process. If the
// newer ones are of the latest version of the summary, that is all; otherwise it computes them. If
// it fails or is slow, the newer ones are sent as stale. Each new cause of a failure is logged once.
import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import pTimeout from 'p-timeout'
import { FailureLog, type TaskLog } from '../../monitoring/log/failure-log.ts'
import { maxRunningStats } from '../../overload/concurrency-limit.ts'
import { ResponseBodies } from '../response-body.ts'
import type { StatsRequest } from '../schema.ts'
import type { SummaryFollower } from '../summary/summary-follower.ts'
import { isAtLeast } from '../summary/summary-state.ts'
import {
  type ComputedStats,
  type Moment,
  type SharedStatsCache,
  toEpochMs,
} from './shared-stats-cache.ts'

// A committed change must be visible within two seconds.
export const maxAgeMs = 2_000
// The refresh ends before the statistics are two seconds old. Polls are more frequent.
export const refreshAgeMs = 800
// Computing takes 17 ms at a million quotes (p95), so a longer wait means a failure.
export const refreshWaitMs = 1_000
// PostgreSQL ends a statement of the API after the same time.
export const firstComputationMs = 10_000
// A defect can concern some requests only, such as those with `by=customer`. The success of the
// others is no recovery.
export const computationRecovery = { ms: 10_000 }

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
const maxBytes = 20_000_000
/** An entry holds its JSON, and bodies that together are about as long again. */
const sizeOfJson = 2

/** `knownCurrentAt` advances while the data does not change. */
type Entry = ComputedStats & { bodies: ResponseBodies }

/** An entry that is current, and how a refresh got it. */
type Refreshed = { entry: Entry; cacheResult: 'hit' | 'miss' }

/** A refresh that is running. `hasReadRedis` never rejects, and does not wait for PostgreSQL. */
type Refresh = { startedAt: Moment; finished: Promise<Refreshed>; hasReadRedis: Promise<void> }

export type StatsCacheOptions = {
  redisCache: Pick<SharedStatsCache, 'read' | 'write'>
  summary: Pick<SummaryFollower, 'latest'>
  compute(request: StatsRequest): Promise<ComputedStats>
  log: TaskLog
  /** Returns the current moment. Default: performance.now(). */
  now?(): Moment
}

export class StatsCache {
  readonly #options: StatsCacheOptions
  readonly #failures: FailureLog
  readonly #now: () => Moment
  readonly #entries = new LRUCache<string, Entry>({ max: maxEntries, maxSize: maxBytes })
  readonly #refreshes = new Map<string, Refresh>()
  readonly #limitConcurrency = pLimit(maxRunningStats)

  constructor(options: StatsCacheOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
    const texts = {
      failure: (cause: string) =>
        `Statistics cannot be computed (${cause}): requests get older ones or an error`,
      recovery: 'Statistics can be computed again',
    }
    this.#failures = new FailureLog(options.log, texts, { quietTime: computationRecovery })
  }

  /**
   * Returns current statistics from the cache, or computes them. Falls back to older ones. If there
   * are none at all, throws the error of `compute`, or a TimeoutError if it takes too long.
   */
  async read(request: StatsRequest): Promise<CachedStats> {
    const key = cacheKeyOf(request)
    const entry = this.#entries.get(key)
    if (!entry) return this.#waitForRefresh(key, request)
    const found = this.#toResult(entry, 'hit')
    if (found.ageMs >= maxAgeMs) return this.#waitForRefresh(key, request)
    if (found.ageMs >= refreshAgeMs) this.#refresh(key, request)
    return found
  }

  async #waitForRefresh(key: string, request: StatsRequest): Promise<CachedStats> {
    const isJoined = this.#refreshes.has(key)
    const refresh = this.#refresh(key, request)
    await refresh.hasReadRedis
    const older = this.#entries.get(key)
    const takenMs = this.#now() - refresh.startedAt
    let refreshed: Refreshed
    try {
      refreshed = await pTimeout(refresh.finished, {
        milliseconds: older ? Math.max(1, refreshWaitMs - takenMs) : firstComputationMs,
        message: 'Computing the statistics takes too long',
      })
    } catch (error) {
      if (!older) throw error
      return this.#toResult(older, 'stale')
    }
    const { entry, cacheResult } = refreshed
    return this.#toResult(entry, isJoined && cacheResult === 'miss' ? 'collapsed' : cacheResult)
  }

  /** Advances the moment when the entry was last known to be current, if it still is. */
  #toResult(entry: Entry, cacheResult: CacheResult): CachedStats {
    const latest = this.#options.summary.latest()
    if (latest && isAtLeast(entry.version, latest.version))
      entry.knownCurrentAt = Math.max(entry.knownCurrentAt, latest.currentAt)
    const ageMs = this.#now() - entry.knownCurrentAt
    return {
      bodies: entry.bodies,
      cacheResult: ageMs < maxAgeMs ? cacheResult : 'stale',
      ageMs,
      asOf: formatMoment(entry.knownCurrentAt),
    }
  }

  /** Starts a refresh, or joins the one that is running for the same key. */
  #refresh(key: string, request: StatsRequest): Refresh {
    const running = this.#refreshes.get(key)
    if (running) return running
    const hasReadRedis = this.#keepNewerOfRedis(key)
    const finished = hasReadRedis
      .then(() => this.#load(key, request))
      .finally(() => this.#refreshes.delete(key))
    // #load logs the error. Perhaps no request waits for the refresh.
    finished.catch(() => undefined)
    const refresh = { startedAt: this.#now(), finished, hasReadRedis }
    this.#refreshes.set(key, refresh)
    return refresh
  }

  /**
   * Keeps the statistics in Redis if they are newer than those of this process: another one may
   * have computed them. Without a known generation, nothing says whether they are of this database.
   */
  async #keepNewerOfRedis(key: string): Promise<void> {
    const generation = this.#options.summary.latest()?.version.generation
    if (generation === undefined) return
    const shared = await this.#options.redisCache.read(generation, key)
    const entry = this.#entries.get(key)
    if (shared && !(entry && isAtLeast(entry.version, shared.version))) this.#store(key, shared)
  }

  async #load(key: string, request: StatsRequest): Promise<Refreshed> {
    const { summary, compute, redisCache } = this.#options
    try {
      const latest = summary.latest()
      const entry = this.#entries.get(key)
      const isKnown = latest && this.#now() - latest.readAt < maxAgeMs
      if (isKnown && entry && isAtLeast(entry.version, latest.version))
        return { entry, cacheResult: 'hit' }
      const computed = await this.#limitConcurrency(() => compute(request))
      this.#failures.logSuccess()
      redisCache.write(key, computed)
      return { entry: this.#store(key, computed), cacheResult: 'miss' }
    } catch (error) {
      this.#failures.logFailure(error)
      throw error
    }
  }

  #store(key: string, computed: ComputedStats): Entry {
    const entry = { ...computed, bodies: new ResponseBodies(computed.stats) }
    this.#entries.set(key, entry, { size: sizeOfJson * JSON.stringify(computed.stats).length })
    return entry
  }
}

/** Returns a moment as RFC 3339 text, rounded down to the second. */
function formatMoment(moment: Moment): string {
  return `${new Date(toEpochMs(moment)).toISOString().slice(0, 'YYYY-MM-DDThh:mm:ss'.length)}Z`
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
