// Checks whether an API key is valid, with a cache in front of PostgreSQL.
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
 * A key that exists, with its right secret. `valid` is null if it is expired or revoked, so that
 * its id can be logged although it is refused.
 */
export type KnownKey = { id: string; valid: ApiKey | null }

/** A row of api_keys in the cache. `storedKey` becomes null when the row is deleted. */
type CachedRow = {
  id: string
  storedKey: StoredKey | null
  /** When PostgreSQL last returned the row, by `performance.now()`. */
  readAt: number
  /** When the cached row was last accepted as current. Later than `readAt` during an outage. */
  checkedAt: number
  refresh: Promise<void> | null
}

const maxCachedKeys = 10_000
/** Anybody can make up ids, so at most this many are looked up at the same time. */
const maxConcurrentLookUps = 64

/**
 * Secrets are compared in constant time. A revocation is noticed within 4 s: the lifetime of a
 * cached row and the timeout of one look-up. While PostgreSQL is unreachable, cached keys stay
 * valid for 15 minutes, so active callers can still search.
 */
export class ApiKeyChecker {
  readonly #db: Kysely<Tables>
  readonly #onWrongSecret: (id: string) => void
  readonly #rowsById = new LRUCache<string, CachedRow>({ max: maxCachedKeys })
  /** By the whole text of a known key, which saves hashing it for each request. */
  readonly #rowsByKey = new LRUCache<string, CachedRow>({ max: maxCachedKeys })
  readonly #unknownIds = new LRUCache<string, true>({
    max: maxCachedKeys,
    ttl: timeouts.auth.keyCache.ms,
  })
  readonly #lookUps = new Map<string, Promise<CachedRow | null>>()

  /** `onWrongSecret` gets the id of a key that exists, whenever it comes with a wrong secret. */
  constructor(db: Kysely<Tables>, onWrongSecret: (id: string) => void = () => undefined) {
    this.#db = db
    this.#onWrongSecret = onWrongSecret
  }

  /** Returns the key if it is valid, and otherwise null. Throws like `find`. */
  async check(key: string): Promise<ApiKey | null> {
    return (await this.find(key))?.valid ?? null
  }

  /**
   * Returns the key, or null if it is unknown or malformed, or its secret is wrong. Throws if
   * PostgreSQL is unreachable and the key is not cached.
   */
  async find(key: string): Promise<KnownKey | null> {
    const parsed = parseKey(key)
    const row = parsed && (await this.#findRow(parsed.id))
    if (!row) return null
    await this.#currentKey(row)
    if (!row.storedKey) return null
    const { kind, hash } = row.storedKey
    if (kind !== parsed.kind || !timingSafeEqual(hash, hashKey(key))) {
      this.#onWrongSecret(row.id)
      return null
    }
    this.#rowsByKey.set(key, row)
    return describeKey(row)
  }

  /**
   * Like `find`, for a key that this process found before. Returns no promise if the cached row is
   * recent, and undefined for any other key.
   */
  findCached(key: string): KnownKey | null | Promise<KnownKey | null> | undefined {
    const row = this.#rowsByKey.get(key)
    if (!row) return undefined
    if (row.storedKey) return this.#currentKey(row)
    this.#rowsByKey.delete(key)
    return null
  }

  #currentKey(row: CachedRow): KnownKey | null | Promise<KnownKey | null> {
    const age = performance.now() - row.checkedAt
    if (age < timeouts.auth.keyRefresh.ms) return describeKey(row)
    const refresh = this.#refresh(row)
    if (age >= timeouts.auth.keyCache.ms) return refresh.then(() => describeKey(row))
    // The next request tries again. It gets the error once the row is too old to be used.
    refresh.catch(() => undefined)
    return describeKey(row)
  }

  /** Reads the row again, once at a time. An unreachable PostgreSQL leaves the row as it is. */
  #refresh(row: CachedRow): Promise<void> {
    row.refresh ??= this.#readRow(row).finally(() => {
      row.refresh = null
    })
    return row.refresh
  }

  async #readRow(row: CachedRow): Promise<void> {
    const startedAt = performance.now()
    try {
      const storedKey = await readKey(this.#db, row.id)
      row.storedKey = storedKey && hasSameSecret(storedKey, row) ? storedKey : null
      row.readAt = startedAt
      row.checkedAt = startedAt
      if (!row.storedKey) this.#rowsById.delete(row.id)
    } catch (error) {
      if (performance.now() - row.readAt >= timeouts.auth.keyOutage.ms) throw error
      const { keyCache, keyOutageRetry } = timeouts.auth
      row.checkedAt = performance.now() - keyCache.ms + keyOutageRetry.ms
    }
  }

  async #findRow(id: string): Promise<CachedRow | null> {
    const row = this.#rowsById.get(id) ?? this.#lookUps.get(id)
    if (row) return row
    if (this.#unknownIds.has(id)) return null
    if (this.#lookUps.size >= maxConcurrentLookUps)
      throw new Error(`More than ${maxConcurrentLookUps} unknown keys are being looked up`)
    const lookUp = this.#lookUp(id).finally(() => this.#lookUps.delete(id))
    this.#lookUps.set(id, lookUp)
    return lookUp
  }

  async #lookUp(id: string): Promise<CachedRow | null> {
    const start = performance.now()
    const storedKey = await readKey(this.#db, id)
    if (!storedKey) {
      this.#unknownIds.set(id, true, { start })
      return null
    }
    const row = { id, storedKey, readAt: start, checkedAt: start, refresh: null }
    this.#rowsById.set(id, row)
    return row
  }
}

function hasSameSecret(storedKey: StoredKey, row: CachedRow): boolean {
  return row.storedKey !== null && timingSafeEqual(storedKey.hash, row.storedKey.hash)
}

function describeKey({ id, storedKey }: CachedRow): KnownKey | null {
  if (!storedKey) return null
  const { expiresAt, isRevoked } = storedKey
  const isValid = !isRevoked && (expiresAt === null || expiresAt.getTime() > Date.now())
  return { id, valid: isValid ? storedKey : null }
}

function readKey(db: Kysely<Tables>, id: string): Promise<StoredKey | null> {
  return pTimeout(selectKey(db, id), {
    milliseconds: timeouts.auth.lookUp.ms,
    message: 'PostgreSQL did not return the API key in time',
  })
}

async function selectKey(db: Kysely<Tables>, id: string): Promise<StoredKey | null> {
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
