// Finds products for a query that no product holds as a whole. One request counts the products with
// each word, PostgreSQL corrects the words that none has, a second request asks for parts of the
// query, and one order decides (order.ts).
import {
  type EngineHit,
  type EngineQuery,
  type EngineResult,
  maxListed,
} from '../search-engine/client.ts'
import { shownAttributes } from '../search-engine/document-fields.ts'
import type { ParsedQuery, QueryToken } from '../text/parse-query.ts'
import { canBePartOfCode } from '../text/sku-keys.ts'
import { toLookAlike } from '../text/tokens.ts'
import {
  maxEngineWords,
  quoteFilterValue,
  toCodeCondition,
  toEngineFilters,
} from './engine-filters.ts'
import { buildRelaxedResult, type FoundProduct } from './hits.ts'
import { ProductOrder } from './order.ts'
import type { ParsedRequest, SearchResult } from './schema.ts'

/** How many hits are requested of each part of a query. More hits cost the engine more. */
const hitsPerPart = 15
/** The parts of a query of two words are its words. */
const hitsPerWordOfTwo = 40
/** Pairs that are further apart, and single tokens, are searched only if fewer are found. */
const enoughHits = 16
const maxPairDistance = 2
/** Each synonym, correction or translation adds as many queries as there are parts with its word. */
const maxTexts = 2
/** Of more tokens, those that the fewest products have are searched together. */
const maxTokens = 6
const maxPaired = 4
const maxAlone = 3
/** This number gave the best results with people's judgements. */
const rarityExponent = 0.05

/** Sends these queries to the engine. */
export type Ask = (queries: Omit<EngineQuery, 'indexUid'>[]) => Promise<EngineResult[]>
/** Adds corrections to words that no product has. Without them if that takes too long. */
export type Correct = (query: ParsedQuery) => Promise<ParsedQuery>

/** What a product must have for a token, by its place in the query: a text; null: the code itself. */
type Choice = { place: number; text: string | null }

/** Returns the page of hits. `pinned` come first. `found` are the hits of the whole query. */
export async function relax(
  ask: Ask,
  correct: Correct,
  request: ParsedRequest,
  pinned: FoundProduct[],
  found: EngineHit[],
): Promise<SearchResult> {
  const { query } = request
  const filters = toEngineFilters(request)
  const limit = query.tokens.length === 2 ? hitsPerWordOfTwo : hitsPerPart
  const toQuery = (part: Choice[], hits = limit) => {
    const codes = part.flatMap(({ place, text }) =>
      text === null ? (query.tokens[place] ?? []) : [],
    )
    return {
      // Only the last word may be unfinished, so phrases come first.
      q: part
        .flatMap(({ text }) => text ?? [])
        .toSorted((a, b) => Number(b.startsWith('"')) - Number(a.startsWith('"')))
        .join(' '),
      limit: hits,
      filter: [...filters, ...codes.map((token) => toCodeCondition(token, hits > 0))],
      matchingStrategy: 'all' as const,
      attributesToRetrieve: shownAttributes,
    }
  }
  const typed = query.tokens.map(({ kind, text }, place) => ({
    place,
    text: kind === 'word' ? quote(text) : null,
  }))
  const pairs = typed
    .slice(0, maxEngineWords)
    .flatMap((one, n) => typed.slice(n + 1, n + 1 + maxPairDistance).map((other) => [one, other]))
  const answers = await ask([
    ...typed.map((choice) => toQuery([choice], 0)),
    ...pairs.map((pair) => toQuery(pair)),
  ])
  const counts = answers.splice(0, typed.length).map(({ estimatedTotalHits }) => estimatedTotalHits)
  const isUnknown = ({ kind }: QueryToken, place: number) => kind === 'word' && counts[place] === 0
  const { tokens } = query.tokens.some(isUnknown) ? await correct(query) : query
  // What no product has is last, unless it can be something else.
  const countProducts = (choices: Choice[]) =>
    counts[choices[0]?.place ?? 0] || (choices.length > 1 ? 0 : maxListed)
  const rarestFirst = tokens
    .map((token, place) => listChoices(token, place, isUnknown(token, place)))
    .toSorted((a, b) => countProducts(a) - countProducts(b))
  // All products with one of these pairs are found.
  const complete = pairs.filter((_, n) => (answers[n]?.estimatedTotalHits ?? limit) < limit)
  const isNew = (part: Choice[]) => {
    const has = ({ place, text }: Choice) =>
      part.some((other) => other.place === place && other.text === text)
    return !complete.some((pair) => pair.every(has))
  }
  const ids = new Set([...found, ...answers.flatMap((answer) => answer.hits)].map(({ id }) => id))
  const hasUnknown = (part: Choice[][]) => part.some(([choice]) => counts[choice?.place ?? 0] === 0)
  const parts = listParts(rarestFirst)
    .filter((part) => part.length > 2 || ids.size < enoughHits || hasUnknown(part))
    .flatMap(listVariants)
    .filter(isNew)
  const alike = query.partialCodeKey
  const queries = parts.map((part) => toQuery(part))
  if (alike !== undefined && canBePartOfCode(alike))
    queries.push({
      ...toQuery([], 2),
      filter: [...filters, `lookAlike = ${quoteFilterValue(toLookAlike(alike))}`],
    })
  if (queries.length > 0) answers.push(...(await ask(queries)))
  const lookAlikes = queries.length > parts.length ? (answers.pop()?.hits ?? []) : []
  const hits = [...found, ...answers.flatMap((answer) => answer.hits)]
  const candidates = new Map(hits.map((hit) => [hit.id, hit]))
  for (const hit of lookAlikes)
    if (lookAlikes.length === 1) candidates.set(hit.id, hit)
    else candidates.delete(hit.id)
  for (const { product } of pinned) candidates.delete(product.id)
  // A translation counts only if no product has the word.
  const ordered = tokens.map((token, place) =>
    counts[place] === 0 || token.translations.length === 0 ? token : { ...token, translations: [] },
  )
  const order = new ProductOrder({ ...query, tokens: ordered }, counts.map(weigh))
  const scored = order.sort([...candidates.values()])
  const others = scored.map((product) => ({ ...product, kind: 'words' as const }))
  return buildRelaxedResult(request, [...pinned, ...others], order)
}

