// Reads API keys from PostgreSQL through a cache. Callers decide whether a key may be used: see
// isUsable.
import { timingSafeEqual } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import pTimeout from 'p-timeout'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'
import { hashKey, parseKey } from './api-key-format.ts'
import type { ApiKey } from './api-keys.ts'
import { createCheckFailedProblem } from './auth-problems.ts'

const { keyCache, keyOutage, keyOutageRetry, keyRefresh, lookUp } = timeouts.auth
/** A row in use is read again this long before requests would have to wait for it. */
const refreshAheadMs = keyCache.ms - keyRefresh.ms

/**
 * A row of api_keys in the cache. Times are those of performance.now(). A request does:
 * - until `usableUntil - refreshAheadMs`: it uses the row.
 * - until `usableUntil`: it uses the row, and starts to read it again in the background.
 * - later: it waits until the row has been read again, or has failed to be.
 * A row that was read is usable for `keyCache`, counted from the start of its query. If PostgreSQL
 * does not respond, the old row is usable for another `keyOutageRetry` each time, up to `keyOutage`
 * after `readAt`. Then requests fail.
 */
type CachedKey = {
  readonly id: string
  readonly secretHash: Buffer
  apiKey: ApiKey
  /** True once the row was deleted or got another secret. Then no request may use it. */
  isRemoved: boolean
  /** When the last query that returned the row began. */
  readAt: number
  /** Until this moment, requests use the row without waiting. */
  usableUntil: number
  /** The query that reads the row again. */
  refresh: Promise<void> | null
}

const maxCachedKeys = 10_000
/** Anybody can invent ids, so at most this many are looked up at the same time. */
const maxConcurrentLookUps = 64

/**
 * Finds keys, also those that are revoked or expired. Secrets are compared in constant time. A
 * revocation is noticed within `keyCache` (the lifetime of a cached row) and `lookUp` (the timeout
 * of one look-up). While PostgreSQL is unreachable, cached keys stay valid for `keyOutage`, so
 * active callers can still search.
 */
export class ApiKeyCache {
  readonly #db: Kysely<Tables>
  readonly #onWrongSecret: (id: string) => void
  readonly #rowsById = new LRUCache<string, CachedKey>({ max: maxCachedKeys })
  /** By the whole key, so that a known key is not hashed for each request. */
  readonly #rowsByKey = new LRUCache<string, CachedKey>({ max: maxCachedKeys })
  readonly #unknownIds = new LRUCache<string, true>({ max: maxCachedKeys, ttl: keyCache.ms })
  readonly #loading = new Map<string, Promise<CachedKey | null>>()

  /** `onWrongSecret` is called with an id if a key has this id and a wrong secret. */
  constructor(db: Kysely<Tables>, onWrongSecret: (id: string) => void = () => undefined) {
    this.#db = db
    this.#onWrongSecret = onWrongSecret
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
   * query, or joins it, if the row is or will soon be too old.
   */
  #refreshIfOld(row: CachedKey): Promise<void> | null {
    const now = performance.now()
    if (now < row.usableUntil - refreshAheadMs) return null
    row.refresh ??= this.#refresh(row).finally(() => {
      row.refresh = null
    })
    // If no request waits, the next one tries again. It gets the error if the row is too old.
    row.refresh.catch(() => undefined)
    return now < row.usableUntil ? null : row.refresh
  }

  async #refresh(row: CachedKey): Promise<void> {
    const startedAt = performance.now()
    try {
      const current = await readRow(this.#db, row.id)
      row.readAt = startedAt
      row.usableUntil = startedAt + keyCache.ms
      if (current && timingSafeEqual(current.secretHash, row.secretHash)) {
        row.apiKey = current.apiKey
      } else {
        row.isRemoved = true
        this.#rowsById.delete(row.id)
      }
    } catch (error) {
      // PostgreSQL is unreachable: the row stays as it is, until it is too old.
      if (performance.now() - row.readAt >= keyOutage.ms) throw error
      row.usableUntil = performance.now() + keyOutageRetry.ms
    }
  }

  async #getOrLoad(id: string): Promise<CachedKey | null> {
    const cachedOrLoading = this.#rowsById.get(id) ?? this.#loading.get(id)
    if (cachedOrLoading) return cachedOrLoading
    if (this.#unknownIds.has(id)) return null
    if (this.#loading.size >= maxConcurrentLookUps)
      throw createCheckFailedProblem(
        'Keys',
        new Error(`More than ${maxConcurrentLookUps} unknown keys are being looked up`),
      )
    const loading = this.#load(id).finally(() => this.#loading.delete(id))
    this.#loading.set(id, loading)
    return loading
  }

  async #load(id: string): Promise<CachedKey | null> {
    const start = performance.now()
    const read = await readRow(this.#db, id)
    if (!read) {
      this.#unknownIds.set(id, true, { start })
      return null
    }
    const row: CachedKey = {
      id,
      ...read,
      isRemoved: false,
      readAt: start,
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
