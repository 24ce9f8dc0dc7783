// Ranks the products that a relaxed query found by the words that their own text contains. Rarer
// words weigh more.
import type { EngineHit } from '../../search-engine/search-client.ts'
import type { TextSimilarity } from './text-similarity.ts'

/** Reciprocal rank fusion: score = Σ 1 / (60 + rank) (Cormack, Clarke and Büttcher 2009). */
const fusionK = 60
/** An assumed size of the catalogue. It affects how much rare words weigh, not their order. */
const catalogueSize = 100_000
/**
 * The weight of a word is a small power of its inverse frequency, so that two of three words
 * together count more than the rarest one alone.
 */
const rarityExponent = 0.3

/** Returns the weight of a word that this many products contain. */
function weighWord(productCount: number): number {
  return Math.log(1 + catalogueSize / Math.max(1, productCount)) ** rarityExponent
}

/**
 * Returns the hits of all lists, each once: by the words that they contain, then by reciprocal rank
 * fusion of the lists. `productCounts` has the number of products with each word of `similarity`.
 */
export function rankByOwnText(
  similarity: TextSimilarity,
  productCounts: number[],
  lists: EngineHit[][],
): EngineHit[] {
  const weights = productCounts.map(weighWord)
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
