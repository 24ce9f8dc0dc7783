// Full imports of a period: finds the quotes in the database that are not in the file.
import type { ClientBase } from 'pg'
import { type ImportWarning, maxWarningExamples } from '../import-warnings.ts'

/** Days of issue, both included, as 2026-12-31. */
export type Period = { from: string; to: string }

/**
 * Returns a warning that names the quotes of the period that are not in `staged`, or nothing. They
 * are not deleted: quotes are business records, and their links must keep working. Superseded
 * versions are not counted, because many programs export the current version only.
 */
export async function findMissingQuotes(
  client: ClientBase,
  { from, to }: Period,
): Promise<ImportWarning[]> {
  const { rows } = await client.query<{ example: string; total: string }>(
    `select format('quote %s version %s of %s, %s', q.number, q.version, q.issued_on, q.status)
        as example, count(*) over () as total
    from quotes q
    where q.issued_on between $1::date and $2::date and q.status <> 'superseded'
      and not exists (
        select from staged s
        where s.number = q.number and coalesce(s.quote_version, q.version) = q.version
      )
    order by q.issued_on, q.number, q.version limit ${maxWarningExamples}`,
    [from, to],
  )
  if (rows.length === 0) return []
  return [
    {
      kind: 'missing_quotes',
      count: Number(rows[0]?.total),
      examples: rows.map(({ example }) => example),
    },
  ]
}
