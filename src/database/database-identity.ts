// Compares the identities of databases. The function database_identity() of migration 0029 returns
// the identifier of the server, its timeline, and the ids of the database and of the
// table products, separated by slashes.
import { type RawBuilder, sql } from 'kysely'

/**
 * An SQL condition: the column `database_identity` names the database with this identity before a
 * failover, which starts another timeline.
 */
export const differsOnlyInTimeline = (identity: RawBuilder<unknown>) => sql<boolean>`(
  database_identity <> ${identity}
  and regexp_replace(database_identity, '/[0-9A-F]+/', '/')
    = regexp_replace(${identity}, '/[0-9A-F]+/', '/')
)`
