// Decides which versions of a quote an import supersedes: those before the newest that was sent.
import type { ClientBase } from 'pg'

/**
 * Creates the temporary table `current_versions`: the newest version of each number that was sent,
 * if there are older ones to supersede. The statuses in the file replace those in the database.
 */
export async function createCurrentVersionsTable(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table current_versions on commit drop as
    select number, max(version) as version
    from (
      select q.number, q.version, s.status
      from staged_quotes q join staged s on s.line = q.line
      union all
      select e.number, e.version, e.status
      from quotes e
      where e.number in (select number from staged_quotes) and not exists (
        select from staged_quotes q where q.number = e.number and q.version = e.version
      )
    ) known
    where is_current_status(status)
    group by number having max(version) > 1`)
  await client.query('analyze current_versions')
}

/**
 * Supersedes the older versions that only the database has, and returns how many. A trigger would
 * do the same, but for each updated row separately.
 */
export async function supersedeOlderVersions(client: ClientBase): Promise<number> {
  const { rowCount } = await client.query(`
    update quotes older set status = 'superseded'
    from current_versions current
    where older.number = current.number and older.version < current.version
      and older.status <> 'superseded'
      and not exists (select from imported_quotes i where i.id = older.id)`)
  return rowCount ?? 0
}
