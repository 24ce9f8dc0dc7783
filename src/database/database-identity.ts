// Tells databases apart, and a database before a failover from the same database after it: its
// identity, which the SQL function database_identity() returns, changes with each failover.
import { type RawBuilder, sql } from 'kysely'

/**
 * The SQL text of an expression: the timeline of the server, which changes with each failover; null
 * for a replica.
 */
export const timelineSql = `case when not pg_is_in_recovery() then
  ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
end`

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
