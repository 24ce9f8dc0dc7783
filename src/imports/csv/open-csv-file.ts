// Opens the file to import: a CSV file, a gzipped CSV file, or standard input. Decodes its bytes as
// UTF-8 or Windows-1252, and rejects any other encoding.

import { isAscii, isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { addAbortSignal, pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { type FileFormat, ImportError } from '../file-format.ts'

type CsvSource = {
  /** The bytes of the CSV, unzipped. Throws an ImportError if the gzip is damaged. */
  csv: AsyncIterable<Buffer>
  /** The fraction of the file that has been read, 0 to 1, or undefined if its size is unknown. */
  fractionRead(): number | undefined
}

/**
 * Opens a file by its name, or `standardInput` for `-`. The first bytes decide whether it is gzip.
 * Aborting `signal` stops the reading. Throws an ImportError if the file cannot be opened.
 */
export async function openCsv(
  file: string,
  standardInput: Readable,
  signal: AbortSignal,
): Promise<CsvSource> {
  if (file === '-')
    return {
      csv: unzip(addAbortSignal(signal, standardInput), false),
      fractionRead: () => undefined,
    }
  const stats = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new ImportError(
      error.code === 'ENOENT'
        ? 'There is no such file.'
        : `The file cannot be opened: ${error.message}`,
    )
  })
  if (stats.isDirectory()) throw new ImportError('This is a directory, not a file.')
  const size = stats.isFile() ? stats.size : 0
  const bytes = createReadStream(file, { signal })
  return {
    csv: unzip(bytes, file.endsWith('.gz')),
    fractionRead: () => (size > 0 ? bytes.bytesRead / size : undefined),
  }
}

async function* unzip(bytes: Readable, mustBeGzip: boolean): AsyncGenerator<Buffer> {
  let lines = 0
  try {
    const { start, rest } = await readStart(bytes)
    const isGzip = start[0] === 0x1f && start[1] === 0x8b
    if (mustBeGzip && !isGzip)
      throw new ImportError(
        'The file is named .gz but is not gzip. Name it .csv if it is plain CSV, ' +
          'or create it again.',
      )
    if (!isGzip) {
      yield* prepend(start, rest)
      return
    }
    const source = Readable.from(prepend(start, rest))
    // Iterating over the pipeline throws its errors, so the callback has nothing to do.
    for await (const chunk of pipeline(source, createGunzip(), () => {})) {
      yield chunk
      lines += countLineFeeds(chunk)
    }
  } catch (error) {
    throw explainReadError(error, lines)
  } finally {
    bytes.destroy()
  }
}

function explainReadError(error: unknown, lines: number): unknown {
  if (error instanceof ImportError || !(error instanceof Error)) return error
  const isDamaged = 'code' in error && typeof error.code === 'string' && error.code.startsWith('Z_')
  return new ImportError(
    isDamaged
      ? `The gzip is damaged or cut short (${error.message}); ${lines} lines of it were read. ` +
          'Create or download the file again.'
      : `The file cannot be read: ${error.message}`,
    { cause: error },
  )
}

/** Returns at least the first two bytes, or all bytes if there are fewer, and the rest. */
async function readStart(bytes: Readable): Promise<{ start: Buffer; rest: AsyncIterable<Buffer> }> {
  const rest: AsyncIterableIterator<Buffer> = bytes.iterator({ destroyOnReturn: false })
  let start: Buffer = Buffer.alloc(0)
  while (start.length < 2) {
    const { value, done } = await rest.next()
    if (done) break
    start = Buffer.concat([start, value])
  }
  return { start, rest }
}

/** Yields `first` unless it is empty, and then the others. */
export async function* prepend<Part extends { length: number }>(
  first: Part,
  others: AsyncIterable<Part>,
): AsyncGenerator<Part> {
  if (first.length > 0) yield first
  yield* others
}

const lineFeed = 0x0a
const maxBytesPerCharacter = 4

/** The bytes of a chunk are not UTF-8, and no character before them shows that the file is. */
export class NotUtf8Error extends ImportError {
  readonly bytes: Buffer

