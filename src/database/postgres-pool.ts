// Connections to PostgreSQL: pools with timeouts, and Kysely on them. Whoever opens one closes it.
import type { Socket } from 'node:net'
import { Kysely, PostgresDialect } from 'kysely'
import { Pool, type PoolClient, types } from 'pg'
import type { Tables } from './table-types.ts'

export type Database = Kysely<Tables>

/**
 * `statementTimeoutMs` is kept by the server. `silenceMs` is kept by us: a connection on which the server says nothing for so long while it is asked
 * something is broken off, since it may be gone without a word. 0: none. `waitMs` bounds the wait for a connection, new or given back.
 */
type PoolOptions = {
  connections?: number
  statementTimeoutMs?: number
  silenceMs?: number
  waitMs?: number
}

const dateOid = 1082

/** A pool of PostgreSQL connections behind Kysely. Dates stay YYYY-MM-DD text; numeric and bigint stay text. Close with `db.destroy()`. */
export function openDatabase(url: string, options: PoolOptions = {}): Database {
  return databaseOn(openPool(url, options))
}

/** Kysely on a pool that is there already; `db.destroy()` closes both. */
export function databaseOn(pool: Pool): Database {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
}

/** The same pool without Kysely, for COPY. Close with `pool.end()`. */
export function openPool(
  url: string,
  { connections = 10, statementTimeoutMs = 0, silenceMs = 0, waitMs = 3_000 }: PoolOptions = {},
): Pool {
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: waitMs,
    statement_timeout: statementTimeoutMs,
    application_name: 'trade-quoting-service',
    types: {
      getTypeParser: (oid, format) =>
        oid === dateOid ? (text: string) => text : types.getTypeParser(oid, format),
    },
  })
  // An idle connection that breaks is replaced at the next query; without a listener it would end the process.
  pool.on('error', () => undefined)
  // So would one that breaks between two statements of a transaction; the next statement then fails.
  pool.on('connect', (client) => {
    client.on('error', () => undefined)
    if (silenceMs > 0) breakOffWhenSilent(client, silenceMs)
  })
  return pool
}

/** The API's pool: what it asks takes milliseconds, and who waits for it has not long. */
export function openApiPool(url: string): Pool {
  return openPool(url, { statementTimeoutMs: 10_000, silenceMs: 11_000 })
}

/** The driver's own time limit gives the query up but keeps its connection, on which the next ones would wait for nothing too. */
function breakOffWhenSilent(client: PoolClient, silenceMs: number): void {
  const { connection } = client as PoolClient & { connection: { stream: Socket } }
  connection.stream.setTimeout(silenceMs, () => {
    // Idle in the pool it may well be silent.
    if (!(client as PoolClient & { readyForQuery: boolean }).readyForQuery)
      connection.stream.destroy(new Error(`PostgreSQL said nothing for ${silenceMs} ms`))
  })
}
