// Checks whether an API key exists and may be used, with a cache in front of PostgreSQL.
import { timingSafeEqual } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import pTimeout from 'p-timeout'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'
import { hashKey, parseKey } from './api-key-format.ts'
import type { ApiKey } from './api-keys.ts'
import { createCheckFailedProblem } from './auth-problems.ts'

/**
 * A row of api_keys in the cache. Times are those of performance.now(). What a request does with
 * the row depends on the time since the query that read it began:
 * - up to 1.5 s: uses it.
 * - up to 3 s: uses it, and starts to read it again in the background.
 * - then: waits until it has been read again. If PostgreSQL does not respond, requests use the row
 *   for another second at a time, until it is 15 minutes old. Then they fail.
 */
type CachedKey = {
  readonly id: string
  readonly secretHash: Buffer
  /** Null once the row is deleted or has another secret. Then the cache has removed it. */
  apiKey: ApiKey | null
  /** When the last query that returned the row began. */
  readAt: number
  /** From this moment on, requests wait until the row has been read again. */
  nextCheckAt: number
  /** The query that reads the row again. */
  refresh: Promise<void> | null
}

const { keyCache, keyOutage, keyOutageRetry, keyRefresh, lookUp } = timeouts.auth
/** A row in use is read again this long before requests would have to wait for it. */
const backgroundRefreshMs = keyCache.ms - keyRefresh.ms

const maxCachedKeys = 10_000
/** Anybody can invent ids, so at most this many are looked up at the same time. */
const maxConcurrentLookUps = 64

/**
 * Finds keys in PostgreSQL, with a cache. Secrets are compared in constant time. A revocation is
 * noticed within 4 s: the lifetime of a cached row and the timeout of one look-up. While PostgreSQL
 * is unreachable, cached keys stay valid for 15 minutes, so active callers can still search.
 */
export class ApiKeyChecker {
  readonly #db: Kysely<Tables>
  readonly #onWrongSecret: (id: string) => void
  readonly #keysById = new LRUCache<string, CachedKey>({ max: maxCachedKeys })
  /** By the whole text of the key, so that a known key is not hashed for each request. */
  readonly #keysByText = new LRUCache<string, CachedKey>({ max: maxCachedKeys })
  readonly #unknownIds = new LRUCache<string, true>({ max: maxCachedKeys, ttl: keyCache.ms })
  readonly #lookUps = new Map<string, Promise<CachedKey | null>>()

  /**
   * `onWrongSecret` is called with the id of a key when a request has its id and a wrong secret.
   */
  constructor(db: Kysely<Tables>, onWrongSecret: (id: string) => void = () => undefined) {
    this.#db = db
    this.#onWrongSecret = onWrongSecret
  }

  /** Returns a key that was found before and needs no query now, and otherwise null. */
  findCachedKey(text: string): ApiKey | null {
    const cached = this.#keysByText.get(text)
    return cached && this.#refreshIfOld(cached) === null ? cached.apiKey : null
  }

  /** Whether this process has found the key before. It may have been deleted since then. */
  hasFound(text: string): boolean {
    return this.#keysByText.has(text)
  }

  /**
   * Returns the key, even if it is revoked or expired. Returns null if it is unknown or malformed,
   * or its secret is wrong. Throws if PostgreSQL is unreachable and the key is not cached.
   */
  async findKey(text: string): Promise<ApiKey | null> {
    const found = this.#keysByText.get(text)
    if (found?.apiKey) {
      await this.#refreshIfOld(found)
      return found.apiKey
    }
    this.#keysByText.delete(text)
    const parsed = parseKey(text)
    const cached = parsed && (await this.#findById(parsed.id))
    if (!cached) return null
    await this.#refreshIfOld(cached)
    if (!cached.apiKey) return null
    const hasRightSecret = timingSafeEqual(cached.secretHash, hashKey(text))
    if (cached.apiKey.kind !== parsed.kind || !hasRightSecret) {
      this.#onWrongSecret(cached.id)
      return null
    }
    this.#keysByText.set(text, cached)
    return cached.apiKey
  }

  /**
   * Returns null if the cached key may be used at once, and otherwise the query to wait for. Starts
   * that query, or joins it, if the row is or will soon be too old.
   */
  #refreshIfOld(cached: CachedKey): Promise<void> | null {
    const now = performance.now()
    if (!cached.apiKey || now < cached.nextCheckAt - backgroundRefreshMs) return null
    cached.refresh ??= this.#refresh(cached).finally(() => {
      cached.refresh = null
    })
    // If no request waits, the next one tries again. It gets the error if the row is too old.
    cached.refresh.catch(() => undefined)
    return now < cached.nextCheckAt ? null : cached.refresh
  }

  async #refresh(cached: CachedKey): Promise<void> {
    const startedAt = performance.now()
    try {
      const row = await readRow(this.#db, cached.id)
      cached.apiKey = row && timingSafeEqual(row.secretHash, cached.secretHash) ? row.apiKey : null
      cached.readAt = startedAt
      cached.nextCheckAt = startedAt + keyCache.ms
      if (!cached.apiKey) this.#keysById.delete(cached.id)
    } catch (error) {
      // PostgreSQL is unreachable: the row stays as it is, until it is too old.
      if (performance.now() - cached.readAt >= keyOutage.ms) throw error
      cached.nextCheckAt = performance.now() + keyOutageRetry.ms
    }
  }

  async #findById(id: string): Promise<CachedKey | null> {
    const cached = this.#keysById.get(id) ?? this.#lookUps.get(id)
    if (cached) return cached
    if (this.#unknownIds.has(id)) return null
    if (this.#lookUps.size >= maxConcurrentLookUps)
      throw createCheckFailedProblem(
        'Keys',
        new Error(`More than ${maxConcurrentLookUps} unknown keys are being looked up`),
      )
    const added = this.#lookUp(id).finally(() => this.#lookUps.delete(id))
    this.#lookUps.set(id, added)
    return added
  }

  /** Reads a row that is not in the cache. */
  async #lookUp(id: string): Promise<CachedKey | null> {
    const start = performance.now()
    const row = await readRow(this.#db, id)
    if (!row) {
      this.#unknownIds.set(id, true, { start })
      return null
    }
    const cached = { id, ...row, readAt: start, nextCheckAt: start + keyCache.ms, refresh: null }
    this.#keysById.set(id, cached)
    return cached
  }
}

type KeyRow = { apiKey: ApiKey; secretHash: Buffer }

/** Returns null if no row has the id. Throws if PostgreSQL fails or takes too long. */
function readRow(db: Kysely<Tables>, id: string): Promise<KeyRow | null> {
  return pTimeout(queryRow(db, id), {
    milliseconds: lookUp.ms,
    message: 'PostgreSQL did not return the API key in time',
  })
}

async function queryRow(db: Kysely<Tables>, id: string): Promise<KeyRow | null> {
  const row = await db
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
    .executeTakeFirst()
  if (!row) return null
  const { secret_hash: secretHash, limit_factor: factor, ...key } = row
  return { secretHash, apiKey: { ...key, limitFactor: factor === null ? null : Number(factor) } }
}
