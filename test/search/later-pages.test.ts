// Later pages of many hits: they continue the same list, and the engine does not return all
// hits before them again.
import t from 'tap'
import { planHitGroups } from '../../src/search/hits/plan-hit-groups.ts'
import type { SearchResponse } from '../../src/search/schema.ts'
import { parseQuery } from '../../src/text/parse-query.ts'
import { eventually } from '../support/eventually.ts'
import { lengthenSearchTimeouts } from '../support/service/longer-timeouts.ts'
import { testService } from '../support/service/test-service.ts'

lengthenSearchTimeouts(t)

const plan = (text: string, offset: number) =>
  planHitGroups(
    { text, query: parseQuery(text), offset, limit: 50, facets: [] },
    'products',
  ).groups.map(({ kind, query }) => [kind, query.offset, query.limit])

t.test('only some hits before the page are requested again', async (t) => {
  t.same(plan('arandela', 0), [
    ['exact-sku', 0, 200],
    ['words', 0, 50],
  ])
  t.same(plan('arandela', 1_000), [
    ['exact-sku', 0, 1_050],
    ['words', 800, 250],
  ])
  t.same(plan('', 1_000), [['words', 1_000, 50]])
  t.same(plan('*', 0), [['exact-sku', 0, 200]])
})

t.test('partial codes and names with ñ are requested from their beginning', async (t) => {
  t.same(
    plan('caña', 300).map(([, offset]) => offset),
    [0, 0, 0],
  )
})

t.test('no product is missing or repeated after many SKUs with the same key', async (t) => {
  const { app, db, sync } = await testService(t, { config: { SEARCH_CACHE_MB: 0 } })
  // Digits of other scripts are not in the key, so these SKUs have the key of "Z".
  const toArabic = (n: number) =>
    String(n).replace(/\d/g, (digit) => '٠١٢٣٤٥٦٧٨٩'.charAt(Number(digit)))
  const withSameKey = Array.from({ length: 212 }, (_, n) => `Z-${toArabic(1_000 + n)}`)
  const withWord = Array.from({ length: 200 }, (_, n) => `A-${n}`)
  const skus = [...withSameKey, ...withWord]
  await db
    .insertInto('products')
    .values(skus.map((sku) => ({ sku, name: 'Z' })))
    .execute()
  await sync()
  const readPage = (offset: number) =>
    eventually(
      async () =>
        (await app.inject(`/api/search?q=Z&limit=50&offset=${offset}`)).json<SearchResponse>(),
      ({ meta }) => meta.source === 'index' && !meta.degraded,
    )
  const found: string[] = []
  for (let offset = 0; offset < skus.length; offset += 50) {
    const { hits, total } = await readPage(offset)
    t.equal(total, skus.length)
    found.push(...hits.map(({ sku }) => sku))
  }
  t.same(found.slice(0, withSameKey.length).toSorted(), withSameKey.toSorted())
  t.same(found.toSorted(), skus.toSorted())
})
