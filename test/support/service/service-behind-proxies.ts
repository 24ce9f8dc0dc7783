// The service with a proxy in front of each server, which a test can slow down or cut off.
import { registerIndex } from '../../../src/indexing/registration.ts'
import { createMetrics } from '../../../src/monitoring/process-metrics.ts'
import { servers, type Test, testDatabase } from '../database/test-database.ts'
import { startFaultyProxy } from '../servers/faulty-proxy.ts'
import { ownEngineUrl, secondEngineName, testService } from './test-service.ts'

type ProxyOptions = Parameters<typeof testService>[1] & {
  /** Whether to search the engine through another proxy too, as a second engine. */
  hasSecondEngine?: boolean
}

/** Starts the service with two products and a proxy in front of each server. */
export async function startBehindProxies(
  t: Test,
  { hasSecondEngine = false, config, ...options }: ProxyOptions = {},
) {
  const database = await testDatabase(t)
  const engineUrl = await ownEngineUrl()
  const engine = await startFaultyProxy(t, engineUrl)
  const secondEngine = hasSecondEngine ? await startFaultyProxy(t, engineUrl) : undefined
  const postgres = await startFaultyProxy(t, database.roles.api)
  const redis = await startFaultyProxy(t, (await servers()).redisUrl)
  await database.db
    .insertInto('products')
    .values([
      { sku: 'AB-1', name: 'Martillo de bola' },
      { sku: 'AB-2', name: 'Taladro percutor' },
    ])
    .execute()
  // The same index is registered under another name, as up to date.
  if (secondEngine) {
    await registerIndex(database.db, secondEngineName)
    await database.db
      .updateTable('search_indexes')
      .set({ indexed_at: new Date(), state: 'settled' })
      .where('registration_name', '=', secondEngineName)
      .execute()
  }
  const metrics = createMetrics()
  /** The lines of the log. */
  const log: string[] = []
  const service = await testService(t, {
    database,
    apiUrl: postgres.url,
    config: { MEILI_URL: engine.url, REDIS_URL: redis.url, ...config },
    metrics,
    log: (line) => log.push(line),
    ...(secondEngine && { secondEngineUrl: secondEngine.url }),
    ...options,
  })
  // Before the app closes, which would wait for a server that hangs.
  t.teardown(() => {
    for (const proxy of [engine, secondEngine, postgres, redis]) proxy?.close()
  })
  return { app: service.app, engine, secondEngine, postgres, redis, service, metrics, log }
}
