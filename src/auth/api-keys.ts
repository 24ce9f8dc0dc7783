// Creates, revokes and rotates API keys: tqs_<id>_<secret> for servers, tqp_… for browsers.
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Scope, Tables } from '../database/table-types.ts'

export type KeyKind = Tables['api_keys']['kind']
export type ApiKey = {
  id: string
  kind: KeyKind
  scopes: Scope[]
  /** The origins of the pages that may use a publishable key, as browsers write them. */
  origins: string[]
  unlimited: boolean
  /** Multiplies the configured rate limits; null for the configured ones. */
  limitFactor: number | null
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

const prefixes = { secret: 'tqs', publishable: 'tqp' } as const
const pattern = /^(tqs|tqp)_([0-9a-z]{12})_([A-Za-z0-9_-]{43})$/

/** Returns the id and kind of a well-formed key, or null. The key may still be unknown. */
export function parseKey(key: string): { id: string; kind: KeyKind } | null {
  const [, prefix, id] = pattern.exec(key) ?? []
  return id === undefined
    ? null
    : { id, kind: prefix === prefixes.secret ? 'secret' : 'publishable' }
}

/** Returns the SHA-256 hash of a key. A key has 256 random bits, so no slow hash is needed. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

/** Stores the hash of a new key and returns the key, which cannot be read again. */
export async function createApiKey(db: Kysely<Tables>, newKey: NewKey): Promise<string> {
  const id = Array.from({ length: 12 }, () => randomInt(36).toString(36)).join('')
  const key = `${prefixes[newKey.kind]}_${id}_${randomBytes(32).toString('base64url')}`
  await db
    .insertInto('api_keys')
    .values({
      id,
      kind: newKey.kind,
      name: newKey.name,
      secret_hash: hashKey(key),
      scopes: newKey.scopes,
      origins: newKey.origins ?? [],
      unlimited: newKey.unlimited ?? false,
      limit_factor: newKey.limitFactor?.toString() ?? null,
      expires_at: newKey.expiresAt ?? null,
    })
    .execute()
  return key
}

/**
 * Revokes a key. Every process rejects it within 5 s. Returns false if the key is unknown or
 * already revoked.
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

/**
 * Creates a successor with the same rights and lifetime. The old key expires after `overlapMs`, or
 * earlier if it would have expired earlier. Returns null if the old key is unknown, revoked or
 * expired.
 */
export async function rotateApiKey(
  db: Kysely<Tables>,
  id: string,
  overlapMs: number,
): Promise<{ key: string; oldEndsAt: Date } | null> {
  return db.transaction().execute(async (transaction) => {
    const old = await transaction
      .selectFrom('api_keys')
      .selectAll()
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', sql<Date>`now()`)]))
      .forUpdate()
      .executeTakeFirst()
    if (!old) return null
    const now = Date.now()
    const key = await createApiKey(transaction, {
      kind: old.kind,
      name: old.name,
      scopes: old.scopes,
      origins: old.origins,
      unlimited: old.unlimited,
      limitFactor: old.limit_factor === null ? null : Number(old.limit_factor),
      expiresAt:
        old.expires_at && new Date(now + (old.expires_at.getTime() - old.created_at.getTime())),
    })
    const oldEndsAt = new Date(
      Math.min(now + overlapMs, old.expires_at?.getTime() ?? Number.POSITIVE_INFINITY),
    )
    await transaction
      .updateTable('api_keys')
      .set({ expires_at: oldEndsAt })
      .where('id', '=', id)
      .execute()
    return { key, oldEndsAt }
  })
}
