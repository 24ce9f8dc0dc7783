// The index is what it should be: refused documents are parked, drift is found and mended, and wrong contents lead to a rebuild.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { startMeilisearch } from '../../scripts/servers/meilisearch.ts'
import { openPool } from '../../src/database/postgres-pool.ts'
import { syncBatch } from '../../src/indexing/change-sync.ts'
import { indexerKey } from '../../src/indexing/engine-keys.ts'
import { verifyIndex } from '../../src/indexing/index-verification.ts'
import { openEngine } from '../../src/indexing/meilisearch-client.ts'
import { rebuild } from '../../src/indexing/rebuild/rebuild.ts'
import { registerEngine } from '../../src/indexing/register-engine.ts'
import {
  eventually,
  type RunningProgram,
  servers,
  startProgram,
  type TestService,
  testDatabase,
  testService,
} from '../support/test-service.ts'

async function run(
  t: Test,
  { config, roles }: TestService,
  words: string[],
): Promise<RunningProgram> {
  const { meiliMasterKey } = await servers()
  const { MEILI_URL, SEARCH_INDEX } = config
  return startProgram(t, ['scripts/indexer.ts', ...words], {
    INDEXER_DATABASE_URL: roles.indexer,
    MEILI_URL,
    SEARCH_INDEX,
    MEILI_INDEXER_KEY: indexerKey(meiliMasterKey),
  })
}

t.test(
  'a document that the engine refuses is parked with its reason, holds up no other, and is tried again when it changes',
  async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'tqs-engine-'))
    await chmod(directory, 0o755)
    const masterKey = 'the master key of a small one'
    const small = await startMeilisearch({
      directory,
      masterKey,
      flags: ['--http-payload-size-limit', '20kB'],
    })
    t.teardown(async () => {
      await small.stop()
      await rm(directory, { recursive: true, force: true })
    })
    const { db, pool } = await testDatabase(t)
    const engine = openEngine(small.url, masterKey)
    const target = { db, engine, indexName: 'products', engineName: 'main' }
    await registerEngine(db, 'main')
    await rebuild(db, engine, target)
    const sync = async () => {
      while ((await syncBatch(target)) > 0);
    }
    const held = async () => (await engine.index('products').getDocuments({ limit: 100 })).total
    const parked = () =>
      db
        .selectFrom('parked_documents')
        .innerJoin('products', 'id', 'product_id')
        .select(['sku', 'reason'])
        .execute()

    const products = Array.from({ length: 40 }, (_, n) => ({
      sku: `A-${n}`,
      name: `Tuerca ${n}`,
      description: n === 17 ? '漢'.repeat(9_000) : null,
    }))
    await db.insertInto('products').values(products).execute()
    await sync()
    t.equal(await held(), 39, 'the others are there')
    t.match(await parked(), [{ sku: 'A-17', reason: /payload reached the size limit/ }])
    t.same(
      await db.selectFrom('product_changes').selectAll().execute(),
      [],
      'nothing stays pending',
    )

    await pool.query("update products set description = 'corta' where sku = 'A-17'")
    await sync()
    t.equal(await held(), 40)
    t.same(await parked(), [])

    await pool.query(
      "update products set description = repeat('漢', 9000) where sku in ('A-3', 'A-4')",
    )
    await rebuild(db, engine, target)
    await sync()
    t.equal(await held(), 38, 'a rebuild parks them, too')
    t.equal((await parked()).length, 2)
    await pool.query("delete from products where sku = 'A-3'")
    await sync()
    t.match(await parked(), [{ sku: 'A-4' }])
    await sql`truncate products cascade`.execute(db)
  },
)

t.test('verify lists what is missing, stale and extra, and mends it', async (t) => {
  const service = await testService(t)
  const index = service.engine.index(service.config.SEARCH_INDEX)
  await service.db
    .insertInto('products')
    .values(['A-1', 'A-2', 'A-3', 'A-4'].map((sku) => ({ sku, name: `Tuerca ${sku}` })))
    .execute()
  await service.sync()
  const fine = await run(t, service, ['verify'])
  t.equal(await fine.exit, 0, fine.output())
  t.match(fine.output(), 'All 4 products are in the index as they are now.')

  const ids = (await service.db.selectFrom('products').select('id').orderBy('id').execute()).map(
    ({ id }) => id,
  )
  const [missing = '', stale = ''] = ids
  await index.deleteDocument(missing).waitTask()
  await index.updateDocuments([{ id: stale, name: 'Otra', contentHash: 'other' }]).waitTask()
  await index
    .addDocuments([
      { id: '999999', name: 'Sobra' },
      { id: 'a-hand', name: 'Sobra' },
    ])
    .waitTask()
  const drift = await run(t, service, ['verify'])
  t.equal(await drift.exit, 1)
  t.match(drift.output(), `missing: 1: ${missing}`)
  t.match(drift.output(), `stale: 1: ${stale}`)
  t.match(drift.output(), /extra: 2: .*999999/)
  const repair = await run(t, service, ['verify', '--repair'])
  t.equal(await repair.exit, 0, repair.output())
  t.match(repair.output(), 'Repaired.')
  t.same(await verifyIndex(service.target), { products: 4, missing: [], stale: [], extra: [] })

  await service.pool.query("update products set name = 'Pendiente' where sku = 'A-4'")
  t.match(
    await verifyIndex(service.target),
    { stale: [] },
    'what is pending is on its way, not drift',
  )
  const status = await run(t, service, ['status'])
  t.equal(await status.exit, 0)
  t.match(status.output(), /main: holds every change up to 20/)
  t.match(status.output(), /1 changes pending/)
  t.match(status.output(), /indexer {2}none running/)
  const wrong = await run(t, service, ['status', '--repair'])
  t.equal(await wrong.exit, 2)
})

