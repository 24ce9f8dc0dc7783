// Normalises the text of a query, and limits its length.
import { invalidParameter } from '../../http/problem-details.ts'

const maxCodePoints = 200
const maxBytes = 512

/**
 * Returns `q` trimmed, in NFC, and with blanks instead of control characters. Throws an
 * `invalid_parameter` problem if it has more than 200 code points or 512 bytes of UTF-8.
 */
export function normalizeQueryText(q: string): string {
  const text = q.toWellFormed().normalize('NFC').trim()
  if ([...text].length > maxCodePoints)
    throw invalidParameter('q', `must have at most ${maxCodePoints} characters`)
  if (Buffer.byteLength(text) > maxBytes)
    throw invalidParameter('q', `must have at most ${maxBytes} bytes of UTF-8`)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are replaced here.
  return text.replace(/[\u0000-\u001f\u007f]/g, ' ').trim()
}
