// The only place where clients are made: PostgreSQL, Redis, Meilisearch. Whoever opens one closes it.
import type { Socket } from 'node:net'
import { Redis } from 'ioredis'
import { Kysely, PostgresDialect } from 'kysely'
import { Meilisearch } from 'meilisearch'
import { Pool, type PoolClient, types } from 'pg'
import type { Tables } from './database/tables.ts'
import { httpPool } from './http-pool.ts'
import { EngineError, type EngineResult, type SearchEngine } from './search/engine.ts'

export type Database = Kysely<Tables>

/**
 * `statementTimeoutMs` is kept by the server. `silenceMs` is kept by us: a connection on which the server says nothing for so long while it is asked
 * something is broken off, since it may be gone without a word. 0: none. `waitMs` bounds the wait for a connection, new or given back.
 */
type PoolOptions = { connections?: number; statementTimeoutMs?: number; silenceMs?: number; waitMs?: number }

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
export function openPool(url: string, { connections = 10, statementTimeoutMs = 0, silenceMs = 0, waitMs = 3_000 }: PoolOptions = {}): Pool {
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: waitMs,
    statement_timeout: statementTimeoutMs,
    application_name: 'trade-quoting-service',
    types: { getTypeParser: (oid, format) => (oid === dateOid ? (text: string) => text : types.getTypeParser(oid, format)) },
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

/**
 * A Redis connection that fails fast: a command while Redis is away is an error at once, never queued, and the connection mends itself. Given
 * back when the first attempt to connect is over, well or badly. Close with `redis.disconnect()`.
 */
export async function openRedis(url: string): Promise<Redis> {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 1_000,
    commandTimeout: 250,
    retryStrategy: (attempt) => Math.min(attempt * 100, 1_000),
  })
  redis.on('error', () => undefined)
  await new Promise((resolve) => redis.once('ready', resolve).once('close', resolve))
  return redis
}

/** A Meilisearch client for the indexer and scripts. Holds no connection that needs closing. `timeoutMs` is for each request; default none. */
export function openEngine(url: string, apiKey: string, { timeoutMs }: { timeoutMs?: number } = {}): Meilisearch {
  return new Meilisearch({ host: url, apiKey, ...(timeoutMs !== undefined && { timeout: timeoutMs }) })
}

/** The client that searches, on connections that are kept alive. Close with `engine.close()`. */
export function openSearchEngine(url: string, apiKey: string): SearchEngine {
  const base = new URL(url)
  const pool = httpPool(base, { authorization: `Bearer ${apiKey}` })
  const prefix = base.pathname.replace(/\/$/, '')

  async function ask(method: string, path: string, body: string, signal: AbortSignal): Promise<string> {
    const reply = await pool.send(method, prefix + path, body, signal)
    if (reply.status !== 200) throw new EngineError(reply.status, reply.body)
    return reply.body
  }

  return {
    async search(queries, signal) {
      const answer = JSON.parse(await ask('POST', '/multi-search', JSON.stringify({ queries }), signal)) as { results: EngineResult[] }
      return answer.results
    },
    health: () => ask('GET', '/health', '', AbortSignal.timeout(1_000)),
    close: () => pool.close(),
  }
}
