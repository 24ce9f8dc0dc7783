// Writes the invalid rows as CSV (--rejects), with their lines and reasons, and leaves them out.
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ClientBase } from 'pg'
import type { FileRows } from './csv/read-rows.ts'
import { type FileColumns, rejectedRowColumns } from './file-columns.ts'
import type { FileFormat } from './file-format.ts'
import { allProblems } from './row-problems.ts'

const rowsPerFetch = 250

/**
 * Writes the invalid rows to `rejectedRows`, removes them from `staged`, and returns their number.
 * Without that stream, it does nothing and returns 0.
 */
export async function rejectInvalidRows(
  client: ClientBase,
  rejectedRows: Writable | undefined,
  file: FileRows,
): Promise<number> {
  if (!rejectedRows) return 0
  await createRejectedTable(client)
  return writeRejectedRows(client, rejectedRows, file)
}

/** Creates the temporary table `rejected` with the invalid rows: their lines and reasons. */
export async function createRejectedTable(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table rejected on commit drop as
    select line, ${allProblems} as reason from problems group by line`)
}

/**
 * Writes the rows in `rejected` to `rejectedRows` as CSV in the format of the imported file, with
 * their lines and reasons, and ends that stream. Deletes these rows from `staged` and returns their
 * number. Writes nothing if there are none. Resolves when the stream has written everything, so
 * that a full disk stops the import.
 */
export async function writeRejectedRows(
  client: ClientBase,
  rejectedRows: Writable,
  file: FileRows,
): Promise<number> {
  await pipeline(formatRejectedRows(client, file), rejectedRows)
  const { rowCount } = await client.query(
    'delete from staged using rejected where rejected.line = staged.line',
  )
  return rowCount ?? 0
}

type RejectedRow = { line: number; reason: string; written: string[] | null; plain: string[] }

/** Yields the rejected rows as CSV with a header, or nothing if there are none. */
async function* formatRejectedRows(
  client: ClientBase,
  { columns, fileColumns, format }: FileRows,
): AsyncGenerator<string> {
  const cells = columns.map((column) => `coalesce(s.${column}, '')`)
  await client.query(`
    declare rejected_rows no scroll cursor for
    select s.line, r.reason, coalesce(s.malformed, s.original) as written,
      to_json(array[${cells}]) as plain
    from rejected r join staged s on s.line = r.line order by s.line`)
  const writers = columns.map((column) => createCellWriter(column, fileColumns, format))
  const formatRow = ({ line, reason, written, plain }: RejectedRow) =>
    joinCells(
      [
        String(line),
        reason,
        ...(written ?? plain.map((cell, index) => writers[index]?.(cell) ?? cell)),
      ],
      format,
    )
  for (let isFirst = true; ; isFirst = false) {
    const { rows } = await client.query<RejectedRow>(`fetch ${rowsPerFetch} from rejected_rows`)
    if (rows.length === 0) break
    if (isFirst)
      yield byteOrderMark(format) + joinCells([...rejectedRowColumns, ...columns], format)
    yield rows.map(formatRow).join('')
  }
  await client.query('close rejected_rows')
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
