// Collects the problems of the rows, and lists the bad rows in an error.
import type { ClientBase } from 'pg'
import type { FileFormat } from './file-format.ts'
import { ImportError } from './import-error.ts'

const maxListedRows = 20

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
export const allReasons = "string_agg(reason, '; ' order by reason) as reason"

/**
 * Throws an ImportError that lists the first 20 bad rows, if there are bad rows. The error suggests
 * `suggestedFormat`.
 */
export async function throwIfRowsAreBad(
  client: ClientBase,
  suggestedFormat: FileFormat | undefined,
): Promise<void> {
  const { rows } = await client.query<{ line: number; reason: string; total: string }>(`
    select line, ${allReasons}, count(*) over () as total
    from problems group by line order by line limit ${maxListedRows}`)
  if (rows.length === 0) return
  const total = Number(rows[0]?.total)
  const format = (count: number) => count.toLocaleString('en')
  throw new ImportError(
    [
      `${total === 1 ? 'One row is' : `${format(total)} rows are`} bad, so nothing was imported:`,
      ...rows.map(({ line, reason }) => `  line ${line}: ${reason}`),
      ...(total > rows.length ? [`  … and ${format(total - rows.length)} more.`] : []),
      'Correct them, or use --rejects FILE to import the good rows and write the bad rows to FILE.',
    ].join('\n'),
    { suggestedFormat },
  )
}
