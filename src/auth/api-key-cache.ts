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
 * A row of api_keys in the cache. What a request does depends on the time since `readAt`, or since
 * `failedAt` if the row could not be read after that. Times are those of performance.now().
 *
 * | time                                                | a request                              |
 * | --------------------------------------------------- | -------------------------------------- |
 * | at first                                            | uses the row                           |
 * | from `keyRefresh`, or `keyOutageRetry` if it failed | uses the row, and starts to read it    |
 * | from `keyCache`                                     | waits for this query, and uses the row |
 *
 * If the query fails, the request uses the old row. Once the row itself is older than `keyOutage`,
 * a request waits for the query, and gets an error if the query fails.
 *
 * An example: the row was read at 0 s, and PostgreSQL has not answered since.
 *
 * | time  | event                                                                   |
 * | ----- | ----------------------------------------------------------------------- |
 * | 2 s   | A request uses the row and starts to read it again.                     |
 * | 3 s   | The query ends after `lookUp`. `failedAt` becomes 3 s.                  |
 * | 3.5 s | A request uses the row.                                                 |
 * | 5 s   | A request uses the row and starts to read it again.                     |
 * | 6 s   | The query ends after `lookUp`. `failedAt` becomes 6 s.                  |
 * | 900 s | The row is as old as `keyOutage`. Requests wait for a query, and fail.  |
 */
type CachedKey = {
  readonly id: string
  readonly secretHash: Buffer
  apiKey: ApiKey
  /** True once the row was deleted or got another secret. No request may use it then. */
  isRemoved: boolean
  /** When the last query that returned the row began. */
  readAt: number
  /** When the last query failed. Null if the row has been read since. */
  failedAt: number | null
  /** The query that reads the row again, while it runs. */
  refresh: Promise<void> | null
}

const maxCachedKeys = 10_000
/** The maximum number of ids that are looked up at the same time. Anybody can invent ids. */
const maxConcurrentLookUps = 64

type CacheOptions = {
  log: TaskLog
  /** Called with an id if a key has this id and a wrong secret. */
  onWrongSecret?: (id: string) => void
}

/**
 * Finds keys, also those that are revoked or expired. Secrets are compared in constant time.
 *
 * `keyCache` in src/timeouts/auth-timeouts.ts says how soon a revocation is noticed. While keys
 * cannot be read, cached keys stay valid for `keyOutage`, so active callers can still search. The
 * log says once per cause that keys cannot be read.
 */
export class ApiKeyCache {
  readonly #db: Kysely<Tables>
  readonly #onWrongSecret: (id: string) => void
  readonly #rowsById = new LRUCache<string, CachedKey>({ max: maxCachedKeys })
  /** The same rows by the whole key, so that a known key is not hashed for each request. */
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
    const elapsedMs = now - (row.failedAt ?? row.readAt)
    const refreshMs = row.failedAt === null ? keyRefresh.ms : keyOutageRetry.ms
    const mustWait = elapsedMs >= keyCache.ms || now - row.readAt >= keyOutage.ms
    if (!mustWait && elapsedMs < refreshMs) return null
    row.refresh ??= this.#refresh(row).finally(() => {
      row.refresh = null
    })
    // If no request waits for it, nobody else handles the error. #readRow has logged it.
    row.refresh.catch(() => undefined)
    return mustWait ? row.refresh : null
  }

  /**
   * Reads the row again. Each key has at most a few queries waiting in the pool, because:
   *
   * 1. `row.refresh` allows one call at a time, and a call ends after `lookUp` at the latest.
   * 2. Its query may then still wait for a connection, because pTimeout does not cancel it.
   * 3. The pool ends that wait after `timeouts.database.connection`.
   *
   * The number of rows that are read at the same time has no limit. It needs none, because only
   * keys that exist have rows.
   */
  async #refresh(row: CachedKey): Promise<void> {
    const startedAt = performance.now()
    try {
      const current = await this.#readRow(row.id)
      row.readAt = startedAt
      row.failedAt = null
      if (current && timingSafeEqual(current.secretHash, row.secretHash)) {
        row.apiKey = current.apiKey
      } else {
        row.isRemoved = true
        this.#rowsById.delete(row.id)
      }
    } catch (error) {
      // Any error counts as an outage, including a missing database permission. Otherwise a defect
      // would fail every request at once. #readRow has logged the error.
      const now = performance.now()
      if (now - row.readAt >= keyOutage.ms) throw error
      row.failedAt = now
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
    // Under lasting overload, look-ups are rejected and admitted in turn. So one that is admitted
    // does not mean that the overload is over: none may have been rejected for `lookUpOverload`.
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
      failedAt: null,
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
