// What is wrong with the rows of a file, collected in a temporary table: one row for each problem, by line.
import type { ClientBase } from 'pg'
import { BadFile } from './csv/invalid-file.ts'

const shownRows = 20

/** Makes the table `problems` from what was found while the rows were staged. What rows say together is added to it afterwards. */
export async function startProblems(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table problems on commit drop as
    select line, problem as reason from staged where problem is not null`)
}

/** Throws a BadFile that lists the first bad rows, if there are any. */
export async function refuseProblems(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ line: number; reason: string; bad: string }>(`
    select line, ${allReasons}, count(*) over () as bad from problems group by line order by line limit ${shownRows}`)
  if (rows.length === 0) return
  const bad = Number(rows[0]?.bad)
  throw new BadFile(
    [
      `${bad === 1 ? 'One row is' : `${bad.toLocaleString('en')} rows are`} bad, so nothing was imported:`,
      ...rows.map(({ line, reason }) => `  line ${line}: ${reason}`),
      ...(bad > rows.length ? [`  … and ${(bad - rows.length).toLocaleString('en')} more.`] : []),
      'Mend them, or give --rejects FILE: then the good rows are imported and the bad ones are written there.',
    ].join('\n'),
  )
}

/** All that is wrong with a line as one text: an SQL aggregate over `problems`. */
export const allReasons = "string_agg(reason, '; ' order by reason) as reason"
