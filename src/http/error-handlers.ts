// Answers errors, unknown paths and disallowed methods with problems.
import { METHODS } from 'node:http'
import type { FastifyError, FastifyInstance, FastifyRequest, HTTPMethods } from 'fastify'
import { Problem, sendProblem } from './problem-details.ts'
import { createValidationProblem, isValidationError } from './validation-problems.ts'

/** The methods of every route, as headers list them. */
export const allowedMethods = 'GET, HEAD'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for the routes that answer 405 to the methods that a path does not allow. */
    rejectsMethod?: boolean
  }
}

/**
 * Answers every error, unknown path and disallowed method with a problem. Only GET and HEAD are
 * allowed. A 404 lists `endpoints`. Must be called before the routes are registered, because of its
 * onRoute hook.
 */
export function registerErrorHandlers(app: FastifyInstance, endpoints: string[]): void {
  app.setErrorHandler((error: FastifyError | Problem, request, reply) => {
    const problem = toProblem(error)
    logProblem(request, problem, error)
    return sendProblem(request, reply, problem)
  })
  const createNotFound = () =>
    new Problem(
      'not_found',
      `This path does not exist. The API endpoints are ${formatList(endpoints)}.`,
    )
  app.setNotFoundHandler((request, reply) => sendProblem(request, reply, createNotFound()))
  // An unknown path is answered before its body is parsed. An error in the body would hide the 404.
  app.addHook('preParsing', (request, _reply, payload, done) =>
    request.is404 ? done(createNotFound()) : done(null, payload),
  )
  rejectOtherMethods(app)
}

function formatList(items: string[]): string {
  return new Intl.ListFormat('en-GB').format(items)
}

/**
 * Returns the problem that the caller sees for an error. For a validation error it names each
 * invalid parameter. For any other error it gives no reason, because the message may contain
 * anything. Only the log has the message, under the request id as `reqId`.
 */
export function toProblem(error: FastifyError | Problem): Problem {
  if (error instanceof Problem) return error
  if (isValidationError(error)) return createValidationProblem(error)
  return new Problem(
    'internal_error',
    'The request failed. The reason is in the log, under this requestId.',
    { cause: error },
  )
}

/** Logs an error of the service. Does not log errors of the caller. */
export function logProblem(request: FastifyRequest, problem: Problem, error: Error): void {
  if (problem.skipErrorLog || problem.status < 500) return
  const cause = problem.cause instanceof Error ? problem.cause : error
  request.log.error({ err: cause, code: problem.code }, 'request failed')
}

/** Every method that Node can parse, except CONNECT, for which Node makes no request. */
const otherMethods = METHODS.filter(
  (method) => !['GET', 'HEAD', 'CONNECT'].includes(method),
) as HTTPMethods[]

function rejectOtherMethods(app: FastifyInstance): void {
  const reject = async () => {
    throw new Problem('method_not_allowed', 'This path is read-only: use GET or HEAD.', {
      headers: { allow: allowedMethods },
    })
  }
  for (const method of otherMethods)
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  // The routes are added in the plugin of the GET route, so that its error handler applies. They
  // reject in onRequest, so that no body is read. registerPreflights (src/auth/cors.ts) answers
  // some requests for the OPTIONS routes before that. It reads the `config` of the GET route.
  app.addHook('onRoute', function ({ url, method, config = {} }) {
    if ([method].flat().includes('GET'))
      this.route({
        method: otherMethods,
        url,
        config: { ...config, rejectsMethod: true },
        onRequest: reject,
        handler: reject,
      })
  })
}
