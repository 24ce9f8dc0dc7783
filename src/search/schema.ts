// The contract of GET /api/search.
import { type Static, Type } from '@sinclair/typebox'
import { Money } from '../company/money.ts'
import { Nullable } from '../http/nullable-schema.ts'

const Text = (description: string) => Nullable(Type.String({ description }))

export const SearchQuery = Type.Object(
  {
    q: Type.String({
      default: '',
      description:
        'What was typed; at most 200 code points and 512 bytes. Empty: the most quoted products',
    }),
    limit: Type.Integer({
      minimum: 1,
      maximum: 50,
      default: 8,
      description: 'How many hits to send',
    }),
    offset: Type.Integer({
      minimum: 0,
      maximum: 1000,
      default: 0,
      description: 'How many hits to pass over',
    }),
    category: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200, description: 'Only this category' }),
    ),
    brand: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200, description: 'Only this brand' }),
    ),
    facets: Type.Optional(
      Type.String({
        pattern: '^(category|brand)(,(category|brand))*$',
        examples: ['category', 'category,brand'],
        description:
          'Comma list of category, brand: counts over the whole match, of the 100 values that most of it has',
      }),
    ),
  },
  { additionalProperties: false },
)
export type SearchQuery = Static<typeof SearchQuery>

const Ranges = Type.Array(Type.Array(Type.Integer(), { minItems: 2, maxItems: 2 }), {
  description: '[start, length] in UTF-16 code units of the value sent',
})

export const Hit = Type.Object({
  id: Type.String({ description: 'Of the product, for as long as it exists' }),
  sku: Type.String({ description: 'Its code, as the company writes it' }),
  name: Type.String({ description: 'What it is called' }),
  description: Text('What more there is to say'),
  category: Text('The category it stands in'),
  brand: Text('Whose make it is'),
  unit: Nullable(Type.String({ description: 'UN/ECE Recommendation 20' })),
  price: Nullable(Money),
  hsCode: Text('Harmonised System code'),
  originCountry: Nullable(Type.String({ description: 'ISO 3166-1 alpha-2' })),
  highlights: Type.Object(
    {
      sku: Type.Optional(Ranges),
      name: Type.Optional(Ranges),
      description: Type.Optional(Ranges),
      category: Type.Optional(Ranges),
      brand: Type.Optional(Ranges),
      hsCode: Type.Optional(Ranges),
    },
    { description: 'Where each value matches' },
  ),
})
export type Hit = Static<typeof Hit>

const Counts = Type.Record(Type.String(), Type.Integer(), { description: 'Products by value' })
export const Facets = Type.Object(
  { category: Type.Optional(Counts), brand: Type.Optional(Counts) },
  { description: 'Counts over the whole match, of the facets that were asked for' },
)
export type Facets = Static<typeof Facets>

export const SearchAnswer = Type.Object({
  query: Type.String({ description: 'q as it was understood: trimmed, NFC' }),
  hits: Type.Array(Hit, { description: 'The best first' }),
  total: Type.Integer({ maximum: 1000, description: 'Exact up to 1,000, and then stays 1,000' }),
  facets: Type.Optional(Facets),
  meta: Type.Object({
    source: Type.Union([Type.Literal('index'), Type.Literal('database')], {
      description: 'Who answered',
    }),
    degraded: Type.Boolean({
      description: 'Answered by PostgreSQL because the search engine is slow or down',
    }),
    indexedAt: Nullable(
      Type.String({
        format: 'date-time',
        description: 'The index holds every change committed up to this instant',
      }),
    ),
  }),
})
export type SearchAnswer = Static<typeof SearchAnswer>

/** What is asked of either engine, and what either gives back. */
export type SearchRequest = Pick<SearchQuery, 'limit' | 'offset' | 'category' | 'brand'> & {
  text: string
  facets: ('category' | 'brand')[]
}
export type Found = { hits: Hit[]; total: number; facets: Facets }
