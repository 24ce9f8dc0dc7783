// Weighs the words of a relaxed query: how much a match of each counts in the ranking of hits.

/**
 * The weight of a word is a small power of its inverse frequency. Two very common words, in a
 * million products each, together count more than one word of a single product.
 * docs/measurements.md compares it with other exponents.
 */
const rarityExponent = 0.05

/** Returns the weight of a word that so many products have: 1, or less for frequent words. */
export function weighWord(productCount: number): number {
  return Math.max(1, productCount) ** -rarityExponent
}
