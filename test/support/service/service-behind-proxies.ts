// The service with a proxy in front of each server, which a test can slow down or cut off.
import { buildApp } from '../../../src/app.ts'
import { openDatabase, openSearchPool } from '../../../src/database/postgres-pool.ts'
import { registerIndex } from '../../../src/indexing/registration.ts'
import { createMetrics, type Metrics } from '../../../src/monitoring/process-metrics.ts'
import { openRedis } from '../../../src/redis/redis-connection.ts'
import { openSearchEngine } from '../../../src/search-engine/client.ts'
import type { RegisteredEngine } from '../../../src/search-engine/engine-selection.ts'
import { company } from '../database/company.ts'
import { servers } from '../database/test-database.ts'
import { type FaultyProxy, startFaultyProxy } from '../servers/faulty-proxy.ts'
import { type TestService, testService } from './test-service.ts'

type ProxyOptions = Parameters<typeof testService>[1] & {
  /** Whether to search the engine through another proxy too, as a second engine. */
  hasSecondEngine?: boolean
}

export type ServiceBehindProxies = {
  app: TestService['app']
  engine: FaultyProxy
  /** Undefined without `hasSecondEngine`. */
  secondEngine: FaultyProxy | undefined
  postgres: FaultyProxy
  redis: FaultyProxy
  service: TestService
  metrics: Metrics
  /** The lines of the log. */
  log: string[]
}

/** Starts the service with a proxy in front of each server. */
export async function startBehindProxies(
  t: Parameters<typeof testService>[0],
  { hasSecondEngine = false, ...options }: ProxyOptions = {},
): Promise<ServiceBehindProxies> {
  const { redisUrl } = await servers()
  const service = await testService(t, options)
  const metrics = createMetrics()
  const log: string[] = []
  await service.db
    .insertInto('products')
    .values([
      { sku: 'AB-1', name: 'Martillo de bola' },
      { sku: 'AB-2', name: 'Taladro percutor' },
    ])
    .execute()
  await service.sync()
  const [engine, postgres, redis] = [
    await startFaultyProxy(t, service.config.MEILI_URL),
    await startFaultyProxy(t, service.config.DATABASE_URL),
    await startFaultyProxy(t, redisUrl),
  ]
  const db = openDatabase(postgres.url)
  const searchPool = openSearchPool(postgres.url)
  const redisConnection = await openRedis(redis.url)
  const openEngine = (url: string) => openSearchEngine(url, service.config.MEILI_SEARCH_KEY)
  const searchEngines: [RegisteredEngine, ...RegisteredEngine[]] = [
    { registrationName: service.config.SEARCH_ENGINE, engine: openEngine(engine.url) },
  ]
  const secondEngine = hasSecondEngine
    ? await startFaultyProxy(t, service.config.MEILI_URL)
    : undefined
  if (secondEngine) {
    await registerCopy(service, 'second')
    searchEngines.push({ registrationName: 'second', engine: openEngine(secondEngine.url) })
  }
  const app = await buildApp({
    config: service.config,
    company,
    indexName: service.config.SEARCH_INDEX,
    connections: {
      db,
      dbWithPreparedStatements: db,
      searchPool,
      redis: redisConnection,
      searchEngines,
    },
    metrics,
    traces: null,
    logger: { level: 'info', stream: { write: (line: string) => void log.push(line) } },
  })
  t.teardown(async () => {
    await app.close()
    for (const each of searchEngines) await each.engine.close()
    redisConnection.disconnect()
    await db.destroy()
    await searchPool.end()
  })
  // Before the app closes, which would wait for a server that hangs.
  t.teardown(() => {
    for (const proxy of [engine, secondEngine, postgres, redis]) proxy?.close()
  })
  return { app, engine, secondEngine, postgres, redis, service, metrics, log }
}

/** Registers the index of the service under another name, as up to date. */
async function registerCopy({ db }: TestService, registrationName: string): Promise<void> {
  await registerIndex(db, registrationName)
  await db
    .updateTable('search_indexes')
    .set({ indexed_at: new Date(), state: 'settled' })
    .where('registration_name', '=', registrationName)
    .execute()
}
