// Settings of the database itself, for every program that connects to it.
import { type Kysely, sql } from 'kysely'

/**
 * Switches off just-in-time compilation for the database. The PostgreSQL of Debian and Docker has
 * it on, but compiling the triggers and functions of the statistics takes longer than running them.
 * Returns a note for an administrator if only the owner of the database may do this. The setting
 * applies to connections that are opened later.
 */
export async function switchOffJit<DB>(db: Kysely<DB>): Promise<string[]> {
  const { rows } = await sql<{ database: string; isOwner: boolean; jit: string }>`
    select quote_ident(datname) as database, pg_has_role(datdba, 'usage') as "isOwner",
      current_setting('jit') as jit
    from pg_database where datname = current_database()
  `.execute(db)
  const [row] = rows
  if (!row || row.jit === 'off') return []
  const command = `alter database ${row.database} set jit = off`
  if (!row.isOwner)
    return [`let the owner of the database run \`${command}\`: statistics are faster without it.`]
  // Two programs at once would fail with "tuple concurrently updated".
  await db.transaction().execute(async (transaction) => {
    await sql`
      select pg_advisory_xact_lock(hashtextextended('trade-quoting-service settings', 0))
    `.execute(transaction)
    await sql.raw(command).execute(transaction)
  })
  return []
}
