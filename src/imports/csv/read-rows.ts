// Reads the header and the rows of a CSV file. The header is checked, the cells are not.
import { addAbortSignal, Readable } from 'node:stream'
import type { FileColumns } from '../file-columns.ts'
import { InvalidFileError } from '../invalid-file-error.ts'
import { parseCsv, type Row } from './csv-parser.ts'
import { decodeUtf8 } from './file-encoding.ts'
import { checkFirstLine, checkHeader, isRejectColumn } from './header-check.ts'

export type FileRows = {
  /** The columns of the file, in its order. */
  columns: string[]
  /** In batches. A row has as many cells as there are columns, unless it is malformed. */
  rows: AsyncIterable<Row[]>
}

/**
 * Reads the header, and the rows when they are iterated. Throws an InvalidFileError for a header
 * that breaks the rules of `fileColumns` and for text that is not CSV.
 */
export async function readRows(
  csv: AsyncIterable<string | Buffer>,
  fileColumns: FileColumns,
  signal?: AbortSignal,
): Promise<FileRows> {
  // Without this, aborting would wait for the next chunk of a stream such as a terminal.
  if (signal && csv instanceof Readable) addAbortSignal(signal, csv)
  const batches = parseCsv(passCheckedText(decodeUtf8(csv), fileColumns))
  const { value: firstBatch, done } = await batches.next()
  if (done) throw new InvalidFileError('The file is empty: it does not even have a header.')
  const [header, ...firstRows] = firstBatch
  const names = header?.cells ?? []
  try {
    checkHeader(names, fileColumns, header?.line ?? 1)
  } catch (error) {
    await batches.return(undefined)
    throw error
  }
  const importedIndexes = names.flatMap((name, index) => (isRejectColumn(name) ? [] : [index]))
  const rows = prepend(firstRows, batches)
  return {
    columns: importedIndexes.map((index) => names[index] ?? ''),
    rows:
      importedIndexes.length === names.length
        ? rows
        : selectCells(rows, importedIndexes, names.length),
  }
}

/** Yields `text` unchanged after its first line has passed checkFirstLine(). */
async function* passCheckedText(
  text: AsyncIterable<string>,
  fileColumns: FileColumns,
): AsyncGenerator<string> {
  let start: string | undefined = ''
  for await (const chunk of text) {
    if (start === undefined) {
      yield chunk
      continue
    }
    start += chunk
    if (!start.trimStart().includes('\n')) continue
    checkFirstLine(start, fileColumns)
    yield start
    start = undefined
  }
  if (start === undefined) return
  checkFirstLine(start, fileColumns)
  yield start
}

async function* prepend(firstRows: Row[], batches: AsyncIterable<Row[]>): AsyncGenerator<Row[]> {
  if (firstRows.length > 0) yield firstRows
  yield* batches
}

/**
 * Yields the rows with the cells at `indexes` and any cells beyond the header, which make the row
 * malformed.
 */
async function* selectCells(
  batches: AsyncIterable<Row[]>,
  indexes: number[],
  columnCount: number,
): AsyncGenerator<Row[]> {
  for await (const rows of batches) {
    yield rows.map(({ line, cells }) => ({
      line,
      cells: [...indexes.flatMap((index) => cells[index] ?? []), ...cells.slice(columnCount)],
    }))
  }
}