/**
 * Returns what a product may have for a token: it, its synonyms, corrections and translations. A
 * word that products have is a phrase of one word: with typos and endings, each part would cost the
 * engine up to a hundred times as much.
 */
function listChoices(token: QueryToken, place: number, isUnknown: boolean): Choice[] {
  const { kind, text, synonyms, translations, corrections = [] } = token
  const others = isUnknown ? [...corrections, ...translations, ...synonyms] : synonyms
  const choices = [...new Set(others)].slice(0, maxTexts).map((each) => quote(each))
  const own = kind !== 'word' ? null : isUnknown ? text : quote(text)
  return [own, ...choices].map((each) => ({ place, text: each }))
}

const quote = (text: string) => `"${text}"`

/** Returns the first choice of each token, and one other choice at a time. */
function listVariants(part: Choice[][]): Choice[][] {
  const first = part.flatMap(([choice]) => choice ?? [])
  const others = part.flatMap((choices, n) =>
    choices.slice(1).map((choice) => first.with(n, choice)),
  )
  return [first, ...others]
}

/**
 * Returns the tokens that a product may have together, given those that the fewest products have
 * first: all of them, all but one, two of the rarest, and one of them.
 */
export function listParts<Token>(rarestFirst: Token[]): Token[][] {
  const tokens = rarestFirst.slice(0, maxTokens)
  const rarest = tokens.slice(0, maxPaired)
  const allButOne = tokens.map((_, n) => tokens.toSpliced(n, 1))
  return [
    ...(tokens.length > 2 ? [tokens] : []),
    ...(tokens.length > 3 ? allButOne.toReversed() : []),
    ...rarest.flatMap((token, n) => rarest.slice(n + 1).map((other) => [token, other])),
    ...rarest.slice(0, maxAlone).map((token) => [token]),
  ]
}

/**
 * A word that many products have weighs less. A word of one product weighs 1, a word of a million
 * products 0.501. So two such frequent words together count more than one word of a single product.
 */
function weigh(productCount: number): number {
  return Math.max(1, productCount) ** -rarityExponent
}
