// Takes bad rows out of the staging table and writes them as CSV, with their line and the reason, so that they can be mended and imported.
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ClientBase } from 'pg'
import { rejectColumns } from './column-names.ts'
import { allReasons } from './row-problems.ts'

const rowsPerFetch = 250

/**
 * Writes every row that has a problem or that `alongside` names to `rejects`, ends it, deletes those rows from `staged`, and returns how many
 * they were. Nothing is written when there are none. The stream has taken everything when this resolves, so that a full disk stops the import.
 *
 * @param columns the columns of the file, in its order
 * @param alongside SQL giving line and reason of rows without problems of their own that must not be imported either
 */
export async function reject(
  client: ClientBase,
  rejects: Writable,
  columns: string[],
  alongside?: string,
): Promise<number> {
  await client.query(
    `create temporary table rejected on commit drop as select line, ${allReasons} from problems group by line`,
  )
  if (alongside) await client.query(`insert into rejected (line, reason) ${alongside}`)
  await pipeline(rejectedCsv(client, columns), rejects)
  const deleted = await client.query(
    'delete from staged using rejected where rejected.line = staged.line',
  )
  return deleted.rowCount ?? 0
}

type RejectedRow = { line: number; reason: string; cells: (string | null)[] }

async function* rejectedCsv(client: ClientBase, columns: string[]): AsyncGenerator<string> {
  await client.query(`
    declare rejected_rows no scroll cursor for
    select s.line, r.reason, coalesce(s.malformed, to_json(array[${columns.map((column) => `s.${column}`)}])) as cells
    from rejected r join staged s on s.line = r.line order by s.line`)
  for (let header = true; ; header = false) {
    const { rows } = await client.query<RejectedRow>(`fetch ${rowsPerFetch} from rejected_rows`)
    if (rows.length === 0) break
    if (header) yield `${[...rejectColumns, ...columns].join(',')}\n`
    yield rows.map(toCsv).join('')
  }
  await client.query('close rejected_rows')
}

function toCsv({ line, reason, cells }: RejectedRow): string {
  return `${[String(line), reason, ...cells].map((cell) => quoted(cell ?? '')).join(',')}\n`
}

function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
