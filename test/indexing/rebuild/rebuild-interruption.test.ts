// A rebuild that is stopped, that dies, or that follows a truncation leaves nothing behind.
// Slow: it builds many indexes.
import t from 'tap'
import { nextIndexName } from '../../../src/indexing/registration.ts'
import { rebuildIndex } from '../../support/database/leased-target.ts'
import { eventually } from '../../support/eventually.ts'
import { startIndexer, startIndexerProcess } from '../run-indexer.ts'
import {
  countUnfinishedTasks,
  measureChange,
  serviceWithProducts,
  waitForUpload,
} from './rebuild-test-helpers.ts'

t.test('a stopped rebuild leaves no tasks and no lease', async (t) => {
  const service = await serviceWithProducts(t, 6_000)
  await service.db.updateTable('search_indexes').set({ rebuild_requested_at: new Date() }).execute()
  const indexer = await startIndexerProcess(t, service)
  t.ok(await waitForUpload(service, nextIndexName(service.target.indexName), 60_000))
  indexer.child.kill('SIGTERM')
  t.equal(await indexer.exit, 0)
  t.equal(await countUnfinishedTasks(service, nextIndexName(service.target.indexName)), 0)
  t.same(await service.db.selectFrom('index_leases').select('holder').execute(), [{ holder: null }])
})

t.test('search finds no product of a truncated catalogue during the rebuild', async (t) => {
  // Without the answer cache, which may return an older answer for a moment.
  const service = await serviceWithProducts(t, 6_000, { config: { SEARCH_CACHE_MB: 0 } })
  await service.pool.query("update products set name = 'Zanahoria' where sku = 'S-1'")
  await rebuildIndex(service.target)
  // While the engine is slow, a search may fail.
  const countHits = () =>
    eventually(
      async () =>
        (await service.app.inject('/api/search?q=zanahoria')).json<{ hits?: unknown[] }>().hits
          ?.length,
      (count) => count !== undefined,
    )
  t.equal(await countHits(), 1)
  await startIndexer(t, service)
  await service.pool.query(`
    begin;
    create temp table kept as select * from products where sku <> 'S-1';
    truncate products cascade;
    insert into products (sku, name, description) select sku, name, description from kept;
    commit`)
  const indexName = nextIndexName(service.target.indexName)
  const uploads = await waitForUpload(service, indexName, 40_000)
  t.ok(uploads > 0, 'the rebuild is running')
  t.equal(await countHits(), 0)
})

t.test('an indexer that takes over cancels the tasks of a rebuild that died', async (t) => {
  const service = await serviceWithProducts(t, 1)
  const { engine, target } = service
  const indexName = nextIndexName(target.indexName)
  await service.sync()
  await engine.createIndex(indexName, { primaryKey: 'id' }).waitTask()
  // Documents with many different words, which keep the engine busy for long.
  const word = (n: number) => ((n * 2_654_435_761) % 2_176_782_336).toString(36)
  const text = (id: number) =>
    Array.from({ length: 2_000 }, (_, n) => word(id * 2_000 + n)).join(' ')
  for (let id = 0; id < 2_000; id += 1_000)
    await engine
      .index(indexName)
      .addDocuments(Array.from({ length: 1_000 }, (_, n) => ({ id: id + n, text: text(id + n) })))
  await startIndexer(t, service)
  const ms = await measureChange(service, 'S-1', 'Cambiada', 40_000)
  t.ok(ms < 10_000, `after ${ms} ms`)
})
