// Reads the header and the rows of a CSV file. Checks the header, but not the cells.
import { addAbortSignal, Readable } from 'node:stream'
import { quoteForMessage } from '../cells/cell-checks.ts'
import {
  delimiterNames,
  type FileColumns,
  type FileFormat,
  formats,
  ImportError,
  rejectedRowColumns,
} from '../file-format.ts'
import { maxRowCharacters, parseCsv, type Row } from './csv-parser.ts'
import { decodeText, NotUtf8Error, prepend } from './open-csv-file.ts'
import {
  detectDelimiter,
  readSeparatorLine,
  removeSeparatorLine,
  suggestFormat,
} from './suggested-format.ts'

export type CsvFile = {
  columns: string[]
  fileColumns: FileColumns
  /** In batches. A row has as many cells as there are columns, unless it is malformed. */
  rows: AsyncIterable<Row[]>
  /** The format of the file. Its first line may name the delimiter, such as `sep=;`. */
  format: FileFormat
  hasSeparatorLine: boolean
}

type ReadOptions = { format?: FileFormat | undefined; signal?: AbortSignal | undefined }

/** How much of a file is read to suggest its format. */
const sampleCharacters = 65_536

/**
 * Reads the header, and the rows when they are iterated. Throws an ImportError for a header that
 * breaks the rules of `fileColumns` and for text that is not CSV. If the file seems to have a
 * different format, the error suggests it.
 */
export async function openRows(
  csv: AsyncIterable<string | Buffer>,
  fileColumns: FileColumns,
  { format: givenFormat = formats.en, signal }: ReadOptions = {},
): Promise<CsvFile> {
  // Without this, aborting would wait for the next chunk of a stream such as a terminal.
  if (signal && csv instanceof Readable) addAbortSignal(signal, csv)
  const text = withEncodingSuggestion(
    decodeText(csv, givenFormat.encoding),
    fileColumns,
    givenFormat,
  )
  try {
    const start = await readThroughHeader(text)
    const namedDelimiter = readSeparatorLine(start)
    const delimiter = namedDelimiter ?? givenFormat.delimiter
    const format = { ...givenFormat, delimiter }
    const content = removeSeparatorLine(start)
    checkLineEnd(content)
    const detected = detectDelimiter(content, fileColumns, delimiter)
    if (detected !== delimiter)
      throw new ImportError(
        `The file separates its cells by ${delimiterNames[detected].several}. ` +
          `Save or export it with ${delimiterNames[delimiter].several}, or name its format.`,
        { suggestedFormat: await readSampleAndSuggestFormat(start, text, fileColumns, format) },
      )
    const { names, rows } = await readHeader(prepend(content, text), delimiter, fileColumns)
    const importedIndexes = names.flatMap((name, index) =>
      isRejectedRowColumn(name) ? [] : [index],
    )
    return {
      columns: importedIndexes.map((index) => names[index] ?? ''),
      fileColumns,
      rows: selectCells(rows, importedIndexes, names.length),
      format,
      hasSeparatorLine: namedDelimiter !== undefined,
    }
  } catch (error) {
    await text.return(undefined)
    throw error
  }
}

async function readHeader(
  content: AsyncIterable<string>,
  delimiter: FileFormat['delimiter'],
  fileColumns: FileColumns,
): Promise<{ names: string[]; rows: AsyncIterable<Row[]> }> {
  const batches = parseCsv(content, delimiter)
  const { value: firstBatch, done } = await batches.next()
  if (done) throw new ImportError('The file is empty: it does not even have a header.')
  const [header, ...firstRows] = firstBatch
  const names = dropTrailingEmptyCells(header?.cells ?? [])
  checkHeader(names, fileColumns, header?.line ?? 1)
  return { names, rows: prepend(firstRows, batches) }
}

