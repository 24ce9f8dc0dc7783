// Tells databases apart, and a database before a failover from the same database after it.
// - The id of a database stays the same after a failover: `readDatabaseId`.
// - Its identity changes with each failover, because it also has the timeline of the server. The
//   SQL function database_identity() returns it.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from './table-types.ts'

/**
 * The SQL text of an expression: the timeline of the server, which changes with each failover; null
 * for a replica.
 */
export const timelineSql = `case when not pg_is_in_recovery() then
  ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
end`

/** PostgreSQL's code for a missing privilege. */
const insufficientPrivilege = '42501'

/**
 * Returns the id of the database: the identifier of the PostgreSQL cluster and the oid of the
 * database. No other database has both. Replicas and failovers keep them. Returns null if the role
 * may not read it.
 */
export async function readDatabaseId(db: Kysely<Tables>): Promise<string | null> {
  try {
    const { rows } = await sql<{ id: string }>`
      select system_identifier || '-' || oid as id
      from pg_control_system(), pg_database where datname = current_database()
    `.execute(db)
    return rows[0]?.id ?? null
  } catch (error) {
    if ((error as { code?: unknown }).code === insufficientPrivilege) return null
    throw error
  }
}

/**
 * An SQL condition: the column `database_identity` of an index names this database on its present
 * timeline, which the function of the same name returns.
 */
export const isOfThisDatabase = sql<boolean>`(database_identity = database_identity())`

/**
 * An SQL condition: the column `database_identity` names this database as it was before a failover,
 * which starts another timeline. An identity has the identifier of the server, its timeline, and
 * the ids of the database and of the table products, separated by slashes.
 */
export const differsOnlyInTimeline = (identity: RawBuilder<unknown>) => sql<boolean>`(
  database_identity <> ${identity}
  and regexp_replace(database_identity, '/[0-9A-F]+/', '/')
    = regexp_replace(${identity}, '/[0-9A-F]+/', '/')
)`
