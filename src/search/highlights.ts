// Computes the highlights of a hit: [start, length] in UTF-16 code units of the value sent.
import { type HighlightedName, highlightedNames } from '../products/fields.ts'
import type { EngineHit } from '../search-engine/client.ts'
import { normalizeText } from '../text/normalize.ts'
import { canBePartOfCode } from '../text/sku-keys.ts'
import { gluedKey } from '../text/tokens.ts'
import { type ProductOrder, readParts } from './order.ts'
import type { Hit } from './schema.ts'

type Range = [start: number, length: number]

/** Returns ranges that are sorted, do not overlap and lie inside the value. */
export function highlight(
  product: Pick<EngineHit, HighlightedName>,
  order: ProductOrder,
): Hit['highlights'] {
  const highlights: Hit['highlights'] = {}
  for (const attribute of highlightedNames) {
    const value = product[attribute]
    if (!value) continue
    const ranges =
      attribute === 'hsCode' ? findHsCodePrefix(value, order) : findMatches(value, order)
    if (attribute === 'sku' && ranges.length === 0) ranges.push(...findCode(value, order))
    const merged = mergeRanges(ranges, value.length)
    if (merged.length > 0) highlights[attribute] = merged
  }
  return highlights
}

/** Finds the words and codes that match the query. Of an unfinished word, its beginning. */
function findMatches(value: string, order: ProductOrder): Range[] {
  const { words, codes } = readParts(value)
  const ranges: Range[] = []
  for (const { text, start, end } of words) {
    const letters = order.countMatchingLetters(text)
    if (letters === 0) continue
    const isWhole = letters >= text.length
    const length = isWhole
      ? end - start
      : normalizeText(value.slice(start, end)).positionOf(letters)
    ranges.push([start, length])
  }
  for (const { text, start, end } of codes)
    if (order.hasCode(text)) ranges.push([start, end - start])
  return ranges
}

/** Finds the first code of the query that is in a SKU. The range includes separators inside it. */
function findCode(sku: string, order: ProductOrder): Range[] {
  const { text, positionOf } = normalizeText(sku)
  for (const code of order.codeKeys.filter(canBePartOfCode)) {
    if (!gluedKey(text).includes(code)) continue
    // A code has letters and digits only.
    const [match] = text.matchAll(new RegExp([...code].join('[^\\p{L}\\d]*'), 'gu'))
    if (!match) continue
    const start = positionOf(match.index)
    return [[start, positionOf(match.index + match[0].length) - start]]
  }
  return []
}

function findHsCodePrefix(hsCode: string, order: ProductOrder): Range[] {
  return order.codeKeys
    .filter((code) => code.length > 1 && hsCode.startsWith(code))
    .map((code) => [0, code.length])
}

function mergeRanges(ranges: Range[], valueLength: number): Range[] {
  const merged: Range[] = []
  for (const [start, length] of ranges.toSorted(([a], [b]) => a - b)) {
    const end = Math.min(valueLength, start + length)
    const last = merged.at(-1)
    if (last && start <= last[0] + last[1]) last[1] = Math.max(last[1], end - last[0])
    else if (end > start) merged.push([start, end - start])
  }
  return merged
}
