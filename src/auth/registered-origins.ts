// The web origins that valid publishable keys are bound to.
import { type Kysely, sql } from 'kysely'
import pTimeout from 'p-timeout'
import type { Tables } from '../database/table-types.ts'
import { FailureLog, type TaskLog } from '../monitoring/log/failure-log.ts'
import { timeouts } from '../timeouts.ts'

/**
 * Resolves to whether a valid publishable key is bound to the origin. Rejects if the list of
 * origins cannot be read and the last one is older than `originOutage`.
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

/**
 * Returns a check that keeps the list of origins in memory. The age of the list is counted from the
 * start of the query that read it.
 *
 * | age of the list                     | what a check does                                       |
 * | ----------------------------------- | ------------------------------------------------------- |
 * | below `originCache`                 | Uses the list.                                          |
 * | from `originCache`                  | Waits for a query, and uses the new list. If the query  |
 * |                                     | fails, uses the old list.                               |
 * | from `originOutage`, or without one | Waits for a query, and uses the new list. If the query  |
 * |                                     | fails, rejects.                                         |
 *
 * 1. Checks that wait at the same time share one query. It takes at most `lookUp`.
 * 2. If a query fails and the old list is used, checks use that list without waiting, until
 *    `originCache` has passed since the start of the query. Then a check starts the next query.
 * 3. If a query fails and checks are rejected, the old list is dropped. The next check starts a
 *    query at once.
 *
 * Any error is a failure, including a missing database permission. The log says so once per cause.
 */
export function createOriginCheck(db: Kysely<Tables>, log: TaskLog): OriginCheck {
  const failures = new FailureLog(log, {
    failure: (cause) =>
      `The origins of publishable keys cannot be read (${cause}). The last list stays in use for ` +
      `up to ${timeouts.auth.originOutage.ms / 60_000} minutes`,
    recovery: 'The origins of publishable keys can be read again',
  })
  /** The list, or the query that reads it. Null if there is no list. */
  let origins: Promise<Set<string>> | null = null
  /** When the last query began. */
  let requestedAt = Number.NEGATIVE_INFINITY
  /** When the query that returned the list began. */
  let readAt = Number.NEGATIVE_INFINITY

  async function refresh(previous: Promise<Set<string>> | null): Promise<Set<string>> {
    const startedAt = performance.now()
    try {
      const current = await readOrigins(db)
      readAt = startedAt
      failures.logSuccess()
      return current
    } catch (error) {
      failures.logFailure(error)
      if (previous && startedAt - readAt < timeouts.auth.originOutage.ms) return previous
      origins = null
      throw error
    }
  }

  return async (origin) => {
    const now = performance.now()
    if (!origins || now - requestedAt >= timeouts.auth.originCache.ms) {
      requestedAt = now
      origins = refresh(origins)
    }
    return (await origins).has(origin)
  }
}

async function readOrigins(db: Kysely<Tables>): Promise<Set<string>> {
  const query = sql<{ origin: string }>`
    select distinct unnest(origins) as origin from api_keys
    where kind = 'publishable' and revoked_at is null and (expires_at is null or expires_at > now())
  `
  const { rows } = await pTimeout(query.execute(db), {
    milliseconds: timeouts.auth.lookUp.ms,
    message: 'PostgreSQL did not return the registered origins in time',
  })
  return new Set(rows.map(({ origin }) => origin))
}
