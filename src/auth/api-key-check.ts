// Checks whether an API key exists and may be used, with a cache in front of PostgreSQL.
import { timingSafeEqual } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import pTimeout from 'p-timeout'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'
import { hashKey, parseKey } from './api-key-format.ts'
import type { ApiKey } from './api-keys.ts'

type StoredKey = ApiKey & { hash: Buffer; expiresAt: Date | null; isRevoked: boolean }

/**
 * A key that exists, sent with its right secret. `usableKey` is null if the key is expired or
 * revoked: the request is refused, but its log has the id.
 */
export type KnownKey = { id: string; usableKey: ApiKey | null }

/**
 * What the cache says about a key.
 * - `fresh`: read recently.
 * - `refreshing`: found before, but too old to be used before `refreshed` has settled.
 * - `gone`: found before, and deleted since then.
 * - `unseen`: this process has not found it yet.
 */
export type CachedKey =
  | ({ state: 'fresh' } & KnownKey)
  | { state: 'refreshing'; refreshed: Promise<KnownKey | null> }
  | { state: 'gone' }
  | { state: 'unseen' }

const gone: CachedKey = { state: 'gone' }
const unseen: CachedKey = { state: 'unseen' }

/** A row of api_keys in the cache. Times are those of performance.now(). */
type CachedRow = {
  id: string
  /** Null when the row is deleted, or has another secret. */
  storedKey: StoredKey | null
  /** When the last query that returned the row began. */
  readAt: number
  /** From this moment on, requests wait until the row has been read again. */
  nextCheckAt: number
  refresh: Promise<void> | null
}

const { keyCache, keyOutage, keyOutageRetry, keyRefresh, lookUp } = timeouts.auth
/** A row in use is read again this long before requests would have to wait for it. */
const backgroundCheckMs = keyCache.ms - keyRefresh.ms

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
  readonly #rowsById = new LRUCache<string, CachedRow>({ max: maxCachedKeys })
  /** By the whole text of the key, so that a known key is not hashed for each request. */
  readonly #rowsByKey = new LRUCache<string, CachedRow>({ max: maxCachedKeys })
  readonly #unknownIds = new LRUCache<string, true>({ max: maxCachedKeys, ttl: keyCache.ms })
  readonly #lookUps = new Map<string, Promise<CachedRow | null>>()

  /**
   * `onWrongSecret` is called with the id of a key when a request has its id and a wrong secret.
   */
  constructor(db: Kysely<Tables>, onWrongSecret: (id: string) => void = () => undefined) {
    this.#db = db
    this.#onWrongSecret = onWrongSecret
  }

  /** Returns the key if it may be used, and otherwise null. Throws like `findKey`. */
  async findUsableKey(key: string): Promise<ApiKey | null> {
    return (await this.findKey(key))?.usableKey ?? null
  }

  /**
   * Returns the key, or null if it is unknown or malformed, or its secret is wrong. Throws if
   * PostgreSQL is unreachable and the key is not cached.
   */
  async findKey(key: string): Promise<KnownKey | null> {
    const parsed = parseKey(key)
    const row = parsed && (await this.#findRow(parsed.id))
    if (!row) return null
    const cached = this.#describeCached(row)
    if (cached.state === 'refreshing') await cached.refreshed
    if (!row.storedKey) return null
    const { kind, hash } = row.storedKey
    if (kind !== parsed.kind || !timingSafeEqual(hash, hashKey(key))) {
      this.#onWrongSecret(row.id)
      return null
    }
    this.#rowsByKey.set(key, row)
    return describeKey(row)
  }

  /** Returns what is known without a query. Starts a query if the row will soon be too old. */
  findCachedKey(key: string): CachedKey {
    const row = this.#rowsByKey.get(key)
    if (!row) return unseen
    const cached = this.#describeCached(row)
    if (cached.state === 'gone') this.#rowsByKey.delete(key)
    return cached
  }

  #describeCached(row: CachedRow): CachedKey {
    const { id, storedKey } = row
    if (!storedKey) return gone
    const now = performance.now()
    if (now < row.nextCheckAt - backgroundCheckMs)
      return { state: 'fresh', id, usableKey: usableKeyOf(storedKey) }
    const refresh = this.#refreshOnce(row)
    if (now >= row.nextCheckAt)
      return { state: 'refreshing', refreshed: refresh.then(() => describeKey(row)) }
    // The next request tries again. If the row is too old to be used by then, it gets the error.
    refresh.catch(() => undefined)
    return { state: 'fresh', id, usableKey: usableKeyOf(storedKey) }
  }

  /** Reads the row again, or joins the query that does. */
  #refreshOnce(row: CachedRow): Promise<void> {
    row.refresh ??= this.#refresh(row).finally(() => {
      row.refresh = null
    })
    return row.refresh
  }

  async #refresh(row: CachedRow): Promise<void> {
    const startedAt = performance.now()
    try {
      const storedKey = await readStoredKey(this.#db, row.id)
      row.storedKey = storedKey && hasSameSecret(storedKey, row) ? storedKey : null
      row.readAt = startedAt
      row.nextCheckAt = startedAt + keyCache.ms
      if (!row.storedKey) this.#rowsById.delete(row.id)
    } catch (error) {
      // PostgreSQL is unreachable: the row stays as it is, until it is too old.
      if (performance.now() - row.readAt >= keyOutage.ms) throw error
      row.nextCheckAt = performance.now() + keyOutageRetry.ms
    }
  }

  async #findRow(id: string): Promise<CachedRow | null> {
    const row = this.#rowsById.get(id) ?? this.#lookUps.get(id)
    if (row) return row
    if (this.#unknownIds.has(id)) return null
    if (this.#lookUps.size >= maxConcurrentLookUps)
      throw new Error(`More than ${maxConcurrentLookUps} unknown keys are being looked up`)
    const added = this.#lookUp(id).finally(() => this.#lookUps.delete(id))
    this.#lookUps.set(id, added)
    return added
  }

  /** Reads a row that is not in the cache. */
  async #lookUp(id: string): Promise<CachedRow | null> {
    const start = performance.now()
    const storedKey = await readStoredKey(this.#db, id)
    if (!storedKey) {
      this.#unknownIds.set(id, true, { start })
      return null
    }
    const row = { id, storedKey, readAt: start, nextCheckAt: start + keyCache.ms, refresh: null }
    this.#rowsById.set(id, row)
    return row
  }
}

