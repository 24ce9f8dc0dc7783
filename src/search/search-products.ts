// One search in the engine: the request that is sent and the answer made of it.

import type { EngineQuery, EngineResult, SearchEngine } from '../search-engine/engine-client.ts'
import { maxFacetValues, maxTotal, shownAttributes } from '../search-engine/product-document.ts'
import { enyeWords } from '../text/enye-words.ts'
import {
  canBeginHsCode,
  codeKey,
  isSeparatedCode,
  separatedCodeKey,
} from '../text/product-codes.ts'
import { replaceSizes } from '../text/sizes.ts'
import { highlightsOf, type Typed, typedAs } from './highlights.ts'
import { canWiden, missesWords, widen, wordsOf } from './query-relaxation.ts'
import type { Facets, Found, Hit, SearchRequest } from './schema.ts'

/** A product's SKU is unique but for case and separators. Among this many that share a key the one spelt as typed is looked for. */
const maxExact = 20

/**
 * Searches the index. An exact SKU comes first, the one spelt as typed before others; then, with ñ typed, names with it. Where no product holds
 * all the words, those that hold some of them are looked for in a second request. Throws when the engine does not answer, or `signal` ends it.
 */
export async function searchProducts(
  engine: SearchEngine,
  indexName: string,
  request: SearchRequest,
  signal: AbortSignal,
): Promise<Found> {
  if (isOnlySigns(request.text))
    return {
      hits: [],
      total: 0,
      facets: Object.fromEntries(request.facets.map((name) => [name, {}])),
    }
  const { text, forms: sizes } = replaceSizes(plainQuery(request.text))
  const parts = partsOf(request)
  const [whole] = parts
  const words = wordsOf(text)
  const typed = typedAs(request.text, sizes)
  // Codes are exact: one that no product has finds nothing, as it does when it is typed without separators.
  const isWholeCode = isSeparatedCode(request.text)
  // In parts, each is asked from its beginning, for how many the parts before it hold is only known afterwards.
  const alone = parts.length === 1
  const queries: EngineQuery[] = parts.map(({ filter, by }) => ({
    indexUid: indexName,
    q: by === 'words' ? text : '',
    offset: alone ? request.offset : 0,
    limit: alone
      ? request.limit
      : Math.max(request.offset + request.limit, by === 'exact code' ? maxExact : 0),
    filter,
    facets: request.facets,
    matchingStrategy: isWholeCode ? 'all' : 'frequency',
    attributesToRetrieve: shownAttributes,
    showMatchesPosition: true,
    ...(request.text === '' && { sort: ['quotedRank:asc'] }),
    ...(words.length > 1 && { showRankingScoreDetails: true }),
  }))
  const mayWiden = canWiden(words) && !isWholeCode
  const probe: EngineQuery[] =
    mayWiden && alone && request.offset > 0
      ? [
          {
            indexUid: indexName,
            q: text,
            limit: 1,
            filter: whole?.filter ?? [],
            matchingStrategy: 'frequency',
            attributesToRetrieve: ['id'],
            showRankingScoreDetails: true,
          },
        ]
      : []
  const results = await engine.search([...queries, ...probe], signal)
  const found = results.slice(0, parts.length)

  if (
    mayWiden &&
    !found.some((result, place) => parts[place]?.by !== 'words' && result.hits.length > 0)
  ) {
    const best = (probe.length > 0 ? results.slice(-1) : found).flatMap((result) =>
      result.hits.slice(0, 1),
    )
    if (best.every((hit) => missesWords(hit, words))) {
      const wide = await widen(
        engine,
        {
          indexUid: indexName,
          q: text,
          filter: filtersOf(request),
          attributesToRetrieve: shownAttributes,
          showMatchesPosition: true,
        },
        signal,
      ).catch((error: unknown) => {
        // When no time is left, what the first request found is an answer too.
        if (best.length > 0) return null
        throw error
      })
      if (wide !== null) {
        return {
          hits: wide
            .slice(request.offset, request.offset + request.limit)
            .map((hit) => toHit(hit, typed)),
          total: Math.min(maxTotal, wide.length),
          facets: Object.fromEntries(
            request.facets.map((name) => [name, counted(wide.map((hit) => hit[name]))]),
          ),
        }
      }
    }
  }

  const hits = found.flatMap((result, place) =>
    parts[place]?.by === 'exact code'
      ? exactFirst(result, request.text)
      : result.hits.map((hit) => toHit(hit, typed)),
  )
  return {
    hits: alone ? hits : hits.slice(request.offset, request.offset + request.limit),
    total: Math.min(
      maxTotal,
      found.reduce((total, result) => total + result.estimatedTotalHits, 0),
    ),
    facets: sumFacets(request.facets, found),
  }
}

