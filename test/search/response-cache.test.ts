// The cache of search results: their keys, and for which versions of an index it has them.
import t from 'tap'
import { toSearchRequest } from '../../src/search/query-parameters.ts'
import { ResponseCache, toCacheKey } from '../../src/search/response-cache.ts'
import type { SearchRequest } from '../../src/search/schema.ts'

const result = { json: '{"hits":[]}', meta: {}, hasHits: false }
type Entry = [engine: string, version: string | null, key: string]

const cases: [claim: string, bytes: number, cached: Entry[], found: Entry[], missing: Entry[]][] = [
  [
    'a result is cached for one version of one index',
    10_000,
    [['main', '1', 'martillo']],
    [['main', '1', 'martillo']],
    [
      ['main', '2', 'martillo'],
      ['main', null, 'martillo'],
      ['other', '1', 'martillo'],
      ['main', '1', 'taladro'],
    ],
  ],
  [
    'a result for another version discards those before',
    10_000,
    [
      ['main', '1', 'martillo'],
      ['main', '2', 'taladro'],
    ],
    [['main', '2', 'taladro']],
    [['main', '1', 'martillo']],
  ],
  ['nothing is cached without a version', 10_000, [['main', null, 'm']], [], [['main', null, 'm']]],
  ['nothing is cached without memory', 0, [['main', '1', 'm']], [], [['main', '1', 'm']]],
]
for (const [claim, bytes, cached, found, missing] of cases)
  t.test(claim, async (t) => {
    const cache = new ResponseCache(bytes, 2)
    for (const entry of cached) cache.set(...entry, result)
    for (const entry of missing) t.equal(cache.get(...entry), undefined)
    for (const entry of found) t.equal(cache.get(...entry), result, 'looking up discards nothing')
  })

t.test('the key has every property of the request, and the version of the words', async (t) => {
  const request: Required<SearchRequest> = {
    text: 'martillo',
    limit: 8,
    offset: 0,
    facets: ['brand'],
    category: 'Herramientas',
    brand: 'Bellota',
    supplier: 'Ferretería Soler',
  }
  const reversed = Object.fromEntries(Object.entries(request).reverse()) as SearchRequest
  t.equal(toCacheKey(reversed, '1'), toCacheKey(request, '1'), 'in any order')
  const { category, brand, ...unfiltered } = request
  const keys = [
    toCacheKey(request, '1'),
    toCacheKey(request, '2'),
    toCacheKey(request, null),
    toCacheKey(unfiltered, '1'),
    toCacheKey({ ...unfiltered, category }, '1'),
    toCacheKey({ ...unfiltered, brand }, '1'),
    toCacheKey({ ...request, text: 'taladro' }, '1'),
    toCacheKey({ ...request, limit: 9 }, '1'),
    toCacheKey({ ...request, offset: 9 }, '1'),
    toCacheKey({ ...request, facets: [] }, '1'),
  ]
  t.equal(new Set(keys).size, keys.length)
})

t.test('equal requests have equal values', async (t) => {
  const query = { q: ' a\tb\u0007c ', limit: 8, offset: 0, facets: 'category,brand,category' }
  const request = toSearchRequest({ ...query, category: 'x' })
  t.same(request.facets, ['brand', 'category'])
  t.equal(request.category, 'x')
  t.equal(request.text, 'a\tb c', 'a tab separates SKUs')
})
