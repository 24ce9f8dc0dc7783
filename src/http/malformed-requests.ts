// What never becomes a request: HTTP that cannot be parsed, comes too slowly or asks for what HTTP/1.1 does not know, and a Host that names no one
// server. Answered as problems too.
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { Problem, problemBody } from './problem-details.ts'

const slow = new Problem('invalid_parameter', 'The request did not arrive in time.', {
  status: 408,
})
const tooLarge = new Problem(
  'invalid_parameter',
  'The header of the request, or its address, is too large: 16 kB is the most.',
  {
    status: 431,
  },
)
const malformed = new Problem('invalid_parameter', 'This is not well-formed HTTP/1.1.')
const expectation = new Problem('invalid_parameter', 'Nothing may be expected but 100-continue.', {
  status: 417,
})

/** Answers what Node could not parse, and ends the connection. Repeats nothing of what came: a key or token may be in it. */
export function answerMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const problem =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? tooLarge
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? slow
        : malformed
  if (!socket.writable) return void socket.destroy()
  const { head, body } = reply(problem)
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join('')}\r\n${body}`,
    () => socket.destroy(),
  )
}

/** Answers an Expect header that nobody knows. */
export function answerExpectations(server: Server): void {
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const { head, body } = reply(expectation)
    response.writeHead(expectation.status, head).end(body)
  })
}

/**
 * What is wrong with the request's Host, if anything: RFC 9112 §3.2 wants exactly one, well-formed, and none only of HTTP/1.0. Node keeps the first of
 * several and tells nobody, so that a proxy in front could have meant another.
 */
export function troubleWithHost({
  headers: { host },
  rawHeaders,
  httpVersion,
}: IncomingMessage): string | undefined {
  if (host === undefined) return httpVersion === '1.1' ? 'The request has no Host.' : undefined
  let hosts = 0
  // Names and values in turn.
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  if (hosts > 1) return 'The request has more than one Host.'
  return authority.test(host)
    ? undefined
    : 'The Host of the request is not a host name or address with or without a port.'
}

/** RFC 3986 §3.2.2: a name or an address, in brackets one of IPv6, and a port. */
const authority = /^(?:(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*|\[[\da-fv:.]+\])(?::\d*)?$/i

function reply(problem: Problem): { head: Record<string, string>; body: string } {
  const requestId = randomUUID()
  const body = JSON.stringify(problemBody(problem, requestId))
  return {
    head: {
      'content-type': 'application/problem+json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'cache-control': 'private, no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': requestId,
      connection: 'close',
    },
    body,
  }
}
