// A stop of the indexer: nothing is deleted afterwards, and the lease is released only if no
// request to the search engine may still be running.
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { indexExists } from '../../src/indexing/engine.ts'
import { reactToResults } from '../support/database/result-reaction.ts'
import { isAnySessionWaiting } from '../support/database/waiting-sessions.ts'
import { eventually } from '../support/eventually.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { type TestService, testService } from '../support/service/test-service.ts'
import { type RunningIndexer, startIndexer, waitForOutput } from './run-indexer.ts'

const readLease = ({ db, target }: TestService) =>
  db
    .selectFrom('index_leases')
    .selectAll()
    .where('registration_name', '=', target.registrationName)
    .executeTakeFirstOrThrow()

/** Returns whether the indexer has stopped within this time. It is being stopped afterwards. */
async function stopsWithin(indexer: RunningIndexer, ms: number): Promise<boolean> {
  const stopped = indexer.stop()
  await Promise.race([stopped, sleep(ms)])
  return !indexer.isRunning()
}

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

/** Makes every count of popularity wait. Returns a function that ends this. */
async function holdCounts(t: Test, { pool }: TestService): Promise<() => Promise<unknown>> {
  const lock = await pool.connect()
  t.teardown(() => lock.release())
  await lock.query('begin; lock table quotes in access exclusive mode')
  return () => lock.query('rollback')
}

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
