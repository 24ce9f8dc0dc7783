// Web origins that publishable keys are bound to, and what a preflight may be told.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { within } from './key-check-timeout.ts'

/**
 * An origin as browsers write it: scheme, host in lower case, port unless it is the scheme's own. Null for what is no web origin, or more than one:
 * a path, a wildcard, `null`, a name with a password.
 */
export function webOrigin(text: string): string | null {
  // The address of a page's site with its slash is what people copy.
  const bare = text.trim().replace(/\/$/, '')
  if (!/^https?:\/\/[^/?#@\\*\s]+$/i.test(bare) || !URL.canParse(bare)) return null
  return new URL(bare).origin
}

const rememberedForMs = 3_000
const rememberedInOutageForMs = 900_000

/** Returns a function that tells whether any publishable key that is valid is bound to an origin. The list is remembered for 3 s. */
export function registeredOrigins(db: Kysely<Tables>): (origin: string) => Promise<boolean> {
  let known: Promise<Set<string>> | null = null
  let askedAt = Number.NEGATIVE_INFINITY
  let readAt = Number.NEGATIVE_INFINITY

  return async (origin) => {
    const now = performance.now()
    if (!known || now - askedAt >= rememberedForMs) {
      const before = known
      askedAt = now
      known = within(readOrigins(db)).then(
        (origins) => {
          readAt = now
          return origins
        },
        (error: unknown) => {
          if (before && now - readAt < rememberedInOutageForMs) return before
          known = null
          throw error
        },
      )
    }
    return (await known).has(origin)
  }
}

async function readOrigins(db: Kysely<Tables>): Promise<Set<string>> {
  const { rows } = await sql<{ origin: string }>`
    select distinct unnest(origins) as origin from api_keys
    where kind = 'publishable' and revoked_at is null and (expires_at is null or expires_at > now())
  `.execute(db)
  return new Set(rows.map(({ origin }) => origin))
}
