// The connections of an API process to PostgreSQL, Redis and the search engines.
import { getSearchEngines, type SearchEngineUrl, type ServerConfig } from './config.ts'
import type { FailoverPool } from './database/failover/failover-pool.ts'
import {
  createKysely,
  type Database,
  openApiPool,
  openSearchPool,
} from './database/postgres-pool.ts'
import { createPreparingKysely } from './database/prepared-statements.ts'
import { openRedis, type RedisClient } from './redis/redis-connection.ts'
import { openSearchEngine } from './search-engine/client.ts'
import type { RegisteredEngine } from './search-engine/engine-selection.ts'
import { nameWithVersion } from './search-engine/index-name.ts'
import type { Traces } from './tracing/open-traces.ts'

export type Connections = {
  /** The primary, DATABASE_CONNECTIONS, statements of up to 10 s. For metrics and the stop. */
  pool: FailoverPool
  /** On `pool`. For API keys, search, the search report, and the checks of start and health. */
  db: Database
  /** On `pool`. For statistics and quote links, whose few statements are expensive to plan. */
  dbWithPreparedStatements: Database
  /** The primary, 2 connections, statements of up to 800 ms. For searches without an engine. */
  searchPool: FailoverPool
  /** Null if no Redis is configured. */
  redis: RedisClient | null
  /** Searches alternate between the healthy engines. */
  searchEngines: [RegisteredEngine, ...RegisteredEngine[]]
}

/** Returns the connections. Only Redis is waited for. Throws if its address is wrong. */
export async function openConnections(
  config: ServerConfig,
  traces: Traces | null,
): Promise<Connections> {
  const pool = openApiPool(config.DATABASE_URL, config.DATABASE_CONNECTIONS)
  const redis = config.REDIS_URL === undefined ? null : await openRedis(config.REDIS_URL)
  const openEngine = ({ name, url }: SearchEngineUrl): RegisteredEngine => ({
    registrationName: nameWithVersion(name),
    engine: openSearchEngine(url, config.MEILI_SEARCH_KEY),
  })
  const [first, ...others] = getSearchEngines(config)
  const searchEngines: Connections['searchEngines'] = [openEngine(first), ...others.map(openEngine)]
  const searchPool = openSearchPool(config.DATABASE_URL)
  if (traces) {
    for (const traced of [pool, searchPool]) traces.tracePool(traced)
    for (const { engine } of searchEngines) traces.traceEngine(engine)
    if (redis) traces.traceRedis(redis)
  }
  return {
    pool,
    db: createKysely(pool),
    dbWithPreparedStatements: createPreparingKysely(pool),
    searchPool,
    redis,
    searchEngines,
  }
}

/** Closes the connections one after the other. Waits for the statements that are running. */
export async function closeConnections(connections: Connections): Promise<void> {
  await connections.db.destroy()
  await connections.searchPool.end()
  connections.redis?.disconnect()
  await Promise.all(connections.searchEngines.map(({ engine }) => engine.close()))
}

/** Destroys all connections, so that a PostgreSQL that does not answer cannot delay the stop. */
export function destroyDatabaseConnections({ pool, searchPool }: Connections): void {
  for (const each of [pool, searchPool]) each.destroyConnections()
}
