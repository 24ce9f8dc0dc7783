// The 503 problem for requests that are rejected because of overload.
import { Problem, problemBody } from '../http/problem-details.ts'
import { timeouts } from '../timeouts.ts'

const retryAfterSeconds = timeouts.overload.retryAfter.ms / 1_000

/** One shared object: creating an error costs more than the rest of a rejection. */
export const overloaded = new Problem(
  'unavailable',
  'The service is overloaded. Try again in a moment.',
  { headers: { 'retry-after': String(retryAfterSeconds) }, expected: true, reason: 'overload' },
)

/** The JSON body up to the value of the request id, which is the last field. */
const bodyStart = JSON.stringify(problemBody(overloaded, '')).slice(0, -'""}'.length)

/** Returns the JSON body, which is ASCII, so its length is its size in bytes. */
export function overloadedBody(requestId: string): string {
  return `${bodyStart}${JSON.stringify(requestId)}}`
}
