// Turns the query parameters of GET /api/search into a normalised request.
import { Value } from '@sinclair/typebox/value'
import {
  invalidParameter,
  invalidParameters,
  type ParameterError,
  type Problem,
} from '../../http/problem-details.ts'
import { describeValidationErrors } from '../../http/validation-problems.ts'
import { SearchQuery, type SearchRequest } from '../schema.ts'
import { normalizeQueryText } from './query-text.ts'

/** The parameters that are whole numbers. */
const integerParameters = ['limit', 'offset'] as const
type IntegerParameter = (typeof integerParameters)[number]

/**
 * Normalises valid query parameters. Throws an `invalid_parameter` problem for what the schema
 * cannot express: the bounds of `q`, and NUL characters.
 */
export function toSearchRequest(query: SearchQuery): SearchRequest {
  const { q, limit, offset, category, brand, facets } = query
  rejectNul('category', category)
  rejectNul('brand', brand)
  return {
    text: normalizeQueryText(q),
    limit,
    offset,
    facets: [...new Set(facets?.split(','))].sort() as SearchRequest['facets'],
    ...(category !== undefined && { category }),
    ...(brand !== undefined && { brand }),
  }
}

/**
 * Returns the request that a URL makes, or null if the URL is not valid. For use before the request
 * has been validated.
 */
export function parseSearchUrl(url: string): SearchRequest | null {
  // The API key in the URL is not part of the search.
  const { key: _key, ...parameters } = Object.fromEntries(new URLSearchParams(url.split('?')[1]))
  if (parameters.sku !== undefined || findMalformedIntegers(parameters).length > 0) return null
  const query = Value.Convert(SearchQuery, Value.Default(SearchQuery, parameters))
  if (!Value.Check(SearchQuery, query)) return null
  try {
    return toSearchRequest(query)
  } catch {
    // The route reports the problem when it handles the request.
    return null
  }
}

/** Returns a cache key. Equal requests have equal keys. */
export function toCacheKey(request: SearchRequest): string {
  return JSON.stringify(request)
}

/** The validation of Fastify; it returns false and sets `errors` if the data is not valid. */
type Validate = { (data: unknown): unknown; errors?: SchemaErrors | null }
type SchemaErrors = Parameters<typeof describeValidationErrors>[0]

/**
 * Returns an `invalid_parameter` problem if percent signs do not encode UTF-8, or if `limit` or
 * `offset` is not written in decimal digits. Validation would accept both: the parser of the query
 * string keeps malformed percent signs as text, and 1e1, 0x10 and blanks convert to numbers.
 */
export function findMalformedQuery(
  url: string,
  query: Record<string, unknown>,
  validate: Validate | undefined,
): Problem | undefined {
  const malformedParameter = findMalformedEncoding(url)
  if (malformedParameter !== undefined)
    return invalidParameter(malformedParameter, 'must be UTF-8, percent-encoded')
  const malformed = findMalformedIntegers(query)
  if (malformed.length === 0) return undefined
  // The problem must name every invalid parameter, so the others are validated here.
  const malformedNames = new Set<string>(malformed)
  const others = Object.entries(query).filter(([name]) => !malformedNames.has(name))
  return invalidParameters([
    ...malformed.map((parameter) => ({ parameter, detail: describeBounds(parameter) })),
    ...findOtherErrors(Object.fromEntries(others), validate),
  ])
}

/** Returns the name of the first parameter that is not UTF-8 in percent-encoding. */
function findMalformedEncoding(url: string): string | undefined {
  if (!url.includes('%')) return undefined
  const pairs = url.slice(url.indexOf('?') + 1).split('&')
  return pairs.find((pair) => !isPercentEncodedUtf8(pair))?.split('=')[0]
}

function findMalformedIntegers(query: Record<string, unknown>): IntegerParameter[] {
  return integerParameters.filter((name) => {
    const text = query[name]
    return typeof text === 'string' && !/^-?\d+$/.test(text)
  })
}

function describeBounds(name: IntegerParameter): string {
  const { minimum, maximum } = SearchQuery.properties[name]
  return `must be a whole number from ${minimum} to ${maximum}`
}

function findOtherErrors(query: object, validate: Validate | undefined): ParameterError[] {
  if (validate === undefined || validate(query) !== false) return []
  return describeValidationErrors(validate.errors ?? [])
}

function isPercentEncodedUtf8(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** PostgreSQL cannot store NUL, so no product can have it. */
function rejectNul(parameter: string, value: string | undefined): void {
  if (value?.includes('\u0000'))
    throw invalidParameter(parameter, 'must not contain the character NUL (%00)')
}