t.test(
  'an index whose contents, settings or making are not as expected is built anew by itself',
  async (t) => {
    const service = await testService(t)
    const { engine, db } = service
    const indexName = service.config.SEARCH_INDEX
    await db
      .insertInto('products')
      .values([
        { sku: 'A-1', name: 'Tuerca' },
        { sku: 'A-2', name: 'Arandela' },
      ])
      .execute()
    await service.sync()
    const builds = async (because: string) => {
      const build = await run(t, service, ['build'])
      t.equal(await build.exit, 0, build.output())
      t.match(build.output(), because)
      t.same(
        await verifyIndex(service.target),
        { products: 2, missing: [], stale: [], extra: [] },
        because,
      )
    }
    await engine.deleteIndex(indexName).waitTask()
    await builds('does not exist')
    await engine.index(indexName).updateRankingRules(['words']).waitTask()
    await builds('settings of the index were changed')
    await db.updateTable('search_engines').set({ shape: 'of an earlier version' }).execute()
    await builds('builds documents differently')
    await db.updateTable('search_engines').set({ last_task: '1000000000' }).execute()
    await builds('restored to an older state')
    await engine.index(indexName).deleteAllDocuments().waitTask()
    await builds('number of documents differs')
    const again = await run(t, service, ['build'])
    t.equal(await again.exit, 0)
    t.notMatch(again.output(), 'Building', 'and left alone when it is')
  },
)

t.test(
  'a rebuild loses no change that is made meanwhile and delays none, whoever asks for it',
  async (t) => {
    const service = await testService(t)
    const { db, pool } = service
    await sql`insert into products (sku, name) select 'S-' || n, 'Pieza ' || n from generate_series(1, 6000) n`.execute(
      db,
    )
    await service.sync()
    const following = await run(t, service, [])
    await eventually(
      async () => following.output(),
      (output) => output.includes('Following'),
    )
    // One that begins before the build and commits in the midst of it, changing what the build has read by then.
    const late = openPool(service.url, { connections: 1 })
    const client = await late.connect()
    await client.query('begin')
    await client.query("update products set name = 'Rezagado' where sku = 'S-1'")

    const rebuilding = await run(t, service, ['rebuild'])
    let isOver = false
    void rebuilding.exit.then(() => {
      isOver = true
    })
    let changes = 0
    let slowestMs = 0
    const index = service.engine.index(service.config.SEARCH_INDEX)
    while (!isOver) {
      const name = `Cambiada ${++changes}`
      const { rows } = await pool.query<{ id: string }>(
        'update products set name = $1 where sku = $2 returning id',
        [name, `S-${changes * 7}`],
      )
      if (changes % 5 === 0)
        await pool.query('delete from products where sku = $1', [`S-${changes * 7 + 1}`])
      const startedAt = Date.now()
      const found = await eventually(
        () =>
          index.getDocument<{ name: string }>(rows[0]?.id ?? '').then(
            (document) => document.name,
            () => '',
          ),
        (found) => found === name,
      )
      if (found !== name) t.equal(found, name)
      slowestMs = Math.max(slowestMs, Date.now() - startedAt)
      if (changes === 3) await client.query('commit')
    }
    client.release()
    await late.end()
    t.equal(await rebuilding.exit, 0, rebuilding.output())
    t.match(following.output(), 'A rebuild was requested.', 'the indexer at work did it')
    t.match(
      rebuilding.output(),
      /^Requested a rebuild\.\nAnother indexer is running\. .+\nThe rebuild is complete\.$/m,
      'it says so',
    )
    t.ok(changes > 3, `${changes} changes went in meanwhile`)
    t.ok(slowestMs < 5_000, `the slowest was there after ${slowestMs} ms`)
    const { missing, stale, extra } = await verifyIndex(service.target)
    t.same({ missing, stale, extra }, { missing: [], stale: [], extra: [] })
    t.same(
      (await service.engine.getIndexes({ limit: 1000 })).results.filter(
        ({ uid }) => uid === `${service.config.SEARCH_INDEX}_next`,
      ),
      [],
    )
  },
)

t.test(
  'the first build waits for transactions that began before the engine was known',
  async (t) => {
    const { db, pool, url } = await testDatabase(t)
    const late = openPool(url, { connections: 1 })
    const client = await late.connect()
    await client.query('begin isolation level repeatable read')
    await client.query("insert into products (sku, name) values ('L-1', 'Temprano')")
    let isRegistered = false
    let waited = 0
    const registering = registerEngine(db, 'main', () => waited++).then(() => {
      isRegistered = true
    })
    await eventually(
      async () => waited,
      (times) => times > 0,
    )
    t.notOk(isRegistered)
    t.same(
      (await pool.query('select name from search_engines')).rows,
      [{ name: 'main' }],
      'from now on changes are kept',
    )
    await client.query('commit')
    await registering
    client.release()
    await late.end()
    t.equal(waited, 1)
  },
)

t.test('an empty catalogue is searched in the index, too, emptied ones and new ones', async (t) => {
  const service = await testService(t)
  // What was remembered of the index before may be said for a moment.
  const finds = async (count: number) => {
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
  await finds(0)
  await service.db.insertInto('products').values({ sku: 'HX-101', name: 'Hacha' }).execute()
  await service.sync()
  await finds(1)
  await service.db.deleteFrom('products').execute()
  await service.sync()
  await finds(0)
  await sql`truncate products cascade`.execute(service.db)
  await service.sync()
  await finds(0)
  t.notOk((await service.engine.index(service.config.SEARCH_INDEX).getDocuments()).total)
})
