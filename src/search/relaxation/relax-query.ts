// Relaxes a query that no product satisfies: finds products that contain some of its words, and
// ranks them. docs/search.md lists all that decides the order of hits.
import { defaultHits } from '../../search-engine/result-limits.ts'
import type { EngineHit } from '../../search-engine/search-client.ts'
import type { SynonymMap } from '../../words/synonym-map.ts'
import { isUnknown, type QueryWord } from './query-words.ts'
import type { Subqueries, Subquery } from './subqueries.ts'
import { listPairs, listTranslations, listTriples, type WordPair } from './subquery-texts.ts'
import { TextSimilarity } from './text-similarity.ts'
import { weighWord } from './word-weights.ts'

/**
 * The number of hits requested for each subquery. More hits cost the engine more. NDCG@10 of
 * English queries .728 with 8, .741 with 15, .745 with 30.
 */
const subqueryHits = 15
/**
 * The only pair of a two-word query is the query itself, so each word is requested alone, with this
 * many hits. NDCG@10 of queries with a typo in the first letter .957 with 15, .968 with 40 and 100.
 */
const hitsPerWordOfTwo = 40
/**
 * If fewer products are found, single words are requested too. NDCG@10 .828 without these words,
 * .831 with them.
 */
const enoughHits = defaultHits
/**
 * Reciprocal rank fusion: score = Σ 1 / (k + rank). 60 is the value of Cormack, Clarke and Büttcher
 * (2009). NDCG@10 of English queries .734 without fusion, .741 with it, .739 with 10, .741 with
 * 1,000.
 */
const fusionK = 60

/**
 * Finds products that contain some of the words of a query, in four steps:
 * 1. Count the products that contain each word as typed (loadQueryWords, before the
 *    call). Words that no product contains are unknown (isUnknown).
 * 2. Request each pair of words, the unknown words, and the translations.
 * 3. If few products were found, request single words too. If a pair has more products than were
 *    returned, request triples of words too.
 * 4. Rank all products that were found.
 *
 * `firstHits` has the best hits of the whole text. Returns the products found, best first, and
 * their similarity. They depend on the words and the filters only, so pages are consistent and the
 * number of hits is the total. Throws if the engine does not answer.
 */
export async function relaxQuery(
  subqueries: Subqueries,
  words: QueryWord[],
  synonyms: SynonymMap,
  firstHits: EngineHit[][],
): Promise<{ hits: EngineHit[]; similarity: TextSimilarity }> {
  // Step 2.
  const pairs = words.length === 2 ? [] : listPairs(words, synonyms)
  const mainSubqueries = planMainSubqueries(words, pairs)
  const otherSubqueries = planOtherSubqueries(words, mainSubqueries)
  await subqueries.send([...mainSubqueries, ...otherSubqueries])

  // Step 3.
  const mainHits = mainSubqueries.map(({ text }) => subqueries.result(text)?.hits ?? [])
  const hasEnough = countDistinctHits([...firstHits, ...mainHits]) >= enoughHits
  const singleWords = hasEnough ? [] : words.map(({ text }) => text)
  const triples = listTriples(words, (word, other) =>
    mayHaveMoreProducts(word, other, pairs, subqueries),
  )
  await subqueries.send([...singleWords, ...triples].map(toSubquery))

  // Step 4.
  const similarity = new TextSimilarity(words)
  const weights = words.map((word) => weighWord(countMatches(word, subqueries)))
  const lists = [...firstHits, ...subqueries.results().map(({ hits }) => hits)]
  return { hits: rankByMatchedWords(similarity, weights, lists), similarity }
}

/** Returns the subqueries for the pairs, or for both words if there are only two. */
function planMainSubqueries(words: QueryWord[], pairs: WordPair[]): Subquery[] {
  if (words.length === 2) return words.map(({ text }) => ({ text, limit: hitsPerWordOfTwo }))
  return pairs.map(({ text }) => toSubquery(text))
}

/** Returns the subqueries for unknown words and translations that no main subquery covers. */
function planOtherSubqueries(words: QueryWord[], mainSubqueries: Subquery[]): Subquery[] {
  const mainTexts = mainSubqueries.map(({ text }) => text)
  const unknownTexts = words.filter(isUnknown).map(({ text }) => text)
  return [...unknownTexts, ...listTranslations(words)]
    .filter((text) => !mainTexts.includes(text))
    .map(toSubquery)
}

const toSubquery = (text: string): Subquery => ({ text, limit: subqueryHits })

/**
 * Whether products with both words may be missing from what was found. A product with three words
 * may be missing if the results of all its pairs were cut off, or were not requested.
 */
function mayHaveMoreProducts(
  word: QueryWord,
  other: QueryWord,
  pairs: WordPair[],
  subqueries: Subqueries,
): boolean {
  const pair = pairs.find((requested) => requested.word === word && requested.other === other)
  const result = pair && subqueries.result(pair.text)
  return result === undefined || result.estimatedTotalHits > result.hits.length
}

/** Returns how many products have a word; with typos or as a prefix, if it is unknown. */
function countMatches(word: QueryWord, subqueries: Subqueries): number {
  if (!isUnknown(word)) return word.productCount
  const result = subqueries.result(word.text)
  if (result === undefined) throw new Error('an unknown word of a query was not requested')
  return result.estimatedTotalHits
}

function countDistinctHits(lists: EngineHit[][]): number {
  return new Set(lists.flat().map(({ id }) => id)).size
}

/**
 * Returns the hits of all lists, each once: by the words that they contain, then by
 * reciprocal rank fusion of the lists. `weights` has the weight of each word.
 */
function rankByMatchedWords(
  similarity: TextSimilarity,
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
      score: similarity
        .compare(hit)
        .reduce((sum, quality, word) => sum + quality * (weights[word] ?? 0), 0),
    }))
    .toSorted((a, b) => b.score - a.score || b.fusionScore - a.fusionScore)
    .map(({ hit }) => hit)
}
