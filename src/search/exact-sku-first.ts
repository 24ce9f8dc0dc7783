// Orders the products whose SKU equals the query except for case and separators: the SKU that is
// spelled as typed comes first.
import type { EngineHit } from '../search-engine/engine-client.ts'

/** Among this many products with the same SKU key, the one spelled as typed is put first. */
export const maxOrderedSkus = 20

/** Returns the hits with exact spelling first, then those that differ in case only. */
export function putExactSkuFirst(hits: EngineHit[], typed: string): EngineHit[] {
  const lowerCaseTyped = typed.toLowerCase()
  const similarity = ({ sku }: EngineHit) => {
    if (sku === typed) return 2
    return sku.toLowerCase() === lowerCaseTyped ? 1 : 0
  }
  const ordered = hits.slice(0, maxOrderedSkus).toSorted((a, b) => similarity(b) - similarity(a))
  return [...ordered, ...hits.slice(maxOrderedSkus)]
}
