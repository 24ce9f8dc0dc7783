// Decodes the bytes of a file as UTF-8 or Windows-1252, and rejects any other encoding.
import { isAscii, isUtf8 } from 'node:buffer'
import type { FileFormat } from '../file-format.ts'
import { ImportError } from '../import-error.ts'

const lineFeed = 0x0a
const maxBytesPerCharacter = 4

/** The bytes of a chunk are not UTF-8. */
export class NotUtf8Error extends ImportError {
  readonly bytes: Buffer

  constructor(message: string, bytes: Buffer) {
    super(message)
    this.bytes = bytes
  }
}

/**
 * Yields the decoded text without its byte order mark. If the encoding is `auto`, the first
 * characters beyond ASCII decide between UTF-8 and Windows-1252. Throws an ImportError for an empty
 * file, for another kind of file such as a workbook, for UTF-16, for bytes that the encoding does
 * not have, and for NUL bytes, which text never has.
 */
export async function* decodeText(
  source: AsyncIterable<string | Buffer>,
  encoding: FileFormat['encoding'],
): AsyncGenerator<string> {
  let line = 1
  let isFirst = true
  let pending: Buffer = Buffer.alloc(0)
  let decided = encoding
  function decode(bytes: Buffer): string {
    if (isFirst) rejectOtherFiles(bytes)
    rejectNul(bytes, line, isFirst)
    const hasMark = isFirst && bytes.toString('hex', 0, 3) === 'efbbbf'
    const content = hasMark ? bytes.subarray(3) : bytes
    if (hasMark) decided = 'utf-8'
    if (decided === 'auto' && !isAscii(content)) decided = detectEncoding(content, line)
    isFirst = false
    const text =
      decided === 'windows-1252' ? decodeWindows1252(content, line) : decodeUtf8(content, line)
    line += countLineFeeds(content)
    return text
  }
  for await (const chunk of source) {
    const read = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    const bytes = pending.length > 0 ? Buffer.concat([pending, read]) : read
    const isTooShort = isFirst && bytes.length < maxBytesPerCharacter
    const end = isTooShort ? 0 : endOfLastCharacter(bytes)
    pending = bytes.subarray(end)
    if (end > 0) yield decode(bytes.subarray(0, end))
  }
  if (isFirst && pending.length === 0)
    throw new ImportError('The file is empty: it does not even have a header.')
  yield decode(pending)
}

/** Throws for files that people often mistake for CSV, and for UTF-16. */
function rejectOtherFiles(bytes: Buffer): void {
  const start = bytes.toString('hex', 0, 4)
  const saveAsCsv =
    'Open it in its program and save the sheet as CSV, for example "CSV UTF-8" in Excel.'
  if (start.startsWith('504b0304'))
    throw new ImportError(`The file is an Excel workbook (.xlsx) or a ZIP. ${saveAsCsv}`)
  if (start === 'd0cf11e0')
    throw new ImportError(`The file is an old Excel workbook (.xls). ${saveAsCsv}`)
  if (start === '25504446') throw new ImportError(`The file is a PDF, not CSV. ${saveAsUtf8}`)
  if (start.startsWith('fffe') || start.startsWith('feff'))
    throw new ImportError(`The file is UTF-16. ${saveAsUtf8}`)
}

function rejectNul(bytes: Buffer, line: number, isFirst: boolean): void {
  const nul = bytes.indexOf(0)
  if (nul === -1) return
  const nulLine = line + countLineFeeds(bytes.subarray(0, nul))
  const hint = isFirst && nul < maxBytesPerCharacter ? ' (it may be UTF-16)' : ''
  throw new ImportError(
    `Line ${nulLine} has a NUL byte: this is not plain text${hint}. ${saveAsUtf8}`,
  )
}

function decodeUtf8(bytes: Buffer, line: number): string {
  if (isUtf8(bytes)) return bytes.toString()
  throw new NotUtf8Error(
    `Line ${line + countValidLines(bytes)} is not UTF-8 ` +
      `(is the file Windows-1252 or Latin-1, or not text?). ${saveAsUtf8}`,
    bytes,
  )
}

/** Returns the encoding of bytes that are not all ASCII. */
function detectEncoding(bytes: Buffer, line: number): 'utf-8' | 'windows-1252' {
  if (isUtf8(bytes)) return 'utf-8'
  if (!isDamagedUtf8(bytes)) return 'windows-1252'
  throw new ImportError(
    `Line ${line + countValidLines(bytes)} is not UTF-8, but other characters of the file are: ` +
      'it mixes encodings. Save or export it again in one encoding.',
  )
}

/**
 * Returns whether bytes that are not UTF-8 have more valid characters beyond ASCII than errors.
 * Real text in Windows-1252 has almost no sequences that are valid UTF-8. Decoding damaged UTF-8 as
 * Windows-1252 would garble every accent.
 */
export function isDamagedUtf8(bytes: Buffer): boolean {
  const text = bytes.toString()
  const errors = text.match(/\ufffd/g)?.length ?? 0
  const valid = text.match(/[^\p{ASCII}\ufffd]/gu)?.length ?? 0
  return valid > errors
}

/** The bytes that Windows-1252 does not define. TextDecoder makes control characters of them. */
const undefinedBytes = /[\x81\x8d\x8f\x90\x9d]/

function decodeWindows1252(bytes: Buffer, line: number): string {
  const offset = bytes.toString('latin1').search(undefinedBytes)
  if (offset === -1) return new TextDecoder('windows-1252').decode(bytes)
  throw new ImportError(
    `Line ${line + countLineFeeds(bytes.subarray(0, offset))} has the byte ` +
      `0x${bytes[offset]?.toString(16)}, which is neither UTF-8 nor Windows-1252. ${saveAsUtf8}`,
  )
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

/**
 * Returns the position after the last complete character. The next chunk completes the rest.
 * StringDecoder finds it too, but returns text, in which bytes that are not UTF-8 are lost.
 */
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
