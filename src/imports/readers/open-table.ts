// Opens a file as a table: finds out what kind of file it is, what its columns mean, and how its
// numbers and dates are written.
import { type FileColumns, quoteForMessage } from '../cells.ts'
import {
  delimiterNames,
  type FileFormat,
  formatWords,
  ImportError,
  rejectedRowColumns,
  type TableOptions,
} from '../file-format.ts'
import { foldName } from '../known-words.ts'
import { maxRowCharacters, parseCsv, type RawTable, type Row, takeHeader } from './csv-parser.ts'
import { describeFormat, detectFormat } from './detect-format.ts'
import { type FileSource, type ImportSource, keepSource } from './file-source.ts'
import { openJsonLines } from './json-lines.ts'
import { decodeText, detectEncoding } from './text-encoding.ts'
import { openXlsx } from './xlsx.ts'

export type ImportTable = {
  /** The columns of the import that the file has, and those with a default value. */
  columns: string[]
  fileColumns: FileColumns
  /** In batches. A row has as many cells as there are columns, unless it is malformed. */
  rows: AsyncIterable<Row[]>
  format: FileFormat
  /** How the file was read, in words, and the columns that were ignored. */
  readAs: string
  hasSeparatorLine: boolean
}

/**
 * Reads the whole file to find out its form. Its rows are read again when they are iterated. Throws
 * an ImportError for a header that breaks the rules of `fileColumns`, and for a file whose form is
 * ambiguous or contradictory.
 */
export async function openTable(
  source: ImportSource,
  fileColumns: FileColumns,
  options: TableOptions & { signal?: AbortSignal | undefined },
): Promise<ImportTable> {
  const file = await keepSource(source, options.signal)
  // Who has opened the file closes it.
  const close = async () => (file === source ? undefined : file.close())
  try {
    return await describeTable(file, fileColumns, options, close)
  } catch (error) {
    await close()
    throw error
  }
}

async function describeTable(
  file: FileSource,
  fileColumns: FileColumns,
  options: TableOptions,
  close: () => Promise<void>,
): Promise<ImportTable> {
  const raw = await openRawTable(file, fileColumns, options)
  const { encoding = 'utf-8', delimiter = ',', hasSeparatorLine = false } = raw
  const { indexes, columns, ignored } = readHeader(raw.header, fileColumns, options)
  const width = dropTrailingEmptyCells(raw.header.cells).length
  const rows = () => selectCells(raw.rows(), { indexes, columns, width, options })
  const found = await detectFormat(rows(), columns, fileColumns, options.format ?? {})
  const format = { encoding, delimiter, ...found }
  return {
    columns,
    fileColumns,
    rows: closeAtEnd(rows(), close),
    format,
    readAs: [
      ...raw.words,
      ...describeFormat(found, columns, fileColumns),
      ...(ignored.length > 0 ? [`ignored columns: ${listNames(ignored)}`] : []),
    ].join('; '),
    hasSeparatorLine,
  }
}

async function* closeAtEnd(
  rows: AsyncIterable<Row[]>,
  close: () => Promise<void>,
): AsyncGenerator<Row[]> {
  try {
    yield* rows
  } finally {
    await close()
  }
}

