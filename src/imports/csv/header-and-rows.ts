// The header of a file and its rows: the columns are checked here, the cells are not.
import { addAbortSignal, Readable } from 'node:stream'
import { type Layout, rejectColumns } from '../column-names.ts'
import { parseCsv, type Row } from './csv-parser.ts'
import { BadFile } from './invalid-file.ts'
import { readUtf8 } from './utf8-check.ts'

export type Rows = {
  /** The columns of the file, in its order. */
  columns: string[]
  /** In batches. A row has as many cells as there are columns, unless it is malformed. */
  rows: AsyncIterable<Row[]>
}

/** Reads the header and then, as they are asked for, the rows. Throws a BadFile for a header that does not fit the layout and for what is not CSV. */
export async function readRows(
  csv: AsyncIterable<string | Buffer>,
  layout: Layout,
  signal?: AbortSignal,
): Promise<Rows> {
  // A stream that gives nothing, such as a terminal, would keep a stopped import waiting.
  if (signal && csv instanceof Readable) addAbortSignal(signal, csv)
  const batches = parseCsv(checkedFirstLine(readUtf8(csv), layout))
  const { value: first, done } = await batches.next()
  if (done) throw new BadFile('The file is empty: not even a header is in it.')
  const [header, ...start] = first
  const names = header?.cells ?? []
  try {
    checkHeader(names, layout, header?.line ?? 1)
  } catch (error) {
    await batches.return(undefined)
    throw error
  }
  const kept = names.flatMap((name, index) => (isRejectColumn(name) ? [] : [index]))
  const rows = joined(start, batches)
  return {
    columns: kept.map((index) => names[index] ?? ''),
    rows: kept.length === names.length ? rows : without(rows, kept, names.length),
  }
}

function checkHeader(names: string[], layout: Layout, line: number): void {
  const known = `Known columns: ${layout.columns.join(', ')}.`
  const unknown = names.filter((name) => !layout.columns.includes(name) && !isRejectColumn(name))
  if (unknown.length > 0) {
    const shown = unknown.map((name) =>
      name === '' ? '(a column without a name)' : JSON.stringify(name),
    )
    throw new BadFile(
      `Line ${line}, the header, has unknown columns: ${shown.join(', ')}. ${known}`,
    )
  }
  const repeated = names.filter((name, index) => names.indexOf(name) !== index)
  if (repeated.length > 0)
    throw new BadFile(`Line ${line}, the header, has the column ${repeated[0]} twice.`)
  const missing = layout.required.filter((name) => !names.includes(name))
  if (missing.length > 0)
    throw new BadFile(
      `Line ${line}, the header, lacks required columns: ${missing.join(', ')}. ${known}`,
    )
  for (const group of layout.together) {
    const given = group.filter((name) => names.includes(name))
    if (given.length > 0 && given.length < group.length)
      throw new BadFile(`Line ${line}, the header: ${group.join(' and ')} go together.`)
  }
}

const otherSeparators = { ';': 'semicolons', '\t': 'tabs', '|': 'bars' }

/** Passes the text on once its first line has shown that it is separated as CSV is. What is wrong with the columns would say less. */
async function* checkedFirstLine(
  text: AsyncIterable<string>,
  layout: Layout,
): AsyncGenerator<string> {
  let start: string | undefined = ''
  for await (const piece of text) {
    if (start === undefined) {
      yield piece
      continue
    }
    start += piece
    if (!start.trimStart().includes('\n')) continue
    checkFirstLine(start, layout)
    yield start
    start = undefined
  }
  if (start === undefined) return
  checkFirstLine(start, layout)
  yield start
}

function checkFirstLine(start: string, layout: Layout): void {
  const [line = ''] = start.trimStart().split('\n', 1)
  const knownColumns = (separator: string) =>
    line.split(separator).filter((cell) => layout.columns.includes(cell.replaceAll('"', '').trim()))
      .length
  for (const [separator, name] of Object.entries(otherSeparators)) {
    if (knownColumns(separator) > knownColumns(','))
      throw new BadFile(`The file separates its cells by ${name}. Save or export it with commas.`)
  }
  if (line.trimEnd().includes('\r'))
    throw new BadFile(
      'The lines of the file end with a bare carriage return. Save or export it with LF or CRLF.',
    )
}

async function* joined(start: Row[], rest: AsyncIterable<Row[]>): AsyncGenerator<Row[]> {
  if (start.length > 0) yield start
  yield* rest
}

/** Leaves out the columns that are not kept. A row with too many cells keeps those, to be written out as it is. */
async function* without(
  batches: AsyncIterable<Row[]>,
  kept: number[],
  columnCount: number,
): AsyncGenerator<Row[]> {
  for await (const rows of batches) {
    yield rows.map(({ line, cells }) => ({
      line,
      cells: [...kept.flatMap((index) => cells[index] ?? []), ...cells.slice(columnCount)],
    }))
  }
}

function isRejectColumn(name: string): boolean {
  return (rejectColumns as readonly string[]).includes(name)
}
