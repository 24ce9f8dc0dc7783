// Turns errors, unknown paths and wrong methods into problem responses.
import type { FastifyError, FastifyInstance, FastifyRequest, HTTPMethods } from 'fastify'
import { Problem, sendProblem } from './problem-details.ts'
import { isValidationError, validationProblem } from './validation-problems.ts'

// An import would also load the fetch of Node, which takes 50 ms of the start.
const { METHODS } = process.getBuiltinModule('node:http')

/**
 * Registers the handlers for errors, for unknown paths (404, names `paths`) and for
 * methods other than GET and HEAD on known paths (405). Call it before the routes are registered.
 */
export function registerErrorHandlers(app: FastifyInstance, paths: string): void {
  app.setErrorHandler((error: FastifyError | Problem, request, reply) => {
    const problem = toProblem(error)
    logProblem(request, problem, error)
    return sendProblem(request, reply, problem)
  })
  app.setNotFoundHandler((request, reply) =>
    sendProblem(
      request,
      reply,
      new Problem('not_found', `This path does not exist. The paths are ${paths}.`),
    ),
  )
  rejectOtherMethods(app)
}

/**
 * Returns the problem that the caller sees for an error. A validation error names each parameter.
 * The reason of an unexpected error is only in the log.
 */
export function toProblem(error: FastifyError | Problem): Problem {
  if (error instanceof Problem) return error
  if (isValidationError(error)) return validationProblem(error)
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return new Problem('invalid_parameter', error.message, { cause: error })
  return new Problem(
    'internal_error',
    'The request could not be answered. The log has the reason under this requestId.',
    { cause: error },
  )
}

/** Logs an error of the service. Errors of callers are not logged as errors. */
export function logProblem(request: FastifyRequest, problem: Problem, error: Error): void {
  if (problem.status < 500 || problem.expected) return
  const cause = problem.cause instanceof Error ? problem.cause : error
  request.log.error({ err: cause, code: problem.code }, 'request failed')
}

/** Every method that Node can parse, except CONNECT, which never becomes a request. */
const otherMethods = METHODS.filter(
  (method) => !['GET', 'HEAD', 'CONNECT'].includes(method),
) as HTTPMethods[]

function rejectOtherMethods(app: FastifyInstance): void {
  const reject = async () => {
    throw new Problem('method_not_allowed', 'This path is read-only: use GET or HEAD.', {
      headers: { allow: 'GET, HEAD' },
    })
  }
  for (const method of otherMethods)
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  // Each route is registered in the context of its feature, which may have an error handler.
  app.addHook('onRoute', function ({ url, method }) {
    // Rejected in onRequest, so no body is read.
    if (method === 'GET')
      this.route({ method: otherMethods, url, onRequest: reject, handler: reject })
  })
}
