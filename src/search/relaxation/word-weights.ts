// Weighs the words of a relaxed query: how much a match of each counts in the ranking of hits.

/**
 * The weight of a word is a small power of its inverse frequency. Two very common words, in a
 * million products each, together count more than one word of a single product. NDCG@10 of names
 * (docs/measurements.md): .822 with equal weights, .837 with 0.05. With 0.2 a rare word outweighs
 * two others, and titles get .893 instead of .917.
 */
const rarityExponent = 0.05

/** Returns the weight of a word that so many products have: 1, or less for frequent words. */
export function weighWord(productCount: number): number {
  return Math.max(1, productCount) ** -rarityExponent
}
