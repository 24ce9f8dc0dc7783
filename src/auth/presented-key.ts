// Reads the API key of a request from the Authorization header or from ?key=.
import type { FastifyRequest } from 'fastify'
import { createInvalidParameterProblem } from '../http/problem-details.ts'
import { looksSecret } from './api-key-format.ts'
import { createUnauthenticatedProblem, howToGetKey } from './auth-problems.ts'

/**
 * Returns the key of the request, or null if it has none. With `allowsKeyInUrl`, the key may also
 * be in the URL, because publishable keys are public. Then it is removed from the query, because
 * the schemas of the routes have no parameter `key`. Throws a 401 problem for a secret key in a
 * URL, and for an Authorization header without a key.
 */
export function takePresentedKey(
  request: FastifyRequest,
  { allowsKeyInUrl }: { allowsKeyInUrl: boolean },
): string | null {
  const query = request.query as { key?: unknown }
  const { key: keyInUrl } = query
  if (keyInUrl !== undefined) rejectSecretKeys(keyInUrl)
  const keyInHeader = readBearerToken(request.headers.authorization)
  if (keyInUrl === undefined || !allowsKeyInUrl) return keyInHeader
  delete query.key
  if (typeof keyInUrl !== 'string')
    throw createInvalidParameterProblem('key', 'must occur only once')
  if (keyInHeader !== null)
    throw createInvalidParameterProblem('key', 'is also given in Authorization: send it once')
  return keyInUrl
}

/**
 * A malformed header is no guess of a key: it does not count against the address, whose other
 * programs may send valid keys.
 */
function readBearerToken(authorization: string | undefined): string | null {
  if (authorization === undefined) return null
  const key = /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
  if (key !== undefined) return key
  throw createUnauthenticatedProblem(
    `The Authorization header does not have the form "Bearer <key>". ${howToGetKey}`,
    'malformed Authorization header',
  )
}

function rejectSecretKeys(keyInUrl: unknown): void {
  const values = [keyInUrl].flat()
  if (!values.some((value) => looksSecret(String(value).trimStart()))) return
  throw createUnauthenticatedProblem(
    'This is a secret key in a URL, where logs and browser histories store it: revoke it ' +
      '(scripts/api-key.ts revoke), create another, and send that only as ' +
      '"Authorization: Bearer tqs_…".',
    'secret key in the URL',
  )
}
