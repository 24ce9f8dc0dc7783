// Writes the bad rows as CSV (--rejects), with their lines and reasons, and leaves them out.
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ClientBase } from 'pg'
import { allReasons } from './bad-rows-message.ts'
import { rejectColumns } from './file-columns.ts'

const rowsPerFetch = 250

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
