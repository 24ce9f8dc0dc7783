// The cache of search results: for which versions of an index it has them.
import t from 'tap'
import { ResponseCache } from '../../src/search/response-cache.ts'

const result = { json: '{"hits":[]}', hasHits: false }

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
