// Decodes the bytes of a file as UTF-8 and rejects any other encoding with the line of the error.
import { isUtf8 } from 'node:buffer'
import { InvalidFileError } from '../invalid-file-error.ts'

const lineFeed = 0x0a
const maxBytesPerCharacter = 4

/**
 * Yields the decoded text without its byte order mark. Throws an InvalidFileError for an empty
 * file, UTF-16, bytes that are not UTF-8, and NUL bytes, which text never has.
 */
export async function* decodeUtf8(source: AsyncIterable<string | Buffer>): AsyncGenerator<string> {
  let line = 1
  let isFirst = true
  let pending: Buffer = Buffer.alloc(0)
  for await (const chunk of source) {
    const read = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    const bytes = pending.length > 0 ? Buffer.concat([pending, read]) : read
    const isTooShort = isFirst && bytes.length < maxBytesPerCharacter
    const end = isTooShort ? 0 : endOfLastCharacter(bytes)
    pending = bytes.subarray(end)
    if (end === 0) continue
    const text = checkBytes(bytes.subarray(0, end), line, isFirst)
    isFirst = false
    line += countLineFeeds(text)
    yield text.toString()
  }
  if (isFirst && pending.length === 0)
    throw new InvalidFileError('The file is empty: it does not even have a header.')
  yield checkBytes(pending, line, isFirst).toString()
}

/** Returns the bytes without a byte order mark, or throws if they are not UTF-8 text. */
function checkBytes(bytes: Buffer, line: number, isFirst: boolean): Buffer {
  const start = isFirst ? bytes.toString('hex', 0, 3) : ''
  if (start.startsWith('fffe') || start.startsWith('feff'))
    throw new InvalidFileError(`The file is UTF-16. ${saveAsUtf8}`)
  const nul = bytes.indexOf(0)
  if (nul !== -1) {
    const nulLine = line + countLineFeeds(bytes.subarray(0, nul))
    const hint = isFirst && nul < maxBytesPerCharacter ? ' (it may be UTF-16)' : ''
    throw new InvalidFileError(
      `Line ${nulLine} has a NUL byte: this is not plain text${hint}. ${saveAsUtf8}`,
    )
  }
  if (!isUtf8(bytes))
    throw new InvalidFileError(
      `Line ${line + countValidLines(bytes)} is not UTF-8 ` +
        `(is the file Windows-1252 or Latin-1, or not text?). ${saveAsUtf8}`,
    )
  return start === 'efbbbf' ? bytes.subarray(3) : bytes
}

/** Returns how many lines are UTF-8 before the first line that is not. */
function countValidLines(bytes: Buffer): number {
  let start = 0
  for (let count = 0; ; count++) {
    const end = bytes.indexOf(lineFeed, start)
    if (end === -1 || !isUtf8(bytes.subarray(start, end))) return count
    start = end + 1
  }
}

/** Returns the position after the last complete character. The next chunk completes the rest. */
function endOfLastCharacter(chunk: Buffer): number {
  for (let back = 1; back < maxBytesPerCharacter && back <= chunk.length; back++) {
    const byte = chunk[chunk.length - back] ?? 0
    const isContinuation = (byte & 0b1100_0000) === 0b1000_0000
    if (isContinuation) continue
    return characterLength(byte) > back ? chunk.length - back : chunk.length
  }
  return chunk.length
}

/** Returns the number of bytes of the UTF-8 character that begins with `byte`. */
function characterLength(byte: number): number {
  if (byte >= 0xf0) return 4
  if (byte >= 0xe0) return 3
  return byte >= 0xc0 ? 2 : 1
}

export function countLineFeeds(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(lineFeed); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) count++
  return count
}

const saveAsUtf8 = 'Save or export it as CSV in UTF-8.'
