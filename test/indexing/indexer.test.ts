// The indexer applies every change of the catalogue to the index and reports errors once.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import { openPool } from '../../src/database/postgres-pool.ts'
import { readIndexLags } from '../../src/indexing/status.ts'
import { eventually } from '../support/eventually.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { testService } from '../support/service/test-service.ts'
import { expectFoundNames, expectIndexedNames, findNames } from './documents/product-names.ts'
import { startIndexer, startIndexerProcess, waitForOutput } from './run-indexer.ts'

// These tests mostly wait for an indexer.
t.jobs = 3

t.test('follows every change that plain SQL commits, and none that is rolled back', async (t) => {
  const service = await testService(t)
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Zanahoria' }).execute()
  const indexer = await startIndexerProcess(t, service)
  await expectFoundNames(t, service, 'zanahoria', ['Zanahoria'])

  const run = (statement: string) => service.pool.query(statement)
  await run("update products set name = 'Berenjena' where sku = 'A-1'")
  await expectFoundNames(t, service, 'berenjena', ['Berenjena'])
  await expectFoundNames(t, service, 'zanahoria', [])
  await run("insert into products (sku, name) values ('A-2', 'Calabaza'), ('A-3', 'Pepino')")
  await expectFoundNames(t, service, 'calabaza', ['Calabaza'])

  const client = await service.pool.connect()
  await client.query('begin')
  await client.query("update products set name = 'Fantasma' where sku = 'A-2'")
  await client.query('rollback')
  client.release()
  await run("update products set active = false where sku = 'A-3'")
  await expectFoundNames(t, service, 'pepino', [])
  t.same(await findNames(service, 'fantasma'), [])
  t.same(await findNames(service, 'calabaza'), ['Calabaza'])

  await run("update products set active = true where sku = 'A-3'")
  await expectFoundNames(t, service, 'pepino', ['Pepino'])
  await run("delete from products where sku = 'A-2'")
  await expectFoundNames(t, service, 'calabaza', [])
  await run('truncate products cascade')
  await expectFoundNames(t, service, 'berenjena', [])

  const { count } = await eventually(
    () =>
      service.db
        .selectFrom('index_outbox')
        .select(sql<number>`count(*)::int`.as('count'))
        .executeTakeFirstOrThrow(),
    ({ count }) => count === 0,
  )
  t.equal(count, 0, 'nothing stays pending')
  indexer.child.kill('SIGTERM')
  t.equal(await indexer.exit, 0, 'stops with exit status 0')
})

t.test('the lag of a change after an idle hour does not include that hour', async (t) => {
  const service = await testService(t)
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Zanahoria' }).execute()
  const indexer = await startIndexer(t, service)
  // At first, the indexer may have recorded its first count of popularity instead.
  for (let time = 1; time <= 3; time++) {
    await service.pool.query("update search_indexes set indexed_at = now() - interval '1 hour'")
    const recorded = await eventually(
      async () =>
        (
          await service.pool.query(
            "select from search_indexes where indexed_at > now() - interval '1 minute'",
          )
        ).rowCount,
      (count) => count === 1,
    )
    t.equal(recorded, 1)
  }
  await indexer.stop()
  await service.pool.query("update products set name = 'Berenjena'")
  const [{ pendingCount, lagSeconds } = {}] = await readIndexLags(service.db, [
    service.config.SEARCH_ENGINE,
  ])
  t.equal(pendingCount, 1)
  t.ok(Number(lagSeconds) >= 0 && Number(lagSeconds) < 100, `${lagSeconds} s`)
})

t.test('applies a transaction that commits after a thousand newer rows', async (t) => {
  const service = await testService(t)
  await startIndexer(t, service)
  const latePool = openPool(service.url, { connections: 1, connectionTimeoutMs: 60_000 })
  const late = await latePool.connect()
  await late.query('begin')
  await late.query("insert into products (sku, name) values ('L-1', 'Rezagado')")
  for (let n = 0; n < 1_000; n += 100) {
    const values = Array.from({ length: 100 }, (_, index) => ({
      sku: `S-${n + index}`,
      name: `Seguidor ${n + index}`,
    }))
    await service.db.insertInto('products').values(values).execute()
  }
  await expectFoundNames(t, service, '"seguidor 999"', ['Seguidor 999'])
  await late.query('commit')
  late.release()
  await latePool.end()
  await expectFoundNames(t, service, 'rezagado', ['Rezagado'])
})

