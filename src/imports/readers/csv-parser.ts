// Parses CSV text into rows: RFC 4180 with any delimiter, quotation marks doubled inside quotation
// marks, and CRLF or LF. This is not csv-parse, because that reads a third to a fifth as many lines
// a second and miscounts the lines of a file that has CRLF inside cells
// (scripts/bench/csv-parser.ts).
import { type FileFormat, ImportError } from '../file-format.ts'

export type Row = {
  /** The line of the file on which the row begins, from 1. */
  line: number
  cells: string[]
  /** The cells of a workbook that are numbers or dates. They are in plain form already. */
  typed?: boolean[]
  /** The file ends with this row, without a line feed, so it may be cut short. */
  isCut?: boolean
}

/** A file before its columns are known. */
export type RawTable = {
  header: Row
  /** Reads the rows below the header, from the first one each time. */
  rows(): AsyncIterable<Row[]>
  /** How a text file is written. */
  encoding?: FileFormat['encoding']
  delimiter?: FileFormat['delimiter']
  hasSeparatorLine?: boolean
  /** How the file was read, such as `UTF-8` and `cells separated by commas`. */
  words: string[]
}

/** Takes the header from a reader of all rows. Returns undefined if there is none. */
export async function takeHeader(
  readRows: () => AsyncIterable<Row[]>,
  rowsBefore = 0,
): Promise<Pick<RawTable, 'header' | 'rows'> | undefined> {
  async function* rows(): AsyncGenerator<Row[]> {
    let skipped = rowsBefore + 1
    for await (const batch of readRows()) {
      yield skipped > 0 ? batch.slice(skipped) : batch
      skipped -= batch.length
    }
  }
  const before: Row[] = []
  for await (const batch of readRows()) {
    before.push(...batch)
    const header = before[rowsBefore]
    if (header) return { header, rows }
  }
  return undefined
}

/**
 * The longest row that the schema allows has a fifth of this length. A longer row comes from a
 * quotation mark that is never closed.
 */
export const maxRowCharacters = 1_000_000

/**
 * Yields the rows in batches, without rows that are completely blank. `text` may be cut anywhere.
 * Throws an ImportError for text that is not CSV.
 */
export async function* parseCsv(
  text: AsyncIterable<string>,
  delimiter: FileFormat['delimiter'] = ',',
): AsyncGenerator<Row[]> {
  const delimiterCode = delimiter.charCodeAt(0)
  let line = 1
  let rest = ''
  for await (const chunk of text) {
    const rows = takeRows(rest + chunk, false)
    checkRowLength(rest.length, line)
    if (rows.length > 0) yield rows
  }
  const rows = takeRows(rest, true)
  if (rows.length > 0) yield rows

  /** Takes the complete rows, and leaves the text after them in `rest`. */
  function takeRows(text: string, isEnd: boolean): Row[] {
    const rows: Row[] = []
    let start = 0
    while (start < text.length) {
      const row = takeRow(text, start, isEnd, line, delimiterCode)
      if (!row) break
      checkRowLength(row.end - start, line)
      if (row.cells.some((cell) => cell !== ''))
        rows.push(row.isCut ? { line, cells: row.cells, isCut: true } : { line, cells: row.cells })
      start = row.end
      line += row.lineFeeds
    }
    rest = text.slice(start)
    return rows
  }
}

const lineFeed = '\n'.charCodeAt(0)
const quotationMark = '"'.charCodeAt(0)
const space = ' '.charCodeAt(0)
const tab = '\t'.charCodeAt(0)
const carriageReturn = '\r'.charCodeAt(0)

/**
 * Returns the row that begins at `start` and the position after it, or undefined if the row may
 * continue after this text.
 */
function takeRow(
  text: string,
  start: number,
  isEnd: boolean,
  line: number,
  delimiterCode: number,
): { cells: string[]; end: number; lineFeeds: number; isCut?: boolean } | undefined {
  const cells: string[] = []
  let lineFeeds = 1
  let at = start
  for (;;) {
    at = skipBlanks(text, at, delimiterCode)
    if (text.charCodeAt(at) === quotationMark) {
      const close = findClosingMark(text, at + 1)
      // A quotation mark at the end of the text may be the first of two.
      if (!isEnd && close >= text.length - 1) return undefined
      if (close === text.length) throw createOpenMarkError(line)
      const cell = text.slice(at + 1, close)
      lineFeeds += cell.includes('\n') ? cell.split('\n').length - 1 : 0
      cells.push((cell.includes('"') ? cell.replaceAll('""', '"') : cell).trim())
      at = skipBlanks(text, close + 1, delimiterCode)
      if (
        at < text.length &&
        text.charCodeAt(at) !== delimiterCode &&
        text.charCodeAt(at) !== lineFeed
      )
        throw createStrayMarkError(line, '')
    } else {
      const cellStart = at
      while (at < text.length) {
        const code = text.charCodeAt(at)
        if (code === delimiterCode || code === lineFeed) break
        if (code === quotationMark) throw createStrayMarkError(line, text.slice(cellStart, at))
        at++
      }
      cells.push(text.slice(cellStart, at).trim())
    }
    if (at >= text.length) return isEnd ? { cells, end: at, lineFeeds, isCut: true } : undefined
    const isEndOfRow = text.charCodeAt(at) === lineFeed
    at++
    if (isEndOfRow) return { cells, end: at, lineFeeds }
  }
}

/** Returns the position of the quotation mark that ends a cell, or the length of the text. */
function findClosingMark(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 2)) {
    if (text.charCodeAt(at + 1) !== quotationMark) return at
  }
  return text.length
}

function skipBlanks(text: string, from: number, delimiterCode: number): number {
  let at = from
  while (isBlank(text.charCodeAt(at), delimiterCode)) at++
  return at
}

/** A carriage return is blank because it stands before a line feed. A tab may be the delimiter. */
function isBlank(code: number, delimiterCode: number): boolean {
  return (code === space || code === tab || code === carriageReturn) && code !== delimiterCode
}

function checkRowLength(characters: number, line: number): void {
  if (characters > maxRowCharacters)
    throw new ImportError(
      `${describeRow(line)} is longer than ${maxRowCharacters} characters: ` +
        'it may open a quotation mark that is never closed.',
    )
}

function describeRow(line: number): string {
  return `The row that begins on line ${line}`
}

function createOpenMarkError(line: number): ImportError {
  return new ImportError(
    `${describeRow(line)} opens a quotation mark that is never closed: ` +
      'the file is cut short, or the mark must be doubled.',
  )
}

function createStrayMarkError(line: number, before: string): ImportError {
  return new ImportError(
    before === '='
      ? `${describeRow(line)} has a cell such as ="00123", which a spreadsheet uses for texts: ` +
          'save or export the texts themselves, such as "00123".'
      : `${describeRow(line)} has a quotation mark in the middle of a cell: put the whole cell in ` +
          'quotation marks and double the marks inside it ("5"" pipe").',
  )
}
