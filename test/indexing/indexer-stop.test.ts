// A stop of the indexer: nothing is deleted afterwards, and the lease is released only if no
// request to the search engine may still be running.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { indexExists } from '../../src/indexing/engine/engine-tasks.ts'
import { openIndexingClient } from '../../src/indexing/engine/indexing-client.ts'
import { nextIndexName } from '../../src/indexing/index-address.ts'
import { keyReplacementPause } from '../../src/indexing/indexer.ts'
import { removeUnusedIndexes } from '../../src/indexing/jobs/unused-indexes.ts'
import { acquireLease } from '../../src/indexing/lease/indexer-lease.ts'
import { registerIndex } from '../../src/indexing/register-and-wait.ts'
import { nameWithoutShape, nameWithShape } from '../../src/search-engine/shape-suffix.ts'
import { reactToResults } from '../support/database/result-reaction.ts'
import { servers } from '../support/database/test-database.ts'
import { isAnySessionWaiting } from '../support/database/waiting-sessions.ts'
import { eventually } from '../support/eventually.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { type TestService, testService } from '../support/service/test-service.ts'
import { type RunningIndexer, startIndexer, waitForOutput } from './run-indexer.ts'

const readLease = ({ db, target }: TestService) =>
  db
    .selectFrom('index_leases')
    .selectAll()
    .where('registration_name', '=', target.registrationName)
    .executeTakeFirstOrThrow()

/** Gives the lease to an indexer that has died, so that the next one pauses after its new keys. */
async function leaveLease({ db, target }: TestService): Promise<void> {
  await acquireLease(db, target.registrationName, 'an indexer that has died')
  await db
    .updateTable('index_leases')
    .set({ held_until: sql<Date>`clock_timestamp() - interval '1 second'` })
    .where('registration_name', '=', target.registrationName)
    .execute()
}

/** Waits until the indexer of this service has created its two keys. */
async function waitForKeys({ engine, target }: TestService): Promise<void> {
  const countKeys = async () => {
    const { results } = await engine.getKeys({ limit: 1_000 })
    const name = `indexer of ${target.registrationName}, ${target.indexName}`
    return results.filter((key) => key.name === name).length
  }
  await eventually(countKeys, (count) => count === 2)
}

/** Returns whether the indexer has stopped within this time. It is being stopped afterwards. */
async function stopsWithin(indexer: RunningIndexer, ms: number): Promise<boolean> {
  const stopped = indexer.stop()
  await Promise.race([stopped, sleep(ms)])
  return !indexer.isRunning()
}

t.test('a stop while the requests of a dead indexer may be running deletes nothing', async (t) => {
  const pauseMs = 3_000
  replaceUntilEnd(t, keyReplacementPause, { ms: pauseMs })
  const service = await testService(t)
  const { client, indexName } = service.target
  // After a truncation the live index is deleted before it is built anew.
  await service.pool.query('truncate products cascade')
  await client.createIndex(nextIndexName(indexName), { primaryKey: 'id' }).waitTask()
  t.teardown(() => client.deleteIndexIfExists(nextIndexName(indexName)))
  await leaveLease(service)
  const startedMs = performance.now()
  const indexer = await startIndexer(t, service)
  await waitForKeys(service)
  await indexer.stop()
  t.ok(await indexExists(client, nextIndexName(indexName)), 'the next index is left')
  t.ok(await indexExists(client, indexName), 'the live index is left')
  t.equal(indexer.output(), '')
  t.match(await readLease(service), { holder: null }, 'the lease is released')
  // A timer may fire a millisecond early.
  t.ok(performance.now() - startedMs >= pauseMs - 1, 'the next indexer need not pause')
})

t.test('a stop right before a rebuild leaves the live index', async (t) => {
  const service = await testService(t)
  const { client, indexName } = service.target
  await service.pool.query('truncate products cascade')
  const checked = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  // The log line with the reason of the rebuild arrives when the indexer is being stopped.
  const plugin = reactToResults(
    t,
    (rows) => rows.some((row) => row.hasPendingTruncation === true),
    async () => {
      checked.resolve()
      await gate.promise
    },
  )
  const indexer = await startIndexer(t, service, { plugin })
  await checked.promise
  const stopped = indexer.stop()
  gate.resolve()
  await stopped
  t.ok(await indexExists(client, indexName))
  t.notMatch(indexer.output(), 'Building the index')
  t.match(await readLease(service), { holder: null })
})

