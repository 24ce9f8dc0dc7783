// Reads API keys from PostgreSQL through a cache. It also returns revoked and expired keys: check
// them with isUsable.
import { timingSafeEqual } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { FailureLog, type TaskLog } from '../monitoring/log/failure-log.ts'
import { type ApiKey, hashKey, parseKey } from './api-keys.ts'
import { TooManyLookUpsError } from './auth-problems.ts'
import { createRefreshedCache, discardAfter, type RefreshedCache } from './refreshed-cache.ts'

// Some look-ups succeed during an outage, and each change would be a line of the log.
const lookUpRecovery = { ms: 60_000 }
const maxCachedKeys = 10_000
/**
 * The maximum number of new keys that are looked up at the same time. Anybody can invent keys.
 * Above it, valid keys that are not cached get 503 too, and the log says so.
 */
const maxConcurrentLookUps = 64

/** A key without a row has an unknown id; with a row that has another hash, a wrong secret. */
type LookedUp = ApiKey | 'unknown' | 'wrong secret'

/**
 * Finds keys, also those that are revoked or expired. Each key in use is read again every few
 * seconds, so a revocation is noticed. While keys cannot be read, callers with cached keys are
 * still accepted, and the log says so once per cause.
 */
export class ApiKeyCache {
  readonly #db: Kysely<Tables>
  readonly #onWrongSecret: (id: string) => void
  readonly #keys: RefreshedCache<LookedUp>
  #newLookUps = 0

  /** `onWrongSecret` is called with an id if a key has this id and a wrong secret. */
  constructor(
    db: Kysely<Tables>,
    log: TaskLog,
    onWrongSecret: (id: string) => void = () => undefined,
  ) {
    this.#db = db
    this.#onWrongSecret = onWrongSecret
    const failures = new FailureLog(
      log,
      {
        failure: (cause) =>
          `API keys cannot be read (${cause}). Cached keys stay valid for up to ` +
          `${discardAfter.ms / 60_000} minutes, even if they are revoked`,
        recovery: 'API keys can be read again',
      },
      { quietTime: lookUpRecovery },
    )
    this.#keys = createRefreshedCache(maxCachedKeys, failures, (key, isNew) =>
      isNew ? this.#lookUpNew(key) : lookUp(this.#db, key),
    )
  }

  /** Returns whether this process has found the key. It may have been deleted since then. */
  wasFoundBefore(key: string): boolean {
    return typeof this.#keys.getLast(key) === 'object'
  }

  /** Returns the key if this process need not look it up now, otherwise null. */
  findFresh(key: string): ApiKey | null {
    const found = this.#keys.getFresh(key)
    return typeof found === 'object' ? found : null
  }

  /**
   * Returns the key. Returns null if it is unknown or malformed, or its secret is wrong. If the key
   * is not cached, throws an error while PostgreSQL is unreachable, and a TooManyLookUpsError while
   * too many other keys are looked up.
   */
  async find(key: string): Promise<ApiKey | null> {
    const parts = parseKey(key)
    if (!parts) return null
    const found = await this.#keys.get(key)
    if (found === 'wrong secret') this.#onWrongSecret(parts.id)
    return typeof found === 'object' ? found : null
  }

  async #lookUpNew(key: string): Promise<LookedUp> {
    if (this.#newLookUps >= maxConcurrentLookUps)
      throw new TooManyLookUpsError(`more than ${maxConcurrentLookUps} look-ups at the same time`)
    this.#newLookUps += 1
    try {
      return await lookUp(this.#db, key)
    } finally {
      this.#newLookUps -= 1
    }
  }
}

/** Secrets are compared in constant time. */
async function lookUp(db: Kysely<Tables>, key: string): Promise<LookedUp> {
  const { id = '', kind } = parseKey(key) ?? {}
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
      'expires_at',
      sql<boolean>`revoked_at is not null`.as('isRevoked'),
    ])
    .where('id', '=', id)
    .executeTakeFirst()
  if (!row) return 'unknown'
  const { secret_hash: secretHash, limit_factor: factor, expires_at: expiresAt, ...apiKey } = row
  if (apiKey.kind !== kind || !timingSafeEqual(secretHash, hashKey(key))) return 'wrong secret'
  return {
    ...apiKey,
    limitFactor: factor === null ? null : Number(factor),
    // `infinity` of PostgreSQL is not a Date but the number Infinity.
    expiresAtMs: expiresAt === null ? Number.POSITIVE_INFINITY : Number(expiresAt),
  }
}
