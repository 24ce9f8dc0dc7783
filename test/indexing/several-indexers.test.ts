// Several indexers for one engine, one for each of several engines, and the loss of a lease.
import { sql } from 'kysely'
import { Meilisearch } from 'meilisearch'
import t from 'tap'
import { deriveIndexerKey, ensurePermanentKeys } from '../../src/indexing/keys.ts'
import { acquireLease, LeaseLost, releaseLease } from '../../src/indexing/lease.ts'
import { queueLateWrites } from '../../src/indexing/outbox.ts'
import { nameWithoutVersion } from '../../src/search-engine/index-name.ts'
import { applyNextBatch } from '../support/database/leased-target.ts'
import { servers } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { measureUntilBelow } from '../support/measure-until.ts'
import { startOwnEngine } from '../support/servers/own-engine.ts'
import { testService } from '../support/service/test-service.ts'
import { expectIndexedNames, readIndexedNames } from './documents/product-names.ts'
import { startIndexer, startIndexerProcess, waitForOutput } from './run-indexer.ts'

await t.test('another indexer takes over within 10 s when the running one is killed', async (t) => {
  const service = await testService(t)
  let attempts = 0
  const measureTakeover = async () => {
    attempts += 1
    await service.db.deleteFrom('products').execute()
    const first = await startIndexerProcess(t, service)
    await waitForOutput(first, 'Following changes.')
    const second = await startIndexerProcess(t, service)
    await waitForOutput(second, `process ${first.child.pid}, `)
    await waitForOutput(second, 'Standing by.')
    first.child.kill('SIGKILL')
    const killedAt = Date.now()
    await service.db
      .insertInto('products')
      .values({ sku: 'A-1', name: `Alicate ${attempts}` })
      .execute()
    await expectIndexedNames(t, service, [`Alicate ${attempts}`])
    const ms = Date.now() - killedAt
    second.child.kill('SIGTERM')
    t.equal(await second.exit, 0)
    return ms
  }
  const ms = await measureUntilBelow(10_000, measureTakeover, 40_000)
  t.ok(ms < 10_000, `within 10 s: ${ms} ms`)
  const third = await startIndexer(t, service)
  t.notMatch(
    await waitForOutput(third, 'Following changes.'),
    'Standing by',
    'an indexer that is stopped releases its lease',
  )
})

// The test above measures a time and runs alone. The others mostly wait for a lease to expire.
t.jobs = 3

t.test('an indexer that was paused before its write leaves no outdated document', async (t) => {
  const service = await testService(t)
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Antes' }).execute()
  const first = await startIndexerProcess(t, service)
  await expectIndexedNames(t, service, ['Antes'])
  const second = await startIndexer(t, service)
  await waitForOutput(second, 'Standing by.')

  // The first indexer reads the outbox row, and then waits for this lock to read the product.
  const lock = await service.pool.connect()
  await lock.query('begin')
  await lock.query('lock table product_popularity in access exclusive mode')
  await service.pool.query("update products set name = 'Viejo' where sku = 'A-1'")
  const waitingQueries = await eventually(
    async () =>
      (
        await service.pool.query(`
          select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'
            and query like '%from "products"%'`)
      ).rowCount,
    (count) => count === 1,
  )
  t.equal(waitingQueries, 1)
  first.child.kill('SIGSTOP')
  await lock.query('commit') // PostgreSQL now answers the paused process with the outdated name.
  lock.release()

  await service.pool.query("update products set name = 'Nuevo' where sku = 'A-1'")
  await expectIndexedNames(t, service, ['Nuevo'])
  first.child.kill('SIGCONT')
  await waitForOutput(first, 'taken over')
  const { count } = await eventually(
    () =>
      service.db
        .selectFrom('index_outbox')
        .select(sql<number>`count(*)::int`.as('count'))
        .executeTakeFirstOrThrow(),
    ({ count }) => count === 0,
  )
  t.equal(count, 0)
  t.same(await readIndexedNames(service), ['Nuevo'])
})

t.test('if the lease is lost during an upload, its products are queued again', async (t) => {
  const service = await testService(t)
  const { db, target } = service
  await db.insertInto('products').values({ sku: 'A-1', name: 'Viejo' }).execute()
  // Holds back every request of the slow indexer.
  const [sent, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const httpClient = async (input: string | URL | Request, init?: RequestInit) => {
    sent.resolve()
    await gate.promise
    return (await (await fetch(input, init)).json()) as unknown
  }
  const { meiliMasterKey: apiKey } = await servers()
  const options = { host: service.config.MEILI_URL, apiKey, httpClient: httpClient as never }
  const acquire = async (holder: string) => {
    const lease = await acquireLease(db, target.registrationName, holder)
    if (!lease) throw new Error('The lease is held.')
    return { ...target, lease }
  }
  const slow = await acquire('the slow one')
  const outcome = applyNextBatch({ ...slow, client: new Meilisearch(options) }).catch(
    (error: unknown) => error,
  )
  await sent.promise
  t.equal(await acquireLease(db, target.registrationName, 'another'), null, 'the lease is held')
  await sql`update index_leases set held_until = now() - interval '1 s'`.execute(db)
  const next = await acquire('another')
  await service.pool.query("update products set name = 'Nuevo' where sku = 'A-1'")
  while ((await applyNextBatch(next)) > 0);
  t.same(await readIndexedNames(service), ['Nuevo'])
  gate.resolve()
  t.ok((await outcome) instanceof LeaseLost)
  t.same(await readIndexedNames(service), ['Viejo'], 'the late request was applied')
  await queueLateWrites(db, slow.lease)
  while ((await applyNextBatch(next)) > 0);
  t.same(await readIndexedNames(service), ['Nuevo'])
  await releaseLease(db, next.lease)
  t.match(await acquire('a third'), { lease: { holder: 'a third' } })
})

t.test('each of two engines has an indexer, which waits for missing keys', async (t) => {
  const masterKey = 'the master key of the second'
  const { url, client } = await startOwnEngine(t, masterKey)
  const service = await testService(t)
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Alicate' }).execute()
  await startIndexer(t, service)
  const second = await startIndexerProcess(t, service, [], {
    MEILI_URL: url,
    MEILI_INDEXER_KEY: deriveIndexerKey(masterKey),
    SEARCH_ENGINE: 'second',
  })
  const command = '`docker compose run --rm migrate`'
  const unknownKey = new RegExp(
    `MEILI_INDEXER_KEY\\. scripts/migrate\\.ts .+ \\(${command}\\)\\. .+\\. Trying again\\.`,
  )
  await waitForOutput(second, unknownKey)
  await ensurePermanentKeys(client)
  await waitForOutput(second, 'Following changes.')
  const onSecond = { ...service, engine: client }
  await expectIndexedNames(t, onSecond, ['Alicate'])
  await expectIndexedNames(t, service, ['Alicate'])
  await service.db.insertInto('products').values({ sku: 'A-2', name: 'Broca' }).execute()
  await service.db.deleteFrom('products').where('sku', '=', 'A-1').execute()
  await expectIndexedNames(t, onSecond, ['Broca'])
  await expectIndexedNames(t, service, ['Broca'])
  const engines = await service.db
    .selectFrom('search_indexes')
    .select('registration_name as name')
    .orderBy('registration_name')
    .execute()
  t.same(
    engines.map(({ name }) => nameWithoutVersion(name)),
    ['main', 'second'],
  )
})
