// Parses the request from a URL that has not been validated yet, to find it in the response cache.
import t from 'tap'
import { isSkuLookUp, parseSearchUrl } from '../../src/search/query-parameters.ts'
import { testService, withoutEngine } from '../support/service/test-service.ts'

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
    'q=a&q=b',
    'limit=5&limit=5',
    'q=%zz',
    `q=${'a'.repeat(201)}`,
  ])
    t.equal(parseSearchUrl(`/api/search?${query}`), null, query.slice(0, 20))
})

t.test('the route accepts the URLs that give a request, and no others', async (t) => {
  const { app } = await testService(t, { config: withoutEngine })
  for (const query of [
    '',
    'q',
    'q=a',
    'q=a+b%20c',
    'q=a=b',
    'q=a?limit=2',
    '&&q=a&',
    '%71=a',
    'q=a&%71=b',
    'q=a&q=a',
    'q[]=a',
    'Q=a',
    '=a',
    'q=%',
    'q=%C3',
    'q=%ED%A0%80',
    'q=%00',
    'limit=',
    'limit=007',
    'limit=%205',
    'limit=5.0',
    'limit=5&limit=6',
    'offset=1000',
    'offset=1001',
    'category=a&category=b',
    'category=%00',
    `brand=${'a'.repeat(201)}`,
    'facets=',
    'facets=brand,brand',
    'facets=brand&facets=category',
    '__proto__=a',
  ]) {
    const url = `/api/search?${query}`
    const { statusCode } = await app.inject(url)
    t.equal(statusCode, parseSearchUrl(url) === null ? 400 : 200, query.slice(0, 40))
  }
})
