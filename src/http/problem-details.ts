// Errors as callers see them: RFC 9457 problems from one closed list of codes. What went wrong inside is for the log only.
import { METHODS } from 'node:http'
import { type Static, Type } from '@sinclair/typebox'
import type {
  FastifyError,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
} from 'fastify'

/** Every code there is, with its status and title. */
export const problemKinds = {
  invalid_parameter: { status: 400, title: 'Invalid parameter' },
  unauthenticated: { status: 401, title: 'Not authenticated' },
  insufficient_scope: { status: 403, title: 'Not allowed with this key' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  not_acceptable: { status: 406, title: 'Not acceptable' },
  link_expired: { status: 410, title: 'The link has expired' },
  link_revoked: { status: 410, title: 'The link was withdrawn' },
  rate_limited: { status: 429, title: 'Too many requests' },
  unavailable: { status: 503, title: 'Temporarily unavailable' },
  internal_error: { status: 500, title: 'Internal error' },
} as const
export type ProblemCode = keyof typeof problemKinds

export const ProblemBody = Type.Object(
  {
    type: Type.String(),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    code: Type.Union(
      (Object.keys(problemKinds) as ProblemCode[]).map((code) => Type.Literal(code)),
    ),
    requestId: Type.String({ description: 'The same id stands in the log' }),
    errors: Type.Optional(
      Type.Array(Type.Object({ parameter: Type.String(), detail: Type.String() })),
    ),
  },
  { description: 'RFC 9457 problem' },
)
export type ProblemBody = Static<typeof ProblemBody>

type Details = {
  errors?: { parameter: string; detail: string }[]
  headers?: Record<string, string>
  cause?: unknown
  /** Nothing is wrong with the service: no line in the log for each. */
  expected?: boolean
  /** Where HTTP has a status of its own for what the code says. */
  status?: number
}

/** Thrown by routes and hooks to answer with a problem. `detail` is shown to the caller: it says what to do and holds nothing internal. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly status: number
  readonly errors: Details['errors']
  readonly headers: Record<string, string>
  readonly expected: boolean

  constructor(
    code: ProblemCode,
    detail: string,
    {
      errors,
      headers = {},
      cause,
      expected = false,
      status = problemKinds[code].status,
    }: Details = {},
  ) {
    super(detail, { cause })
    this.code = code
    this.status = status
    this.errors = errors
    this.headers = headers
    this.expected = expected
  }
}

/** A problem for one bad parameter. */
export function invalidParameter(parameter: string, detail: string): Problem {
  return new Problem('invalid_parameter', `${parameter}: ${detail}`, {
    errors: [{ parameter, detail }],
  })
}

/** Gives the app its error, not-found and wrong-method answers; `paths` are those that it tells of. Register before the routes. */
export function answerWithProblems(app: FastifyInstance, paths: string): void {
  app.setErrorHandler((error: FastifyError | Problem, request, reply) => {
    const problem = problemOf(error)
    logProblem(request, problem, error)
    return sendProblem(request, reply, problem)
  })
  app.setNotFoundHandler((request, reply) =>
    sendProblem(
      request,
      reply,
      new Problem('not_found', `There is nothing here. The paths are ${paths}.`),
    ),
  )
  refuseOtherMethods(app)
}

/** Sends a problem as application/problem+json. */
export function sendProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  problem: Problem,
): FastifyReply {
  return reply.send(prepareProblem(request, reply, problem))
}

/** Sets the reply up for a problem and returns the body that is to be sent. */
export function prepareProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  problem: Problem,
): ProblemBody {
  // Serialised by hand: the route's response schemas are for its own answers.
  reply
    .code(problem.status)
    .headers(problem.headers)
    .header('cache-control', 'private, no-store')
    .header('x-request-id', request.id)
    .type('application/problem+json; charset=utf-8')
    .serializer((payload: unknown) => JSON.stringify(payload))
  return problemBody(problem, request.id)
}

/** The body of a problem. */
export function problemBody(problem: Problem, requestId: string): ProblemBody {
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

/** What a caller is told of any error: problems as they are, bad input by parameter, everything else without its reason. */
export function problemOf(error: FastifyError | Problem): Problem {
  if (error instanceof Problem) return error
  if (error.validation) {
    const errors = error.validation.map(({ instancePath, keyword, params, ...more }) => {
      if (keyword === 'additionalProperties')
        return {
          parameter: String(params.additionalProperty),
          detail: 'is not a parameter of this path',
        }
      const parameter =
        instancePath.split('/')[1] ??
        String(params.missingProperty ?? error.validationContext ?? '')
      const { parentSchema = {}, data } = more as {
        parentSchema?: Record<string, unknown>
        data?: unknown
      }
      return {
        parameter,
        detail: Array.isArray(data) ? 'must be given once' : whatIsAllowed(parentSchema, params),
      }
    })
    return new Problem(
      'invalid_parameter',
      errors.map(({ parameter, detail }) => `${parameter}: ${detail}`).join('; '),
      { errors },
    )
  }
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
    return new Problem('invalid_parameter', error.message, { cause: error })
  }
  return new Problem(
    'internal_error',
    'The request could not be answered. The log says why, under this requestId.',
    { cause: error },
  )
}

/** What a parameter's schema allows, in plain words. */
function whatIsAllowed(schema: Record<string, unknown>, params: Record<string, unknown>): string {
  const { enum: listed, minimum, maximum, minLength, maxLength, pattern, format, examples } = schema
  if (Array.isArray(listed)) return `must be one of ${listed.join(', ')}`
  if (minimum !== undefined && maximum !== undefined)
    return `must be a whole number from ${minimum} to ${maximum}`
  if (pattern !== undefined && Array.isArray(examples))
    return `must be written like ${examples.join(' or ')}`
  if (format === 'date') return 'must be a day, written YYYY-MM-DD'
  if (maxLength !== undefined) return `must have ${minLength ?? 0} to ${maxLength} characters`
  return params.missingProperty === undefined ? 'is not valid' : 'must be given'
}

/** Logs what is the service’s own fault, under the request id; what callers do wrong is not logged as an error. */
export function logProblem(request: FastifyRequest, problem: Problem, error: Error): void {
  if (problem.status < 500 || problem.expected) return
  const cause = problem.cause instanceof Error ? problem.cause : error
  request.log.error({ err: cause, code: problem.code }, 'request failed')
}

/** All that Node can parse; CONNECT never becomes a request. */
const otherMethods = METHODS.filter(
  (method) => !['GET', 'HEAD', 'CONNECT'].includes(method),
) as HTTPMethods[]

/** A known path with another method is 405 with `Allow`, not 404. */
function refuseOtherMethods(app: FastifyInstance): void {
  const refuse = async () => {
    throw new Problem('method_not_allowed', 'This path is read-only: use GET or HEAD.', {
      headers: { allow: 'GET, HEAD' },
    })
  }
  for (const method of otherMethods)
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  app.addHook('onRoute', ({ url, method }) => {
    // In onRequest, so that no body is read first.
    if (method === 'GET')
      app.route({ method: otherMethods, url, onRequest: refuse, handler: refuse })
  })
}
