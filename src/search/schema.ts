// The query parameters and the response of GET /api/search, and what a search makes of them:
// SearchParameters are those of the HTTP request, a SearchRequest has them normalised, a
// ParsedRequest has its text parsed, a SearchResult is what an engine or PostgreSQL has found, and
// SearchResponse is the body of the HTTP response.
import { type Static, type TUnsafe, Type } from '@sinclair/typebox'
import { Nullable } from '../api-docs/nullable-schema.ts'
import { Money } from '../company/money.ts'
import {
  type FacetName,
  facetNames,
  highlightedNames,
  type Product,
  productFields,
  type ShownName,
  shownNames,
} from '../products/fields.ts'
import {
  defaultHits,
  maxFacetValues,
  maxHits,
  maxOffset,
  maxTotal,
} from '../search-engine/client.ts'
import type { ParsedQuery } from '../text/parse-query.ts'

/** The text of a search has at most this many code points, and this many bytes of UTF-8. */
export const maxTextCodePoints = 200
export const maxTextBytes = 512

/** A look-up asks for at most this many SKUs, of at most this many characters. */
export const maxSkus = 100
export const maxSkuCharacters = 100

const facetPattern = `(${facetNames.join('|')})`

/** Returns an object with the value of each name, for the type of which `Type` stands. */
const mapNames = <Name extends string, Value>(
  names: readonly Name[],
  toValue: (name: Name) => Value,
) => Object.fromEntries(names.map((name) => [name, toValue(name)])) as Record<Name, Value>

const filters = mapNames(facetNames, (name) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: `Return products of this ${name} only`,
    }),
  ),
)

export const SearchParameters = Type.Object(
  {
    q: Type.String({
      default: '',
      description:
        `The text typed so far, at most ${maxTextCodePoints} code points and ${maxTextBytes} ` +
        'bytes of UTF-8. ' +
        'If empty, the response lists all products, the most quoted in the last 12 months first',
    }),
    limit: Type.Integer({
      minimum: 1,
      maximum: maxHits,
      default: defaultHits,
      description: 'The maximum number of hits to return',
    }),
    offset: Type.Integer({
      minimum: 0,
      maximum: maxOffset,
      default: 0,
      description: 'The number of hits to skip',
    }),
    ...filters,
    facets: Type.Optional(
      Type.String({
        pattern: `^${facetPattern}(,${facetPattern})*$`,
        examples: [facetNames[0] ?? '', facetNames.join(',')],
        description:
          `Comma-separated list of ${facetNames.join(', ')}. The response counts the products ` +
          `found by each, for the ${maxFacetValues} most frequent values`,
      }),
    ),
    sku: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: maxSkuCharacters }), {
        minItems: 1,
        maxItems: maxSkus,
        description:
          'An exact SKU, repeated for several: `sku=A&sku=B`. The response has the product of ' +
          'each in `bySku` and no hits. Cannot be combined with other parameters',
      }),
    ),
  },
  { additionalProperties: false },
)
export type SearchParameters = Static<typeof SearchParameters>

const Ranges = Type.Array(Type.Array(Type.Integer(), { minItems: 2, maxItems: 2 }), {
  description: '[start, length] in UTF-16 code units of the value in this hit',
})

const Highlights = Type.Object(
  mapNames(highlightedNames, () => Type.Optional(Ranges)),
  { description: 'The parts of each value that match the query' },
)

const shownSchemas = mapNames(shownNames, (name) => {
  const field = productFields[name]
  if (field.shown === 'price') return Nullable(Money)
  const text = Type.String({ description: field.description })
  return field.shown === 'text' ? text : Nullable(text)
}) as unknown as { [Name in ShownName]: TUnsafe<Product[Name]> }

export const Hit = Type.Object({
  id: Type.String({ description: 'Identifies the product for as long as it exists' }),
  ...shownSchemas,
  highlights: Highlights,
  match: Type.Union(
    [
      Type.Literal('exact'),
      Type.Literal('words'),
      Type.Literal('corrected'),
      Type.Literal('some_words'),
    ],
    {
      description:
        'How the product matches: its SKU is the query or stands in it (exact), it has all the ' +
        'words and codes (words), it has them only after a correction (corrected), or it lacks ' +
        'some of them (some_words)',
    },
  ),
})
export type Hit = Static<typeof Hit>

const Counts = Type.Record(Type.String(), Type.Integer(), {
  description: 'The number of products by value, in no defined order',
})
export const Facets = Type.Object(
  mapNames(facetNames, () => Type.Optional(Counts)),
  {
    description:
      'Counts over all products found, for the requested facets. If a facet has more than ' +
      `${maxFacetValues} values, the counts of rare ones may be too low`,
  },
)
export type Facets = Static<typeof Facets>

export const SearchResponse = Type.Object({
  query: Type.String({ description: 'The normalised q: trimmed, NFC' }),
  hits: Type.Array(Hit, { description: 'The matching products, best first' }),
  total: Type.Integer({
    maximum: maxTotal,
    description:
      'The number of products found, which may include some that lack a frequent word. Exact up ' +
      `to ${maxTotal} if a product has all the words. Otherwise it counts only the similar ` +
      'products that were looked up',
  }),
  facets: Type.Optional(Facets),
  bySku: Type.Optional(
    Type.Array(Nullable(Hit), {
      description:
        'Only if `sku` is given: the product of each SKU, in that order. Null: no active product ' +
        'has exactly this SKU',
    }),
  ),
  meta: Type.Object({
    source: Type.Union([Type.Literal('index'), Type.Literal('database')], {
      description: 'The search engine (index) or PostgreSQL (database)',
    }),
    degraded: Type.Boolean({
      description:
        'True if PostgreSQL answered a search (database), or if products with only some of the ' +
        'words may be missing (index). The search engine is slow or unavailable, or has rejected ' +
        'the search. Or the service is too busy to look for products with only some of the ' +
        'words, or has an internal error. A look-up by `sku` is never degraded',
    }),
    indexedAt: Nullable(
      Type.String({
        format: 'date-time',
        description:
          'The index contains every change committed up to this instant. Null: it is not known ' +
          'yet, or `sku` is given',
      }),
    ),
    ignored: Type.Optional(
      Type.String({
        description: 'The quantity, unit or price that was typed beside a SKU and is no part of it',
      }),
    ),
    corrected: Type.Optional(
      Type.Array(Type.Object({ from: Type.String(), to: Type.String() }), {
        description: 'Words that no product has together, and what the first hit has instead',
      }),
    ),
    facetsOmitted: Type.Optional(
      Type.Boolean({
        description:
          'True if facets are empty because PostgreSQL answered and more products match than it ' +
          'counts',
      }),
    ),
  }),
})
export type SearchResponse = Static<typeof SearchResponse>
export type SearchMeta = SearchResponse['meta']

/** A normalised request. */
export type SearchRequest = {
  text: string
  limit: number
  offset: number
  /** Without duplicates. */
  facets: FacetName[]
} & Filters

/** The values that the fields of all hits must have. */
type Filters = { [Name in FacetName]?: string }

/** A request with its text parsed, for the engine or for PostgreSQL. */
export type ParsedRequest = SearchRequest & { query: ParsedQuery }

/** The result of a search, from the engine or from PostgreSQL. */
export type SearchResult = {
  hits: Hit[]
  total: number
  facets: Facets
  /** Whether facets are empty because more products match than PostgreSQL counts. */
  facetsOmitted: boolean
  /** The words that were corrected for the first hit. */
  corrected: { from: string; to: string }[]
  /** What was typed beside the SKUs that were found; null if nothing. */
  ignored: string | null
}
