// Words of the company in several processes: every API process and a restarted one follow, cached
// responses are discarded, an upgrade of the built-in words applies, and a rebuild keeps them.
// Slow: it starts several processes.
import { sql } from 'kysely'
import t from 'tap'
import { uploadSize } from '../../src/indexing/apply.ts'
import { nextIndexName, requestRebuild } from '../../src/indexing/registration.ts'
import { createMetrics } from '../../src/monitoring/process-metrics.ts'
import { serviceWithProducts, waitForUpload } from '../indexing/rebuild/rebuild-test-helpers.ts'
import { startIndexer, waitForOutput } from '../indexing/run-indexer.ts'
import { eventually } from '../support/eventually.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { withLongerTimeouts } from '../support/service/longer-timeouts.ts'
import { readMetric } from '../support/service/read-metric.ts'
import { startApi, testService } from '../support/service/test-service.ts'

const service = await testService(t)
const { db, target, engine } = service
await db
  .insertInto('products')
  .values([
    { sku: 'A-1', name: 'Bomba de agua' },
    { sku: 'B-1', name: 'Impulsor verde' },
  ])
  .execute()
const indexer = await startIndexer(t, service)
const apis = [
  await startApi(t, service, withLongerTimeouts),
  await startApi(t, service, withLongerTimeouts),
]

async function skusFrom(url: string, q: string): Promise<string[]> {
  const response = await fetch(`${url}/api/search?q=${encodeURIComponent(q)}`)
  const { hits } = (await response.json()) as { hits: { sku: string }[] }
  return hits.map(({ sku }) => sku)
}

const waitUntilFound = (url: string, q: string, skus: string[]) =>
  eventually(
    () => skusFrom(url, q),
    (found) => String(found) === String(skus),
  )

t.test('each process follows changes, although it has cached the response', async (t) => {
  for (const { url } of apis) t.same(await waitUntilFound(url, 'bomba', ['A-1']), ['A-1'], 'before')
  // Cached by now.
  for (const { url } of apis) for (let n = 0; n < 5; n++) await skusFrom(url, 'bomba')
  await db
    .insertInto('search_synonyms')
    .values({ word: 'bomba', synonyms: ['impulsor'] })
    .execute()
  for (const { url } of apis)
    t.same(await waitUntilFound(url, 'bomba', ['A-1', 'B-1']), ['A-1', 'B-1'], 'synonym')
  await db
    .insertInto('search_pins')
    .values({ query: 'bomba', skus: ['B-1'] })
    .execute()
  for (const { url } of apis)
    t.same(await waitUntilFound(url, 'bomba', ['B-1', 'A-1']), ['B-1', 'A-1'], 'pin')
})

t.test('a process that starts later knows the words', async (t) => {
  const { url } = await startApi(t, service, withLongerTimeouts)
  t.same(await waitUntilFound(url, 'bomba', ['B-1', 'A-1']), ['B-1', 'A-1'])
})

t.test('a rebuild keeps the words', async (t) => {
  await requestRebuild(db, target.registrationName)
  await waitForOutput(indexer, 'A rebuild was requested.')
  await waitForOutput(indexer, 'The index contains 2 products.')
  const [{ url } = { url: '' }] = apis
  t.same(await waitUntilFound(url, 'bomba', ['B-1', 'A-1']), ['B-1', 'A-1'])
  t.match(await engine.index(target.indexName).getSynonyms(), { bomba: ['impulsor'] })
})

t.test('a release with other built-in words sets them again, without a rebuild', async (t) => {
  // What another release has recorded.
  await sql`
    update search_indexes set synonyms_version = replace(synonyms_version, ' ', ' x')
  `.execute(db)
  await engine
    .index(target.indexName)
    .updateSynonyms({ old: ['words'] })
    .waitTask()
  const synonyms = await eventually(
    () => engine.index(target.indexName).getSynonyms(),
    (synonyms) => !('old' in synonyms),
  )
  t.match(synonyms, { bomba: ['impulsor'], hammer: ['martillo'] })
  t.equal(indexer.output().match(/Building the index/g)?.length, 1, 'only the requested rebuild')
})

t.test('synonyms apply while a rebuild is running', async (t) => {
  replaceUntilEnd(t, uploadSize, { documents: 500 })
  const large = await serviceWithProducts(t, 6_000)
  await requestRebuild(large.db, large.target.registrationName)
  await startIndexer(t, large)
  await waitForUpload(large, nextIndexName(large.target.indexName))
  await large.db
    .insertInto('search_synonyms')
    .values({ word: 'quillab', synonyms: ['pieza'] })
    .execute()
  const live = large.engine.index(large.target.indexName)
  const { isRebuilding } = await eventually(
    async () => {
      const synonyms = await live.getSynonyms()
      const row = await large.db
        .selectFrom('search_indexes')
        .select('rebuild_requested_at')
        .executeTakeFirstOrThrow()
      return { synonyms, isRebuilding: row.rebuild_requested_at !== null }
    },
    ({ synonyms }) => 'quillab' in synonyms,
  )
  t.ok(isRebuilding, 'before the rebuild ends')
  await eventually(
    () => large.db.selectFrom('search_indexes').select('rebuild_requested_at').execute(),
    ([row]) => row?.rebuild_requested_at === null,
    60_000,
  )
  const synonyms = await eventually(
    () => live.getSynonyms(),
    (synonyms) => 'quillab' in synonyms,
  )
  t.match(synonyms, { quillab: ['pieza'] }, 'and after it')
})

t.test('a cached response is discarded for a pin, also while no indexer runs', async (t) => {
  const metrics = createMetrics()
  const own = await testService(t, { metrics })
  await own.db
    .insertInto('products')
    .values([
      { sku: 'A-1', name: 'Bomba' },
      { sku: 'B-1', name: 'Bomba verde' },
    ])
    .execute()
  await own.sync()
  const skus = async () => {
    const { hits } = (await own.app.inject('/api/search?q=bomba')).json()
    return hits.map(({ sku }: { sku: string }) => sku).join()
  }
  await eventually(skus, (found) => found === 'A-1,B-1')
  await eventually(
    async () => {
      await skus()
      return readMetric(metrics, 'tqs_search_answers_total', { source: 'cache' })
    },
    (answersFromCache) => answersFromCache > 1,
  )
  await own.db
    .insertInto('search_pins')
    .values({ query: 'bomba', skus: ['B-1'] })
    .execute()
  t.equal(await eventually(skus, (found) => found === 'B-1,A-1'), 'B-1,A-1')
})
