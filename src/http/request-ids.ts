// Chooses the request id that the log line and the response share.
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

export type RequestIdGenerator = (request: Pick<IncomingMessage, 'headers'>) => string

const validId = /^[A-Za-z0-9._-]{1,64}$/

/**
 * Returns a function that chooses the id of a request: the X-Request-Id of the caller if it is
 * valid, and otherwise a random prefix of this process with a counter. An id for which
 * `mayContainKey` returns true is not valid, because the log has it.
 */
export function createRequestIdGenerator(
  mayContainKey: (id: string) => boolean,
): RequestIdGenerator {
  const processPrefix = randomBytes(5).toString('hex')
  let lastNumber = 0
  return ({ headers }) => {
    const callerId = headers['x-request-id']
    if (typeof callerId === 'string' && validId.test(callerId) && !mayContainKey(callerId))
      return callerId
    lastNumber += 1
    return `${processPrefix}-${lastNumber.toString(36)}`
  }
}
