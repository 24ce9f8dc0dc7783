// Relaxes a query that no product satisfies: finds products that contain some of its words, and
// ranks them. docs/search.md lists all that decides the order of hits.
import type { EngineHit } from '../../search-engine/search-client.ts'
import type { SynonymMap } from '../../words/synonym-map.ts'
import {
  listPairsOrWords,
  listSingleWords,
  listTranslations,
  listTriples,
  type WordSubquery,
} from './list-subqueries.ts'
import { QueryWordMatcher } from './query-word-matcher.ts'
import { isUnknown, type QueryWord } from './query-words.ts'
import type { Subqueries } from './subqueries.ts'
import { weighWord } from './word-weights.ts'

/**
 * If fewer products are found, single words are requested too. The `limit` of the request is not
 * used, because all pages must show the same list.
 */
const enoughHits = 8
/**
 * Reciprocal rank fusion: score = Σ 1 / (k + rank), where the first rank is 0. 60 is the value of
 * Cormack, Clarke and Büttcher (2009). docs/measurements.md compares it with others.
 */
const fusionK = 60

/**
 * Finds products that contain some of the words of a query, in three steps. Returns these products
 * and the top hits (topHitCount) of the whole text, best first, and the matcher of the words. The
 * products depend on the words and the filters only. So pages are consistent, and the number of
 * hits is the total. Throws an `EngineFailure` if the engine does not answer.
 */
export async function relaxQuery(
  subqueries: Subqueries,
  words: QueryWord[],
  synonyms: SynonymMap,
  topHits: EngineHit[][],
): Promise<{ hits: EngineHit[]; matcher: QueryWordMatcher }> {
  // Step 1. Request the pairs of words, the unknown words, and the translations. With only two
  // words, their pair is the query itself, so each word is requested alone instead.
  const singleWords = listSingleWords(words)
  const unknownWords = singleWords.filter(({ words: [word] }) => isUnknown(word))
  const pairsOrWords = listPairsOrWords(words, synonyms)
  await subqueries.send([...pairsOrWords, ...unknownWords, ...listTranslations(words)])

  // Step 2. If the pairs and the top hits together are fewer than `enoughHits` products, request
  // the other single words too. The hits of single unknown words and of translations do not count,
  // because they need not contain any other word. Request a triple only if each of its three pairs
  // has more products than were returned, or was not requested.
  const hitsOfPairsOrWords = pairsOrWords.map(({ text }) => subqueries.resultFor(text)?.hits ?? [])
  const hasEnough = countDistinctHits([...topHits, ...hitsOfPairsOrWords]) >= enoughHits
  const triples = listTriples(words, (earlier, later) =>
    pairMayHaveMoreProducts(earlier, later, pairsOrWords, subqueries),
  )
  await subqueries.send([...(hasEnough ? [] : singleWords), ...triples])

  // Step 3. Rank all products that were found, and the top hits.
  const matcher = new QueryWordMatcher(words)
  const weights = words.map((word) => weighWord(countMatches(word, subqueries)))
  const lists = [...topHits, ...subqueries.allResults().map(({ hits }) => hits)]
  return { hits: rankByMatchedWords(matcher, weights, lists), matcher }
}

/** Whether more products may have both words than the subquery for this pair has returned. */
function pairMayHaveMoreProducts(
  earlier: QueryWord,
  later: QueryWord,
  pairs: WordSubquery[],
  subqueries: Subqueries,
): boolean {
  const pair = pairs.find(({ words }) => words[0] === earlier && words[1] === later)
  const result = pair && subqueries.resultFor(pair.text)
  return result === undefined || result.estimatedTotalHits > result.hits.length
}

/** Returns how many products have a word. They may have an unknown word with typos or endings. */
function countMatches(word: QueryWord, subqueries: Subqueries): number {
  if (!isUnknown(word)) return word.productCount
  const result = subqueries.resultFor(word.text)
  if (result === undefined) throw new Error('an unknown word of a query was not requested')
  return result.estimatedTotalHits
}

function countDistinctHits(lists: EngineHit[][]): number {
  return new Set(lists.flat().map(({ id }) => id)).size
}

/**
 * Returns the hits of all lists, each once. Orders them by the words that they contain, and those
 * that are equal by reciprocal rank fusion of the lists. `weights` has the weight of each word.
 */
export function rankByMatchedWords(
  matcher: QueryWordMatcher,
  weights: number[],
  lists: EngineHit[][],
): EngineHit[] {
  const fused = new Map<string, { hit: EngineHit; fusionScore: number }>()
  for (const hits of lists) {
    for (const [rank, hit] of hits.entries()) {
      const entry = fused.get(hit.id) ?? { hit, fusionScore: 0 }
      entry.fusionScore += 1 / (fusionK + rank)
      fused.set(hit.id, entry)
    }
  }
  return [...fused.values()]
    .map(({ hit, fusionScore }) => ({
      hit,
      fusionScore,
      score: matcher
        .rateMatches(hit)
        .reduce((sum, quality, index) => sum + quality * (weights[index] ?? 0), 0),
    }))
    .toSorted((a, b) => b.score - a.score || b.fusionScore - a.fusionScore)
    .map(({ hit }) => hit)
}
