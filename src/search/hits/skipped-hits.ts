// Skips hits before a later page, so that the engine does not return all of them again.
//
// The engine skips only hits of `words`, the last group. How many products the groups before it
// have is not known yet. So each is assumed to have at most 200 (assumedGroupSize). For example,
// the page begins at the offset 1000, and there is one group before `words`. Then 800 hits are
// skipped.
//
//   The group has 3 products. So the first hit of `words` is number 3 of all, counted from 0, and
//   the numbers 3 to 802 were skipped. All of them are before the page. The page begins at index
//   200 of the hits that were returned: 1000 - 800.
//
//   The group has 212 products. So the numbers 212 to 1011 were skipped. The numbers 1000 to 1011
//   belong to the page. Everything is requested again from its beginning.
import { type HitGroupKind, isOrderedByService } from './hit-group-kinds.ts'
import { maxOrderedSkus } from './order-within-groups.ts'

/** Groups before `words` rarely have more products than the service orders. */
const assumedGroupSize = maxOrderedSkus

/**
 * Returns how many hits of the group `words` the engine may skip. `kinds` has the kinds of all
 * groups of the search. Returns 0 if one of them is `partial-code` or `enye-names`, because these
 * may have many products.
 */
export function countSkippableHits(kinds: HitGroupKind[], offset: number): number {
  const kindsBeforeWords = kinds.filter((kind) => kind !== 'words')
  if (kindsBeforeWords.length === kinds.length) return 0
  if (!kindsBeforeWords.every(isOrderedByService)) return 0
  return Math.max(0, offset - kindsBeforeWords.length * assumedGroupSize)
}

/**
 * Whether the engine has skipped hits that belong to the page, or to a later one. `hitsBeforeWords`
 * is the total of the groups before `words`.
 */
export function hasSkippedTooMany(
  skippedHits: number,
  hitsBeforeWords: number,
  offset: number,
): boolean {
  return skippedHits > 0 && hitsBeforeWords + skippedHits > offset
}

/** Returns the index at which the page begins in the list of all hits that were returned. */
export function findPageStart(skippedHits: number, offset: number): number {
  return offset - skippedHits
}
