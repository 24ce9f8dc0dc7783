// CSV text to rows (RFC 4180: commas, quotation marks doubled within quotation marks, CRLF or LF). Of our own, because half of the time of a large import
// went into csv-parse, and it miscounts the lines of a file with CRLF in its cells.
import { BadFile } from './invalid-file.ts'

export type Row = {
  /** The line of the file on which the row begins, from 1. */
  line: number
  /** Trimmed. */
  cells: string[]
}

// The longest row that the schema could hold is a fifth of this: a longer one has a quotation mark that nobody closed.
const longestRow = 1_000_000

/** The rows of a text that comes in pieces, in batches, without those that are wholly blank. Throws a BadFile for what is not CSV. */
export async function* parseCsv(text: AsyncIterable<string>): AsyncGenerator<Row[]> {
  let line = 1
  let rest = ''
  for await (const piece of text) {
    const rows = takeRows(rest + piece, false)
    if (rest.length > longestRow)
      throw new BadFile(
        `${rowOn(line)} is longer than ${longestRow} characters: it may open a quotation mark that is never closed.`,
      )
    if (rows.length > 0) yield rows
  }
  const rows = takeRows(rest, true)
  if (rows.length > 0) yield rows

  /** Takes the rows that are complete, and leaves what follows them in `rest`. */
  function takeRows(text: string, isEnd: boolean): Row[] {
    const rows: Row[] = []
    let start = 0
    while (start < text.length) {
      const row = takeRow(text, start, isEnd, line)
      if (!row) break
      if (row.cells.some((cell) => cell !== '')) rows.push({ line, cells: row.cells })
      start = row.end
      line += row.lineFeeds
    }
    rest = text.slice(start)
    return rows
  }
}

const [lineFeed, quote, comma, space, tab, carriageReturn] = [10, 34, 44, 32, 9, 13]

/** The row that begins at `start`, and where the next one does; undefined when it goes on after this text. */
function takeRow(
  text: string,
  start: number,
  isEnd: boolean,
  line: number,
): { cells: string[]; end: number; lineFeeds: number } | undefined {
  const cells: string[] = []
  let lineFeeds = 1
  let at = start
  for (;;) {
    while (isBlank(text.charCodeAt(at))) at++
    if (text.charCodeAt(at) === quote) {
      const close = closingQuote(text, at + 1)
      // A quotation mark that ends the text may be the first of two.
      if (!isEnd && close >= text.length - 1) return undefined
      if (close === text.length)
        throw new BadFile(
          `${rowOn(line)} opens a quotation mark that is never closed: the file is cut short, or the mark should be doubled.`,
        )
      const cell = text.slice(at + 1, close)
      lineFeeds += cell.includes('\n') ? cell.split('\n').length - 1 : 0
      cells.push((cell.includes('"') ? cell.replaceAll('""', '"') : cell).trim())
      at = close + 1
      while (isBlank(text.charCodeAt(at))) at++
      if (at < text.length && text.charCodeAt(at) !== comma && text.charCodeAt(at) !== lineFeed)
        throw strayQuote(line)
    } else {
      const from = at
      while (at < text.length) {
        const code = text.charCodeAt(at)
        if (code === comma || code === lineFeed) break
        if (code === quote) throw strayQuote(line)
        at++
      }
      cells.push(text.slice(from, at).trim())
    }
    if (at >= text.length) return isEnd ? { cells, end: at, lineFeeds } : undefined
    if (text.charCodeAt(at++) === lineFeed) return { cells, end: at, lineFeeds }
  }
}

/** Where the quotation mark is that ends a cell; the length of the text when there is none. */
function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 2)) {
    if (text.charCodeAt(at + 1) !== quote) return at
  }
  return text.length
}

// A carriage return before a line feed is blank too.
function isBlank(code: number): boolean {
  return code === space || code === tab || code === carriageReturn
}

function rowOn(line: number): string {
  return `The row that begins on line ${line}`
}

function strayQuote(line: number): BadFile {
  return new BadFile(
    `${rowOn(line)} has a quotation mark in the middle of a cell: put the whole cell in quotation marks and double those within it ("5"" pipe").`,
  )
}
