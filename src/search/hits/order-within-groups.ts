// Orders the hits of the groups `exact-sku` and `pinned` (plan-hit-groups.ts). docs/search.md lists
// all that decides the order of hits.
import type { EngineHit } from '../../search-engine/search-client.ts'
import { toPinKey } from '../../text/sku-and-hs-codes.ts'

/** The service orders at most this many products with the same SKU key by their spelling. */
export const maxOrderedSkus = 200
/** Other spellings rank half a place after a pinned SKU, so they come before the next one. */
export const otherSpellingDistance = 0.5

/**
 * Orders products whose SKUs equal the query except for case and separators. Those spelled as typed
 * come first, then those that differ in case only, then those that differ in separators.
 */
export function putExactSpellingFirst(hits: EngineHit[], typed: string): EngineHit[] {
  const lowerCaseTyped = typed.toLowerCase()
  const similarity = ({ sku }: EngineHit) => {
    const normalized = sku.normalize('NFC')
    if (normalized === typed) return 2
    return normalized.toLowerCase() === lowerCaseTyped ? 1 : 0
  }
  const ordered = hits.slice(0, maxOrderedSkus).toSorted((a, b) => similarity(b) - similarity(a))
  return [...ordered, ...hits.slice(maxOrderedSkus)]
}

/** Orders pinned products as the company does. Other spellings of a SKU follow right after it. */
export function putInPinnedOrder(hits: EngineHit[], pinnedSkus: readonly string[]): EngineHit[] {
  const keys = pinnedSkus.map(toPinKey)
  const rankOf = ({ sku }: EngineHit) => {
    if (pinnedSkus.includes(sku)) return pinnedSkus.indexOf(sku)
    const sameKey = keys.indexOf(toPinKey(sku))
    // No pinned SKU has this key: the filters of the engine do not distinguish "①" from "1".
    return sameKey < 0 ? keys.length : sameKey + otherSpellingDistance
  }
  return hits.toSorted((a, b) => rankOf(a) - rankOf(b))
}
