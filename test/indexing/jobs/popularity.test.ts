// A count of popularity that exceeds its timeout or fails: popularity stays as it was, changes of
// products still reach the index, and the log says so once.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createPopularityJob, popularityTimeout } from '../../../src/indexing/jobs/popularity.ts'
import { addQuote } from '../../support/database/add-quote.ts'
import { isAnySessionWaiting } from '../../support/database/waiting-sessions.ts'
import { eventually } from '../../support/eventually.ts'
import { replaceUntilEnd } from '../../support/replace-until-end.ts'
import { startFaultyProxy } from '../../support/servers/faulty-proxy.ts'
import { testService } from '../../support/service/test-service.ts'
import { startIndexer } from '../run-indexer.ts'

t.test('a count that exceeds its timeout changes nothing', async (t) => {
  replaceUntilEnd(t, popularityTimeout, { ms: 500 })
  const service = await testService(t)
  const { db, engine, config } = service
  await db.insertInto('products').values({ sku: 'AB-1', name: 'Martillo' }).execute()
  await addQuote(db, 'P-1')
  const lines: string[] = []
  const log = (line: string) => lines.push(line)
  const popularity = createPopularityJob(db, { log, onResult: () => undefined })
  const readCounts = () => db.selectFrom('product_popularity').select('times_quoted').execute()
  await popularity.start()
  t.same(await readCounts(), [{ times_quoted: 1 }])

  await addQuote(db, 'P-2')
  const lock = await service.pool.connect()
  await lock.query('begin')
  await lock.query('lock table quotes in access exclusive mode')
  await popularity.start()
  const counting = popularity.start()
  await db.updateTable('products').set({ name: 'Martillo nuevo' }).execute()
  await service.sync()
  const { results } = await engine.index(config.SEARCH_INDEX).getDocuments<{ name: string }>()
  t.same(
    results.map(({ name }) => name),
    ['Martillo nuevo'],
  )
  await counting
  t.same(lines, [
    'Counting popularity failed: canceling statement due to statement timeout. ' +
      'Popularity stays as it was.',
  ])
  t.same(await readCounts(), [{ times_quoted: 1 }])
  await lock.query('commit')
  lock.release()
  await popularity.start()
  t.same(lines.slice(1), ['Popularity is updated again.'])
  t.same(await readCounts(), [{ times_quoted: 2 }])
})

t.test('a count that is already running is awaited, not skipped', async (t) => {
  const service = await testService(t, { index: false })
  const lock = await service.pool.connect()
  await lock.query('begin; lock table quotes in access exclusive mode')
  const results: boolean[] = []
  const popularity = createPopularityJob(service.db, {
    log: (line) => t.fail(line),
    onResult: (succeeded) => results.push(succeeded),
  })
  const inBackground = popularity.start()
  t.ok(await eventually(() => isAnySessionWaiting(service.db), Boolean))
  let hasEnded = false
  const beforeBuild = popularity.start().then(() => {
    hasEnded = true
  })
  await sleep(200)
  t.notOk(hasEnded, 'the count has not ended')
  t.same(results, [])
  await lock.query('commit')
  lock.release()
  await Promise.all([inBackground, beforeBuild, popularity.waitUntilIdle()])
  t.same(results, [true], 'one count')
})

t.test('an indexer that starts over logs the same failure of the count once', async (t) => {
  const service = await testService(t)
  const proxy = await startFaultyProxy(t, service.config.MEILI_URL)
  await service.pool.query('alter table quotes rename to hidden_quotes')
  const indexer = await startIndexer(t, service, { meiliUrl: proxy.url })
  const waitForFailures = (count: number) =>
    eventually(
      async () => indexer.state.jobs.get('popularity')?.failures ?? 0,
      (failures) => failures >= count,
    )
  t.equal(await waitForFailures(1), 1)
  proxy.cut = { text: 'POST /indexes', times: 1 }
  await service.db.insertInto('products').values({ sku: 'A-1', name: 'Tuerca' }).execute()
  t.equal(await waitForFailures(2), 2, 'each run counts when it starts')
  t.match(indexer.output(), 'Trying again.')
  t.equal(indexer.output().match(/Popularity stays as it was/g)?.length, 1)
})
