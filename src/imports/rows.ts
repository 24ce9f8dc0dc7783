// From the bytes of a CSV file to its rows: the header is checked here, the cells are not.
import { pipeline, Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { BadFile } from './bad-file.ts'
import { type Layout, rejectColumns } from './columns.ts'
import { readUtf8 } from './utf8.ts'

export type Row = {
  /** The line of the file on which the row begins. */
  line: number
  /** As many as there are columns, unless the row is malformed. */
  cells: string[]
}

export type Rows = {
  /** The columns of the file, in its order. */
  columns: string[]
  rows: AsyncIterable<Row>
}

// The longest row that the schema could hold is a fifth of this: a longer one is a quotation mark that nobody closed.
const longestRow = 1 << 20

/**
 * Reads the header and then, as they are asked for, the rows, without those that are wholly blank. Throws a BadFile for a header that does not fit
 * the layout and for text that is not CSV (RFC 4180, comma, CRLF or LF).
 */
export async function readRows(csv: AsyncIterable<string | Buffer>, layout: Layout): Promise<Rows> {
  const records = parseCsv(csv)
  const { value: header, done } = await records.next()
  if (done) throw new BadFile('The file is empty: not even a header is in it.')
  try {
    const names = header.cells.map((cell) => cell.trim())
    checkHeader(names, layout, header.line)
    const kept = names.flatMap((name, index) => (isRejectColumn(name) ? [] : [index]))
    const rows = kept.length === names.length ? records : without(records, kept, names.length)
    return { columns: kept.map((index) => names[index] ?? ''), rows }
  } catch (error) {
    await records.return(undefined)
    throw error
  }
}

async function* parseCsv(csv: AsyncIterable<string | Buffer>): AsyncGenerator<Row> {
  let nextLine = 1
  let parserLine = 0
  const parser = parse({
    bom: false,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    trim: true,
    max_record_size: longestRow,
    on_record: (cells: string[], { lines }) => {
      const line = nextLine
      // The parser counts a CRLF within quotes as two lines, so that rows with line breaks in them are counted here.
      nextLine += lines - parserLine === 1 ? 1 : 1 + countLineFeeds(cells)
      parserLine = lines
      return Object.assign(cells, { line })
    },
  })
  // An error anywhere in the pipeline ends the records with it, so the callback has nothing to add.
  const records: AsyncIterable<string[] & { line: number }> = pipeline(Readable.from(readUtf8(csv)), parser, () => {})
  try {
    for await (const cells of records) if (!isBlank(cells)) yield { line: cells.line, cells: cells.map((cell) => cell.trim()) }
  } catch (error) {
    throw error instanceof CsvError ? new BadFile(`The row that begins on line ${nextLine} ${explain(error)}`, { cause: error }) : error
  }
}

function explain(error: CsvError): string {
  switch (error.code) {
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'opens a quotation mark that is never closed: the file is cut short, or the mark should be doubled ("").'
    case 'CSV_MAX_RECORD_SIZE':
      return 'is longer than 1 MB: it may open a quotation mark that is never closed.'
    default:
      return 'has a quotation mark in the middle of a cell: put the whole cell in quotation marks and double those within it ("5"" pipe").'
  }
}

function checkHeader(names: string[], layout: Layout, line: number): void {
  const known = `Known columns: ${layout.columns.join(', ')}.`
  const unknown = names.filter((name) => !layout.columns.includes(name) && !isRejectColumn(name))
  if (unknown.length === names.length) checkSeparator(names.join(','), layout)
  if (unknown.length > 0) {
    const shown = unknown.map((name) => (name === '' ? '(a column without a name)' : JSON.stringify(name)))
    throw new BadFile(`Line ${line}, the header, has unknown columns: ${shown.join(', ')}. ${known}`)
  }
  const repeated = names.filter((name, index) => names.indexOf(name) !== index)
  if (repeated.length > 0) throw new BadFile(`Line ${line}, the header, has the column ${repeated[0]} twice.`)
  const missing = layout.required.filter((name) => !names.includes(name))
  if (missing.length > 0) throw new BadFile(`Line ${line}, the header, lacks required columns: ${missing.join(', ')}. ${known}`)
  for (const group of layout.together) {
    const given = group.filter((name) => names.includes(name))
    if (given.length > 0 && given.length < group.length) throw new BadFile(`Line ${line}, the header: ${group.join(' and ')} go together.`)
  }
}

function checkSeparator(header: string, layout: Layout): void {
  const separators = { ';': 'semicolons', '\t': 'tabs', '|': 'bars' }
  for (const [separator, name] of Object.entries(separators)) {
    if (!header.split(separator).some((cell) => layout.columns.includes(cell.trim().replaceAll('"', '')))) continue
    throw new BadFile(`The file separates its cells by ${name}. Save or export it with commas.`)
  }
  if (header.includes('\r')) throw new BadFile('The lines end with a bare carriage return. Save or export the file with LF or CRLF.')
}

async function* without(records: AsyncIterable<Row>, kept: number[], columnCount: number): AsyncGenerator<Row> {
  for await (const { line, cells } of records) {
    // A row with too many cells keeps them, to be written out as it is.
    const extra = cells.slice(columnCount)
    yield { line, cells: [...kept.flatMap((index) => cells[index] ?? []), ...extra] }
  }
}

function isRejectColumn(name: string): boolean {
  return (rejectColumns as readonly string[]).includes(name)
}

function isBlank(cells: string[]): boolean {
  return cells.every((cell) => cell.trim() === '')
}

function countLineFeeds(cells: string[]): number {
  return cells.reduce((count, cell) => count + cell.split('\n').length - 1, 0)
}
