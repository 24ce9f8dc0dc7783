// The versions of PostgreSQL that the schema works on.
import { type Kysely, sql } from 'kysely'

/** The schema uses features of version 15, such as unique keys in which nulls are equal. */
const oldestVersion = 15

/** Returns the major version of the server. */
export async function readServerVersion<DB>(db: Kysely<DB>): Promise<number> {
  const { rows } = await sql<{ version: number }>`
    select current_setting('server_version_num')::integer / 10000 as version
  `.execute(db)
  return rows[0]?.version ?? 0
}

/** Throws an error that says what to do if the schema does not work on this major version. */
export function requireServerVersion(version: number): void {
  if (version >= oldestVersion) return
  throw new Error(
    `PostgreSQL ${version} is too old: the service needs ${oldestVersion} or newer. ` +
      'Nothing was changed. Upgrade PostgreSQL first.',
  )
}
