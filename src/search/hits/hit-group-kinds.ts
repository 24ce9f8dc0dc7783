// The kinds of hit groups. plan-hit-groups.ts decides which groups a search has, and their order.

/**
 * What selects the products of a hit group:
 * - `exact-sku`: the SKU equals the query, except for case and separators (its key). If many SKUs
 *   may have the same key, there are two groups of this kind. The first has the SKUs that also have
 *   the same symbols and digits of other scripts, the second all others with the same key.
 * - `pinned`: the company puts the SKU first for this query. Case and separators do not matter.
 * - `partial-code`: a SKU contains the query, or an HS code begins with it, except for separators.
 * - `enye-names`: the name has every typed word with ñ (eñe), and matches the words.
 * - `words`: the remaining products that match the words.
 */
export type HitGroupKind = 'exact-sku' | 'pinned' | 'partial-code' | 'enye-names' | 'words'

/** Whether the words of the query select the products of a group. */
export function usesWords(kind: HitGroupKind): boolean {
  return kind === 'words' || kind === 'enye-names'
}

/** Whether the service orders the few products of a group itself (order-within-groups.ts). */
export function isOrderedByService(kind: HitGroupKind): boolean {
  return kind === 'exact-sku' || kind === 'pinned'
}
