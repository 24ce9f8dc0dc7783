// Whether a key is valid, without asking the database at each request: rows are believed for seconds, and unknown ids are remembered apart.
import { timingSafeEqual } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { type ApiKey, hashKey, parseKey } from './api-keys.ts'
import { within } from './key-check-timeout.ts'

export type KeyChecker = {
  /** The key with its scopes, or null for one that is unknown, malformed, expired or revoked. Throws when that cannot be found out now. */
  check(key: string): Promise<ApiKey | null>
  /** The same for one that this process has found valid before, without waiting if it can be; undefined for any other. */
  checkKnown(key: string): ApiKey | null | Promise<ApiKey | null> | undefined
}

type StoredKey = ApiKey & { hash: Buffer; expiresAt: Date | null }
/** An id that exists. `stored` becomes null when it is revoked. */
type Row = {
  id: string
  stored: StoredKey | null
  readAt: number
  askedAt: number
  asking: Promise<void> | null
}

/** From then on a row is asked for again in the background, while requests go on. */
const freshForMs = 1_500
/** How long a row is believed without asking again. With the wait for an answer it bounds how late a revocation is noticed: 4 s. */
const believedForMs = 3_000
/** How long a row that was read is believed while PostgreSQL is away, so that search goes on from the engine for those who were using it. */
const believedInOutageForMs = 900_000
const rememberedKeys = 10_000
/** Ids that nobody knows may be made up without end: so many of them are asked for at a time, and the others are told to come back. */
const mostLookUpsAtOnce = 64

/** Checks keys; secrets are compared in constant time. A key that was found valid is answered at once for as long as its row is believed. */
export function keyChecker(db: Kysely<Tables>): KeyChecker {
  const rows = new Map<string, Row>()
  const unknownUntil = new Map<string, number>()
  /** By the whole key: it need not be hashed again. */
  const valid = new Map<string, Row>()
  const lookUps = new Map<string, Promise<Row | null>>()

  /** Asks for the row anew, once at a time. While PostgreSQL is away the row goes on as it was. */
  function refresh(row: Row): Promise<void> {
    const startedAt = performance.now()
    row.asking ??= within(readKey(db, row.id))
      .then(
        (found) => {
          row.stored =
            found && row.stored && timingSafeEqual(found.hash, row.stored.hash) ? found : null
          row.readAt = startedAt
          row.askedAt = startedAt
          if (!row.stored) rows.delete(row.id)
        },
        (error: unknown) => {
          if (performance.now() - row.readAt >= believedInOutageForMs) throw error
          // Asked again a second later, not at each request: an outage must not hold up every one.
          row.askedAt = performance.now() - believedForMs + 1_000
        },
      )
      .finally(() => {
        row.asking = null
      })
    return row.asking
  }

  /** The row as far as it is to be believed. */
  function current(row: Row): StoredKey | null | Promise<StoredKey | null> {
    const age = performance.now() - row.askedAt
    if (age < freshForMs) return usable(row)
    const asked = refresh(row)
    if (age >= believedForMs) return asked.then(() => usable(row))
    asked.catch(() => undefined)
    return usable(row)
  }

  async function find(id: string): Promise<Row | null> {
    const known = rows.get(id) ?? lookUps.get(id)
    if (known) return known
    if ((unknownUntil.get(id) ?? 0) > performance.now()) return null
    if (lookUps.size >= mostLookUpsAtOnce)
      throw new Error('too many unknown keys are being looked up')
    const looking = lookUp(id).finally(() => lookUps.delete(id))
    lookUps.set(id, looking)
    return looking
  }

  async function lookUp(id: string): Promise<Row | null> {
    const now = performance.now()
    const stored = await within(readKey(db, id))
    if (!stored) {
      if (unknownUntil.size >= rememberedKeys) unknownUntil.clear()
      unknownUntil.set(id, now + believedForMs)
      return null
    }
    if (rows.size >= rememberedKeys) rows.clear()
    const row = { id, stored, readAt: now, askedAt: now, asking: null }
    rows.set(id, row)
    return row
  }

  async function checkAnew(key: string): Promise<ApiKey | null> {
    const named = parseKey(key)
    const row = named && (await find(named.id))
    const stored = row && (await current(row))
    if (
      !row ||
      !stored ||
      stored.kind !== named.kind ||
      !timingSafeEqual(stored.hash, hashKey(key))
    )
      return null
    if (valid.size >= rememberedKeys) valid.clear()
    valid.set(key, row)
    return stored
  }

  return {
    check: checkAnew,
    checkKnown(key) {
      const row = valid.get(key)
      if (!row) return undefined
      if (row.stored) return current(row)
      valid.delete(key)
      return null
    },
  }
}

function usable({ stored }: Row): StoredKey | null {
  return stored && (stored.expiresAt === null || stored.expiresAt.getTime() > Date.now())
    ? stored
    : null
}

async function readKey(db: Kysely<Tables>, id: string): Promise<StoredKey | null> {
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
    ])
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  if (!row) return null
  const { limit_factor: factor, ...key } = row
  return { ...key, limitFactor: factor === null ? null : Number(factor) }
}
