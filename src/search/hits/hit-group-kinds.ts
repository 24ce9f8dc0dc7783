// The kinds of hit groups. plan-hit-groups.ts decides which groups a search has, and their order.
// src/text/sku-and-hs-codes.ts begins with a table of the keys of codes.

/**
 * What selects the products of a hit group:
 * - `exact-sku`: the SKU equals the query, except for case and separators: both have the same
 *   `skuKey`. If many SKUs may have this key, there are two groups. The first has the SKUs with the
 *   `distinctSkuKey` of the query, the second the others. For example, B-½ and B-¾ share the key b.
 *   For the query B-½, the first group has B-½, and the second has B-¾.
 * - `pinned`: the company puts the SKU first for this query. Case and separators do not matter.
 * - `partial-code`: a SKU contains the query, or an HS code begins with it, except for separators.
 *   There are two or three groups: SKUs that begin with the query, other SKUs that contain it, and
 *   HS codes, if the query can begin one.
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
