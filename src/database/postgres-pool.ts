// Opens connection pools to PostgreSQL with timeouts, and Kysely on them. The opener closes them.
import { Kysely } from 'kysely'
import { types } from 'pg'
import { defaultConnections, searchConnections } from './connection-counts.ts'
import { FailoverPool } from './failover/failover-pool.ts'
import { createDialect } from './failover/retry-reads.ts'
import { parsePostgresUrl } from './postgres-address.ts'
import type { Tables } from './table-types.ts'
import type { ConnectionSettings } from './transaction-pooling.ts'

// A reachable server accepts within milliseconds, and a request does not wait longer.
const connectionMs = 3_000
// Statements of the API take milliseconds. By then the client has given up.
const apiStatementMs = 10_000
// PostgreSQL itself cancels the statement a second earlier, unless it hangs.
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
  /** How long a statement may run, measured by PostgreSQL. 0: no limit. */
  statementTimeoutMs?: number
  /**
   * How long the server may send nothing while a statement runs, measured by this process. Then the
   * connection is closed: the server may have disappeared. 0: no limit.
   */
  responseTimeoutMs?: number
  /** How long a query may wait for a connection, new or returned to the pool. */
  connectionTimeoutMs?: number
  /** Whether Kysely retries a read whose connection breaks, as after a failover. */
  retriesReads?: boolean
  /** Settings of PostgreSQL for each connection. */
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
    statementTimeoutMs = 0,
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
      settings: {
        ...(statementTimeoutMs > 0 && { statement_timeout: String(statementTimeoutMs) }),
        ...settings,
      },
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
    statementTimeoutMs: apiStatementMs,
    responseTimeoutMs: apiResponseMs,
    retriesReads: true,
  })
}

/**
 * Opens the pool for searches while the search engine is unavailable. It is separate, so that slow
 * searches cannot use up the connections of everything else. Its statements end within a second.
 */
export function openSearchPool(url: string): FailoverPool {
  return openPool(url, {
    connections: searchConnections,
    statementTimeoutMs: fallbackStatementTimeout.ms,
    responseTimeoutMs: fallbackResponseTimeout.ms,
    connectionTimeoutMs: fallbackConnectionTimeout.ms,
    settings: {
      // Every search has an index. The planner must not read the table in the hope of finding
      // enough matches early, and must keep all matches of a frequent word in memory.
      enable_seqscan: 'off',
      work_mem: '32MB',
      jit: 'off',
      max_parallel_workers_per_gather: '0',
    },
  })
}
