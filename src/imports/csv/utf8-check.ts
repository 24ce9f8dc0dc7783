// The first look at the bytes of a file: only UTF-8 text goes on, anything else is refused by its line.
import { isUtf8 } from 'node:buffer'
import { BadFile } from './invalid-file.ts'

const lineFeed = 0x0a
const longestCharacter = 4

/**
 * Decodes UTF-8, without its byte order mark. Throws a BadFile for an empty file, UTF-16, bytes that
 * are not UTF-8, and NUL bytes, which no text has.
 */
export async function* readUtf8(source: AsyncIterable<string | Buffer>): AsyncGenerator<string> {
  let line = 1
  let first = true
  let pending: Buffer = Buffer.alloc(0)
  for await (const piece of source) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
    const chunk = pending.length > 0 ? Buffer.concat([pending, bytes]) : bytes
    const end = first && chunk.length < longestCharacter ? 0 : wholeCharacters(chunk)
    pending = chunk.subarray(end)
    if (end === 0) continue
    const text = checkText(chunk.subarray(0, end), line, first)
    first = false
    line += countLineFeeds(text)
    yield text.toString()
  }
  if (first && pending.length === 0)
    throw new BadFile('The file is empty: not even a header is in it.')
  yield checkText(pending, line, first).toString()
}

function checkText(bytes: Buffer, line: number, first: boolean): Buffer {
  const start = first ? bytes.toString('hex', 0, 3) : ''
  if (start.startsWith('fffe') || start.startsWith('feff'))
    throw new BadFile(`The file is UTF-16. ${saveAsUtf8}`)
  const nul = bytes.indexOf(0)
  if (nul !== -1) {
    const guess = first && nul < longestCharacter ? ' (it may be UTF-16)' : ''
    throw new BadFile(
      `Line ${line + countLineFeeds(bytes.subarray(0, nul))} has a NUL byte: this is not plain text${guess}. ${saveAsUtf8}`,
    )
  }
  if (!isUtf8(bytes)) {
    throw new BadFile(
      `Line ${line + firstBadLine(bytes)} is not UTF-8 (is the file Windows-1252 or Latin-1, or not text?). ${saveAsUtf8}`,
    )
  }
  return start === 'efbbbf' ? bytes.subarray(3) : bytes
}

/** How many lines of these bytes are UTF-8 before the first that is not. */
function firstBadLine(bytes: Buffer): number {
  let start = 0
  for (let before = 0; ; before++) {
    const end = bytes.indexOf(lineFeed, start)
    if (end === -1 || !isUtf8(bytes.subarray(start, end))) return before
    start = end + 1
  }
}

/** Where the last whole character of a chunk ends: one that the end of the chunk cuts waits for the next chunk. */
function wholeCharacters(chunk: Buffer): number {
  for (let back = 1; back < longestCharacter && back <= chunk.length; back++) {
    const byte = chunk[chunk.length - back] ?? 0
    if ((byte & 0b1100_0000) === 0b1000_0000) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? chunk.length - back : chunk.length
  }
  return chunk.length
}

export function countLineFeeds(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(lineFeed); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) count++
  return count
}

const saveAsUtf8 = 'Save or export it as CSV in UTF-8.'
