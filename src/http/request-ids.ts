// The id under which a request stands in the log and in its answer: the caller's own if it is sane, else one of ours.
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const sane = /^[A-Za-z0-9._-]{1,64}$/
const key = /tq[sp]_/

/** Ids that no other process gives: a random part for the process, and a number. An id from outside must not look like one of our keys. */
export function requestIds(): (request: Pick<IncomingMessage, 'headers'>) => string {
  const own = randomBytes(5).toString('hex')
  let number = 0
  return ({ headers }) => {
    const given = headers['x-request-id']
    if (typeof given === 'string' && sane.test(given) && !key.test(given)) return given
    number += 1
    return `${own}-${number.toString(36)}`
  }
}
