// API keys: made once, shown once, stored as a hash. tqs_<id>_<secret> for servers, tqp_<id>_<secret> for browsers.
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Scope, Tables } from '../database/table-types.ts'

export type KeyKind = Tables['api_keys']['kind']
export type ApiKey = {
  id: string
  kind: KeyKind
  scopes: Scope[]
  /** Where a publishable key may be used from, as browsers write it in Origin. */
  origins: string[]
  unlimited: boolean
  /** Its limits are so many times the configured ones; null: just these. */
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

/** The id and kind that a well-formed key names; null for anything else. Says nothing about whether there is such a key. */
export function parseKey(key: string): { id: string; kind: KeyKind } | null {
  const [, prefix, id] = pattern.exec(key) ?? []
  return id === undefined
    ? null
    : { id, kind: prefix === prefixes.secret ? 'secret' : 'publishable' }
}

/** What is stored of a key: SHA-256 of the whole text. It has 256 random bits, so that nothing slower is needed. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

/** Draws a key of 256 random bits and stores its hash. The returned text is the only copy there will ever be. */
export async function createApiKey(db: Kysely<Tables>, wanted: NewKey): Promise<string> {
  const id = Array.from({ length: 12 }, () => randomInt(36).toString(36)).join('')
  const key = `${prefixes[wanted.kind]}_${id}_${randomBytes(32).toString('base64url')}`
  await db
    .insertInto('api_keys')
    .values({
      id,
      kind: wanted.kind,
      name: wanted.name,
      secret_hash: hashKey(key),
      scopes: wanted.scopes,
      origins: wanted.origins ?? [],
      unlimited: wanted.unlimited ?? false,
      limit_factor: wanted.limitFactor?.toString() ?? null,
      expires_at: wanted.expiresAt ?? null,
    })
    .execute()
  return key
}

/** Withdraws a key at once; the processes notice within 5 s. False when there is no such key, or it is withdrawn already. */
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
 * Makes a successor that may do the same, and lets the old key end `overlapMs` from now, or when it would have ended, if that is sooner. The
 * successor lives as long as the old one was meant to. Null when the old key is unknown, withdrawn or expired.
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
