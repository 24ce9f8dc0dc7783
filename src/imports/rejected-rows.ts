// Writes the invalid rows as CSV (--rejects), with their lines and reasons, and leaves them out.
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ClientBase } from 'pg'
import type { CsvFile } from './csv/read-rows.ts'
import { type FileColumns, rejectedRowColumns } from './file-columns.ts'
import type { FileFormat } from './file-format.ts'
import { allProblems } from './row-problems.ts'

const rowsPerFetch = 250

/**
 * Writes the rows with problems to `rejectedRows` as CSV in the format of the imported file, with
 * their lines and reasons, and ends that stream. Deletes them from `staged` and returns their
 * number. Writes nothing if there are none. Resolves when the stream has written everything, so
 * that a full disk stops the import. Without that stream, it does nothing and returns 0.
 */
export async function moveInvalidRowsToRejects(
  client: ClientBase,
  rejectedRows: Writable | undefined,
  file: CsvFile,
): Promise<number> {
  if (!rejectedRows) return 0
  await pipeline(formatInvalidRows(client, file), rejectedRows)
  const { rowCount } = await client.query(
    'delete from staged where file_line in (select file_line from problems)',
  )
  return rowCount ?? 0
}

type InvalidRow = { line: number; reason: string; written: string[] | null; plain: string[] }

/** Yields the rows with problems as CSV with a header, or nothing if there are none. */
async function* formatInvalidRows(
  client: ClientBase,
  { columns, fileColumns, format, hasSeparatorLine }: CsvFile,
): AsyncGenerator<string> {
  const cells = columns.map((column) => `coalesce(staged.${column}, '')`)
  await client.query(`
    declare invalid_rows no scroll cursor for
    select staged.file_line as line, invalid.reason, staged.written,
      to_json(array[${cells.join(', ')}]) as plain
    from (
      select file_line, ${allProblems} as reason from problems group by file_line
    ) invalid
    join staged on staged.file_line = invalid.file_line
    order by staged.file_line`)
  const writers = columns.map((column) => createCellWriter(column, fileColumns, format))
  const formatRow = ({ line, reason, written, plain }: InvalidRow) =>
    joinCells(
      [
        String(line),
        reason,
        ...(written ?? plain.map((cell, index) => writers[index]?.(cell) ?? cell)),
      ],
      format,
    )
  for (let isFirst = true; ; isFirst = false) {
    const { rows } = await client.query<InvalidRow>(`fetch ${rowsPerFetch} from invalid_rows`)
    if (rows.length === 0) break
    if (isFirst) {
      const separatorLine = hasSeparatorLine ? `sep=${format.delimiter}\n` : ''
      const header = joinCells([...rejectedRowColumns, ...columns], format)
      yield byteOrderMark(format) + separatorLine + header
    }
    yield rows.map(formatRow).join('')
  }
  await client.query('close invalid_rows')
}

/** The file is UTF-8. The mark says so to an import with the same options, and to Excel. */
const byteOrderMark = ({ encoding }: FileFormat) => (encoding === 'utf-8' ? '' : '\ufeff')

/**
 * Returns a function that writes a plain cell of a valid row in the format. Undefined if the cell
 * is written as it is.
 */
function createCellWriter(
  column: string,
  { numbers, dates }: FileColumns,
  { decimal, dates: order }: FileFormat,
): ((cell: string) => string) | undefined {
  if (numbers.includes(column)) return (cell) => cell.replace('.', decimal)
  if (!dates.includes(column) || order === 'ymd') return undefined
  return (cell) => {
    if (cell === '') return ''
    const [year, month, day] = cell.split('-')
    return order === 'dmy' ? `${day}/${month}/${year}` : `${month}/${day}/${year}`
  }
}

function joinCells(cells: string[], { delimiter }: FileFormat): string {
  const quoteCell = (cell: string) =>
    /["\r\n]/.test(cell) || cell.includes(delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell
  return `${cells.map(quoteCell).join(delimiter)}\n`
}