async function openRawTable(
  file: FileSource,
  fileColumns: FileColumns,
  options: TableOptions,
): Promise<RawTable> {
  const start = await readStart(file)
  if (start.toString('hex', 0, 4) === '504b0304') return openXlsx(file, options.sheet)
  if (options.sheet !== undefined)
    throw new ImportError('--sheet names a sheet of a workbook, but the file is none.')
  // A header in CSV never begins with a brace.
  const text = start.toString()
  if (/^\ufeff?\s*\[\s*\{\s*"/.test(text))
    throw new ImportError(
      'The file is a JSON array. Write JSON lines: one object a line, without brackets and commas ' +
        'around it.',
    )
  if (/^\ufeff?\s*\{\s*"/.test(text)) return openJsonLines(file)
  return openCsv(file, fileColumns, options)
}

async function readStart(file: FileSource): Promise<Buffer> {
  let start: Buffer = Buffer.alloc(0)
  for await (const bytes of file.read()) {
    start = Buffer.concat([start, bytes.subarray(0, 64)])
    if (start.length >= 64) break
  }
  return start
}

const encodingNames: Record<FileFormat['encoding'], string> = {
  'utf-8': 'UTF-8',
  'windows-1252': 'Windows-1252',
  'utf-16le': 'UTF-16',
  'utf-16be': 'UTF-16',
}

const separatorLine = /^[\t ]*"?sep=([,;\t|])"?[\t ]*\r?(?=\n|$)/

async function openCsv(
  file: FileSource,
  fileColumns: FileColumns,
  options: TableOptions,
): Promise<RawTable> {
  const encoding = await detectEncoding(file.read(), options.format?.encoding)
  const { named, header } = await findHeader(decodeText(file.read(), encoding))
  if (header.trimEnd().includes('\r'))
    throw new ImportError(
      'The lines of the file end with a bare carriage return. Save or export it with LF or CRLF.',
    )
  const delimiter =
    options.format?.delimiter ?? named ?? detectDelimiter(header, fileColumns, options)
  const table = await takeHeader(
    () => parseCsv(decodeText(file.read(), encoding), delimiter),
    // The line sep=; is a row too.
    named ? 1 : 0,
  )
  if (!table) throw new ImportError('The file is empty: it does not even have a header.')
  return {
    ...table,
    encoding,
    delimiter,
    hasSeparatorLine: named !== undefined,
    words: [encodingNames[encoding], `cells separated by ${delimiterNames[delimiter]}s`],
  }
}

/**
 * Returns the line of the header, and the delimiter that a line such as `sep=;` before it names. If
 * it is longer than a row may be, returns what has been read: the checks that follow find the error.
 */
async function findHeader(
  text: AsyncIterable<string>,
): Promise<{ header: string; named: FileFormat['delimiter'] | undefined }> {
  let start = ''
  let content = ''
  for await (const part of text) {
    start += part
    content = start.replace(separatorLine, '').trimStart()
    if (start.length > maxRowCharacters || content.includes('\n')) break
  }
  const named = separatorLine.exec(start)?.[1] as FileFormat['delimiter'] | undefined
  return { header: content.split('\n', 1)[0] ?? '', named }
}

/**
 * Returns the delimiter with which the header has the most known columns, or the most columns if
 * none is known.
 */
function detectDelimiter(
  header: string,
  fileColumns: FileColumns,
  { columnNames }: TableOptions,
): FileFormat['delimiter'] {
  const score = (delimiter: string) => {
    const names = header.split(delimiter).map((cell) => cell.replaceAll('"', '').trim())
    const known = names.filter(
      (name) => columnNames?.has(name) || listMeanings(name, fileColumns).length > 0,
    )
    return known.length * 1_000 + names.length
  }
  return Object.values(formatWords.delimiter).reduce((best, delimiter) =>
    score(delimiter) > score(best) ? delimiter : best,
  )
}

/** The columns that a name may mean, each with the place of the name in its names. */
function listMeanings(name: string, fileColumns: FileColumns): [column: string, place: number][] {
  if (fileColumns.allowed.includes(name)) return [[name, -1]]
  const folded = foldName(name)
  if (folded === '') return []
  return fileColumns.allowed
    .map((column): [string, number] => [column, fileColumns.names[column]?.indexOf(folded) ?? -1])
    .filter(([, place]) => place !== -1)
}

type Header = {
  /** The place of each column in the file, or -1 for a column that has only a default. */
  indexes: number[]
  columns: string[]
  ignored: string[]
}

function readHeader(header: Row, fileColumns: FileColumns, options: TableOptions): Header {
  const { columnNames = new Map(), ignoresUnknown = false, defaults = {} } = options
  const names = dropTrailingEmptyCells(header.cells)
  const line = `Line ${header.line}, the header,`
  const found = new Map<string, number>()
  for (const [name, column] of columnNames) {
    const index = names.findIndex((cell) => foldName(cell) === foldName(name))
    if (index !== -1) found.set(column, index)
    else if (!names.includes(column))
      throw new ImportError(`${line} has no column ${quoteForMessage(name)}, which --map names.`)
  }
  for (const column of fileColumns.allowed) {
    if (found.has(column)) continue
    const places = names.flatMap((name, index) => {
      const place = listMeanings(name, fileColumns).find(([meaning]) => meaning === column)?.[1]
      return place === undefined || [...found.values()].includes(index) ? [] : [{ index, place }]
    })
    const best = Math.min(...places.map(({ place }) => place))
    const [first, second] = places.filter(({ place }) => place === best)
    if (first && second)
      throw new ImportError(
        `${line} has the column ${column} twice: ${quoteForMessage(names[first.index] ?? '')} and ` +
          `${quoteForMessage(names[second.index] ?? '')}. Remove or rename one.`,
      )
    if (first) found.set(column, first.index)
  }
  const used = new Set(found.values())
  const unknown = names.filter((name, index) => !used.has(index) && !isRejectedRowColumn(name))
  if (unknown.length > 0 && !ignoresUnknown)
    throw new ImportError(
      `${line} has unknown columns: ${listNames(unknown)}. ${adviseOnUnknown()} ` +
        `Known columns: ${fileColumns.allowed.join(', ')}.`,
    )
  for (const column of Object.keys(defaults)) if (!found.has(column)) found.set(column, -1)
  const missing = fileColumns.required.filter((name) => !found.has(name))
  if (missing.length > 0)
    throw new ImportError(
      `${line} lacks required columns: ${missing.join(', ')}. Say which column has them with ` +
        `--map "NAME=${missing[0]}", or give all rows the same value with --set ` +
        `${missing[0]}=VALUE. Known columns: ${fileColumns.allowed.join(', ')}.`,
    )
  function adviseOnUnknown(): string {
    if (found.size === 0)
      return 'None is known. The first row must name the columns: remove what is above it, or add it.'
    const name = unknown.find((name) => name !== '') ?? 'NAME'
    const column = fileColumns.required.find((column) => !found.has(column)) ?? 'COLUMN'
    return (
      `Say what a column means with --map ${JSON.stringify(`${name}=${column}`)}, ` +
      'or leave these out with --ignore-unknown.'
    )
  }
  // In the order of the file, so that rejected rows look like it.
  const inOrder = [...found].sort(([, a], [, b]) => (a < 0 ? Infinity : a) - (b < 0 ? Infinity : b))
  return {
    columns: inOrder.map(([column]) => column),
    indexes: inOrder.map(([, index]) => index),
    ignored: unknown.filter((name) => name !== ''),
  }
}

const maxListedColumns = 20

function listNames(names: string[]): string {
  const list = names
    .slice(0, maxListedColumns)
    .map((name) => (name === '' ? '(a column without a name)' : quoteForMessage(name)))
  const rest = names.length - list.length
  return `${list.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** Returns whether a column belongs to a file of rejected rows. An import ignores such a column. */
function isRejectedRowColumn(name: string): boolean {
  return (rejectedRowColumns as readonly string[]).includes(name)
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

type Selection = { indexes: number[]; columns: string[]; width: number; options: TableOptions }

/**
 * Yields the rows with the cells at `indexes`, and default values in empty ones. Spreadsheets leave
 * out empty cells at the end of a row, so they are added, but not to the last row of a file that
 * may be cut short. Cells beyond the header stay, and make the row malformed, unless they are
 * empty.
 */
async function* selectCells(
  batches: AsyncIterable<Row[]>,
  { indexes, columns, width, options: { defaults = {} } }: Selection,
): AsyncGenerator<Row[]> {
  const isWhole = indexes.length === width && indexes.every((index, place) => index === place)
  const price = columns.indexOf('price')
  const defaultCells = columns.map((column) => defaults[column] ?? '')
  const hasDefaults = defaultCells.some((cell) => cell !== '')
  for await (const rows of batches) {
    for (const row of rows) {
      const cells = dropTrailingEmptyCells(row.cells, width)
      if (row.isCut && cells.length < width) {
        row.cells = indexes.flatMap((index) => cells[index] ?? [])
        continue
      }
      while (cells.length < width) cells.push('')
      const { typed } = row
      row.cells = isWhole
        ? cells
        : [...indexes.map((index) => cells[index] ?? ''), ...cells.slice(width)]
      if (typed && !isWhole) row.typed = indexes.map((index) => typed[index] ?? false)
      if (!hasDefaults) continue
      for (const [index, value] of defaultCells.entries()) {
        // A product without a price has no currency.
        const isNeeded = columns[index] !== 'currency' || price === -1 || row.cells[price] !== ''
        if (row.cells[index] === '' && isNeeded) row.cells[index] = value
      }
    }
    yield rows
  }
}
