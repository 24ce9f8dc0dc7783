// Finds products for a query that no product holds as a whole: by pairs of its words, single words
// and codes, translations, and codes that look alike. One request counts the products with each
// word, a second one asks for all parts, and one order decides (order.ts).

import type { EngineHit, EngineQuery, SearchEngine } from '../search-engine/client.ts'
import { shownAttributes } from '../search-engine/document-fields.ts'
import type { QueryToken } from '../text/parse-query.ts'
import { canBePartOfCode } from '../text/sku-keys.ts'
import { toLookAlike, toSound } from '../text/tokens.ts'
import {
  maxEngineWords,
  quoteFilterValue,
  toCodeCondition,
  toEngineFilters,
  toEngineText,
} from './engine-filters.ts'
import { buildRelaxedResult, type FoundProduct } from './hits.ts'
import { ProductOrder } from './order.ts'
import type { ParsedRequest, SearchResult } from './schema.ts'

/** How many hits are requested of each part of a query. More hits cost the engine more. */
const hitsPerPart = 15
/** The parts of a query of two words are its words. */
const hitsPerWordOfTwo = 40
const hitsOfWholeQuery = 40
/** Pairs of words that are further apart are not requested. */
const maxPairDistance = 2
/** Each word of a query of four to so many is left out once. */
const maxWordsToLeaveOut = 6
const maxTranslations = 8
/** These numbers gave the best results with people's judgements. */
const rarityExponent = 0.05
/** Reciprocal rank fusion: score = Σ 1 / (k + rank). */
const fusionK = 60

type Part = { q: string; conditions: string[]; limit: number; needsAll: boolean }

/** Returns the page of hits. `pinned` come first. `found` are the hits of the whole query. */
export async function relax(
  engine: SearchEngine,
  indexName: string,
  request: ParsedRequest,
  pinned: FoundProduct[],
  found: EngineHit[],
  signal: AbortSignal,
): Promise<SearchResult> {
  const { query } = request
  const filters = toEngineFilters(request)
  const toQuery = ({ q, conditions, limit: hits, needsAll }: Part): EngineQuery => ({
    indexUid: indexName,
    q,
    limit: hits,
    filter: [...filters, ...conditions],
    matchingStrategy: needsAll ? 'all' : 'frequency',
    attributesToRetrieve: shownAttributes,
  })
  const counted = await engine.search(
    query.tokens.map((token) => toQuery(toCountPart(token))),
    signal,
  )
  const counts = counted.map(({ estimatedTotalHits }) => estimatedTotalHits)
  const known = new Set(query.tokens.filter((_, index) => (counts[index] ?? 0) > 0))
  const results = await engine.search(listParts(request, known).map(toQuery), signal)
  const candidates = fuse([found, ...results.map(({ hits }) => hits)])
  const lookAlike = results.at(-1)
  const tokens = query.tokens.map((token) =>
    known.has(token) ? { ...token, translations: [] } : token,
  )
  const order = new ProductOrder({ ...query, tokens }, counts.map(weigh))
  const pinnedIds = new Set(pinned.map(({ product }) => product.id))
  if (query.partialCodeKey !== undefined && lookAlike && lookAlike.estimatedTotalHits !== 1)
    for (const { id } of lookAlike.hits) candidates.delete(id)
  const scored = order.sort([...candidates.values()].filter(({ id }) => !pinnedIds.has(id)))
  const others = scored.map((product) => ({ ...product, kind: 'words' as const }))
  return buildRelaxedResult(request, [...pinned, ...others], order)
}

/** Merges lists of hits, each product once, by reciprocal rank fusion. */
function fuse(lists: EngineHit[][]): Map<string, EngineHit> {
  const fused = new Map<string, { hit: EngineHit; score: number }>()
  for (const hits of lists)
    for (const [rank, hit] of hits.entries()) {
      const entry = fused.get(hit.id) ?? { hit, score: 0 }
      entry.score += 1 / (fusionK + rank)
      fused.set(hit.id, entry)
    }
  const ordered = [...fused.values()].toSorted((a, b) => b.score - a.score)
  return new Map(ordered.map(({ hit }) => [hit.id, hit]))
}

/**
 * A word that many products have weighs less. A word of one product weighs 1, a word of a million
 * products 0.501. So two such frequent words together count more than one word of a single product.
 */
function weigh(productCount: number): number {
  return Math.max(1, productCount) ** -rarityExponent
}

/** Counts the products that have a token as typed. */
function toCountPart(token: QueryToken): Part {
  const isWord = token.kind === 'word'
  const conditions = isWord ? [] : [toCodeCondition(token, false)]
  return { q: isWord ? `"${token.text}"` : '', conditions, limit: 0, needsAll: true }
}

/**
 * Returns the parts of a query. The last one asks for SKUs that look like it. Beside other words, a
 * word that products have as typed is searched for as it is, as a phrase of one word: with typos
 * and endings, each part would cost the engine up to a hundred times as much.
 */
function listParts({ query }: ParsedRequest, known: ReadonlySet<QueryToken>): Part[] {
  const { codes, tokens } = query
  const words = query.words.slice(0, maxEngineWords)
  const together = (several: QueryToken[]) =>
    several.map((word) => (known.has(word) ? `"${word.text}"` : word.text)).join(' ')
  const q = toEngineText(query.words)
  const parts: Part[] = []
  const add = (text: string, conditions: string[], limit = hitsPerPart, needsAll = true) => {
    if (text !== '' || conditions.length > 0) parts.push({ q: text, conditions, limit, needsAll })
  }
  const strict = codes.map((token) => toCodeCondition(token, true))
  if (codes.length > 0) {
    add(q, [], hitsOfWholeQuery, false)
    add('', strict, hitsOfWholeQuery)
    if (codes.length > 1)
      for (const index of codes.keys()) {
        add(q, [strict[index] ?? ''], hitsPerPart, false)
        if (codes.length > 2) add(q, strict.toSpliced(index, 1), hitsPerPart, false)
      }
  }
  for (const { text } of words) if (toSound(text) !== text) add(toSound(text), [])
  const limit = words.length === 2 && codes.length === 0 ? hitsPerWordOfTwo : hitsPerPart
  for (const word of words) add(word.text, strict.slice(0, 1), limit)
  if (codes.length > 0 && words.length > 1) for (const word of words) add(word.text, [])
  if (words.length >= 4 && words.length <= maxWordsToLeaveOut)
    for (const index of words.keys()) add(together(words.toSpliced(index, 1)), [])
  if (words.length > 2)
    for (const [index, word] of words.entries())
      for (const next of words.slice(index + 1, index + 1 + maxPairDistance))
        add(together([word, next]), [])
  const translated = tokens.flatMap(({ translations }) => translations)
  if (translated.length > 0 && words.length > 1)
    add(words.map(({ text, translations }) => translations[0] ?? text).join(' '), [])
  for (const translation of translated.slice(0, maxTranslations)) add(translation, [])
  const alike = query.partialCodeKey
  if (alike !== undefined && canBePartOfCode(alike))
    add('', [`lookAlike = ${quoteFilterValue(toLookAlike(alike))}`])
  return parts
}
