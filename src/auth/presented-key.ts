// Reads the API key of a request from the Authorization header or from ?key=.
import type { FastifyRequest } from 'fastify'
import { createInvalidParameterProblem } from '../http/problem-details.ts'
import { looksSecret } from './api-key-format.ts'
import { createUnauthenticatedProblem } from './auth-problems.ts'

/** Stands for an Authorization header that is not `Bearer <key>`. No key has this text. */
const malformedKey = ''

/**
 * Returns the key of the request, or null if it has none. If the Authorization header is malformed,
 * returns `malformedKey`, which is rejected as an unknown key. With `allowsKeyInUrl`, the key may
 * also be in the URL, because publishable keys are public. Then it is removed from the query,
 * because the schemas of the routes have no parameter `key`. Throws a 401 problem for a secret key
 * in a URL.
 */
export function takePresentedKey(
  request: FastifyRequest,
  { allowsKeyInUrl }: { allowsKeyInUrl: boolean },
): string | null {
  const query = request.query as { key?: unknown }
  const { key: keyInUrl } = query
  const keyInHeader = readBearerToken(request.headers.authorization)
  if (keyInUrl === undefined) return keyInHeader
  rejectSecretKeys(keyInUrl)
  if (!allowsKeyInUrl) return keyInHeader
  delete query.key
  if (typeof keyInUrl !== 'string')
    throw createInvalidParameterProblem('key', 'must occur only once')
  if (keyInHeader !== null)
    throw createInvalidParameterProblem('key', 'is also given in Authorization: send it once')
  return keyInUrl
}

function readBearerToken(authorization: string | undefined): string | null {
  if (authorization === undefined) return null
  return /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? malformedKey
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
