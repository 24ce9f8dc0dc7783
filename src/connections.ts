// The only place where clients are made: PostgreSQL, Redis, Meilisearch. Whoever opens one closes it.
import { Redis } from 'ioredis'
import { Kysely, PostgresDialect } from 'kysely'
import { Meilisearch } from 'meilisearch'
import { Pool, types } from 'pg'
import type { Tables } from './database/tables.ts'
import { httpPool } from './http-pool.ts'
import { EngineError, type EngineResult, type SearchEngine } from './search/engine.ts'

export type Database = Kysely<Tables>

/** `statementTimeoutMs` is kept by the server, `queryTimeoutMs` by us, also when the server is gone without a word. 0: none. */
type PoolOptions = { connections?: number; statementTimeoutMs?: number; queryTimeoutMs?: number }

const dateOid = 1082

/** A pool of PostgreSQL connections behind Kysely. Dates stay YYYY-MM-DD text; numeric and bigint stay text. Close with `db.destroy()`. */
export function openDatabase(url: string, options: PoolOptions = {}): Database {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: openPool(url, options) }) })
}

/** The same pool without Kysely, for COPY. Close with `pool.end()`. */
export function openPool(url: string, { connections = 10, statementTimeoutMs = 0, queryTimeoutMs = 0 }: PoolOptions = {}): Pool {
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: 3_000,
    statement_timeout: statementTimeoutMs,
    query_timeout: queryTimeoutMs,
    application_name: 'trade-quoting-service',
    types: { getTypeParser: (oid, format) => (oid === dateOid ? (text: string) => text : types.getTypeParser(oid, format)) },
  })
  // An idle connection that breaks is replaced at the next query; without a listener it would end the process.
  pool.on('error', () => undefined)
  // So would one that breaks between two statements of a transaction; the next statement then fails.
  pool.on('connect', (client) => void client.on('error', () => undefined))
  return pool
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
