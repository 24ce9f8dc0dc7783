// The OpenAPI description of GET /api/search.
import { type Operation, queryParameters } from '../api-docs/endpoint-description.ts'
import { commonProblems, problemResponses } from '../api-docs/problem-responses.ts'
import { withHeaders } from '../api-docs/response-headers.ts'
import { searchPath } from '../http/endpoint-paths.ts'
import { exampleProduct, facetNames, productFields } from '../products/fields.ts'
import { maxHits } from '../search-engine/client.ts'
import { Hit, maxSkus, SearchParameters, SearchResponse } from './schema.ts'
import { searchUnavailable } from './search.ts'

const description = `
Product search as people type: for a command palette (Ctrl+K), an ERP or a CRM.

* Words tolerate typos, codes do not: SKUs, HS codes and numbers must be exact, and "2024" never
  finds "2025".
* SKUs are found with any separators, in any case and from the middle ("742x"). An exact SKU is
  always the first hit.
* ${facetNames.map((name) => `\`${name}\``).join(', ')} ignore case, and \`facets\` count such
  spellings together.
* The last word is a prefix. Words match with and without accents.
* Trade words in Spanish and English, and the synonyms of the company, find each other. Products
  that the company has pinned to exactly this query come right after an exact SKU, before all other
  hits. Synonyms and pins also apply when PostgreSQL answers.
* An empty \`q\` returns all products, the most quoted in the last 12 months first, to show when a
  palette opens.
* While the search engine is slow or unavailable, PostgreSQL answers in the same shape and
  \`meta.degraded\` is true. It answers few searches at a time: repeat a 503 after \`Retry-After\`.

* \`sku=A&sku=B\` asks for up to ${maxSkus} exact SKUs instead, for integrations: \`bySku\` has
  the product of each, in that order, or null. PostgreSQL answers with what is committed. No search
  engine is needed.

Abort a search when the next key is pressed: the service then cancels its work.
`.trim()

const invalidLimit = `must be a whole number from 1 to ${maxHits}`

const hammer: Hit = {
  ...exampleProduct,
  highlights: { name: [[0, 8]] },
  match: 'corrected',
}

const response: SearchResponse = {
  query: 'martilo',
  hits: [hammer],
  total: 37,
  facets: { category: { Herramientas: 31 } },
  meta: {
    source: 'index',
    degraded: false,
    indexedAt: '2026-11-21T05:14:00.000Z',
    corrected: [{ from: 'martilo', to: 'martillo' }],
  },
}

const skuResponse: SearchResponse = {
  query: '',
  hits: [],
  total: 1,
  bySku: [{ ...hammer, highlights: {}, match: 'exact' }, null],
  meta: { source: 'database', degraded: false, indexedAt: null },
}

export const searchOperation: Operation = {
  path: searchPath,
  id: 'searchProducts',
  summary: 'Search products as the user types',
  description,
  scope: 'search:read',
  parameters: queryParameters(SearchParameters, {
    q: 'martilo',
    ...Object.fromEntries(facetNames.map((name) => [name, productFields[name].facetExample])),
    facets: 'category',
    sku: ['AB-742-X'],
  }),
  responses: {
    200: {
      description: 'The matching products, best first',
      headers: withHeaders(),
      content: {
        'application/json': {
          schema: SearchResponse,
          examples: {
            found: { summary: 'A hit despite a typo', value: response },
            degraded: {
              summary: 'A response from PostgreSQL while the search engine is unavailable',
              value: {
                ...response,
                meta: { ...response.meta, source: 'database', degraded: true },
              },
            },
            bySku: { summary: 'Exact SKUs, of which one is unknown', value: skuResponse },
          },
        },
      },
    },
    ...problemResponses({
      // The example of a key that lacks the scope has the scope of statistics only.
      ...commonProblems('search:read', 'stats:read'),
      invalid_parameter: {
        detail: `limit: ${invalidLimit}`,
        errors: [{ parameter: 'limit', detail: invalidLimit }],
      },
      unavailable: searchUnavailable,
    }),
  },
  schemas: { SearchResponse, Hit },
}
