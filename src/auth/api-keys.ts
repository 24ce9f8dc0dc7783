// API keys: their format (tqs_<id>_<secret> for servers, tqp_<id>_<secret> for browsers), what a
// key allows, and how keys are created, revoked and rotated.
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Scope, Tables } from '../database/table-types.ts'

export type KeyKind = Tables['api_keys']['kind']

const prefixes = { secret: 'tqs', publishable: 'tqp' } as const
const anyPrefix = Object.values(prefixes).join('|')
const pattern = new RegExp(`^(${anyPrefix})_([0-9a-z]{12})_[A-Za-z0-9_-]{43}$`)
const prefixAnywhere = new RegExp(`(${anyPrefix})_`)

/** Returns the id and kind of a well-formed key, or null. The key may still be unknown. */
export function parseKey(key: string): { id: string; kind: KeyKind } | null {
  const [, prefix, id] = pattern.exec(key) ?? []
  return id === undefined
    ? null
    : { id, kind: prefix === prefixes.secret ? 'secret' : 'publishable' }
}

export function mayContainKey(text: string): boolean {
  return prefixAnywhere.test(text)
}

/** Returns whether the text begins like a secret key, which nobody but its owner may see. */
export function looksSecret(text: string): boolean {
  return text.startsWith(`${prefixes.secret}_`)
}

/** Returns the SHA-256 hash of a key. A key has 256 random bits, so no slow hash is needed. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

/** Returns a new key and its id: 12 random letters and digits, and 32 random bytes. */
function generateKey(kind: KeyKind): { id: string; key: string } {
  const id = Array.from({ length: 12 }, () => randomInt(36).toString(36)).join('')
  return { id, key: `${prefixes[kind]}_${id}_${randomBytes(32).toString('base64url')}` }
}

/** The only scope of a publishable key, because every visitor of the page can read the key. */
export const publishableScope: Scope = 'search:read'

export type ApiKey = {
  id: string
  kind: KeyKind
  scopes: Scope[]
  /** A publishable key works for pages of these origins, written as browsers write them. */
  origins: string[]
  unlimited: boolean
  /** Multiplies the configured rate limits; null for the configured ones. */
  limitFactor: number | null
  /** In milliseconds since 1970. Infinity if the key never expires. */
  expiresAtMs: number
  isRevoked: boolean
}
export type NewKey = {
  kind: KeyKind
  name: string
  scopes: Scope[]
  origins?: string[]
  unlimited?: boolean
  limitFactor?: number | null
  expiresAt?: Date | null
}

/**
 * Returns whether the key is neither revoked nor expired. Uses the clock of this process, because
 * cached keys are also checked while PostgreSQL is unreachable.
 */
export function isUsable({ isRevoked, expiresAtMs }: ApiKey): boolean {
  return !isRevoked && expiresAtMs > Date.now()
}

/** Stores only the hash of a new key. Returns the key itself, which cannot be read again. */
export async function createApiKey(db: Kysely<Tables>, newKey: NewKey): Promise<string> {
  return (await insertKey(db, newKey)).key
}

async function insertKey(db: Kysely<Tables>, newKey: NewKey): Promise<{ id: string; key: string }> {
  const generated = generateKey(newKey.kind)
  await db
    .insertInto('api_keys')
    .values({
      id: generated.id,
      kind: newKey.kind,
      name: newKey.name,
      secret_hash: hashKey(generated.key),
      scopes: newKey.scopes,
      origins: newKey.origins ?? [],
      unlimited: newKey.unlimited ?? false,
      limit_factor: newKey.limitFactor?.toString() ?? null,
      expires_at: newKey.expiresAt ?? null,
    })
    .execute()
  return generated
}

/**
 * Revokes a key. Returns false if it is unknown or already revoked.
 *
 * A process that has cached the key still accepts it for some seconds, and during an outage of
 * PostgreSQL for up to `discardAfter` (refreshed-cache.ts).
 */
export async function revokeApiKey(db: Kysely<Tables>, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('api_keys')
    .set({ revoked_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** A successor, which ends at `endsAt` (null: never), and when the key that it replaces ends. */
type RotatedKey = { key: string; endsAt: Date | null; oldEndsAt: Date }

/**
 * Creates a successor with the same rights and the same lifetime. The old key expires after
 * `overlapDays`, a whole number, or at its own expiry if that is earlier. Returns null if the old
 * key is unknown, revoked or expired. Throws an error for the operator if the old key was rotated
 * before: that may have shortened its lifetime, and what it was before is not stored.
 */
export async function rotateApiKey(
  db: Kysely<Tables>,
  id: string,
  overlapDays: number,
): Promise<RotatedKey | null> {
  // Seconds and hours, because a day of an interval has 23 or 25 hours when the clocks change.
  const lifetime = sql`
    make_interval(secs => extract(epoch from nullif(expires_at, 'infinity') - created_at))`
  const overlapEnd = sql`now() + make_interval(hours => ${24 * overlapDays})`
  return db.transaction().execute(async (transaction) => {
    const old = await transaction
      .selectFrom('api_keys')
      .selectAll()
      .select(sql<Date | null>`now() + ${lifetime}`.as('successorExpiresAt'))
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', sql<Date>`now()`)]))
      .forUpdate()
      .executeTakeFirst()
    if (!old) return null
    if (old.successor_id !== null)
      throw new Error(
        `Key ${id} was rotated before: ${old.successor_id} is its successor. If that was lost, ` +
          `revoke ${old.successor_id} and create a key with the same rights and an explicit ` +
          '--expires.',
      )
    const successor = await insertKey(transaction, {
      kind: old.kind,
      name: old.name,
      scopes: old.scopes,
      origins: old.origins,
      unlimited: old.unlimited,
      limitFactor: old.limit_factor === null ? null : Number(old.limit_factor),
      expiresAt: old.successorExpiresAt,
    })
    const { oldEndsAt } = await transaction
      .updateTable('api_keys')
      .set({ expires_at: sql<Date>`least(expires_at, ${overlapEnd})`, successor_id: successor.id })
      .where('id', '=', id)
      .returning(sql<Date>`expires_at`.as('oldEndsAt'))
      .executeTakeFirstOrThrow()
    return { key: successor.key, endsAt: old.successorExpiresAt, oldEndsAt }
  })
}
