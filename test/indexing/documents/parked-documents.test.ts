// Documents that the engine rejects are parked and do not delay the others.
import t from 'tap'
import { LeaseLost } from '../../../src/indexing/lease.ts'
import { registerIndex } from '../../../src/indexing/registration.ts'
import {
  leaseTarget,
  rebuildIndex,
  rebuildTarget,
  syncIndex,
} from '../../support/database/leased-target.ts'
import { hasColumn, reactToResults } from '../../support/database/result-reaction.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { startOwnEngine } from '../../support/servers/own-engine.ts'

t.test('a rejected document is parked with its reason until its product changes', async (t) => {
  const flags = ['--http-payload-size-limit', '26kB']
  const { client } = await startOwnEngine(t, 'the master key of a small one', flags)
  const { db, pool } = await testDatabase(t)
  const target = { db, client, indexName: 'products', registrationName: 'main' }
  await registerIndex(db, 'main')
  await rebuildIndex(target)
  const lines: string[] = []
  const log = (line: string) => void lines.push(line)
  const sync = () => syncIndex(target, log)
  const countDocuments = async () =>
    (await client.index('products').getDocuments({ limit: 100 })).total
  const readParked = () =>
    db
      .selectFrom('index_parked_documents')
      .innerJoin('products', 'id', 'product_id')
      .select(['sku', 'reason'])
      .execute()

  const products = Array.from({ length: 40 }, (_, n) => ({
    sku: `A-${n}`,
    name: `Tuerca ${n}`,
    description: n === 17 ? '漢'.repeat(9_900) : null,
  }))
  await db.insertInto('products').values(products).execute()
  await sync()
  t.equal(await countDocuments(), 39, 'all others are in the index')
  t.match(await readParked(), [{ sku: 'A-17', reason: /payload reached the size limit/ }])
  t.same(await db.selectFrom('index_outbox').selectAll().execute(), [], 'nothing stays pending')
  const { id } = await db
    .selectFrom('products')
    .select('id')
    .where('sku', '=', 'A-17')
    .executeTakeFirstOrThrow()
  const reference = `The first is product ${id}. \`scripts/indexer.ts status\` says why.`
  const parkedOne = `Parked 1 document that the search engine rejected. ${reference}`
  t.same(lines, [parkedOne], 'the log says so')

  await pool.query("update products set description = 'corta' where sku = 'A-17'")
  await sync()
  t.equal(await countDocuments(), 40)
  t.same(await readParked(), [])

  await pool.query(
    "update products set description = repeat('漢', 9900) where sku in ('A-3', 'A-4')",
  )
  await rebuildIndex(target, { log })
  t.match(lines.at(-1), /^Parked 2 documents/)
  await sync()
  t.equal(await countDocuments(), 38, 'a rebuild parks them too')
  t.equal((await readParked()).length, 2)
  await pool.query("delete from products where sku = 'A-3'")
  await sync()
  t.match(await readParked(), [{ sku: 'A-4' }])
})

t.test('an indexer that has lost its lease parks no document of its rebuild', async (t) => {
  const flags = ['--http-payload-size-limit', '26kB']
  const { client } = await startOwnEngine(t, 'the master key of a small one', flags)
  const { db } = await testDatabase(t)
  const target = { db, client, indexName: 'products', registrationName: 'main' }
  await registerIndex(db, 'main')
  const product = { sku: 'A-1', name: 'Tuerca', description: '漢'.repeat(9_900) }
  await db.insertInto('products').values(product).execute()
  const leased = await leaseTarget(target)
  // Another indexer takes over while the catalogue is being read.
  const takeOver = reactToResults(t, hasColumn('hs_code'), async () => {
    await db.updateTable('index_leases').set({ holder: 'another indexer' }).execute()
  })
  const outcome = rebuildTarget({ ...leased, db: db.withPlugin(takeOver) })
  t.ok((await outcome.catch((thrown: unknown) => thrown)) instanceof LeaseLost)
  t.same(await db.selectFrom('index_parked_documents').selectAll().execute(), [])
  const queued = await db.selectFrom('index_outbox').select('product_id').execute()
  t.ok(queued.length > 0, 'what it has sent is queued again')
})
