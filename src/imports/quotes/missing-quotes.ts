// Full imports of a period: finds the quotes in the database that are not in the file.
import type { ClientBase } from 'pg'
import { type ImportWarning, readWarning } from '../import-warnings.ts'

/** Days of issue, both included, as 2026-12-31. */
export type Period = { from: string; to: string }

/**
 * Returns a warning that names the quotes of the period that are not in `staged`, or nothing. They
 * are not deleted: quotes are business records, and their links must keep working. Superseded
 * versions are not counted, because many programs export the current version only.
 */
export function findMissingQuotes(
  client: ClientBase,
  { from, to }: Period,
): Promise<ImportWarning[]> {
  return readWarning(
    client,
    'missing_quotes',
    `select issued_on, number, version,
      format('quote %s version %s of %s, %s', number, version, issued_on, status) as example
    from quotes existing
    where issued_on between $1::date and $2::date and status <> 'superseded'
      and not exists (
        select from staged
        where staged.number = existing.number
          and coalesce(staged.version_number, existing.version) = existing.version
      )`,
    { values: [from, to], order: 'issued_on, number, version' },
  )
}
