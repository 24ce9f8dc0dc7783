// The 503 problem for requests that are rejected because the service is overloaded.
import { buildProblemBody, Problem } from '../http/problem-details.ts'

// A burst is over by then.
const retryAfterSeconds = 1

/** One shared object: creating an error costs more than the rest of a rejection. */
export const overloadedProblem = new Problem(
  'unavailable',
  'The service is overloaded. Try again in a moment.',
  { headers: { 'retry-after': String(retryAfterSeconds) }, skipErrorLog: true, reason: 'overload' },
)

/** The JSON body up to the request id, which is its last field. */
const bodyStart = JSON.stringify(buildProblemBody(overloadedProblem, '')).slice(0, -'""}'.length)

/** Returns the JSON body. It is ASCII, so its length is its size in bytes. */
export function serializeOverloadedProblem(requestId: string): string {
  return `${bodyStart}${JSON.stringify(requestId)}}`
}
