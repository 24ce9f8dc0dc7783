// How long a query may be: characters, bytes and words.
import { invalidParameter } from '../../http/problem-details.ts'

const maxCodePoints = 200
const maxBytes = 512
/** The engine ignores words after the tenth. */
export const maxWords = 10

/**
 * Throws an `invalid_parameter` problem if a query has more than 200 code points or 512 bytes of
 * UTF-8.
 */
export function checkQueryLength(text: string): void {
  if ([...text].length > maxCodePoints)
    throw invalidParameter('q', `must have at most ${maxCodePoints} characters`)
  if (Buffer.byteLength(text) > maxBytes)
    throw invalidParameter('q', `must have at most ${maxBytes} bytes of UTF-8`)
}