  constructor(message: string, bytes: Buffer) {
    super(message)
    this.bytes = bytes
  }
}

/**
 * Yields the decoded text without its byte order mark. If the encoding is `auto`, the first
 * characters beyond ASCII decide between UTF-8 and Windows-1252. Throws an ImportError for another
 * kind of file such as a workbook, for UTF-16, for bytes that the encoding does not have, for a
 * mixture of encodings, and for NUL bytes, which text never has.
 */
export async function* decodeText(
  source: AsyncIterable<string | Buffer>,
  encoding: FileFormat['encoding'],
): AsyncGenerator<string> {
  let line = 1
  let isFirst = true
  let pending: Buffer = Buffer.alloc(0)
  let decided = encoding
  /** Whether a mark or characters beyond ASCII have shown that the file is UTF-8. */
  let hasUtf8 = false
  function decodeBeyondAscii(content: Buffer): string {
    const looksUtf8 = isMostlyUtf8(content)
    if (decided === 'auto') decided = looksUtf8 ? 'utf-8' : 'windows-1252'
    else if (decided === 'windows-1252' && encoding === 'auto' && looksUtf8)
      throw createLateUtf8Error(content, line)
    if (decided === 'windows-1252') return decodeWindows1252(content, line)
    hasUtf8 ||= looksUtf8
    return decodeUtf8(content, line, hasUtf8)
  }
  function decode(bytes: Buffer): string {
    if (isFirst) rejectOtherFiles(bytes)
    rejectNul(bytes, line, isFirst)
    const hasMark = isFirst && bytes.toString('hex', 0, 3) === 'efbbbf'
    const content = hasMark ? bytes.subarray(3) : bytes
    if (hasMark) {
      decided = 'utf-8'
      hasUtf8 = true
    }
    isFirst = false
    const text = isAscii(content) ? content.toString('latin1') : decodeBeyondAscii(content)
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

/** `isUtf8File`: other characters have shown that the file is UTF-8, so it is no other encoding. */
function decodeUtf8(bytes: Buffer, line: number, isUtf8File: boolean): string {
  if (isUtf8(bytes)) return bytes.toString()
  const start = `Line ${line + countValidLines(bytes)} is not UTF-8`
  if (isUtf8File)
    throw new ImportError(
      `${start}, but other characters of the file are: it mixes encodings or is damaged. ` +
        'Save or export it again in one encoding.',
    )
  throw new NotUtf8Error(
    `${start} (is the file Windows-1252 or Latin-1, or not text?). ${saveAsUtf8}`,
    bytes,
  )
}

/**
 * Returns whether bytes that are not all ASCII have more characters beyond ASCII that are valid
 * UTF-8 than errors. Real text in Windows-1252 has almost no sequences that are valid UTF-8.
 * Decoding damaged UTF-8 as Windows-1252 would garble every accent.
 */
function isMostlyUtf8(bytes: Buffer): boolean {
  if (isUtf8(bytes)) return true
  const text = bytes.toString()
  const errors = text.match(/\ufffd/g)?.length ?? 0
  const valid = text.match(/[^\p{ASCII}\ufffd]/gu)?.length ?? 0
  return valid > errors
}

function createLateUtf8Error(bytes: Buffer, line: number): ImportError {
  const offset = bytes.findIndex((byte) => byte >= 0x80)
  return new ImportError(
    `Line ${line + countLineFeeds(bytes.subarray(0, offset))} is UTF-8, but earlier lines are ` +
      'Windows-1252. Save or export the file again in one encoding. If all of it is ' +
      'Windows-1252, use --encoding windows-1252.',
  )
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

function characterLength(byte: number): number {
  if (byte >= 0xf0) return 4
  if (byte >= 0xe0) return 3
  return byte >= 0xc0 ? 2 : 1
}

function countLineFeeds(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(lineFeed); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) count++
  return count
}

const saveAsUtf8 = 'Save or export it as CSV in UTF-8.'
