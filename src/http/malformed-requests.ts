// Answers requests for which Fastify runs no hooks, because Node cannot parse them, they are too
// large or too slow, or their URL cannot be decoded.
import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { getLoggedNetwork } from './client-address.ts'
import { buildCommonHeaders } from './common-headers.ts'
import { buildProblemBody, Problem, problemHeaders, sendProblem } from './problem-details.ts'
import type { RequestCounter } from './request-log.ts'

/** The maximum length of the URL and the headers of a request together. */
export const maxHeadBytes = 16 * 1024

const parserProblems: Record<string, Problem> = {
  ERR_HTTP_REQUEST_TIMEOUT: new Problem('invalid_parameter', 'The request came too slowly.', {
    status: 408,
  }),
  HPE_HEADER_OVERFLOW: new Problem(
    'invalid_parameter',
    `The header or the URL of the request is larger than ${maxHeadBytes / 1024} kB.`,
    { status: 431 },
  ),
}
const malformed = new Problem('invalid_parameter', 'This is not well-formed HTTP/1.1.')

/**
 * Answers what Node cannot parse, and closes the connection. The response contains no part of the
 * request, which may contain a key or a token.
 */
export function answerUnparsable(
  app: FastifyInstance,
  counter: RequestCounter,
  { code = '' }: NodeJS.ErrnoException,
  socket: Socket,
): void {
  if (code === 'ECONNRESET' || socket.destroyed) return
  if (!socket.writable) return void socket.destroy()
  const problem = parserProblems[code] ?? malformed
  const requestId = randomUUID()
  // The code of Node's error, such as HPE_INVALID_METHOD, contains nothing of the request.
  recordMalformed(app, counter, problem, {
    reqId: requestId,
    network: getLoggedNetwork(socket.remoteAddress),
    reason: code,
  })
  const body = JSON.stringify(buildProblemBody(problem, requestId))
  const headers = Object.entries({
    ...buildCommonHeaders(requestId),
    ...problemHeaders,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  const statusLine = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n`
  socket.end(`${statusLine}${headers.join('')}\r\n${body}`, () => socket.destroy())
}

/** Answers a URL that Fastify cannot decode. The message of Fastify would repeat the URL. */
export function answerUndecodableUrl(
  counter: RequestCounter,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const detail = 'The URL is not well-formed: check its percent signs.'
  const problem = new Problem('invalid_parameter', detail)
  recordMalformed(request.server, counter, problem, {
    reqId: request.id,
    network: getLoggedNetwork(request.ip),
  })
  sendProblem(request, reply.headers(buildCommonHeaders(request.id)), problem)
}

/** Counts and logs the request. Its duration is unknown and counts as 0, even for a 408. */
function recordMalformed(
  { log }: FastifyInstance,
  counter: RequestCounter,
  { status, code }: Problem,
  details: { reqId: string; network: string; reason?: string },
): void {
  counter.countRequest(undefined, status, 0)
  log.info({ ...details, route: null, status, code }, 'malformed request')
}
