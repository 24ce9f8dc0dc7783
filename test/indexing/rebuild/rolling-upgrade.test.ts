// During a rolling upgrade each of two releases has an index. The older one is removed when no
// program uses it any more.
import { sql } from 'kysely'
import t from 'tap'
import { openIndexingClient } from '../../../src/indexing/engine/indexing-client.ts'
import { replaceRunKeys } from '../../../src/indexing/engine/run-keys.ts'
import { type IndexAddress, nextIndexName } from '../../../src/indexing/index-address.ts'
import { unusedCheckInterval } from '../../../src/indexing/indexer-run.ts'
import { removeUnusedIndexes } from '../../../src/indexing/jobs/unused-indexes.ts'
import {
  acquireLease,
  readLeaseHolder,
  releaseLease,
} from '../../../src/indexing/lease/indexer-lease.ts'
import { registerIndex } from '../../../src/indexing/register-and-wait.ts'
import { nameWithoutShape, nameWithShape } from '../../../src/search-engine/shape-suffix.ts'
import { rebuildIndex, syncIndex } from '../../support/database/leased-target.ts'
import { servers } from '../../support/database/test-database.ts'
import { isAnySessionWaiting } from '../../support/database/waiting-sessions.ts'
import { eventually } from '../../support/eventually.ts'
import { replaceUntilEnd } from '../../support/replace-until-end.ts'
import { startFaultyProxy } from '../../support/servers/faulty-proxy.ts'
import { type TestService, testService } from '../../support/service/test-service.ts'
import { expectIndexedNames } from '../documents/product-names.ts'
import { startIndexer, waitForOutput } from '../run-indexer.ts'

const otherShape = '00000000'

t.test('the older index is kept up to date while it is used, and then removed', async (t) => {
  const service = await testService(t)
  const { db, engine, config, target } = service
  const { meiliMasterKey } = await servers()
  const older: IndexAddress = {
    ...target,
    indexName: nameWithShape(nameWithoutShape(config.SEARCH_INDEX), otherShape),
    registrationName: nameWithShape('main', otherShape),
  }
  t.not(older.indexName, target.indexName)
  await registerIndex(db, older.registrationName)
  await rebuildIndex(older)
  t.teardown(() => engine.deleteIndexIfExists(older.indexName))
  // Left by an indexer of that release that was killed during a rebuild.
  await engine.createIndex(nextIndexName(older.indexName)).waitTask()
  const keys = await createKeys(older)
  await registerIndex(db, 'another')

  await db.insertInto('products').values({ sku: 'A-1', name: 'Martillo' }).execute()
  await syncIndex(older)
  t.equal((await engine.index(older.indexName).getDocuments()).total, 1)
  const lines: string[] = []
  const remove = () =>
    removeUnusedIndexes(db, target.registrationName, {
      openClient: (key) => openIndexingClient(config.MEILI_URL, key),
      indexerApiKey: meiliMasterKey,
      signal: new AbortController().signal,
      log: (line) => lines.push(line),
    })
  const registered = async () =>
    (await db.selectFrom('search_indexes').select('registration_name as name').execute())
      .map(({ name }) => name)
      .sort()
  await remove()
  t.same(
    await registered(),
    ['another', target.registrationName, older.registrationName].sort(),
    'it is used',
  )

  await sql`update search_indexes set used_at = now() - interval '1 hour'`.execute(db)
  // The API of this test records its own use again.
  const ownUse = await eventually(
    async () =>
      (
        await sql<{ isRecent: boolean }>`
          select used_at > now() - interval '1 minute' as "isRecent" from search_indexes
          where registration_name = ${target.registrationName}
        `.execute(db)
      ).rows[0]?.isRecent,
    Boolean,
    40_000,
  )
  t.ok(ownUse)
  await remove()
  t.same(await registered(), ['another', target.registrationName].sort(), 'other engines stay')
  await t.rejects(engine.getRawIndex(older.indexName), /not found/)
  await t.rejects(engine.getRawIndex(nextIndexName(older.indexName)), /not found/)
  for (const key of Object.values(keys)) await t.rejects(engine.getKey(key), /not found/)
  t.equal((await engine.index(target.indexName).getDocuments()).total, 0)
  const { rows } = await sql`
    select from index_outbox where registration_name = ${older.registrationName}
  `.execute(db)
  t.equal(rows.length, 0)
  t.match(lines.join('\n'), older.indexName)
})

/** Creates the keys of an indexer of this index, and releases its lease. */
async function createKeys({ db, client, registrationName, indexName }: IndexAddress) {
  const lease = await acquireLease(db, registrationName, 'an older release')
  if (!lease) throw new Error('The lease is held.')
  await releaseLease(db, lease)
  return replaceRunKeys({ keyClient: client, registrationName, indexName }, lease)
}

