// Problem responses (RFC 9457): the closed list of codes, and how a problem is sent.
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest, FastifySerializerCompiler } from 'fastify'
import { noStore } from './common-headers.ts'
import type { LogFields } from './request-log.ts'

/** Every problem code with its HTTP status and title. The OpenAPI document lists them too. */
export const problemKinds = {
  /**
   * Despite its name, it is the code of every malformed request. Clients compare it. The status is
   * 400, except:
   * - 408: the request did not arrive in time (malformed-requests.ts)
   * - 431: the header or the URL is too large (malformed-requests.ts)
   * - any other 4xx with which a library rejects the request (error-handlers.ts)
   */
  invalid_parameter: { status: 400, title: 'Invalid parameter' },
  unauthenticated: { status: 401, title: 'Not authenticated' },
  insufficient_scope: { status: 403, title: 'Not allowed with this key' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  not_acceptable: { status: 406, title: 'Not acceptable' },
  link_expired: { status: 410, title: 'The link has expired' },
  link_revoked: { status: 410, title: 'The link was revoked' },
  misdirected_request: { status: 421, title: 'Not a host of this service' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal_error: { status: 500, title: 'Internal error' },
  unavailable: { status: 503, title: 'Temporarily unavailable' },
} as const
export type ProblemCode = keyof typeof problemKinds

const refusals: number[] = [
  problemKinds.unauthenticated.status,
  problemKinds.insufficient_scope.status,
  problemKinds.misdirected_request.status,
  problemKinds.rate_limited.status,
]

/**
 * Returns whether the status of a rejected request is that of a refusal: 401, 403, 421 or 429. Such
 * a request is rejected because of who calls, how often, or under which host, not because of its
 * parameters.
 */
export function isRefusal(status: number): boolean {
  return refusals.includes(status)
}

/** The headers of every response with a problem, besides the common ones. */
export const problemHeaders = {
  'content-type': 'application/problem+json; charset=utf-8',
  'cache-control': noStore,
}

export type ParameterError = { parameter: string; detail: string }

export const ProblemBody = Type.Object(
  {
    type: Type.String(),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    code: Type.Union(
      (Object.keys(problemKinds) as ProblemCode[]).map((code) => Type.Literal(code)),
    ),
    /** The log has it as `reqId`, and the response header is `x-request-id`. */
    requestId: Type.String({ description: 'Also in the log of the service' }),
    errors: Type.Optional(
      Type.Array(Type.Object({ parameter: Type.String(), detail: Type.String() })),
    ),
  },
  { description: 'RFC 9457 problem' },
)
export type ProblemBody = Static<typeof ProblemBody>

type ProblemOptions = {
  errors?: ParameterError[]
  headers?: Record<string, string>
  cause?: unknown
  /**
   * True if the problem is not an error of the service, or its error was logged before. Then
   * logProblem writes no error. The log line of the request is always written.
   */
  skipErrorLog?: boolean
  /** Appears only in the request log. */
  reason?: string
  /** Replaces the status of the code. Only for `invalid_parameter`. */
  status?: number
}

/**
 * Routes and hooks throw a Problem to send it as the response. The caller sees `detail`, so that
 * must say what to do. It must contain nothing of the data, the code or the servers. It may name
 * the setting or the script with which the operator solves the problem.
 */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly status: number
  readonly errors: ProblemOptions['errors']
  readonly headers: Record<string, string>
  readonly skipErrorLog: boolean
  readonly reason: string | undefined

  constructor(
    code: ProblemCode,
    detail: string,
    {
      errors,
      headers = {},
      cause,
      skipErrorLog = false,
      reason,
      status = problemKinds[code].status,
    }: ProblemOptions = {},
  ) {
    super(detail, { cause })
    this.code = code
    this.status = status
    this.errors = errors
    this.headers = headers
    this.skipErrorLog = skipErrorLog
    this.reason = reason
  }
}

export function createInvalidParameterProblem(parameter: string, detail: string): Problem {
  return createInvalidParametersProblem([{ parameter, detail }])
}

export function createInvalidParametersProblem(errors: ParameterError[]): Problem {
  const details = errors.map(({ parameter, detail }) => `${parameter}: ${detail}`)
  return new Problem('invalid_parameter', details.join('; '), { errors })
}

/** Sends a problem and adds its code to the log line. Set other headers before the call. */
export function sendProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  problem: Problem,
): FastifyReply {
  addProblemToRequestLog(request, problem)
  return reply
    .code(problem.status)
    .headers(problem.headers)
    .headers(problemHeaders)
    .send(buildProblemBody(problem, request.id))
}

/**
 * Adds the code and the reason of the problem to the log fields of the request. Keeps what the
 * route has tried before (`attempts`, `failedAttempt`, `reason`). Drops the fields that describe
 * the response, such as `source`, because the route did not send it.
 */
export function addProblemToRequestLog(request: FastifyRequest, { code, reason }: Problem): void {
  const { attempts, failedAttempt, reason: earlierReason } = request.logFields ?? {}
  const fields: LogFields = { code }
  if (attempts !== undefined) fields.attempts = attempts
  if (failedAttempt !== undefined) fields.failedAttempt = failedAttempt
  const lastReason = reason ?? earlierReason
  if (lastReason !== undefined) fields.reason = lastReason
  request.logFields = fields
}

/**
 * A `serializerCompiler` that turns off the filter of fields that the response schema lacks. So use
 * it only for a route that sends text or bytes, and selects the fields itself. If the route sends
 * an object that is no problem, it fails with 500. In tests, test/support/openapi-conformance.ts
 * finds a field that the schema lacks.
 *
 * It saves 80 ms at the start, because Fastify makes no serializers for the route.
 */
export const serializeOnlyProblems: FastifySerializerCompiler<unknown> = ({ httpStatus = '' }) =>
  /^[45]/.test(httpStatus) ? JSON.stringify : rejectObject

function rejectObject(): never {
  throw new Error('A route with serializeOnlyProblems sent an object instead of text or bytes.')
}

export function buildProblemBody(problem: Problem, requestId: string): ProblemBody {
  return {
    type: `urn:trade-quoting-service:problem:${problem.code}`,
    title: problemKinds[problem.code].title,
    status: problem.status,
    detail: problem.message,
    code: problem.code,
    requestId,
    ...(problem.errors && { errors: problem.errors }),
  }
}