/** Passes the text on. If the file is not UTF-8, the error suggests the format of the file. */
async function* withEncodingSuggestion(
  text: AsyncIterable<string>,
  fileColumns: FileColumns,
  format: FileFormat,
): AsyncGenerator<string> {
  let sample = ''
  try {
    for await (const chunk of text) {
      if (sample.length < sampleCharacters) sample += chunk
      yield chunk
    }
  } catch (error) {
    if (!(error instanceof NotUtf8Error)) throw error
    const content = (sample + error.bytes.toString('latin1')).slice(0, sampleCharacters)
    throw new ImportError(error.message, {
      cause: error,
      suggestedFormat: await suggestFormat(content, fileColumns, format, 'windows-1252'),
    })
  }
}

/**
 * Returns the text up to the end of the header and the rest of that chunk. Blank lines and the line
 * `sep=;` come before the header. If they are longer than a row may be, returns what has been read:
 * the checks that follow find the error.
 */
async function readThroughHeader(text: AsyncGenerator<string>): Promise<string> {
  let start = ''
  for (;;) {
    const { value, done } = await text.next()
    if (done) return start
    start += value
    if (start.length > maxRowCharacters) return start
    if (removeSeparatorLine(start).trimStart().includes('\n')) return start
  }
}

/** Reads on until the sample is long enough, and returns the format that it seems to have. */
async function readSampleAndSuggestFormat(
  start: string,
  text: AsyncGenerator<string>,
  fileColumns: FileColumns,
  format: FileFormat,
): Promise<FileFormat | undefined> {
  let sample = start
  try {
    while (sample.length < sampleCharacters) {
      const { value, done } = await text.next()
      if (done) break
      sample += value
    }
  } catch (error) {
    // The file has a different encoding. The error already suggests the whole format.
    if (error instanceof ImportError) return error.suggestedFormat
    throw error
  }
  return suggestFormat(sample, fileColumns, format, format.encoding)
}

/**
 * Returns the cells without the empty ones at the end, which spreadsheets write, but at least the
 * first `width` cells.
 */
function dropTrailingEmptyCells(cells: string[], width = 0): string[] {
  let end = cells.length
  while (end > width && cells[end - 1] === '') end--
  return end === cells.length ? cells : cells.slice(0, end)
}

/**
 * Yields the rows with the cells at `indexes`. Keeps cells beyond the header, which make the row
 * malformed, unless they are empty.
 */
async function* selectCells(
  batches: AsyncIterable<Row[]>,
  indexes: number[],
  columnCount: number,
): AsyncGenerator<Row[]> {
  const keepsEveryColumn = indexes.length === columnCount
  for await (const rows of batches) {
    for (const row of rows) {
      const cells = dropTrailingEmptyCells(row.cells, columnCount)
      row.cells = keepsEveryColumn
        ? cells
        : [...indexes.flatMap((index) => cells[index] ?? []), ...cells.slice(columnCount)]
    }
    yield rows
  }
}

const maxListedColumns = 20

function checkLineEnd(text: string): void {
  const [line = ''] = text.trimStart().split('\n', 1)
  if (line.trimEnd().includes('\r'))
    throw new ImportError(
      'The lines of the file end with a bare carriage return. Save or export it with LF or CRLF.',
    )
}

function checkHeader(names: string[], fileColumns: FileColumns, line: number): void {
  const { allowed, required } = fileColumns
  const header = `Line ${line}, the header,`
  const knownColumns = `Known columns: ${allowed.join(', ')}.`
  const unknown = names.filter((name) => !allowed.includes(name) && !isRejectedRowColumn(name))
  if (unknown.length > 0) {
    const list = unknown
      .slice(0, maxListedColumns)
      .map((name) => (name === '' ? '(a column without a name)' : quoteForMessage(name)))
    const rest = unknown.length - list.length
    throw new ImportError(
      `${header} has unknown columns: ${list.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}. ` +
        knownColumns,
    )
  }
  const [repeated] = names.filter((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) throw new ImportError(`${header} has the column ${repeated} twice.`)
  const missing = required.filter((name) => !names.includes(name))
  if (missing.length > 0)
    throw new ImportError(
      `${header} lacks required columns: ${missing.join(', ')}. ${knownColumns}`,
    )
}

/** Returns whether a column belongs to a file of rejected rows. An import ignores such a column. */
function isRejectedRowColumn(name: string): boolean {
  return (rejectedRowColumns as readonly string[]).includes(name)
}
