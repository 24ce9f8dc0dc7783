// Weighs the words of a relaxed query: how much a match of each counts in the ranking of hits.

/**
 * A word that many products have weighs less. A word of one product weighs 1, a word of a million
 * products 0.501. So two such frequent words together count more than one word of a single product.
 * docs/measurements.md compares the exponent with others.
 */
const rarityExponent = 0.05

/** Returns the weight of a word that so many products have: 1, or less for frequent words. */
export function weighWord(productCount: number): number {
  return Math.max(1, productCount) ** -rarityExponent
}
