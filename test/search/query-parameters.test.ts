// Parses the request from a URL that has not been validated yet, to find it in the response cache.
import t from 'tap'
import { isSkuLookUp, parseSearchUrl } from '../../src/search/query-parameters.ts'

t.test('the defaults of the schema apply to missing parameters', async (t) => {
  const withDefaults = { text: '', limit: 8, offset: 0, facets: [] }
  t.same(parseSearchUrl('/api/search'), withDefaults)
  t.same(parseSearchUrl('/api/search?q=&limit=8&offset=0'), withDefaults)
})

t.test('URLs with equal parameters in any order and spelling give the same request', async (t) => {
  const request = {
    text: 'caña',
    limit: 20,
    offset: 5,
    facets: ['brand', 'category'],
    category: 'Pesca',
    brand: 'Ácana',
  }
  const filters = 'category=Pesca&brand=%C3%81cana'
  for (const query of [
    `q=ca%C3%B1a&limit=20&offset=5&facets=brand,category&${filters}`,
    `${filters}&facets=category,brand,category&offset=05&limit=20&q=%20can%CC%83a+`,
    `key=tqs_example&q=ca%C3%B1a&limit=20&offset=5&facets=category,brand&${filters}`,
  ])
    t.same(parseSearchUrl(`/api/search?${query}`), request, query)
})

t.test('a query may contain question marks', async (t) => {
  t.match(parseSearchUrl('/api/search?q=bomba?&limit=20'), { text: 'bomba?', limit: 20 })
  t.equal(isSkuLookUp('/api/search?key=a?b&sku=A-1'), true)
})

t.test('an invalid URL gives no request', async (t) => {
  for (const query of [
    'limit=0',
    'limit=51',
    'limit=1e1',
    'limit=x',
    'offset=-1',
    'offset=0x10',
    'category=',
    'brand=x%00',
    'facets=price',
    'sort=name',
    `q=${'a'.repeat(201)}`,
  ])
    t.equal(parseSearchUrl(`/api/search?${query}`), null, query.slice(0, 20))
})
