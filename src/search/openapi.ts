// What integrators are told of GET /api/search.
import { type Operation, queryParameters } from '../api-docs/endpoint-description.ts'
import { commonProblems, problemResponses } from '../api-docs/problem-responses.ts'
import { withHeaders } from '../api-docs/response-headers.ts'
import { Hit, SearchAnswer, SearchQuery } from './schema.ts'

const description = `
Product search at every keystroke: for a command palette (Ctrl+K), an ERP or a CRM.

* Typo tolerant on words, exact on codes: SKU, HS code and numbers allow no typo, and "2024" never finds "2025".
* SKUs are found as people type them: with any separators, in any case, from the middle ("742x"). An exact SKU is always the first hit.
* The last word is a prefix. Accents fold both ways.
* An empty \`q\` answers what a palette shows when it opens: the products quoted most often in the last 12 months.
* While the search engine is slow or down, the database answers in the same shape and \`meta.degraded\` is true.

Abandon a request that you no longer need, since the next key was pressed: the work for it is cancelled.
`.trim()

const hammer: Hit = {
  id: '4711',
  sku: 'AB-742-X',
  name: 'Martillo de bola 300 g',
  description: null,
  category: 'Herramientas',
  brand: null,
  unit: 'C62',
  price: { amount: '12.50', currency: 'EUR' },
  hsCode: '820520',
  originCountry: 'ES',
  highlights: { name: [[0, 8]] },
}

const found: SearchAnswer = {
  query: 'martilo',
  hits: [hammer],
  total: 37,
  facets: { category: { Herramientas: 31 } },
  meta: { source: 'index', degraded: false, indexedAt: '2026-11-21T05:14:00.000Z' },
}

export const searchOperation: Operation = {
  path: '/api/search',
  id: 'searchProducts',
  summary: 'Search products as one types',
  description,
  scope: 'search:read',
  publishable: true,
  parameters: queryParameters(SearchQuery, {
    q: 'martilo',
    category: 'Herramientas',
    brand: 'Bellota',
    facets: 'category',
  }),
  responses: {
    200: {
      description: 'The products that match, the best first',
      headers: withHeaders(),
      content: {
        'application/json': {
          schema: SearchAnswer,
          examples: {
            found: { summary: 'A hit despite a typo', value: found },
            degraded: {
              summary: 'Answered by the database while the engine is away',
              value: { ...found, meta: { ...found.meta, source: 'database', degraded: true } },
            },
          },
        },
      },
    },
    ...problemResponses({
      ...commonProblems,
      invalid_parameter: {
        detail: 'limit: must be <= 50',
        errors: [{ parameter: 'limit', detail: 'must be <= 50' }],
      },
      unavailable: 'Search is not available at the moment. Try again in a moment.',
    }),
  },
  schemas: { SearchAnswer, Hit },
  exampleRequests: [
    { path: '/api/search?q=', description: 'what is quoted most often' },
    {
      path: '/api/search?q=martilo&facets=category',
      description: 'a search with a typo, counted by category',
    },
  ],
}
