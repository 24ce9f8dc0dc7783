// Answers requests that Node rejects before Fastify sees them: those that are malformed, too large
// or too slow, or that expect something other than 100-continue.
import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { LineLimit } from '../monitoring/line-limit.ts'
import { shortenAddress } from '../rate-limits/client-address.ts'
import {
  buildProblemBody,
  Problem,
  problemCacheControl,
  problemContentType,
} from './problem-details.ts'

// An import statement would also load Node's fetch, which delays the start by 50 ms.
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

type CountRequest = (route: undefined, status: number, durationMs: number) => void

/** The readable part of a request that Node could not parse. Header names are in lower case. */
type UnparsedRequest = { url: string; headers: IncomingHttpHeaders }
type ErrorPage = { headers: Record<string, string>; bytes: string | Buffer }

/** Returns a page that is sent instead of the problem, or null. */
type FindErrorPage = (request: UnparsedRequest, problem: Problem) => ErrorPage | null

/** Node adds `rawPacket`, a buffer with the last bytes that arrived, if its parser failed. */
type ClientError = NodeJS.ErrnoException & { rawPacket?: unknown }

/** Answers, counts and logs these requests, because no hook of Fastify sees them. */
export class MalformedRequests {
  readonly #countRequest: CountRequest
  readonly #findErrorPage: FindErrorPage
  readonly #limit = new LineLimit()

  constructor(countRequest: CountRequest, findErrorPage: FindErrorPage) {
    this.#countRequest = countRequest
    this.#findErrorPage = findErrorPage
  }

  /**
   * Answers a request that Node could not parse and closes the connection. The response contains no
   * part of the request, which may contain a key or a token.
   */
  answer(log: FastifyBaseLogger, error: ClientError, socket: Socket): void {
    if (error.code === 'ECONNRESET' || socket.destroyed) return
    if (!socket.writable) return void socket.destroy()
    const problem = findProblem(error.code)
    const request = readStartOfRequest(error.rawPacket)
    const page = request && this.#findErrorPage(request, problem)
    const { headers, body } = this.#refuse(log, problem, socket, page)
    const headerLines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const statusLine = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n`
    socket.end(`${statusLine}${headerLines.join('')}\r\n${body}`, () => socket.destroy())
  }

  /** Answers 417 to Expect headers other than 100-continue. */
  rejectExpectations({ server, log }: FastifyInstance): void {
    server.on('checkExpectation', ({ socket }: IncomingMessage, response: ServerResponse) => {
      const { headers, body } = this.#refuse(log, unknownExpectation, socket)
      response.writeHead(unknownExpectation.status, headers).end(body)
    })
  }

  /** Counts and logs the request, and returns the headers and the body of the response. */
  #refuse(log: FastifyBaseLogger, problem: Problem, socket: Socket, page: ErrorPage | null = null) {
    const { status, code } = problem
    const requestId = randomUUID()
    this.#countRequest(undefined, status, 0)
    if (this.#limit.allows()) {
      const unlogged = this.#limit.takeUnlogged()
      const network = shortenAddress(socket.remoteAddress)
      log.info(
        { reqId: requestId, route: null, status, network, code, ...(unlogged > 0 && { unlogged }) },
        'malformed request',
      )
    }
    return serializeProblem(problem, requestId, page)
  }
}

/**
 * Returns the path and headers in a packet that begins with a GET request. Returns null if it does
 * not, for example because the request is so long that it came in several packets.
 */
function readStartOfRequest(packet: unknown): UnparsedRequest | null {
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

function findProblem(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') return tooLarge
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return tooSlow
  return malformed
}

/** Returns the headers and the body of the response: the page, or else the problem. */
function serializeProblem(
  problem: Problem,
  requestId: string,
  page: ErrorPage | null,
): { headers: Record<string, string>; body: string } {
  const body = page ? String(page.bytes) : JSON.stringify(buildProblemBody(problem, requestId))
  return {
    headers: {
      'content-type': problemContentType,
      'cache-control': problemCacheControl,
      'x-content-type-options': 'nosniff',
      ...page?.headers,
      'content-length': String(Buffer.byteLength(body)),
      'x-request-id': requestId,
      connection: 'close',
    },
    body,
  }
}
