// The commands verify and status of scripts/indexer.ts.
import t from 'tap'
import { verifyIndex } from '../../src/indexing/verify.ts'
import { isAnySessionWaiting } from '../support/database/waiting-sessions.ts'
import { eventually } from '../support/eventually.ts'
import { testService } from '../support/service/test-service.ts'
import { startIndexerProcess } from './run-indexer.ts'

t.test('verify lists missing, stale and extra documents, and --repair repairs them', async (t) => {
  const service = await testService(t)
  const run = (...args: string[]) => startIndexerProcess(t, service, args)
  const index = service.engine.index(service.config.SEARCH_INDEX)
  await service.db
    .insertInto('products')
    .values(['A-1', 'A-2', 'A-3', 'A-4'].map((sku) => ({ sku, name: `Tuerca ${sku}` })))
    .execute()
  await service.sync()
  const [equal, wrongUsage] = await Promise.all([run('verify'), run('status', '--repair')])
  t.equal(await equal.exit, 0, equal.output())
  t.match(equal.output(), 'The index is as the database is now: 4 products.')
  t.equal(await wrongUsage.exit, 2)

  const products = await service.db.selectFrom('products').select('id').orderBy('id').execute()
  const [missing = '', stale = ''] = products.map(({ id }) => id)
  await index.deleteDocument(missing)
  await index.updateDocuments([{ id: stale, name: 'Otra', contentHash: 'other' }])
  await index
    .addDocuments([
      { id: '999999', name: 'Sobra' },
      { id: 'a-hand', name: 'Sobra' },
      { id: '007', name: 'Sobra' },
    ])
    .waitTask()
  const verify = await run('verify')
  t.equal(await verify.exit, 1)
  t.match(verify.output(), `missing: 1: ${missing}`)
  t.match(verify.output(), `stale: 1: ${stale}`)
  t.match(verify.output(), /extra: 3: .*999999/)
  const repair = await run('verify', '--repair')
  t.equal(await repair.exit, 0, repair.output())
  t.match(repair.output(), 'Repaired.')
  const changes = await service.db.selectFrom('index_outbox').select('product_id').execute()
  t.same(changes, [], 'also documents whose id no product can have')
  t.same(await verifyIndex(service.target), { products: 4, missing: [], stale: [], extra: [] })

  await service.pool.query("update products set name = 'Pendiente' where sku = 'A-4'")
  const statusCommand = run('status')
  t.match(await verifyIndex(service.target), { stale: [] }, 'ignores a pending change')
  const status = await statusCommand
  t.equal(await status.exit, 0)
  t.match(status.output(), /^main-v\d+: holds every change up to 20/m)
  t.match(status.output(), /behind {3}\d+(\.\d)? s, 1 change pending/)
  t.match(status.output(), /indexer {2}none running/)
})

t.test('verify says what to do if there is no index', async (t) => {
  const service = await testService(t, { index: false })
  const verify = await startIndexerProcess(t, service, ['verify'])
  t.equal(await verify.exit, 1)
  const { SEARCH_INDEX } = service.config
  t.equal(verify.output(), `The index ${SEARCH_INDEX} does not exist. Build it first.\n`)
})

t.test('SIGINT stops verify between two pages', async (t) => {
  const service = await testService(t)
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Tuerca' }).execute()
  await service.sync()
  const client = await service.pool.connect()
  t.teardown(() => client.release())
  await client.query('begin; lock table products in access exclusive mode')
  const verify = await startIndexerProcess(t, service, ['verify'])
  t.ok(await eventually(() => isAnySessionWaiting(service.db), Boolean))
  verify.child.kill('SIGINT')
  await client.query('commit')
  t.equal(await verify.exit, 130, verify.output())
  t.notMatch(verify.output(), 'The index is as the database is now')
})
