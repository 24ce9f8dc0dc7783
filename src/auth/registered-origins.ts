// The web origins that valid publishable keys are bound to.
import { type Kysely, sql } from 'kysely'
import pTimeout from 'p-timeout'
import type { Tables } from '../database/table-types.ts'
import { FailureLog, type TaskLog } from '../monitoring/log/failure-log.ts'
import { discardAfter, lookUpTimeout, RefreshedValue } from './refreshed-value.ts'

/**
 * Resolves to whether a valid publishable key is bound to the origin. Rejects if the list of
 * origins cannot be read and the last one is discarded.
 */
export type OriginCheck = (origin: string) => Promise<boolean>

/**
 * Returns an origin as browsers write it: scheme, host in lower case, and the port unless it is the
 * default. Returns null for anything else, such as a path, a wildcard, a password or `null`.
 */
export function parseWebOrigin(text: string): string | null {
  // Operators often copy the address of a site with its final slash.
  const address = text.trim().replace(/\/$/, '')
  if (!/^https?:\/\/[^/?#@\\*\s]+$/i.test(address) || !URL.canParse(address)) return null
  return new URL(address).origin
}

export function createOriginCheck(db: Kysely<Tables>, log: TaskLog): OriginCheck {
  const failures = new FailureLog(log, {
    failure: (cause) =>
      `The origins of publishable keys cannot be read (${cause}). The last list stays in use for ` +
      `up to ${discardAfter.ms / 60_000} minutes`,
    recovery: 'The origins of publishable keys can be read again',
  })
  const origins = new RefreshedValue(() => readOrigins(db), failures)
  return async (origin) => (await origins.get()).has(origin)
}

/** pTimeout only ends the waiting: PostgreSQL cancels the statement after `apiStatement`. */
async function readOrigins(db: Kysely<Tables>): Promise<Set<string>> {
  const query = sql<{ origin: string }>`
    select distinct unnest(origins) as origin from api_keys
    where kind = 'publishable' and revoked_at is null and (expires_at is null or expires_at > now())
  `
  const { rows } = await pTimeout(query.execute(db), {
    milliseconds: lookUpTimeout.ms,
    message: 'PostgreSQL did not return the registered origins in time',
  })
  return new Set(rows.map(({ origin }) => origin))
}
