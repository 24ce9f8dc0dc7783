// Turns the query parameters of GET /api/search into a normalised request, in three steps:
// 1. prepareQuery finds what the parser and the validation of Fastify miss or explain badly:
//    malformed percent signs, numbers such as 1e1, and `sku` beside other parameters.
// 2. Fastify validates the parameters by SearchParameters (schema.ts).
// 3. toSearchRequest checks what a JSON schema cannot express, such as the bytes of `q`, and
//    normalises the values.
import { createInvalidParameterProblem, type Problem } from '../http/problem-details.ts'
import { type FacetName, facetNames } from '../products/fields.ts'
import {
  maxTextBytes,
  maxTextCodePoints,
  type SearchParameters,
  type SearchRequest,
} from './schema.ts'

/** The validation rejects it and says which numbers are allowed. */
const noNumber = 'no number'

/**
 * Prepares a query for the validation: `sku` becomes a list, and what is no plain number invalid,
 * because the validation would accept 1e1, 0x10 and blanks. Returns an `invalid_parameter` problem,
 * or undefined if there is none.
 */
export function prepareQuery(url: string, query: Record<string, unknown>): Problem | undefined {
  for (const name of ['limit', 'offset']) {
    const text = query[name]
    if (typeof text === 'string' && !/^-?\d+$/.test(text)) query[name] = noNumber
  }
  return findMalformedEncoding(url) ?? prepareSkus(query)
}

/** The parser of the query string keeps malformed percent signs as text. */
function findMalformedEncoding(url: string): Problem | undefined {
  if (!url.includes('%')) return undefined
  // The text may contain more question marks.
  const pairs = url.slice(url.indexOf('?') + 1).split('&')
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

/** The parser returns a string if `sku` occurs once. */
function prepareSkus(query: Record<string, unknown>): Problem | undefined {
  if (query.sku === undefined) return undefined
  const skus = [query.sku].flat()
  query.sku = skus
  const [other] = Object.keys(query).filter((name) => name !== 'sku')
  if (other !== undefined)
    return createInvalidParameterProblem(
      other,
      'cannot be combined with sku, which asks for exact products',
    )
  return skus.map((sku) => findNul('sku', String(sku))).find((problem) => problem !== undefined)
}

/** PostgreSQL cannot store NUL, so no product can have it. */
function findNul(parameter: string, value: string): Problem | undefined {
  if (!value.includes('\u0000')) return undefined
  return createInvalidParameterProblem(parameter, 'must not contain the character NUL (%00)')
}

/** Normalises valid query parameters. Throws an `invalid_parameter` problem (step 3). */
export function toSearchRequest(query: SearchParameters): SearchRequest {
  const { q, limit, offset, facets } = query
  const filters = facetNames.flatMap((name) => {
    const value = query[name]
    if (value === undefined) return []
    const problem = findNul(name, value)
    if (problem) throw problem
    return [[name, value] as const]
  })
  return {
    text: normalizeText(q),
    limit,
    offset,
    facets: [...new Set(facets?.split(','))] as FacetName[],
    ...Object.fromEntries(filters),
  }
}

/**
 * Returns the text trimmed, in NFC, and with blanks instead of control characters, except tabs and
 * line breaks, which separate SKUs. Throws an `invalid_parameter` problem if it is too long.
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
