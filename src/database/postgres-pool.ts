// Opens connection pools to PostgreSQL with timeouts, and Kysely on them. The opener closes them.
import { Kysely } from 'kysely'
import { types } from 'pg'
import { FailoverPool } from './failover/failover-pool.ts'
import { createDialect } from './failover/retry-reads.ts'
import { parsePostgresUrl } from './postgres-address.ts'
import type { Tables } from './table-types.ts'
import type { ConnectionSettings } from './transaction-pooling.ts'

/** The connections of an API process for everything but searches. DATABASE_CONNECTIONS overrides it. */
export const defaultConnections = 10
/**
 * How many searches PostgreSQL runs at the same time while the search engine is unavailable. Each
 * takes a core of PostgreSQL, which keys, statistics and quote links need too.
 */
export const searchConnections = 2

// A reachable server accepts within milliseconds, and a request does not wait longer.
const connectionMs = 3_000
// PostgreSQL itself cancels a statement of the API after 10 s (role-grants.ts), unless it hangs.
const apiResponseMs = 11_000
// It takes up to 100 ms for a million products. Nobody waits a second for a keystroke.
export const fallbackStatementTimeout = { ms: 800 }
// PostgreSQL itself cancels the statement earlier, unless it hangs.
export const fallbackResponseTimeout = { ms: 1_500 }
// A reachable server accepts within milliseconds.
export const fallbackConnectionTimeout = { ms: 500 }

export type Database = Kysely<Tables>

type PoolOptions = {
  connections?: number
  /**
   * How long the server may send nothing while a statement runs, measured by this process. Then the
   * connection is closed: the server may have disappeared. 0: no limit.
   */
  responseTimeoutMs?: number
  /** How long a query may wait for a connection, new or returned to the pool. */
  connectionTimeoutMs?: number
  /** Whether Kysely retries a read whose connection breaks, as after a failover. */
  retriesReads?: boolean
  /** Settings of PostgreSQL for each connection. A connection through a pooler has none of them. */
  settings?: ConnectionSettings
}

/**
 * Opens a pool of connections and Kysely on it. Dates stay YYYY-MM-DD text; numeric and bigint stay
 * text. Close it with `db.destroy()`.
 */
export function openDatabase(url: string, options: PoolOptions = {}): Database {
  return createKysely(openPool(url, options))
}

/** Creates Kysely on an existing pool. `db.destroy()` closes both. */
export function createKysely(pool: FailoverPool): Database {
  const dialect = createDialect(pool, (client, text, values) => client.query(text, [...values]))
  return new Kysely<Tables>({ dialect })
}

/**
 * Opens a pool of connections, without Kysely. If the URL names several hosts, it connects only to
 * the primary. Close it with `pool.end()`.
 */
export function openPool(
  url: string,
  {
    connections = defaultConnections,
    responseTimeoutMs = 0,
    connectionTimeoutMs = connectionMs,
    settings = {},
    retriesReads = false,
  }: PoolOptions = {},
): FailoverPool {
  return new FailoverPool(
    {
      address: parsePostgresUrl(url),
      retriesReads,
      responseTimeoutMs,
      connectionTimeoutMs,
      settings,
    },
    {
      max: connections,
      application_name: 'trade-quoting-service',
      types: {
        getTypeParser: (oid, format) =>
          oid === dateOid ? (text: string) => text : types.getTypeParser(oid, format),
      },
    },
  )
}

/** The object id of PostgreSQL's type date. */
const dateOid = 1082

/** Opens the pool of the API. Its statements take milliseconds, so its timeouts are short. */
export function openApiPool(url: string, connections = defaultConnections): FailoverPool {
  return openPool(url, {
    connections,
    responseTimeoutMs: apiResponseMs,
    retriesReads: true,
  })
}

/**
 * Opens the pool for searches while the search engine is unavailable. It is separate, so that slow
 * searches cannot use up the connections of everything else. search/postgres.ts limits statements.
 */
export function openSearchPool(url: string): FailoverPool {
  return openPool(url, {
    connections: searchConnections,
    responseTimeoutMs: fallbackResponseTimeout.ms,
    connectionTimeoutMs: fallbackConnectionTimeout.ms,
  })
}
