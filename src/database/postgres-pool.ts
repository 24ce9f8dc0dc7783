// Opens connection pools to PostgreSQL with timeouts, and Kysely on them. The opener closes them.
import type { Socket } from 'node:net'
import { Kysely, PostgresDialect } from 'kysely'
import { type ClientBase, Pool, types } from 'pg'
import { timeouts } from '../timeouts.ts'
import type { Tables } from './table-types.ts'
import { applySettings, type ConnectionSettings } from './transaction-pooling.ts'

export type Database = Kysely<Tables>

type PoolOptions = {
  connections?: number
  /** How long a statement may run, measured by PostgreSQL. 0: no limit. */
  statementTimeoutMs?: number
  /**
   * How long the server may send nothing while a statement runs, measured by us: the server may
   * have disappeared without closing the connection. The connection is then closed. 0: no limit.
   */
  responseTimeoutMs?: number
  /** How long a query may wait for a connection, new or returned to the pool. */
  connectionTimeoutMs?: number
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
export function createKysely(pool: Pool): Database {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
}

/** Opens a pool of connections without Kysely, for COPY. Close it with `pool.end()`. */
export function openPool(
  url: string,
  {
    connections = 10,
    statementTimeoutMs = 0,
    responseTimeoutMs = 0,
    connectionTimeoutMs = timeouts.database.connection.ms,
    settings = {},
  }: PoolOptions = {},
): Pool {
  const setup = {
    responseTimeoutMs,
    connectionTimeoutMs,
    settings: {
      ...(statementTimeoutMs > 0 && { statement_timeout: String(statementTimeoutMs) }),
      ...settings,
    },
  }
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectionTimeoutMs,
    application_name: 'trade-quoting-service',
    onConnect: (client) => prepareConnection(client, setup),
    types: {
      getTypeParser: (oid, format) =>
        oid === dateOid ? (text: string) => text : types.getTypeParser(oid, format),
    },
  })
  // Without a listener an error of an idle connection ends the process. It needs no log: the pool
  // opens another connection, and a query that finds PostgreSQL unreachable throws.
  pool.on('error', () => undefined)
  return pool
}

type ConnectionSetup = {
  responseTimeoutMs: number
  connectionTimeoutMs: number
  settings: ConnectionSettings
}

async function prepareConnection(
  client: ClientBase,
  { responseTimeoutMs, connectionTimeoutMs, settings }: ConnectionSetup,
): Promise<void> {
  // The same for a connection that breaks within a transaction: its next statement throws.
  client.on('error', () => undefined)
  const deadline = setTimeout(
    () => streamOf(client).destroy(new Error('The new connection does not answer.')),
    connectionTimeoutMs,
  )
  try {
    await applySettings(client, settings)
  } finally {
    clearTimeout(deadline)
  }
  if (responseTimeoutMs > 0) closeWhenSilent(client, responseTimeoutMs)
}

/** The object id of PostgreSQL's type date. */
const dateOid = 1082

/** Opens the pool of the API. Its statements take milliseconds, so its timeouts are short. */
export function openApiPool(url: string): Pool {
  return openPool(url, {
    statementTimeoutMs: timeouts.database.apiStatement.ms,
    responseTimeoutMs: timeouts.database.apiResponse.ms,
  })
}

/**
 * Searches that PostgreSQL answers at the same time while the search engine is unavailable. Each
 * takes a core of PostgreSQL, which keys, statistics and quote links need too.
 */
export const searchConnections = 2

/**
 * Opens the pool for searches while the search engine is unavailable: few connections, so that they
 * cannot take those of everything else, and statements that end within a second.
 */
export function openSearchPool(url: string): Pool {
  return openPool(url, {
    connections: searchConnections,
    statementTimeoutMs: timeouts.search.fallbackStatement.ms,
    responseTimeoutMs: timeouts.search.fallbackResponse.ms,
    connectionTimeoutMs: timeouts.search.fallbackConnection.ms,
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

/**
 * Closes a connection on which the server sends nothing while a statement runs. The timeout of the
 * driver (query_timeout) only fails the query: the pool would reuse the dead connection.
 */
function closeWhenSilent(client: ClientBase, responseTimeoutMs: number): void {
  const stream = streamOf(client)
  stream.setTimeout(responseTimeoutMs, () => {
    const isIdle = (client as ClientBase & { readyForQuery: boolean }).readyForQuery
    if (!isIdle) stream.destroy(new Error(`PostgreSQL sent nothing for ${responseTimeoutMs} ms`))
  })
}

const streamOf = (client: ClientBase): Socket =>
  (client as ClientBase & { connection: { stream: Socket } }).connection.stream
