// Finds out the encoding of a text file from all its bytes, and decodes it.
import { isAscii, isUtf8 } from 'node:buffer'
import { StringDecoder } from 'node:string_decoder'
import { type FileFormat, ImportError } from '../file-format.ts'
import { countLineFeeds } from './file-source.ts'

type Encoding = FileFormat['encoding']

const byteOrderMarks: Record<string, Encoding> = { fffe: 'utf-16le', feff: 'utf-16be' }
/** The bytes that Windows-1252 does not define. TextDecoder makes control characters of them. */
const undefinedBytes = /[\x81\x8d\x8f\x90\x9d]/
const saveAsUtf8 = 'Save or export it as CSV in UTF-8.'

/**
 * Returns the encoding that all bytes of the file have: UTF-16 if its mark says so, UTF-8 if they
 * are valid, and otherwise Windows-1252. Real text in Windows-1252 has almost no accents that are
 * valid UTF-8, so a file with both kinds of lines mixes encodings. Throws an ImportError for such a
 * file, for bytes that the encoding does not have, for other kinds of files, and for NUL bytes,
 * which text never has. `given` is what the user says.
 */
export async function detectEncoding(
  chunks: AsyncIterable<Buffer>,
  given: Encoding | undefined,
): Promise<Encoding> {
  let line = 1
  let isFirst = true
  let hasMark = false
  /** The first lines with accents that are UTF-8, and that are not. */
  const first: { utf8?: number; other?: number; undefined?: [line: number, byte: number] } = {}
  for await (const bytes of cutAtAscii(chunks)) {
    if (isFirst) {
      const encoding = byteOrderMarks[bytes.toString('hex', 0, 2)]
      if (encoding) return encoding
      rejectOtherFiles(bytes)
      hasMark = bytes.toString('hex', 0, 3) === 'efbbbf'
    }
    rejectNul(bytes, line, isFirst)
    isFirst = false
    if (!isAscii(bytes)) examine(hasMark && line === 1 ? bytes.subarray(3) : bytes)
    line += countLineFeeds(bytes)
  }
  return decide()

  function examine(bytes: Buffer): void {
    const isAllUtf8 = isUtf8(bytes)
    if (isAllUtf8 && first.utf8 !== undefined) return
    let start = 0
    for (let at = line; start < bytes.length; at++) {
      const end = bytes.indexOf(0x0a, start) + 1 || bytes.length
      const text = bytes.subarray(start, end)
      start = end
      if (isAscii(text)) continue
      if (isUtf8(text)) {
        first.utf8 ??= at
        if (isAllUtf8) return
        continue
      }
      first.other ??= at
      const offset = text.toString('latin1').search(undefinedBytes)
      if (offset !== -1) first.undefined ??= [at, text[offset] ?? 0]
    }
  }

  function decide(): Encoding {
    if (given === 'utf-8' || hasMark) {
      if (first.other !== undefined)
        throw new ImportError(
          `Line ${first.other} is not UTF-8, but ` +
            `${hasMark ? 'the mark at the start of the file says so' : '--encoding says so'}. ` +
            'The file is damaged or has another encoding.',
        )
      return 'utf-8'
    }
    if (given !== 'windows-1252') {
      if (given || first.other === undefined) return given ?? 'utf-8'
      if (first.utf8 !== undefined)
        throw new ImportError(
          `Line ${first.other} is not UTF-8, but line ${first.utf8} is: the file mixes encodings ` +
            'or is damaged. Save or export it again in one encoding. If all of it is ' +
            'Windows-1252, use --encoding windows-1252.',
        )
    }
    if (first.undefined) {
      const [line, byte] = first.undefined
      throw new ImportError(
        `Line ${line} has the byte 0x${byte.toString(16)}, which is neither UTF-8 nor ` +
          `Windows-1252. ${saveAsUtf8}`,
      )
    }
    return 'windows-1252'
  }
}

/** Yields the bytes in chunks that end with an ASCII byte, and therefore with a whole character. */
async function* cutAtAscii(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const minBytes = 4
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    let end = bytes.length
    while (end > 0 && (bytes[end - 1] ?? 0) >= 0x80) end--
    if (end < minBytes) end = 0
    if (end > 0) yield bytes.subarray(0, end)
    rest = bytes.subarray(end)
  }
  if (rest.length > 0) yield rest
}

/** Throws for files that people often mistake for a table. */
function rejectOtherFiles(bytes: Buffer): void {
  const start = bytes.toString('hex', 0, 4)
  if (start === 'd0cf11e0')
    throw new ImportError(
      'The file is an old Excel workbook (.xls), or has a password. Save it as .xlsx without one.',
    )
  if (start === '25504446') throw new ImportError(`The file is a PDF, not CSV. ${saveAsUtf8}`)
}

function rejectNul(bytes: Buffer, line: number, isFirst: boolean): void {
  const nul = bytes.indexOf(0)
  if (nul === -1) return
  const nulLine = line + countLineFeeds(bytes.subarray(0, nul))
  const hint = isFirst && nul < 4 ? ' (it may be UTF-16)' : ''
  throw new ImportError(
    `Line ${nulLine} has a NUL byte: this is not plain text${hint}. ${saveAsUtf8}`,
  )
}

/** Yields the text without its byte order mark. `detectEncoding` has checked the bytes. */
export async function* decodeText(
  chunks: AsyncIterable<Buffer>,
  encoding: Encoding,
): AsyncGenerator<string> {
  const decode = createDecoder(encoding)
  let isStart = true
  for await (const chunk of chunks) {
    const text = decode(chunk)
    yield isStart && text.startsWith('\ufeff') ? text.slice(1) : text
    if (text !== '') isStart = false
  }
  yield decode(undefined)
}

function createDecoder(encoding: Encoding): (bytes: Buffer | undefined) => string {
  if (encoding === 'utf-8') {
    // TextDecoder would take twice as long.
    const decoder = new StringDecoder('utf8')
    return (bytes) => (bytes ? decoder.write(bytes) : decoder.end())
  }
  const decoder = new TextDecoder(encoding, { ignoreBOM: true })
  return (bytes) => (bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode())
}