type Part = { filter: string[]; by: 'exact code' | 'code' | 'words' }

/** What is shown one after the other: no product is in two parts, and together they are all that match. */
function partsOf(request: SearchRequest): Part[] {
  const filters = filtersOf(request)
  const parts: Part[] = []
  let rest = filters
  const key = codeKey(request.text)
  if (/\d/.test(key)) {
    parts.push({ filter: [...filters, `skuKey = ${quoted(key)}`], by: 'exact code' })
    rest = [...rest, `skuKey != ${quoted(key)}`]
  }
  const code = separatedCodeKey(request.text)
  if (code !== undefined) {
    // Not by searching for it: what a filter lets through, another can keep away from the words.
    const fields = ['skuKey', 'skuForms', ...(canBeginHsCode(code) ? ['hsCode'] : [])]
    for (const held of fields.map((field) => `${field} STARTS WITH ${quoted(code)}`)) {
      parts.push({ filter: [...rest, held], by: 'code' })
      rest = [...rest, `NOT ${held}`]
    }
  }
  const enye = enyeWords(request.text)
  if (enye.length > 0) {
    const all = enye.map((word) => `enye = ${quoted(word)}`).join(' AND ')
    parts.push({ filter: [...rest, all], by: 'words' })
    rest = [...rest, `NOT (${all})`]
  }
  return [...parts, { filter: rest, by: 'words' }]
}

/** The engine reads quotes as phrases and a leading minus as "without"; nobody at a palette means either. */
function plainQuery(text: string): string {
  return text.replace(/(?<!\d\s?)["“”«»]/g, ' ').replace(/(^|\s)-+/g, '$1')
}

/** Whether something was typed, but no word, number or symbol: the engine would take it for an empty query, which matches everything. */
function isOnlySigns(text: string): boolean {
  return /^[\p{P}\p{Sm}\p{Sk}\p{Z}\p{C}]+$/u.test(text)
}

function filtersOf({ category, brand }: SearchRequest): string[] {
  return [
    ...(category === undefined ? [] : [`category = ${quoted(category)}`]),
    ...(brand === undefined ? [] : [`brand = ${quoted(brand)}`]),
  ]
}

/** A filter value that stays a value, whatever it holds. */
function quoted(value: string): string {
  return `"${value.replace(/\\/g, '\\\\').replace(/"/g, '\\"')}"`
}

function exactFirst({ hits }: EngineResult, typed: string): Hit[] {
  const likeness = (sku: string) =>
    sku === typed ? 2 : Number(sku.toLowerCase() === typed.toLowerCase())
  return hits
    .slice(0, maxExact)
    .toSorted((a, b) => likeness(b.sku) - likeness(a.sku))
    .concat(hits.slice(maxExact))
    .map((hit) => ({ ...toHit(hit, null), highlights: { sku: [[0, hit.sku.length]] } }))
}

function toHit(hit: EngineResult['hits'][number], typed: Typed | null): Hit {
  const { id, sku, name, description, category, brand, unit, price, hsCode, originCountry } = hit
  const highlights = typed === null || typed.text === '' ? {} : highlightsOf(hit, typed)
  return {
    id,
    sku,
    name,
    description,
    category,
    brand,
    unit,
    price,
    hsCode,
    originCountry,
    highlights,
  }
}

/**
 * Each part counts the values that most of it has, so in more than one part of more than that many values the last few counts may lack what a part
 * left out.
 */
function sumFacets(names: SearchRequest['facets'], results: EngineResult[]): Facets {
  return Object.fromEntries(
    names.map((name) => {
      const total: Record<string, number> = {}
      for (const { facetDistribution } of results) {
        for (const [value, count] of Object.entries(facetDistribution?.[name] ?? {}))
          total[value] = (total[value] ?? 0) + count
      }
      const most = Object.entries(total).toSorted(([, a], [, b]) => b - a)
      return [name, Object.fromEntries(most.slice(0, maxFacetValues))]
    }),
  )
}

function counted(values: (string | null)[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) if (value !== null) counts[value] = (counts[value] ?? 0) + 1
  return counts
}
