// Reads API keys from PostgreSQL through a cache. It also finds keys that may not be used: check
// them with isUsable.
import { timingSafeEqual } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import pTimeout from 'p-timeout'
import type { Tables } from '../database/table-types.ts'
import type { Problem } from '../http/problem-details.ts'
import { FailureLog, type TaskLog } from '../monitoring/log/failure-log.ts'
import { timeouts } from '../timeouts.ts'
import { hashKey, parseKey } from './api-key-format.ts'
import type { ApiKey } from './api-keys.ts'
import { createCheckFailedProblem } from './auth-problems.ts'

const { keyCache, keyOutage, keyOutageRetry, keyRefresh, lookUp, lookUpOverload } = timeouts.auth

/**
 * A row of api_keys in the cache. Its age is counted from the start of the query that read it.
 * Times are those of performance.now().
 *
 * | age           | a request                                                   |
 * | ------------- | ----------------------------------------------------------- |
 * | 0             | uses the row, which was just read                           |
 * | `keyRefresh`  | uses the row, and starts to read it again in the background |
 * | `keyCache`    | waits until the row has been read again                     |
 *
 * If the row cannot be read again, the next attempt follows after `keyOutageRetry`. For a further
 * `keyCache`, requests use the old row and do not wait. A row whose age is `keyOutage` is not used:
 * its requests fail until it can be read again.
 */
type CachedKey = {
  readonly id: string
  readonly secretHash: Buffer
  apiKey: ApiKey
  /** True once the row was deleted or got another secret. Then no request may use it. */
  isRemoved: boolean
  /** When the last query that returned the row began. */
  readAt: number
  /** From this moment on, a request starts to read the row again in the background. */
  nextReadAt: number
  /** Until this moment, requests use the row without waiting. */
  usableUntil: number
  /** The query that reads the row again. */
  refresh: Promise<void> | null
}

const maxCachedKeys = 10_000
/** Anybody can invent ids, so at most this many are looked up at the same time. */
const maxConcurrentLookUps = 64

type CacheOptions = {
  log: TaskLog
  /** Called with an id if a key has this id and a wrong secret. */
  onWrongSecret?: (id: string) => void
}

/**
 * Finds keys, also those that are revoked or expired. Secrets are compared in constant time. A
 * revocation is noticed within `keyCache` (the lifetime of a cached row) and `lookUp` (the timeout
 * of one look-up). While keys cannot be read, cached keys stay valid for `keyOutage`, so active
 * callers can still search. The log says so once per cause.
 */
export class ApiKeyCache {
  readonly #db: Kysely<Tables>
  readonly #onWrongSecret: (id: string) => void
  readonly #rowsById = new LRUCache<string, CachedKey>({ max: maxCachedKeys })
  /** By the whole key, so that a known key is not hashed for each request. */
  readonly #rowsByKey = new LRUCache<string, CachedKey>({ max: maxCachedKeys })
  readonly #unknownIds = new LRUCache<string, true>({ max: maxCachedKeys, ttl: keyCache.ms })
  readonly #loading = new Map<string, Promise<CachedKey | null>>()
  readonly #failures: FailureLog
  readonly #overloads: FailureLog
  /** When a look-up was last rejected because there were too many. */
  #overloadedAt = Number.NEGATIVE_INFINITY

