// Which requests have capacity while the engine is down and PostgreSQL is busy with searches.
import t from 'tap'
import { searchConnections } from '../../src/database/connection-counts.ts'
import { openDatabase, openSearchPool } from '../../src/database/postgres-pool.ts'
import { createMetrics } from '../../src/monitoring/process-metrics.ts'
import { maxQueuedFallbacks } from '../../src/overload/concurrency-limit.ts'
import { SearchService } from '../../src/search/search-service.ts'
import { openSearchEngine } from '../../src/search-engine/search-client.ts'
import { lengthenSearchLimits } from '../support/longer-limits.ts'
import { testDatabase } from '../support/test-database.ts'

lengthenSearchLimits(t)

const silentLogger = { info() {}, warn() {}, error() {} }
const connected = new AbortController().signal

t.test('an exact look-up does not wait for searches in PostgreSQL', async (t) => {
  const { db: ownerDb, roles } = await testDatabase(t)
  await ownerDb.insertInto('products').values({ sku: 'AB-1', name: 'Martillo' }).execute()
  const db = openDatabase(roles.api)
  const searchPool = openSearchPool(roles.api)
  const engine = openSearchEngine('http://127.0.0.1:9', 'no key')
  const service = new SearchService(
    {
      db,
      searchPool,
      engines: [{ registrationName: 'main', engine }],
      indexName: 'products',
      cacheBytes: 0,
      observer: createMetrics().search,
    },
    silentLogger,
  )
  t.teardown(async () => {
    await service.stop()
    await engine.close()
    await db.destroy()
    await searchPool.end()
  })
  const search = () =>
    service.search({ text: 'martillo', limit: 8, offset: 0, facets: [] }, connected)
  t.match((await search())?.json, /"source":"database"/, 'the engine is down')

  const held = await Promise.all(
    Array.from({ length: searchConnections }, () => searchPool.connect()),
  )
  const searches = Array.from({ length: searchConnections + maxQueuedFallbacks }, search)
  await new Promise(setImmediate)
  t.notOk(service.hasCapacity('/api/search?q=martillo'), 'the limit of searches is reached')
  t.ok(service.hasCapacity('/api/search?sku=AB-1'))
  t.ok(service.hasCapacity('/api/search?key=k&sku=AB-1&sku=AB-2'))
  t.match(JSON.parse(await service.lookUp(['AB-1'])), { bySku: [{ sku: 'AB-1' }] })
  for (const connection of held) connection.release()
  for (const response of await Promise.all(searches)) t.match(response?.json, /"sku":"AB-1"/)
  t.ok(service.hasCapacity('/api/search?q=martillo'))
})
