// Which queries GET /api/search accepts, and what it makes of their parameters.
import t from 'tap'
import { toSearchRequest } from '../../src/search/query-parameters.ts'
import type { SearchResponse } from '../../src/search/schema.ts'
import { testService, withoutEngine } from '../support/service/test-service.ts'

const cases: [query: string, status: number][] = [
  ['', 200],
  ['q', 200],
  ['q=a', 200],
  ['q=a+b%20c', 200],
  ['q=a=b', 200],
  ['q=bomba?&limit=20', 200],
  ['q=a?limit=2', 200],
  ['&&q=a&', 200],
  ['%71=a', 200],
  ['q=a&%71=b', 400],
  ['q=a&q=a', 400],
  ['q[]=a', 400],
  ['Q=a', 400],
  ['=a', 400],
  ['q=%', 400],
  ['q=%zz', 400],
  ['q=%C3', 400],
  ['q=%ED%A0%80', 400],
  ['q=%00', 200],
  [`q=${'a'.repeat(201)}`, 400],
  ['limit=', 400],
  ['limit=0', 400],
  ['limit=51', 400],
  ['limit=1e1', 400],
  ['limit=007', 200],
  ['limit=%205', 400],
  ['limit=5.0', 400],
  ['limit=5&limit=6', 400],
  ['offset=-1', 400],
  ['offset=0x10', 400],
  ['offset=1000', 200],
  ['offset=1001', 400],
  ['category=', 400],
  ['category=a&category=b', 400],
  ['category=%00', 400],
  ['brand=x%00', 400],
  [`brand=${'a'.repeat(201)}`, 400],
  ['facets=', 400],
  ['facets=price', 400],
  ['facets=brand,brand', 200],
  ['facets=brand&facets=category', 400],
  ['sort=name', 400],
  ['__proto__=a', 400],
]

t.test('the route accepts valid queries and no others', async (t) => {
  const { app } = await testService(t, { config: withoutEngine })
  for (const [query, status] of cases) {
    const { statusCode } = await app.inject(`/api/search?${query}`)
    t.equal(statusCode, status, query.slice(0, 40))
  }
  const { query } = (await app.inject('/api/search?q=%20can%CC%83a%07+')).json<SearchResponse>()
  t.equal(query, 'caña', 'trimmed, in NFC, without control characters')
})

t.test('equal requests have equal values', async (t) => {
  const query = { q: ' a\tb\u0007c ', limit: 8, offset: 0, facets: 'category,brand,category' }
  const request = toSearchRequest({ ...query, category: 'x' })
  t.same(request.facets, ['brand', 'category'])
  t.equal(request.category, 'x')
  t.equal(request.text, 'a\tb c', 'a tab separates SKUs')
})
