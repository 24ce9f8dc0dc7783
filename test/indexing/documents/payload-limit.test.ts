// An engine that accepts only small requests: the index is built and kept up to date nevertheless,
// and what the engine rejects is logged with the setting to change.
import { sql } from 'kysely'
import t from 'tap'
import { registerIndex } from '../../../src/indexing/registration.ts'
import { applySynonyms } from '../../../src/indexing/synonyms.ts'
import { applyNextBatch, leaseTarget, rebuildTarget } from '../../support/database/leased-target.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { startOwnEngine } from '../../support/servers/own-engine.ts'

const flags = ['--http-payload-size-limit', '50kB']
// Its client fails if a request is never answered, as on a connection that it has stopped reading.
const { client } = await startOwnEngine(t, 'the master key of a small one', flags)
const { db } = await testDatabase(t)
await registerIndex(db, 'main')
const target = await leaseTarget({ db, client, indexName: 'products', registrationName: 'main' })
const index = client.index('products')
const countDocuments = async () => (await index.getStats()).numberOfDocuments
const sync = async () => {
  while ((await applyNextBatch(target)) > 0);
}
const tooLarge = /rejects the synonyms: .*larger than allowed.* Raise MEILI_HTTP_PAYLOAD_SIZE_LIMIT/

t.test('deletions that are too large for one request are sent in several', async (t) => {
  await sql`
    insert into products (id, sku, name)
    overriding system value
    select 1000000000000 + n, 'A-' || n, 'Tuerca ' || n from generate_series(1, 4000) n
  `.execute(db)
  await rebuildTarget(target)
  await sync()
  t.equal(await countDocuments(), 4_000)
  await sql`delete from products where sku <> 'A-1'`.execute(db)
  await sync()
  t.equal(await countDocuments(), 1)
})

t.test('synonyms that are too large are logged, and do not stop anything else', async (t) => {
  await db
    .insertInto('search_synonyms')
    .values({ word: 'zorgon', synonyms: ['tuerca'] })
    .execute()
  const lines: string[] = []
  const log = (line: string) => lines.push(line)
  await applySynonyms(target, log)
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
    await applySynonyms(target, log)
    // The engine would not answer on the connection of the synonyms.
    await client.getVersion()
  }
  t.equal(lines.length, 4)
  for (const line of lines) t.match(line, tooLarge)
  t.match((await index.getSynonyms()).zorgon, ['tuerca'], 'the engine keeps its synonyms')
  const before = await readVersion()
  await applySynonyms(target, log)
  t.same(await readVersion(), before, 'cached answers stay valid')

  lines.length = 0
  await rebuildTarget(target, { log })
  t.match(lines, [tooLarge])
  t.equal(await countDocuments(), 1, 'a new index is built without them')

  await sql`delete from search_synonyms where word <> 'zorgon'`.execute(db)
  await applySynonyms(target, log)
  t.equal(lines.length, 1)
  t.match((await index.getSynonyms()).zorgon, ['tuerca'])
})
