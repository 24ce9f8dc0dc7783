// The cache of search results: their keys, and for which versions of an index it has them.
import t from 'tap'
import { ResponseCache, toCacheKey } from '../../src/search/response-cache.ts'
import type { SearchRequest } from '../../src/search/schema.ts'

const result = { json: '{"hits":[]}', meta: {}, hasHits: false }

/** The index has not changed since the search began. */
const versions = (version: string | null) => ({ version, currentVersion: version })

t.test('a result is cached for one version of one index', async (t) => {
  const cache = new ResponseCache(10_000, 2)
  cache.set('main', versions('version 1'), 'martillo', result)
  t.equal(cache.get('main', 'version 1', 'martillo'), result)
  t.equal(cache.get('main', 'version 2', 'martillo'), undefined)
  t.equal(cache.get('main', null, 'martillo'), undefined)
  t.equal(cache.get('other', 'version 1', 'martillo'), undefined)
  t.equal(cache.get('main', 'version 1', 'martillo'), result, 'looking up discards nothing')
})

t.test('a result for another version discards those before', async (t) => {
  const cache = new ResponseCache(10_000, 1)
  cache.set('main', versions('version 1'), 'martillo', result)
  cache.set('main', versions('version 2'), 'taladro', result)
  t.equal(cache.get('main', 'version 1', 'martillo'), undefined)
  t.equal(cache.get('main', 'version 2', 'taladro'), result)
})

t.test('a late result for an older version is not cached and discards nothing', async (t) => {
  const cache = new ResponseCache(10_000, 1)
  cache.set('main', versions('version 2'), 'taladro', result)
  const late = { version: 'version 1', currentVersion: 'version 2' }
  cache.set('main', late, 'martillo', result)
  t.equal(cache.get('main', 'version 1', 'martillo'), undefined)
  t.equal(cache.get('main', 'version 2', 'taladro'), result)
})

t.test('nothing is cached without a version or without memory', async (t) => {
  const cache = new ResponseCache(10_000, 1)
  cache.set('main', versions(null), 'martillo', result)
  t.equal(cache.get('main', null, 'martillo'), undefined)
  const disabled = new ResponseCache(0, 1)
  disabled.set('main', versions('version 1'), 'martillo', result)
  t.equal(disabled.get('main', 'version 1', 'martillo'), undefined)
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
