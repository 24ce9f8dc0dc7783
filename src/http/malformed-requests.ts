// Answers requests that Node rejects before Fastify: malformed, too large, too slow, bad Expect.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Problem, problemBody, problemCacheControl, problemContentType } from './problem-details.ts'

// An import would also load the fetch of Node, which takes 50 ms of the start.
const { STATUS_CODES } = process.getBuiltinModule('node:http')

const tooSlow = new Problem('invalid_parameter', 'The request did not arrive in time.', {
  status: 408,
})
const tooLarge = new Problem(
  'invalid_parameter',
  'The header or the address of the request is larger than 16 kB.',
  { status: 431 },
)
const malformed = new Problem('invalid_parameter', 'This is not well-formed HTTP/1.1.')
const unknownExpectation = new Problem(
  'invalid_parameter',
  'The only supported expectation is 100-continue.',
  { status: 417 },
)

/**
 * Answers a request that Node could not parse and closes the connection. The answer repeats
 * nothing of the request, which may contain a key or a token.
 */
export function answerMalformedRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  if (!socket.writable) return void socket.destroy()
  const problem = findProblem(error.code)
  const { headers, body } = serializeProblem(problem)
  const headerLines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const statusLine = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n`
  socket.end(`${statusLine}${headerLines.join('')}\r\n${body}`, () => socket.destroy())
}

/** Answers 417 to Expect headers other than 100-continue. */
export function rejectExpectations(server: Server): void {
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const { headers, body } = serializeProblem(unknownExpectation)
    response.writeHead(unknownExpectation.status, headers).end(body)
  })
}

function findProblem(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') return tooLarge
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return tooSlow
  return malformed
}

/** Returns the headers and the body of a problem with a new request id. */
function serializeProblem(problem: Problem): { headers: Record<string, string>; body: string } {
  const requestId = randomUUID()
  const body = JSON.stringify(problemBody(problem, requestId))
  return {
    headers: {
      'content-type': problemContentType,
      'content-length': String(Buffer.byteLength(body)),
      'cache-control': problemCacheControl,
      'x-content-type-options': 'nosniff',
      'x-request-id': requestId,
      connection: 'close',
    },
    body,
  }
}
