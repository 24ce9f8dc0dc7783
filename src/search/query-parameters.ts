// Turns the query parameters of GET /api/search into a normalised request, in three steps:
// 1. findMalformedQuery finds what the parser and the validation of Fastify miss or explain badly:
//    malformed percent signs, numbers such as 1e1, and invalid SKUs. `sku` may occur several times,
//    so the route then replaces it by a list (listSkus).
// 2. Fastify validates the parameters by SearchParameters (schema.ts).
// 3. toSearchRequest checks what a JSON schema cannot express, such as the bytes of `q`, and
//    normalises the values.
import {
  createInvalidParameterProblem,
  createInvalidParametersProblem,
  type ParameterError,
  type Problem,
} from '../http/problem-details.ts'
import { describeValidationErrors } from '../http/validation-problems.ts'
import { type FacetName, facetNames } from '../products/fields.ts'
import {
  maxSkuCharacters,
  maxSkus,
  maxTextBytes,
  maxTextCodePoints,
  SearchParameters,
  type SearchRequest,
} from './schema.ts'

/** The parameters that are whole numbers. */
const integerParameters = ['limit', 'offset'] as const
type IntegerParameter = (typeof integerParameters)[number]

/** The validation of Fastify. It returns false and sets `errors` if the data is not valid. */
type Validate = { (data: unknown): unknown; errors?: SchemaErrors | null }
type SchemaErrors = Parameters<typeof describeValidationErrors>[0]

/**
 * Returns the `invalid_parameter` problem of a query that Fastify has parsed but not validated
 * (step 1). Undefined if there is none.
 */
export function findMalformedQuery(
  url: string,
  query: Record<string, unknown>,
  validate: Validate | undefined,
): Problem | undefined {
  return (
    findMalformedEncoding(url) ?? findInvalidIntegers(query, validate) ?? findInvalidSkus(query)
  )
}

/**
 * Returns `sku` as a list, which the schema requires. Undefined if it does not occur. The parser
 * returns a string if it occurs once.
 */
export function listSkus({ sku }: Record<string, unknown>): string[] | undefined {
  return sku === undefined ? undefined : ([sku].flat() as string[])
}

/** The parser of the query string keeps malformed percent signs as text. */
function findMalformedEncoding(url: string): Problem | undefined {
  if (!url.includes('%')) return undefined
  const pairs = readQueryString(url).split('&')
  const parameter = pairs.find((pair) => !isPercentEncodedUtf8(pair))?.split('=')[0]
  if (parameter === undefined) return undefined
  return createInvalidParameterProblem(parameter, 'must be UTF-8, percent-encoded')
}

function isPercentEncodedUtf8(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** The validation would accept 1e1, 0x10 and blanks as numbers. */
function findInvalidIntegers(
  query: Record<string, unknown>,
  validate: Validate | undefined,
): Problem | undefined {
  const invalid = listInvalidIntegers(query)
  if (invalid.length === 0) return undefined
  // Fastify validates nothing after a problem of step 1. So the other parameters are validated
  // here, and the same problem names them.
  const invalidNames = new Set<string>(invalid)
  const others = Object.entries(query).filter(([name]) => !invalidNames.has(name))
  return createInvalidParametersProblem([
    ...invalid.map((parameter) => ({ parameter, detail: describeBounds(parameter) })),
    ...findOtherErrors(Object.fromEntries(others), validate),
  ])
}

function listInvalidIntegers(query: Record<string, unknown>): IntegerParameter[] {
  return integerParameters.filter((name) => {
    const text = query[name]
    return typeof text === 'string' && !/^-?\d+$/.test(text)
  })
}

function describeBounds(name: IntegerParameter): string {
  const { minimum, maximum } = SearchParameters.properties[name]
  return `must be a whole number from ${minimum} to ${maximum}`
}

function findOtherErrors(query: object, validate: Validate | undefined): ParameterError[] {
  if (validate === undefined || validate(query) !== false) return []
  return describeValidationErrors(validate.errors ?? [])
}

/**
 * Returns a problem if a SKU is not valid, or if `sku` is combined with another parameter. The
 * schema has the same bounds, for the OpenAPI document.
 */
function findInvalidSkus(query: Record<string, unknown>): Problem | undefined {
  const skus = listSkus(query)
  if (skus === undefined) return undefined
  const [other] = Object.keys(query).filter((name) => name !== 'sku')
  if (other !== undefined)
    return createInvalidParameterProblem(
      other,
      'cannot be combined with sku, which asks for exact products',
    )
  if (skus.length > maxSkus)
    return createInvalidParameterProblem(
      'sku',
      `may be given ${maxSkus} times at most, not ${skus.length}`,
    )
  if (skus.some((sku) => sku === '' || [...sku].length > maxSkuCharacters))
    return createInvalidParameterProblem('sku', `must have 1 to ${maxSkuCharacters} characters`)
  if (skus.some((sku) => sku.includes('\u0000')))
    return createInvalidParameterProblem('sku', 'must not contain the character NUL (%00)')
  return undefined
}

/** Normalises valid query parameters. Throws an `invalid_parameter` problem (step 3). */
export function toSearchRequest(query: SearchParameters): SearchRequest {
  const { q, limit, offset, facets } = query
  const filters = facetNames.flatMap((name) => {
    const value = query[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  for (const [name, value] of filters) rejectNul(name, value)
  return {
    text: normalizeText(q),
    limit,
    offset,
    facets: [...new Set(facets?.split(','))].sort() as FacetName[],
    ...Object.fromEntries(filters),
  }
}

/**
 * Returns the text trimmed, in NFC, and with blanks instead of control characters, except tabs and
 * line breaks, which separate SKUs. Throws an
 * `invalid_parameter` problem if it is too long.
 */
function normalizeText(q: string): string {
  const text = q.toWellFormed().normalize('NFC').trim()
  if ([...text].length > maxTextCodePoints)
    throw createInvalidParameterProblem('q', `must have at most ${maxTextCodePoints} characters`)
  if (Buffer.byteLength(text) > maxTextBytes)
    throw createInvalidParameterProblem('q', `must have at most ${maxTextBytes} bytes of UTF-8`)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are replaced here.
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, ' ').trim()
}

/** PostgreSQL cannot store NUL, so no product can have it. */
function rejectNul(parameter: string, value: string): void {
  if (value.includes('\u0000'))
    throw createInvalidParameterProblem(parameter, 'must not contain the character NUL (%00)')
}

/**
 * Returns the text after the first "?". The text may contain more question marks. Empty if the URL
 * has none.
 */
function readQueryString(url: string): string {
  const start = url.indexOf('?')
  return start < 0 ? '' : url.slice(start + 1)
}
