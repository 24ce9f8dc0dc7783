// The problem responses of authentication.
import { Problem } from '../http/problem-details.ts'

const maxShownOriginLength = 200

export const howToGetKey =
  'The operator makes keys with scripts/api-key.ts; send yours as "Authorization: Bearer tqs_…".'

export function unauthenticated(detail: string): Problem {
  return new Problem('unauthenticated', detail, {
    headers: { 'www-authenticate': 'Bearer realm="trade-quoting-service"' },
  })
}

/** `origin` is null if the request has none. */
export function wrongOrigin(origin: string | null): Problem {
  const detail =
    origin === null
      ? 'A publishable key works only for the web pages that it is bound to, and this request has ' +
        'no Origin. Programs need a secret key: scripts/api-key.ts create.'
      : `The key is not bound to the origin ${origin.slice(0, maxShownOriginLength)}. ` +
        'The operator sets the origins when making the key: ' +
        'scripts/api-key.ts create --kind publishable --origins.'
  return new Problem('insufficient_scope', detail)
}

/** PostgreSQL is unreachable, so neither keys nor origins can be checked. */
export function cannotCheck(subject: 'Keys' | 'Origins', cause: unknown): Problem {
  return new Problem('unavailable', `${subject} cannot be checked at the moment. Try again.`, {
    headers: { 'retry-after': '2' },
    cause,
  })
}
