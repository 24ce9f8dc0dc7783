// The problems for requests without a usable key, scope or origin.
import { isPostgresUnavailable } from '../database/failover/broken-connections.ts'
import { Problem } from '../http/problem-details.ts'

// A key is looked up for a second at most, and a short outage is over by then.
const retryAfterMs = 2_000

const maxShownOriginLength = 200

export const howToGetKey =
  'The operator creates keys with scripts/api-key.ts; send yours as "Authorization: Bearer tqs_…".'

/**
 * Returns the 401 problem, with the header that RFC 9110 requires. `reason` is for the log. Omit it
 * if the caller sent no key.
 */
export function createUnauthenticatedProblem(detail: string, reason?: string): Problem {
  return new Problem('unauthenticated', detail, {
    ...(reason !== undefined && { reason }),
    headers: { 'www-authenticate': 'Bearer realm="trade-quoting-service"' },
  })
}

/** The reason in the log of every 403 problem because of an origin. */
export const wrongOrigin = 'wrong origin'

/** Returns the 403 problem of a publishable key. `origin` is null if the request has none. */
export function createWrongOriginProblem(origin: string | null): Problem {
  if (origin === null)
    return new Problem(
      'insufficient_scope',
      'A publishable key works only for the web pages that it is bound to, and this request ' +
        'has no Origin. Programs need a secret key: scripts/api-key.ts create.',
      { reason: wrongOrigin },
    )
  return new Problem(
    'insufficient_scope',
    `The key is not bound to the origin ${origin.slice(0, maxShownOriginLength)}. ` +
      'The operator sets the origins when creating the key: ' +
      'scripts/api-key.ts create --kind publishable --origins.',
    { reason: wrongOrigin },
  )
}

/** Too many new keys would be looked up at the same time. */
export class TooManyLookUpsError extends Error {}

/**
 * Returns the 503 problem if keys or origins that are not cached cannot be checked now, or else the
 * error. The problem is not logged as an error, because anybody can cause it: its cause was logged
 * once. Its `reason` is for the line of each request.
 */
export function replaceIfUnavailable(subject: 'Keys' | 'Origins', error: unknown): unknown {
  const isOverload = error instanceof TooManyLookUpsError
  if (!isOverload && !isPostgresUnavailable(error)) return error
  return new Problem('unavailable', `${subject} cannot be checked at the moment. Try again.`, {
    headers: { 'retry-after': String(retryAfterMs / 1_000) },
    cause: error,
    skipErrorLog: true,
    reason: isOverload ? 'too many look-ups of keys' : `${subject.toLowerCase()} cannot be read`,
  })
}
