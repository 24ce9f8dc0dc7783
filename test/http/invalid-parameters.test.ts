// The problem details of requests with invalid query parameters.
import t from 'tap'
import { testService } from '../support/service/test-service.ts'

t.test('the problem explains in plain words what each parameter allows', async (t) => {
  const { app } = await testService(t)
  for (const [query, parameter, detail] of [
    ['/api/search?limit=0', 'limit', 'must be a whole number from 1 to 50'],
    ['/api/search?limit=51', 'limit', 'must be a whole number from 1 to 50'],
    ['/api/search?limit=x', 'limit', 'must be a whole number from 1 to 50'],
    ['/api/search?limit=1&limit=2', 'limit', 'must occur only once'],
    ['/api/search?offset=1001', 'offset', 'must be a whole number from 0 to 1000'],
    ['/api/search?q=a&q=b', 'q', 'must occur only once'],
    [`/api/search?q=${'a'.repeat(201)}`, 'q', 'must have at most 200 characters'],
    ['/api/search?q=%FF', 'q', 'must be UTF-8, percent-encoded'],
    ['/api/search?category=', 'category', 'must have 1 to 200 characters'],
    ['/api/search?q=a&brand=x%00', 'brand', 'must not contain the character NUL (%00)'],
    [`/api/search?brand=${'a'.repeat(201)}`, 'brand', 'must have 1 to 200 characters'],
    ['/api/search?brand=a&brand=b', 'brand', 'must occur only once'],
    [
      '/api/search?facets=price',
      'facets',
      'must be written like category or category,brand,supplier',
    ],
    ['/api/search?sort=name', 'sort', 'is not a parameter of this path'],
    ['/api/stats?country=es', 'country', 'must be written like ES or unknown'],
    ['/api/stats?date=today', 'date', 'must be one of issued, accepted'],
    ['/api/stats?compare=x', 'compare', 'must be one of previous_period, previous_year'],
  ] as const) {
    const response = await app.inject(query)
    t.equal(response.statusCode, 400, query.slice(0, 60))
    t.match(response.json(), { errors: [{ parameter, detail }] }, query.slice(0, 60))
  }
  const twice = await app.inject('/api/stats?date=issued&date=accepted')
  t.same(
    twice.json().errors,
    [{ parameter: 'date', detail: 'must occur only once' }],
    'a text appears once, although the value has the wrong type and is none of the allowed ones',
  )
  const unknown = Array.from({ length: 3_000 }, (_, n) => n.toString(36)).join('&')
  for (const path of ['/api/search', '/api/stats']) {
    const many = await app.inject(`${path}?${unknown}`)
    t.equal(many.json().errors.length, 20, path)
    t.ok(many.body.length < 4_000, 'a short URL does not get a long response')
  }
  const both = (await app.inject('/api/search?limit=x&offset=-1')).json<{
    errors: { parameter: string }[]
  }>()
  t.same(
    both.errors.map(({ parameter }) => parameter).sort(),
    ['limit', 'offset'],
    'the problem names all invalid parameters',
  )
  for (const day of ['2026-13-01', 'x', '', '2026-1-1', '20260101']) {
    for (const parameter of ['from', 'to']) {
      const response = await app.inject(`/api/stats?${parameter}=${day}`)
      t.match(
        response.json(),
        { status: 400, errors: [{ parameter, detail: /YYYY-MM-DD/ }] },
        `${parameter}=${day}`,
      )
    }
  }
})
