// Answers requests for which Fastify runs no hooks: those that are malformed, too large or too
// slow, whose URL cannot be decoded, or that expect something other than 100-continue.
import { randomUUID } from 'node:crypto'
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LogRateLimit } from '../monitoring/log/log-rate-limit.ts'
import { getLoggedNetwork } from './client-address.ts'
import { buildCommonHeaders } from './common-headers.ts'
import { buildProblemBody, Problem, problemHeaders, sendProblem } from './problem-details.ts'

/** The maximum length of the URL and the headers of a request together. */
export const maxHeadBytes = 16 * 1024

const tooSlow = new Problem('invalid_parameter', 'The request did not arrive in time.', {
  status: 408,
})
const tooLarge = new Problem(
  'invalid_parameter',
  `The header or the URL of the request is larger than ${maxHeadBytes / 1024} kB.`,
  { status: 431 },
)
const malformed = new Problem('invalid_parameter', 'This is not well-formed HTTP/1.1.')
const unknownExpectation = new Problem(
  'invalid_parameter',
  'The only supported expectation is 100-continue.',
  { status: 417 },
)

type RequestCounter = {
  countRequest(route: undefined, status: number, durationMs: number): void
}

/** What is known of a request without the hooks of Fastify. Header names are in lower case. */
type RequestStart = Pick<IncomingMessage, 'url' | 'headers'>
type ErrorPage = { headers: Record<string, string>; bytes: string | Buffer }

export type BuildErrorPage = (request: RequestStart, problem: Problem) => ErrorPage | null

/** Node adds `rawPacket`, a buffer with the last bytes that arrived, if its parser failed. */
type ClientError = NodeJS.ErrnoException & { rawPacket?: unknown }

export class MalformedRequestResponder {
  readonly #requests: RequestCounter
  readonly #buildErrorPage: BuildErrorPage
  readonly #limit = new LogRateLimit()

  constructor(requests: RequestCounter, buildErrorPage: BuildErrorPage) {
    this.#requests = requests
    this.#buildErrorPage = buildErrorPage
  }

  /**
   * Answers a request that Node could not parse and closes the connection. The response contains no
   * part of the request, which may contain a key or a token.
   */
  answerUnparsable(log: FastifyBaseLogger, error: ClientError, socket: Socket): void {
    if (error.code === 'ECONNRESET' || socket.destroyed) return
    if (!socket.writable) return void socket.destroy()
    const problem = toParserProblem(error.code)
    const request = readStartOfRequest(error.rawPacket)
    const page = request && this.#buildErrorPage(request, problem)
    const requestId = randomUUID()
    this.#record(log, problem, requestId, socket.remoteAddress, error.code)
    const { headers, body } = serializeProblem(problem, requestId, page)
    const headerLines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const statusLine = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n`
    socket.end(`${statusLine}${headerLines.join('')}\r\n${body}`, () => socket.destroy())
  }

  /** Registers a listener that answers 417 to Expect headers other than 100-continue. */
  registerExpectationHandler({ server, log }: FastifyInstance): void {
    server.on('checkExpectation', ({ socket }: IncomingMessage, response: ServerResponse) => {
      const requestId = randomUUID()
      this.#record(log, unknownExpectation, requestId, socket.remoteAddress)
      const { headers, body } = serializeProblem(unknownExpectation, requestId, null)
      response.writeHead(unknownExpectation.status, headers).end(body)
    })
  }

  /** Answers a URL that Fastify cannot decode. The message of Fastify would repeat the URL. */
  answerUndecodableUrl(cause: Error, request: FastifyRequest, reply: FastifyReply): void {
    const detail = 'The URL is not well-formed: check its percent signs.'
    const problem = new Problem('invalid_parameter', detail, { cause })
    this.#record(request.server.log, problem, request.id, request.ip)
    sendProblem(request, reply.headers(buildCommonHeaders(request.id)), problem)
  }

  /**
   * Counts the request, and logs it unless many were logged within a second. Its duration is
   * unknown and counts as 0, even for a 408. `reason` is the code of Node's error, such as
   * HPE_INVALID_METHOD, which contains nothing of the request.
   */
  #record(
    log: FastifyBaseLogger,
    { status, code }: Problem,
    requestId: string,
    address: string | undefined,
    reason?: string,
  ): void {
    this.#requests.countRequest(undefined, status, 0)
    if (!this.#limit.tryAcquire()) return
    const unlogged = this.#limit.takeSkippedCount()
    const network = getLoggedNetwork(address)
    log.info(
      {
        reqId: requestId,
        route: null,
        status,
        network,
        code,
        ...(reason !== undefined && { reason }),
        ...(unlogged > 0 && { unlogged }),
      },
      'malformed request',
    )
  }
}

/**
 * Returns the path and headers in a packet that begins with a GET request. Returns null if it does
 * not, for example because the request is so long that it came in several packets. Needed only so
 * that the visitor of an overlong quote link gets an HTML page.
 */
function readStartOfRequest(packet: unknown): RequestStart | null {
  if (!Buffer.isBuffer(packet)) return null
  const [requestLine = '', ...lines] = packet.toString('latin1').split('\r\n')
  const [, url] = /^GET (\/\S*)/.exec(requestLine) ?? []
  if (url === undefined) return null
  const headers: IncomingHttpHeaders = {}
  for (const line of lines) {
    if (line === '') break
    const [, name = '', value = ''] = /^([\w-]+):[ \t]*(.*)$/.exec(line) ?? []
    headers[name.toLowerCase()] ??= value
  }
  return { url, headers }
}

function toParserProblem(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') return tooLarge
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return tooSlow
  return malformed
}

function serializeProblem(
  problem: Problem,
  requestId: string,
  page: ErrorPage | null,
): { headers: Record<string, string>; body: string } {
  const body = page ? String(page.bytes) : JSON.stringify(buildProblemBody(problem, requestId))
  return {
    headers: {
      ...buildCommonHeaders(requestId),
      ...problemHeaders,
      ...page?.headers,
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
    },
    body,
  }
}
