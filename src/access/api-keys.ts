// API keys: made once, shown once, stored as a hash. tqs_<id>_<secret> for servers, tqp_<id>_<secret> for browsers.
import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Scope, Tables } from '../database/tables.ts'

export type KeyKind = Tables['api_keys']['kind']
export type ApiKey = { id: string; kind: KeyKind; scopes: Scope[]; origins: string[]; unlimited: boolean }
export type NewKey = { kind: KeyKind; name: string; scopes: Scope[]; origins?: string[]; unlimited?: boolean; expiresAt?: Date | null }

const prefixes = { secret: 'tqs', publishable: 'tqp' } as const
const pattern = /^(tqs|tqp)_([0-9a-z]{12})_([A-Za-z0-9_-]{43})$/

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
      secret_hash: hash(key),
      scopes: wanted.scopes,
      origins: wanted.origins ?? [],
      unlimited: wanted.unlimited ?? false,
      expires_at: wanted.expiresAt ?? null,
    })
    .execute()
  return key
}

type StoredKey = ApiKey & { hash: Buffer; expiresAt: Date | null }

/** How long a key's row is believed without asking again: the bound on how late a revocation is noticed. */
const believedForMs = 3_000
/** How long a row that was read is believed while PostgreSQL is away, so that search goes on from the engine for those who were using it. */
const believedInOutageForMs = 900_000
const rememberedKeys = 10_000

/**
 * Returns a function that checks keys: the key with its scopes, or null for one that is unknown, malformed, expired or revoked. Rows are
 * remembered for 3 s (15 minutes while PostgreSQL is away), so that no request waits for a look-up but the first; secrets are compared in constant
 * time. A key that was found valid is answered at once for as long as its row is believed, without hashing it again.
 */
export function keyChecker(db: Kysely<Tables>): (key: string) => ApiKey | null | Promise<ApiKey | null> {
  type Look = { row: Promise<StoredKey | null>; readAt: number; askedAt: number }
  const remembered = new Map<string, Look>()
  const valid = new Map<string, { stored: StoredKey; askedAt: number }>()

  function look(id: string): Look {
    const now = performance.now()
    const known = remembered.get(id)
    if (known && now - known.askedAt < believedForMs) return known
    if (remembered.size >= rememberedKeys) remembered.clear()
    const row = readKey(db, id).catch((error: unknown) => {
      if (!known || now - known.readAt >= believedInOutageForMs) {
        remembered.delete(id)
        throw error
      }
      // Asked again with the next request but one second later, not at each: an outage must not hold up every request.
      remembered.set(id, { ...known, askedAt: performance.now() - believedForMs + 1_000 })
      return known.row
    })
    const fresh = { row, readAt: now, askedAt: now }
    remembered.set(id, fresh)
    return fresh
  }

  async function check(key: string): Promise<ApiKey | null> {
    const [, prefix, id] = pattern.exec(key) ?? []
    if (!id) return null
    const { row, askedAt } = look(id)
    const stored = await row
    if (!stored || prefixes[stored.kind] !== prefix || !timingSafeEqual(stored.hash, hash(key)) || isExpired(stored)) return null
    if (valid.size >= rememberedKeys) valid.clear()
    valid.set(key, { stored, askedAt })
    return stored
  }

  return (key) => {
    const known = valid.get(key)
    if (known && performance.now() - known.askedAt < believedForMs && !isExpired(known.stored)) return known.stored
    valid.delete(key)
    return check(key)
  }
}

const isExpired = ({ expiresAt }: StoredKey) => expiresAt !== null && expiresAt.getTime() <= Date.now()

async function readKey(db: Kysely<Tables>, id: string): Promise<StoredKey | null> {
  const row = await db
    .selectFrom('api_keys')
    .select(['id', 'kind', 'scopes', 'origins', 'unlimited', 'secret_hash as hash', 'expires_at as expiresAt'])
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return row ?? null
}

function hash(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