function hasSameSecret(storedKey: StoredKey, row: CachedRow): boolean {
  return row.storedKey !== null && timingSafeEqual(storedKey.hash, row.storedKey.hash)
}

function describeKey({ id, storedKey }: CachedRow): KnownKey | null {
  return storedKey && { id, usableKey: usableKeyOf(storedKey) }
}

/** Returns null if the key is revoked or expired. */
function usableKeyOf(storedKey: StoredKey): ApiKey | null {
  const { expiresAt, isRevoked } = storedKey
  const isUsable = !isRevoked && (expiresAt === null || expiresAt.getTime() > Date.now())
  return isUsable ? storedKey : null
}

/** Returns null if no row has the id. Throws if PostgreSQL fails or takes too long. */
function readStoredKey(db: Kysely<Tables>, id: string): Promise<StoredKey | null> {
  return pTimeout(queryKey(db, id), {
    milliseconds: lookUp.ms,
    message: 'PostgreSQL did not return the API key in time',
  })
}

async function queryKey(db: Kysely<Tables>, id: string): Promise<StoredKey | null> {
  const row = await db
    .selectFrom('api_keys')
    .select([
      'id',
      'kind',
      'scopes',
      'origins',
      'unlimited',
      'limit_factor',
      'secret_hash as hash',
      'expires_at as expiresAt',
      sql<boolean>`revoked_at is not null`.as('isRevoked'),
    ])
    .where('id', '=', id)
    .executeTakeFirst()
  if (!row) return null
  const { limit_factor: limitFactor, ...key } = row
  return { ...key, limitFactor: limitFactor === null ? null : Number(limitFactor) }
}
