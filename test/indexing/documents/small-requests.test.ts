// An engine that accepts only small requests: documents that it rejects are parked and do not delay
// the others, and what else it rejects is logged with the setting to change.
import { sql } from 'kysely'
import t from 'tap'
import { registerIndex } from '../../../src/indexing/registration.ts'
import { applySynonyms } from '../../../src/indexing/synonyms.ts'
import {
  leaseTarget,
  rebuildIndex,
  rebuildTarget,
  syncIndex,
} from '../../support/database/leased-target.ts'
import { hasColumn, reactToResults } from '../../support/database/result-reaction.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { startOwnEngine } from '../../support/servers/own-engine.ts'

const flags = ['--http-payload-size-limit', '26kB']
// Its client fails if a request is never answered, as on a connection that it has stopped reading.
const { client } = await startOwnEngine(t, 'the master key of a small one', flags)
const { db, pool } = await testDatabase(t)
await registerIndex(db, 'main')
const target = { db, client, indexName: 'products', registrationName: 'main' }
const index = client.index('products')
const lines: string[] = []
const log = (line: string) => void lines.push(line)
const countDocuments = async () => (await index.getStats()).numberOfDocuments
const tooLong = '漢'.repeat(9_900)

const readParked = () =>
  db
    .selectFrom('index_parked_documents')
    .innerJoin('products', 'id', 'product_id')
    .select(['sku', 'reason'])
    .orderBy('sku')
    .execute()

t.beforeEach(async () => {
  lines.length = 0
  await sql`delete from products`.execute(db)
  await rebuildIndex(target)
})

t.test('a rejected document is parked with its reason until its product changes', async (t) => {
  const products = Array.from({ length: 40 }, (_, n) => ({
    sku: `A-${n}`,
    name: `Tuerca ${n}`,
    description: n === 17 ? tooLong : null,
  }))
  await db.insertInto('products').values(products).execute()
  await syncIndex(target, log)
  t.equal(await countDocuments(), 39, 'all others are in the index')
  t.match(await readParked(), [{ sku: 'A-17', reason: /payload reached the size limit/ }])
  t.same(await db.selectFrom('index_outbox').selectAll().execute(), [], 'nothing stays pending')
  const [reason] = lines
  t.match(reason, /^Parked 1 document that .* product \d+\. `scripts\/indexer\.ts status` says why/)

  await pool.query("update products set description = 'corta' where sku = 'A-17'")
  await syncIndex(target, log)
  t.equal(await countDocuments(), 40)
  t.same(await readParked(), [])

  await db
    .updateTable('products')
    .set({ description: tooLong })
    .where('sku', 'in', ['A-3', 'A-4'])
    .execute()
  await rebuildIndex(target, { log })
  t.match(lines.at(-1), /^Parked 2 documents/, 'a rebuild parks them too')
  t.equal(await countDocuments(), 38)
  await pool.query("delete from products where sku = 'A-3'")
  await syncIndex(target)
  t.match(await readParked(), [{ sku: 'A-4' }])
})

t.test('deletions that are too large for one request are sent in several', async (t) => {
  await sql`
    insert into products (id, sku, name)
    overriding system value
    select 1000000000000 + n, 'A-' || n, 'Tuerca ' || n from generate_series(1, 2000) n
  `.execute(db)
  await rebuildIndex(target)
  t.equal(await countDocuments(), 2_000)
  await sql`delete from products where sku <> 'A-1'`.execute(db)
  await syncIndex(target)
  t.equal(await countDocuments(), 1)
})

t.test('an indexer that has lost its lease parks no document of its rebuild', async (t) => {
  await db
    .insertInto('products')
    .values({ sku: 'A-1', name: 'Tuerca', description: tooLong })
    .execute()
  const leased = await leaseTarget(target)
  // Another indexer takes over while the catalogue is being read.
  const takeOver = reactToResults(t, hasColumn('hs_code'), async () => {
    await db.updateTable('index_leases').set({ holder: 'another indexer' }).execute()
  })
  await t.rejects(rebuildTarget({ ...leased, db: db.withPlugin(takeOver) }), /has taken over/)
  t.same(await readParked(), [])
  const queued = await db.selectFrom('index_outbox').select('product_id').execute()
  t.ok(queued.length > 0, 'its product is queued again')
})

t.test('synonyms that are too large are logged, and do not stop anything else', async (t) => {
  const tooLarge =
    /rejects the synonyms: .*larger than allowed.* Raise MEILI_HTTP_PAYLOAD_SIZE_LIMIT/
  const leased = await leaseTarget(target)
  const apply = () => applySynonyms(leased, log)
  await sql`insert into search_synonyms values ('zorgon', '{tuerca}')`.execute(db)
  await apply()
  t.same(lines, [])
  t.match((await index.getSynonyms()).zorgon, ['tuerca'])

  // As large as the tables allow, in letters of three bytes.
  await sql`
    insert into search_synonyms (word, synonyms, two_way)
    select '詞' || n,
      array(select repeat('漢', 40) || n || '字' || m from generate_series(1, 4) m), false
    from generate_series(1, 900) n
  `.execute(db)
  const readVersion = () =>
    db
      .selectFrom('search_indexes')
      .select(['synonyms_version as words', 'version'])
      .executeTakeFirstOrThrow()
  for (let attempt = 0; attempt < 4; attempt++) {
    await apply()
    // The engine would not answer on the connection of the synonyms.
    await client.getVersion()
  }
  t.equal(lines.length, 4)
  for (const line of lines) t.match(line, tooLarge)
  t.match((await index.getSynonyms()).zorgon, ['tuerca'], 'the engine keeps its synonyms')
  const before = await readVersion()
  await apply()
  t.same(await readVersion(), before, 'cached answers stay valid')

  lines.length = 0
  await db.insertInto('products').values({ sku: 'A-1', name: 'Tuerca' }).execute()
  await rebuildTarget(leased, { log })
  t.match(lines, [tooLarge])
  t.equal(await countDocuments(), 1, 'a new index is built without them')

  await sql`delete from search_synonyms where word <> 'zorgon'`.execute(db)
  await apply()
  t.equal(lines.length, 1)
  t.match((await index.getSynonyms()).zorgon, ['tuerca'])
})
