// Reads API keys from PostgreSQL through a cache. It also returns revoked and expired keys: check
// them with isUsable.
import { timingSafeEqual } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import pTimeout from 'p-timeout'
import type { Tables } from '../database/table-types.ts'
import { FailureLog, type TaskLog } from '../monitoring/log/failure-log.ts'
import { hashKey, parseKey } from './api-key-format.ts'
import type { ApiKey } from './api-keys.ts'
import { discardAfter, lookUpTimeout, RefreshedValue, waitAfter } from './refreshed-value.ts'

// Some look-ups succeed meanwhile, and each change would be a line of the log.
export const lookUpRecovery = { ms: 60_000 }

type StoredKey = { apiKey: ApiKey; secretHash: Buffer }

/** The parts of a key, with the hash of the key instead of its secret. */
type HashedKey = { id: string; kind: ApiKey['kind']; hash: Buffer }

const maxCachedKeys = 10_000
/**
 * The maximum number of ids that are looked up at the same time. Anybody can invent ids. Above it,
 * valid keys that are not cached get 503 too, and the log says so.
 */
const maxConcurrentLookUps = 64

type CacheOptions = {
  log: TaskLog
  /** Called with an id if a key has this id and a wrong secret. */
  onWrongSecret?: (id: string) => void
}

/** More than `maxConcurrentLookUps` ids would be looked up at the same time. Already logged. */
export class TooManyLookUpsError extends Error {}

/**
 * Finds keys, also those that are revoked or expired. Secrets are compared in constant time.
 *
 * Each key in use is read again every few seconds, so a revocation is noticed. While keys cannot be
 * read, callers with cached keys are still accepted. The log says once per cause that keys cannot
 * be read. src/auth/refreshed-value.ts has the details.
 */
export class ApiKeyCache {
  readonly #db: Kysely<Tables>
  readonly #onWrongSecret: (id: string) => void
  /** The keys that were found, so that a key is not hashed for each request. */
  readonly #foundKeys = new LRUCache<string, HashedKey>({ max: maxCachedKeys })
  /** By id. Null once the row was deleted. */
  readonly #storedKeys = new LRUCache<string, RefreshedValue<StoredKey | null>>({
    max: maxCachedKeys,
  })
  readonly #unknownIds = new LRUCache<string, true>({ max: maxCachedKeys, ttl: waitAfter.ms })
  /** The look-ups of ids that are neither in `#storedKeys` nor in `#unknownIds`. */
  readonly #lookUps = new Map<string, Promise<StoredKey | null>>()
  readonly #failures: FailureLog
  readonly #overloads: FailureLog

  constructor(db: Kysely<Tables>, { log, onWrongSecret = () => undefined }: CacheOptions) {
    this.#db = db
    this.#onWrongSecret = onWrongSecret
    // Some look-ups succeed during an outage or overload. So a recovery is logged only after
    // `lookUpRecovery` without a failure.
    this.#failures = new FailureLog(
      log,
      {
        failure: (cause) =>
          `API keys cannot be read (${cause}). Cached keys stay valid for up to ` +
          `${discardAfter.ms / 60_000} minutes, even if they are revoked`,
        recovery: 'API keys can be read again',
      },
      { quietTime: lookUpRecovery },
    )
    this.#overloads = new FailureLog(
      log,
      {
        failure: (cause) => `API keys that are not cached are rejected with 503 (${cause})`,
        recovery: 'API keys that are not cached can be looked up again',
      },
      { quietTime: lookUpRecovery },
    )
  }

  /** Returns whether this process has found the key. It may have been deleted since then. */
  wasFoundBefore(key: string): boolean {
    return this.#foundKeys.has(key)
  }

  /**
   * Returns the key if this process has found it before and need not read it again now. Otherwise
   * returns null. Synchronous, because awaiting `find` would slow most requests.
   */
  findFresh(key: string): ApiKey | null {
    const hashed = this.#foundKeys.get(key)
    const stored = hashed && this.#storedKeys.get(hashed.id)?.getFresh()?.value
    return stored && matchesStoredKey(hashed, stored) ? stored.apiKey : null
  }

  /**
   * Returns the key. Returns null if it is unknown or malformed, or its secret is wrong. If the key
   * is not cached, throws an error while PostgreSQL is unreachable, and a TooManyLookUpsError while
   * too many other keys are looked up.
   */
  async find(key: string): Promise<ApiKey | null> {
    const hashed = this.#foundKeys.get(key) ?? parseAndHash(key)
    if (!hashed) return null
    const stored = await this.#findStoredKey(hashed.id)
    if (!stored) return null
    if (!matchesStoredKey(hashed, stored)) {
      this.#onWrongSecret(hashed.id)
      return null
    }
    this.#foundKeys.set(key, hashed)
    return stored.apiKey
  }

  async #findStoredKey(id: string): Promise<StoredKey | null> {
    const cached = this.#storedKeys.get(id)
    if (cached) return cached.get()
    if (this.#unknownIds.has(id)) return null
    const running = this.#lookUps.get(id)
    if (running) return running
    if (this.#lookUps.size >= maxConcurrentLookUps) throw this.#createOverloadError()
    this.#overloads.logSuccess()
    const started = this.#lookUpStoredKey(id).finally(() => this.#lookUps.delete(id))
    this.#lookUps.set(id, started)
    return started
  }

  #createOverloadError(): TooManyLookUpsError {
    const error = new TooManyLookUpsError(
      `more than ${maxConcurrentLookUps} look-ups at the same time`,
    )
    this.#overloads.logFailure(error)
    return error
  }

  async #lookUpStoredKey(id: string): Promise<StoredKey | null> {
    const start = performance.now()
    const value = new RefreshedValue(() => readStoredKey(this.#db, id), this.#failures)
    const stored = await value.get()
    if (stored) this.#storedKeys.set(id, value)
    else this.#unknownIds.set(id, true, { start })
    return stored
  }
}

function matchesStoredKey({ kind, hash }: HashedKey, { apiKey, secretHash }: StoredKey): boolean {
  return apiKey.kind === kind && timingSafeEqual(secretHash, hash)
}

function parseAndHash(key: string): HashedKey | null {
  const parts = parseKey(key)
  return parts && { ...parts, hash: hashKey(key) }
}

/**
 * Returns null if no row has the id. Throws if PostgreSQL fails or takes too long. pTimeout only
 * ends the waiting: PostgreSQL cancels the statement after `apiStatement`.
 */
async function readStoredKey(db: Kysely<Tables>, id: string): Promise<StoredKey | null> {
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
      'expires_at',
      sql<boolean>`revoked_at is not null`.as('isRevoked'),
    ])
    .where('id', '=', id)
  const row = await pTimeout(query.executeTakeFirst(), {
    milliseconds: lookUpTimeout.ms,
    message: 'PostgreSQL did not return the API key in time',
  })
  if (!row) return null
  const { secret_hash: secretHash, limit_factor: factor, expires_at: expiresAt, ...key } = row
  return {
    secretHash,
    apiKey: {
      ...key,
      limitFactor: factor === null ? null : Number(factor),
      // `infinity` of PostgreSQL is not a Date but the number Infinity.
      expiresAtMs: expiresAt === null ? Number.POSITIVE_INFINITY : Number(expiresAt),
    },
  }
}