t.test('names the program that creates its key if the engine does not know it', async (t) => {
  const service = await testService(t, { index: false })
  const indexer = await startIndexer(t, service, { indexerApiKey: 'a key that nobody created' })
  await waitForOutput(indexer, 'Trying again')
  t.match(indexer.output(), /the key in MEILI_INDEXER_KEY\. scripts\/migrate\.ts creates the keys/)
  t.ok(indexer.isRunning(), 'it keeps trying')
})

t.test('registers the index again if its registration is deleted', async (t) => {
  const service = await testService(t)
  const indexer = await startIndexer(t, service)
  await waitForOutput(indexer, 'Following changes.')
  await service.db.deleteFrom('search_indexes').execute()
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Martillo' }).execute()
  const output = await waitForOutput(indexer, /Building the index.*The indexer works again/s)
  t.match(output, 'The registration of the index was deleted from search_indexes. Trying again.')
  t.notMatch(output, 'Another indexer')
  t.equal(output.match(/It is not known what the index contains/g)?.length, 1, 'once')
  await expectIndexedNames(t, service, ['Martillo'])
})

t.test('reports an unreachable engine in one line, without the query or the key', async (t) => {
  const service = await testService(t, { index: false })
  await sql`
    insert into products (sku, name) select 'S-' || n, 'Pieza' from generate_series(1, 1000) n
  `.execute(service.db)
  const port = await chooseFixedPort()
  const meiliUrl = `http://127.0.0.1:${port}`
  const indexerApiKey = 'a key that nobody created'
  const reason = `has failed: connect ECONNREFUSED 127.0.0.1:${port}`
  const env = { MEILI_URL: meiliUrl, MEILI_INDEXER_KEY: indexerApiKey }
  const verify = await startIndexerProcess(t, service, ['verify'], env)
  const indexer = await startIndexer(t, service, { meiliUrl, indexerApiKey })
  t.equal(await verify.exit, 1)
  t.equal(
    verify.output(),
    `Request to ${meiliUrl}/indexes/${service.config.SEARCH_INDEX} ${reason}\n`,
  )
  const countAttempts = async () => indexer.state.errors.get('engine_unreachable') ?? 0
  t.ok((await eventually(countAttempts, (count) => count >= 4)) >= 4)
  t.equal(indexer.output().match(/Trying again/g)?.length, 1, 'logged once for all attempts')
  const start = `Indexing failed \\(engine_unreachable\\): Request to ${meiliUrl}/tasks`
  t.match(indexer.output(), new RegExp(`^${start}\\S* ${reason}\\. Trying again\\.$`, 'm'))
  t.notMatch(indexer.output(), indexerApiKey)
})

t.test('a stop ends the process even if the engine has broken a connection before', async (t) => {
  const service = await testService(t)
  await service.db.insertInto('products').values({ sku: 'AB-1', name: 'Martillo' }).execute()
  const proxy = await startFaultyProxy(t, service.config.MEILI_URL)
  proxy.cut = { text: 'GET /tasks/', times: 1 }
  const indexer = await startIndexerProcess(t, service, [], { MEILI_URL: proxy.url })
  await waitForOutput(indexer, /Trying again.*Following changes/s)
  t.equal(proxy.cut.times, 0, 'it was waiting for a task')
  indexer.child.kill('SIGTERM')
  const status = await Promise.race([indexer.exit, sleep(60_000, 'still running', { ref: false })])
  t.equal(status, 0, indexer.output())
})

t.test(
  'a check that fails again and again is logged once while no change is pending',
  async (t) => {
    const service = await testService(t)
    const proxy = await startFaultyProxy(t, service.config.MEILI_URL)
    proxy.cut = { text: `GET /indexes/${service.config.SEARCH_INDEX}/stats`, times: 6 }
    const indexer = await startIndexer(t, service, { meiliUrl: proxy.url })
    t.equal(
      await eventually(
        async () => proxy.cut.times,
        (times) => times === 0,
      ),
      0,
    )
    const output = await waitForOutput(indexer, 'Following changes.')
    t.equal(output.match(/Trying again\./g)?.length, 1, output)
  },
)

t.test('a build that fails again and again is announced once', async (t) => {
  const service = await testService(t, { index: false })
  const proxy = await startFaultyProxy(t, service.config.MEILI_URL)
  proxy.cut = { text: 'POST /indexes HTTP', times: 6 }
  const indexer = await startIndexer(t, service, { meiliUrl: proxy.url })
  const output = await waitForOutput(indexer, 'The index contains 0 products.')
  t.equal(proxy.cut.times, 0)
  t.equal(output.match(/Trying again\./g)?.length, 1, output)
  t.equal(output.match(/Building the index\./g)?.length, 1, output)
})
