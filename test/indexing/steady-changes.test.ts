// While changes arrive all the time, the indexer also does what it does when no change is pending.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { addQuote } from '../support/database/add-quote.ts'
import { eventually } from '../support/eventually.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { type TestService, testService } from '../support/service/test-service.ts'
import { startIndexer, startIndexerProcess, waitForOutput } from './run-indexer.ts'

/** Adds a product, and lets another change be pending after each batch of changes. */
async function changeSteadily({ db, pool }: TestService): Promise<void> {
  await pool.query(`
    create function add_change() returns trigger language plpgsql as $$
    begin
      insert into index_outbox (registration_name, product_id)
      select registration_name, product_id from deleted limit 1;
      return null;
    end $$;
    create trigger add_change after delete on index_outbox
    referencing old table as deleted for each statement execute function add_change()
  `)
  await db.insertInto('products').values({ sku: 'S-1', name: 'Siempre' }).execute()
}

t.test('every job runs', async (t) => {
  const service = await testService(t)
  await service.db.insertInto('products').values({ sku: 'AB-1', name: 'Martillo' }).execute()
  await addQuote(service.db, 'Q-1')
  await changeSteadily(service)
  const proxy = await startFaultyProxy(t, service.config.MEILI_URL)
  const indexer = await startIndexer(t, service, { meiliUrl: proxy.url })
  await waitForOutput(indexer, 'Following changes.')
  const { SEARCH_INDEX } = service.config
  t.match(proxy.getSentText(), `GET /indexes/${SEARCH_INDEX}/stats`, 'documents are counted')
  const popularity = await eventually(
    () => service.db.selectFrom('product_popularity').selectAll().execute(),
    (rows) => rows.length > 0,
  )
  t.equal(popularity.length, 1)
  const isRemovalRecorded = async () => indexer.state.jobs.get('old_indexes') === true
  t.ok(await eventually(isRemovalRecorded, Boolean), 'old indexes are removed')
})

/** With 60 s for each test above, all tests can fail before the time limit of the file. */
const longestCommandMs = 40_000

for (const command of ['build', 'rebuild'])
  t.test(`the command ${command} ends`, async (t) => {
    const service = await testService(t)
    await changeSteadily(service)
    await service.db.insertInto('products').values({ sku: 'AB-1', name: 'Martillo' }).execute()
    const program = await startIndexerProcess(t, service, [command])
    const status = await Promise.race([
      program.exit,
      sleep(longestCommandMs, 'still running', { ref: false }),
    ])
    t.equal(status, 0, program.output())
    const { results } = await service.engine
      .index(service.config.SEARCH_INDEX)
      .getDocuments<{ name: string }>({ limit: 10 })
    t.ok(results.some(({ name }) => name === 'Martillo'))
  })
