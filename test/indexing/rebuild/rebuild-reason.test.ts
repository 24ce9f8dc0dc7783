// The reasons why an indexer rebuilds the index on its own.
import { sql } from 'kysely'
import t from 'tap'
import { readRegistration } from '../../../src/indexing/registration.ts'
import { verifyIndex } from '../../../src/indexing/verify.ts'
import { applyNextBatch, leaseTarget } from '../../support/database/leased-target.ts'
import { eventually } from '../../support/eventually.ts'
import { testService } from '../../support/service/test-service.ts'
import { buildIndex } from '../run-indexer.ts'

t.test('an index with wrong contents is rebuilt', async (t) => {
  const service = await testService(t)
  const { engine, db } = service
  const index = engine.index(service.config.SEARCH_INDEX)
  const products = [
    { sku: 'A-1', name: 'Tuerca' },
    { sku: 'A-2', name: 'Arandela' },
  ]
  await db.insertInto('products').values(products).execute()
  await service.sync()
  const expectRebuild = async (reason: string) => {
    t.match(await buildIndex(service), reason)
    t.same(
      await verifyIndex(service.target),
      { products: 2, missing: [], stale: [], extra: [] },
      reason,
    )
  }
  await engine.deleteIndex(service.config.SEARCH_INDEX).waitTask()
  await expectRebuild('The index does not exist.')
  await sql`
    update search_indexes set last_task = jsonb_set(last_task, '{taskNumber}', '1000000000')
  `.execute(db)
  await expectRebuild(
    'The search engine was restored to an older state, or its tasks were deleted.',
  )
  await index.deleteAllDocuments().waitTask()
  const counts = '0 documents, 2 products, 0 parked'
  await expectRebuild(`The number of documents differs from the number of products: ${counts}.`)
  t.notMatch(await buildIndex(service), 'Building', 'an index without a difference is not rebuilt')
})

t.test('an index stays unknown while a rebuild applies changes to it', async (t) => {
  const service = await testService(t)
  const { db, config, target } = service
  await db.insertInto('products').values({ sku: 'A-1', name: 'Tuerca' }).execute()
  await service.sync()
  await sql`update search_indexes set state = 'unknown', indexed_at = null`.execute(db)
  await db.insertInto('products').values({ sku: 'A-2', name: 'Arandela' }).execute()
  await applyNextBatch(await leaseTarget(target))
  t.match(await readRegistration(db, config.SEARCH_ENGINE), { state: 'unknown' })
  t.match(await buildIndex(service), 'It is not known what the index contains.')
  t.match(await readRegistration(db, config.SEARCH_ENGINE), { state: 'settled' })
})

t.test(
  'the index, not PostgreSQL, answers searches while the catalogue is empty or was emptied',
  async (t) => {
    const service = await testService(t)
    // The answer cache may return an older answer for a moment.
    const expectHits = async (count: number) => {
      const search = async () =>
        (await service.app.inject('/api/search?q=HX-101')).json<{
          hits: unknown[]
          meta: { source: string }
        }>()
      const { hits, meta } = await eventually(
        search,
        ({ hits, meta }) => hits.length === count && meta.source === 'index',
        3_000,
      )
      t.same([hits.length, meta.source], [count, 'index'])
    }
    await expectHits(0)
    await service.db.insertInto('products').values({ sku: 'HX-101', name: 'Hacha' }).execute()
    await service.sync()
    await expectHits(1)
    await service.db.deleteFrom('products').execute()
    await service.sync()
    await expectHits(0)
    await sql`truncate products cascade`.execute(service.db)
    await service.sync()
    await expectHits(0)
    t.notOk((await service.engine.index(service.config.SEARCH_INDEX).getDocuments()).total)
  },
)