  constructor(db: Kysely<Tables>, { log, onWrongSecret = () => undefined }: CacheOptions) {
    this.#db = db
    this.#onWrongSecret = onWrongSecret
    this.#failures = new FailureLog(log, {
      failure: (cause) =>
        `API keys cannot be read (${cause}). Cached keys stay valid for up to ` +
        `${keyOutage.ms / 60_000} minutes, even if they are revoked`,
      recovery: 'API keys can be read again',
    })
    this.#overloads = new FailureLog(log, {
      failure: (cause) => `API keys that are not cached are rejected with 503 (${cause})`,
      recovery: 'API keys that are not cached can be looked up again',
    })
  }

  /** Returns a key that was found before and needs no query now, and otherwise null. */
  findCached(key: string): ApiKey | null {
    const cached = this.#rowsByKey.get(key)
    if (!cached || cached.isRemoved || this.#refreshIfOld(cached) !== null) return null
    return cached.apiKey
  }

  /** Whether this process has found the key before. It may have been deleted since then. */
  isKnown(key: string): boolean {
    return this.#rowsByKey.has(key)
  }

  /**
   * Returns the key. Returns null if it is unknown or malformed, or its secret is wrong. Throws if
   * PostgreSQL is unreachable and the key is not cached.
   */
  async find(key: string): Promise<ApiKey | null> {
    const known = this.#rowsByKey.get(key)
    if (known && !known.isRemoved) {
      await this.#refreshIfOld(known)
      return known.isRemoved ? null : known.apiKey
    }
    this.#rowsByKey.delete(key)
    const parsed = parseKey(key)
    if (!parsed) return null
    const row = await this.#getOrLoad(parsed.id)
    if (!row) return null
    await this.#refreshIfOld(row)
    if (row.isRemoved) return null
    const hasRightSecret = timingSafeEqual(row.secretHash, hashKey(key))
    if (row.apiKey.kind !== parsed.kind || !hasRightSecret) {
      this.#onWrongSecret(row.id)
      return null
    }
    this.#rowsByKey.set(key, row)
    return row.apiKey
  }

  /**
   * Returns null if the row may be used at once, and otherwise the query to wait for. Starts that
   * query, or joins it, if it is time to read the row again.
   */
  #refreshIfOld(row: CachedKey): Promise<void> | null {
    const now = performance.now()
    if (now < row.nextReadAt && now < row.usableUntil) return null
    row.refresh ??= this.#refresh(row).finally(() => {
      row.refresh = null
    })
    // If no request waits, the next one tries again. It gets the error if the row is too old.
    row.refresh.catch(() => undefined)
    return now < row.usableUntil ? null : row.refresh
  }

  /**
   * Reads the row again. There is no limit on how many rows are read at the same time, because only
   * found keys have rows. pTimeout does not cancel the query, which may still wait for a
   * connection. The pool ends that wait after a few seconds, and a query that hangs is repeated at
   * most once per `lookUp`. So each key in use has only a few queries in the queue of the pool.
   */
  async #refresh(row: CachedKey): Promise<void> {
    const startedAt = performance.now()
    try {
      const current = await this.#readRow(row.id)
      row.readAt = startedAt
      row.nextReadAt = startedAt + keyRefresh.ms
      row.usableUntil = startedAt + keyCache.ms
      if (current && timingSafeEqual(current.secretHash, row.secretHash)) {
        row.apiKey = current.apiKey
      } else {
        row.isRemoved = true
        this.#rowsById.delete(row.id)
      }
    } catch (error) {
      // The row stays in use after any error, not only if PostgreSQL is unreachable. A defect, such
      // as a missing right, would otherwise fail every request. The log has the cause.
      const now = performance.now()
      const endsAt = row.readAt + keyOutage.ms
      if (now >= endsAt) throw error
      row.nextReadAt = now + keyOutageRetry.ms
      row.usableUntil = Math.min(now + keyCache.ms, endsAt)
    }
  }

  /** Reads a row, and logs if that fails and when it works again. */
  async #readRow(id: string): ReturnType<typeof readRow> {
    try {
      const row = await readRow(this.#db, id)
      this.#failures.logSuccess()
      return row
    } catch (error) {
      this.#failures.logFailure(error)
      throw error
    }
  }

  async #getOrLoad(id: string): Promise<CachedKey | null> {
    const cachedOrLoading = this.#rowsById.get(id) ?? this.#loading.get(id)
    if (cachedOrLoading) return cachedOrLoading
    if (this.#unknownIds.has(id)) return null
    if (this.#loading.size >= maxConcurrentLookUps) throw this.#createOverloadProblem()
    // Under lasting overload, look-ups are rejected and admitted in turn. That is one failure.
    if (performance.now() - this.#overloadedAt >= lookUpOverload.ms) this.#overloads.logSuccess()
    const loading = this.#load(id).finally(() => this.#loading.delete(id))
    this.#loading.set(id, loading)
    return loading
  }

  #createOverloadProblem(): Problem {
    this.#overloadedAt = performance.now()
    const cause = new Error(`more than ${maxConcurrentLookUps} look-ups at the same time`)
    this.#overloads.logFailure(cause)
    return createCheckFailedProblem('Keys', { cause, reason: 'too many look-ups of keys' })
  }

  async #load(id: string): Promise<CachedKey | null> {
    const start = performance.now()
    const read = await this.#readRow(id)
    if (!read) {
      this.#unknownIds.set(id, true, { start })
      return null
    }
    const row: CachedKey = {
      id,
      ...read,
      isRemoved: false,
      readAt: start,
      nextReadAt: start + keyRefresh.ms,
      usableUntil: start + keyCache.ms,
      refresh: null,
    }
    this.#rowsById.set(id, row)
    return row
  }
}

/** Returns null if no row has the id. Throws if PostgreSQL fails or takes too long. */
async function readRow(
  db: Kysely<Tables>,
  id: string,
): Promise<Pick<CachedKey, 'apiKey' | 'secretHash'> | null> {
  const query = db
    .selectFrom('api_keys')
    .select([
      'id',
      'kind',
      'scopes',
      'origins',
      'unlimited',
      'limit_factor',
      'secret_hash',
      'expires_at as expiresAt',
      sql<boolean>`revoked_at is not null`.as('isRevoked'),
    ])
    .where('id', '=', id)
  const row = await pTimeout(query.executeTakeFirst(), {
    milliseconds: lookUp.ms,
    message: 'PostgreSQL did not return the API key in time',
  })
  if (!row) return null
  const { secret_hash: secretHash, limit_factor: factor, ...key } = row
  return { secretHash, apiKey: { ...key, limitFactor: factor === null ? null : Number(factor) } }
}