t.test('a first build that never ended is removed, even if another index cannot be', async (t) => {
  const { db, engine, config, target } = await testService(t, { index: false })
  const { meiliMasterKey } = await servers()
  const names = ['00000000', '11111111'].map((shape) => ({
    ...target,
    indexName: nameWithShape(nameWithoutShape(config.SEARCH_INDEX), shape),
    registrationName: nameWithShape('main', shape),
  }))
  for (const address of names) {
    await registerIndex(db, address.registrationName)
    await createKeys(address)
    await engine.createIndex(nextIndexName(address.indexName)).waitTask()
    t.teardown(() => engine.deleteIndexIfExists(nextIndexName(address.indexName)))
  }
  await sql`update search_indexes set used_at = now() - interval '1 hour'`.execute(db)
  const [failing, other] = names
  const proxy = await startFaultyProxy(t, config.MEILI_URL)
  proxy.cut = { text: `temporary key for ${failing?.indexName}`, times: 1 }
  const remove = () =>
    removeUnusedIndexes(db, target.registrationName, {
      openClient: (key) => openIndexingClient(proxy.url, key),
      indexerApiKey: meiliMasterKey,
      signal: new AbortController().signal,
      log: () => undefined,
    })
  const readNames = async () =>
    (await db.selectFrom('search_indexes').select('registration_name').execute()).map(
      (row) => row.registration_name,
    )
  await t.rejects(remove())
  t.same(await readNames(), [failing?.registrationName], 'it is removed later')
  await t.rejects(engine.getRawIndex(nextIndexName(other?.indexName ?? '')), /not found/)
  await remove()
  t.same(await readNames(), [])
  await t.rejects(engine.getRawIndex(nextIndexName(failing?.indexName ?? '')), /not found/)
  const { results } = await engine.getKeys({ limit: 1_000 })
  for (const { indexName } of names)
    t.notOk(results.some(({ name }) => name?.endsWith(`, ${indexName}`)))
})

t.test('an index stays registered if a program begins to use it while it is removed', async (t) => {
  const { db, pool, config, target } = await testService(t)
  const { meiliMasterKey } = await servers()
  const older = nameWithShape('main', otherShape)
  const programs = {
    API: `update search_indexes set used_at = now() where registration_name = '${older}'`,
    'first indexer': `insert into index_leases (registration_name, fencing_token, held_until)
      values ('${older}', 1, now() + interval '1 minute')`,
    indexer: `update index_leases set held_until = now() + interval '1 minute'
      where registration_name = '${older}'`,
  }
  for (const [program, statement] of Object.entries(programs)) {
    await registerIndex(db, older)
    await sql`
      update search_indexes set used_at = now() - interval '1 hour'
      where registration_name = ${older}
    `.execute(db)
    if (program === 'first indexer') await sql`delete from index_leases`.execute(db)
    else await sql`update index_leases set held_until = null`.execute(db)
    const client = await pool.connect()
    await client.query(`begin; ${statement}`)
    const removed = removeUnusedIndexes(db, target.registrationName, {
      openClient: (key) => openIndexingClient(config.MEILI_URL, key),
      indexerApiKey: meiliMasterKey,
      signal: new AbortController().signal,
      log: (line) => t.fail(line),
    })
    t.ok(await eventually(() => isAnySessionWaiting(db), Boolean))
    await client.query('commit')
    client.release()
    await removed
    const found = await db
      .selectFrom('search_indexes')
      .select('used_at')
      .where('registration_name', '=', older)
      .execute()
    t.equal(found.length, 1, program)
  }
})

t.test('a removal that fails is logged once and does not disturb the indexer', async (t) => {
  replaceUntilEnd(t, unusedCheckInterval, { ms: 200 })
  const service = await testService(t)
  const { config } = service
  const olderIndex = nameWithShape(nameWithoutShape(config.SEARCH_INDEX), otherShape)
  const proxy = await startFaultyProxy(t, config.MEILI_URL)
  proxy.cut = { text: `temporary key for ${olderIndex}`, times: 3 }
  const indexer = await startIndexer(t, service, { meiliUrl: proxy.url })
  await waitForOutput(indexer, 'Following changes.')
  await registerUnusedIndex(service, olderIndex)
  const output = await waitForOutput(indexer, 'Unused indexes are removed again.')
  t.equal(proxy.cut.times, 0)
  t.notMatch(output, 'Trying again', 'it does not start over')
  t.equal(output.match(/The indexes of other releases stay\./g)?.length, 1, 'logged once')
  t.match(output, 'Removed the index')
  t.match(indexer.state.jobs.get('unused_indexes'), { failures: 3, isFailing: false })
})

t.test(
  'while the engine removes an unused index, no change and no transaction waits',
  async (t) => {
    replaceUntilEnd(t, unusedCheckInterval, { ms: 200 })
    const service = await testService(t)
    const { db, config } = service
    const olderIndex = nameWithShape(nameWithoutShape(config.SEARCH_INDEX), otherShape)
    const proxy = await startFaultyProxy(t, config.MEILI_URL)
    const keyRequest = `temporary key for ${olderIndex}`
    proxy.slowText = keyRequest
    proxy.slowMs = 600_000
    const indexer = await startIndexer(t, service, { meiliUrl: proxy.url })
    await waitForOutput(indexer, 'Following changes.')
    await registerUnusedIndex(service, olderIndex)
    t.ok(await eventually(async () => proxy.getSentText().includes(keyRequest), Boolean))
    const countOpenTransactions = async () => {
      const { rows } = await sql`
      select from pg_stat_activity
      where datname = current_database() and state = 'idle in transaction'
    `.execute(db)
      return rows.length
    }
    t.equal(await eventually(countOpenTransactions, (count) => count === 0), 0)
    await db.insertInto('products').values({ sku: 'A-1', name: 'Martillo' }).execute()
    await expectIndexedNames(t, service, ['Martillo'])
    t.equal(
      (await readLeaseHolder(db, nameWithShape('main', otherShape)))?.includes('process'),
      true,
    )
    // Ends the removal, which otherwise lasts as long as the request.
    proxy.refuseConnections()
    await waitForOutput(indexer, 'The indexes of other releases stay.')
  },
)

/** Registers an index of another release, which no program has used for an hour. */
async function registerUnusedIndex({ db, config }: TestService, indexName: string): Promise<void> {
  await registerIndex(db, nameWithShape('main', otherShape))
  await sql`
    update search_indexes set used_at = now() - interval '1 hour', index_name = ${indexName}
    where registration_name <> ${config.SEARCH_ENGINE}
  `.execute(db)
}
