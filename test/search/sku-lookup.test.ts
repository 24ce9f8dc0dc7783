// GET /api/search?sku=…: exact products in the order of the request, without a search engine.
import t from 'tap'
import { createMetrics } from '../../src/monitoring/process-metrics.ts'
import type { SearchResponse } from '../../src/search/schema.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { readMetric } from '../support/service/read-metric.ts'
import { testService } from '../support/service/test-service.ts'

lengthenTimeouts(t)

const metrics = createMetrics()
const service = await testService(t, { index: false, metrics })
const { app, db } = service

await db
  .insertInto('products')
  .values([
    { sku: 'AB-1', name: 'Martillo', price: '12.5', currency: 'EUR', hs_code: '820520' },
    { sku: 'ab-1', name: 'Otro' },
    { sku: 'Ñ/2 +%', name: 'Caña' },
    { sku: 'GONE', name: 'Descatalogado', active: false },
  ])
  .execute()

const lookUp = (...skus: string[]) =>
  app.inject(`/api/search?${skus.map((sku) => `sku=${encodeURIComponent(sku)}`).join('&')}`)

t.test('returns the product of each SKU in that order, and null for the others', async (t) => {
  const response = await lookUp('Ñ/2 +%', 'none', 'AB-1', 'GONE', 'AB-1', 'AB1', 'ab-1')
  t.equal(response.statusCode, 200)
  const { bySku, hits, total, meta } = response.json<SearchResponse>()
  t.same(
    bySku?.map((product) => product?.name ?? null),
    ['Caña', null, 'Martillo', null, 'Martillo', null, 'Otro'],
  )
  t.match(bySku?.[2], {
    sku: 'AB-1',
    price: { amount: '12.50', currency: 'EUR' },
    hsCode: '820520',
    brand: null,
    highlights: {},
  })
  t.same(hits, [])
  t.equal(total, 3)
  t.match(meta, { source: 'database', degraded: false })
  t.same((await lookUp('AB-1')).json<SearchResponse>().bySku?.length, 1)
})

t.test('counts as a response of PostgreSQL that is not degraded', async (t) => {
  const labels = { source: 'database' }
  const counted = await readMetric(metrics, 'tqs_search_answers_total', labels)
  await lookUp('AB-1')
  t.equal(await readMetric(metrics, 'tqs_search_answers_total', labels), counted + 1)
  t.equal(await readMetric(metrics, 'tqs_degraded_answers_total', { route: '/api/search' }), 0)
})

t.test('a committed change is in the next response', async (t) => {
  await db.updateTable('products').set({ name: 'Maza' }).where('sku', '=', 'AB-1').execute()
  t.equal((await lookUp('AB-1')).json<SearchResponse>().bySku?.[0]?.name, 'Maza')
})

t.test('names the invalid parameter', async (t) => {
  const hundred = Array.from({ length: 100 }, (_, index) => `S-${index}`)
  t.equal((await lookUp(...hundred)).json<SearchResponse>().bySku?.length, 100)
  const cases: [query: string, parameter: string, detail: RegExp][] = [
    ['sku=', 'sku', /must have 1 to 100 characters/],
    [`sku=${'x'.repeat(101)}`, 'sku', /must have 1 to 100 characters/],
    ['sku=A%00', 'sku', /NUL/],
    ['sku=%FF', 'sku', /UTF-8/],
    ['sku=A&q=hammer', 'q', /cannot be combined with sku/],
    ['sku=A&limit=5', 'limit', /cannot be combined with sku/],
    [`${'sku=A&'.repeat(101)}sku=B`, 'sku', /must occur 1 to 100 times/],
  ]
  for (const [query, parameter, detail] of cases)
    t.match(
      (await app.inject(`/api/search?${query}`)).json(),
      { status: 400, code: 'invalid_parameter', errors: [{ parameter, detail }] },
      query.slice(0, 20),
    )
})

t.test('returns 503 with Retry-After if PostgreSQL does not answer', async (t) => {
  const proxy = await startFaultyProxy(t, service.roles.api)
  const ownMetrics = createMetrics()
  const options = { index: false, database: service, apiUrl: proxy.url, metrics: ownMetrics }
  const { app } = await testService(t, options)
  proxy.refuseConnections()
  const response = await app.inject('/api/search?sku=AB-1')
  t.match(response.json(), { status: 503, code: 'unavailable' })
  t.ok(Number(response.headers['retry-after']) > 0)
  const labels = { source: 'unavailable' }
  t.equal(await readMetric(ownMetrics, 'tqs_search_answers_total', labels), 1)
})

t.test('returns 500 if PostgreSQL rejects the statement', async (t) => {
  const countResponses = (source: string) =>
    readMetric(metrics, 'tqs_search_answers_total', { source })
  await db.schema.alterTable('products').renameTo('products_renamed').execute()
  const response = await lookUp('AB-1')
  t.equal(await countResponses('failed'), 1)
  t.equal(await countResponses('unavailable'), 0)
  t.match(response.json(), { status: 500, code: 'internal_error' })
  t.notMatch(response.body, /products/)
  await db.schema.alterTable('products_renamed').renameTo('products').execute()
})
