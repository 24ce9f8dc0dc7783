// Collects the problems of the rows. Bad rows are listed in an error or written as rejected rows.
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ClientBase } from 'pg'
import { rejectColumns } from './file-columns.ts'
import { InvalidFileError } from './invalid-file-error.ts'

const maxListedRows = 20
const rowsPerFetch = 250

/**
 * Creates the temporary table `problems` (line, reason) from the problems that were found while the
 * rows were staged. Problems between rows are added to it later. A line may have several problems.
 */
export async function createProblemsTable(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table problems on commit drop as
    select line, problem as reason from staged where problem is not null`)
}

/** SQL that aggregates the problems of one line into one text. */
const allReasons = "string_agg(reason, '; ' order by reason) as reason"

/** Throws an InvalidFileError that lists the first 20 bad rows, if there are bad rows. */
export async function throwIfRowsAreBad(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ line: number; reason: string; total: string }>(`
    select line, ${allReasons}, count(*) over () as total
    from problems group by line order by line limit ${maxListedRows}`)
  if (rows.length === 0) return
  const total = Number(rows[0]?.total)
  const format = (count: number) => count.toLocaleString('en')
  throw new InvalidFileError(
    [
      `${total === 1 ? 'One row is' : `${format(total)} rows are`} bad, so nothing was imported:`,
      ...rows.map(({ line, reason }) => `  line ${line}: ${reason}`),
      ...(total > rows.length ? [`  … and ${format(total - rows.length)} more.`] : []),
      'Correct them, or use --rejects FILE to import the good rows and write the bad rows to FILE.',
    ].join('\n'),
  )
}

/**
 * Writes the bad rows to `rejects` as CSV, with their lines and reasons, ends that stream, deletes
 * the rows from `staged`, and returns their number. Writes nothing if there are none. Resolves when
 * the stream has written everything, so that a full disk stops the import.
 *
 * @param columns the columns of the file, in its order
 * @param otherRejectedRows SQL that returns line and reason of rows that have no problem themselves
 *   but must not be imported either
 */
export async function rejectBadRows(
  client: ClientBase,
  rejects: Writable,
  columns: string[],
  otherRejectedRows?: string,
): Promise<number> {
  await client.query(`
    create temporary table rejected on commit drop as
    select line, ${allReasons} from problems group by line`)
  if (otherRejectedRows)
    await client.query(`insert into rejected (line, reason) ${otherRejectedRows}`)
  await pipeline(formatRejectedRows(client, columns), rejects)
  const { rowCount } = await client.query(
    'delete from staged using rejected where rejected.line = staged.line',
  )
  return rowCount ?? 0
}

type RejectedRow = { line: number; reason: string; cells: (string | null)[] }

/** Yields the rejected rows as CSV with a header, or nothing if there are none. */
async function* formatRejectedRows(client: ClientBase, columns: string[]): AsyncGenerator<string> {
  const cells = columns.map((column) => `s.${column}`)
  await client.query(`
    declare rejected_rows no scroll cursor for
    select s.line, r.reason, coalesce(s.malformed, to_json(array[${cells}])) as cells
    from rejected r join staged s on s.line = r.line order by s.line`)
  for (let isFirst = true; ; isFirst = false) {
    const { rows } = await client.query<RejectedRow>(`fetch ${rowsPerFetch} from rejected_rows`)
    if (rows.length === 0) break
    if (isFirst) yield `${[...rejectColumns, ...columns].join(',')}\n`
    yield rows.map(formatCsvRow).join('')
  }
  await client.query('close rejected_rows')
}

function formatCsvRow({ line, reason, cells }: RejectedRow): string {
  return `${[String(line), reason, ...cells].map((cell) => quoteCell(cell ?? '')).join(',')}\n`
}

function quoteCell(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