t.test('a stop ends the wait for transactions that began before the registration', async (t) => {
  const service = await testService(t)
  const late = await service.pool.connect()
  await late.query('begin isolation level repeatable read')
  await late.query("insert into products (sku, name) values ('L-1', 'Temprano')")
  const indexer = await startIndexer(t, service, { registrationName: 'another' })
  await waitForOutput(indexer, 'Waiting for transactions')
  t.ok(await stopsWithin(indexer, 5_000))
  await late.query('rollback')
  late.release()
})

t.test('a stop after an error does not release the lease', async (t) => {
  const service = await testService(t)
  const proxy = await startFaultyProxy(t, service.config.MEILI_URL)
  const indexer = await startIndexer(t, service, { meiliUrl: proxy.url })
  await waitForOutput(indexer, 'Following changes.')
  proxy.slowText = 'GET /tasks/'
  proxy.slowMs = 30_000
  const sentBefore = proxy.getSentText().length
  const isWaitingForTask = async () => proxy.getSentText().slice(sentBefore).includes('GET /tasks/')
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Tuerca' }).execute()
  t.ok(await eventually(isWaitingForTask, Boolean))
  const stopped = indexer.stop()
  proxy.refuseConnections()
  await stopped
  t.not((await readLease(service)).holder, null, 'a request may still be running')
  t.match(indexer.output(), /has failed: .*The indexer stops\./, 'the error is logged')
})

t.test('a stop ends the removal of unused indexes before the next deletion', async (t) => {
  const { db, engine, config, target } = await testService(t, { index: false })
  const { meiliMasterKey } = await servers()
  const nextNames: string[] = []
  for (const shape of ['00000000', '11111111']) {
    const name = nameWithShape('main', shape)
    const indexName = nameWithShape(nameWithoutShape(config.SEARCH_INDEX), shape)
    await registerIndex(db, name)
    await sql`
      update search_indexes set used_at = now() - interval '1 hour', index_name = ${indexName}
      where registration_name = ${name}
    `.execute(db)
    const nextName = nextIndexName(indexName)
    await engine.createIndex(nextName).waitTask()
    t.teardown(() => engine.deleteIndexIfExists(nextName))
    nextNames.push(nextName)
  }
  const controller = new AbortController()
  await removeUnusedIndexes(db, target.registrationName, {
    openClient: (key) => {
      // The client of the first deletion.
      if (key !== meiliMasterKey) controller.abort()
      return openIndexingClient(config.MEILI_URL, key)
    },
    indexerApiKey: meiliMasterKey,
    log: (line) => t.fail(line),
    signal: controller.signal,
  })
  t.ok(controller.signal.aborted)
  for (const nextName of nextNames) t.ok(await indexExists(engine, nextName))
  const registered = await db.selectFrom('search_indexes').select('registration_name').execute()
  t.equal(registered.length, 2, 'the next indexer removes them')
})

/** Makes every count of popularity wait. Returns a function that ends this. */
async function holdCounts(t: Test, { pool }: TestService): Promise<() => Promise<unknown>> {
  const lock = await pool.connect()
  t.teardown(() => lock.release())
  await lock.query('begin; lock table quotes in access exclusive mode')
  return () => lock.query('rollback')
}

t.test('an indexer starts over while popularity is being counted', async (t) => {
  const service = await testService(t)
  const proxy = await startFaultyProxy(t, service.config.MEILI_URL)
  const endCounts = await holdCounts(t, service)
  const indexer = await startIndexer(t, service, { meiliUrl: proxy.url })
  t.ok(await eventually(() => isAnySessionWaiting(service.db), Boolean))
  await waitForOutput(indexer, 'Following changes.')
  proxy.cut = { text: 'POST /indexes/', times: 1 }
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Tuerca' }).execute()
  await waitForOutput(indexer, /Trying again\..*The indexer works again\./s)
  t.ok(indexer.state.holdsLease)
  t.ok(await isAnySessionWaiting(service.db), 'the count has not ended')
  await endCounts()
})

t.test('a stop releases the lease while popularity is being counted', async (t) => {
  const service = await testService(t)
  const endCounts = await holdCounts(t, service)
  const indexer = await startIndexer(t, service)
  t.ok(await eventually(() => isAnySessionWaiting(service.db), Boolean))
  const stopped = indexer.stop()
  const { holder } = await eventually(
    () => readLease(service),
    (lease) => lease.holder === null,
  )
  t.equal(holder, null, 'another indexer may start')
  t.notOk(indexer.state.holdsLease)
  t.ok(indexer.isRunning(), 'the count still uses the database')
  await endCounts()
  await stopped
})
