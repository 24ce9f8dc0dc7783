// Rejects requests whose Host header is missing, repeated or malformed.
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { Problem } from './problem-details.ts'

type HostError = 'missing' | 'repeated' | 'malformed'

const messages: Record<HostError, string> = {
  missing: 'The request has no Host.',
  repeated: 'The request has more than one Host.',
  malformed: 'The Host of the request is not a host name or address with an optional port.',
}

/** RFC 3986 section 3.2.2: a name, an IPv4 address or an IPv6 address in brackets, and a port. */
const validHost = /^(?:(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*|\[[\da-fv:.]+\])(?::\d*)?$/i

/** Answers 400. Without a Host header only HTTP/1.0 requests are accepted. */
export function rejectInvalidHosts(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const error = findHostError(request.raw)
    done(error === null ? undefined : new Problem('invalid_parameter', messages[error]))
  })
}

/**
 * Checks the rules of RFC 9112 section 3.2. Node keeps the first of several Host headers, but a
 * proxy in front may have used another one.
 */
function findHostError({ headers, rawHeaders, httpVersion }: IncomingMessage): HostError | null {
  const { host } = headers
  if (host === undefined) return httpVersion === '1.1' ? 'missing' : null
  if (countHosts(rawHeaders) > 1) return 'repeated'
  return validHost.test(host) ? null : 'malformed'
}

/** Returns the number of Host headers. `rawHeaders` alternates names and values. */
function countHosts(rawHeaders: string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1
  }
  return count
}
