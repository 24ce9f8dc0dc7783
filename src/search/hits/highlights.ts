// Computes the highlights of a hit: [start, length] in UTF-16 code units of the value sent.
import type { EngineHit } from '../../search-engine/search-client.ts'
import { foldText } from '../../text/accent-folding.ts'
import type { HighlightTerms } from '../../text/parse-query.ts'
import { findSizes } from '../../text/sizes-with-units.ts'
import { toCodeKey } from '../../text/sku-and-hs-codes.ts'
import { type HighlightedAttribute, type Hit, highlightedAttributes } from '../schema.ts'

type Range = [start: number, length: number]
type Highlights = Hit['highlights']

/** Letters, combining accents and digits. */
const wordPattern = /[\p{L}\p{M}\p{N}]+/gu
const restOfWordPattern = /^[\p{L}\p{M}\p{N}]+/u
const asciiPattern = /^[\0-\x7f]*$/

/** Highlights a hit of the engine: the positions that the engine reports, codes and sizes. */
export function highlightEngineHit(hit: EngineHit, terms: HighlightTerms): Highlights {
  return highlightAttributes(hit, terms, (value, attribute) => {
    const positions = hit._matchesPosition?.[attribute] ?? []
    return positions.map(({ start, length }) =>
      extendToWord(value, toUtf16Range(value, start, length), terms.words),
    )
  })
}

/** Highlights a product by comparison: the beginnings of words, codes and sizes. */
export function highlightByComparison(
  product: Pick<Hit, HighlightedAttribute>,
  terms: HighlightTerms,
): Highlights {
  return highlightAttributes(product, terms, (value) => findWordPrefixes(value, terms.words))
}

/** Returns ranges that are sorted, do not overlap and lie inside the value. */
function highlightAttributes(
  product: Pick<Hit, HighlightedAttribute>,
  terms: HighlightTerms,
  findWords: (value: string, attribute: HighlightedAttribute) => Range[],
): Highlights {
  const highlights: Highlights = {}
  for (const attribute of highlightedAttributes) {
    const value = product[attribute]
    if (!value) continue
    const ranges = findWords(value, attribute)
    if (attribute === 'sku' && ranges.length === 0) ranges.push(...findCode(value, terms.codes))
    if (attribute === 'hsCode') ranges.push(...findHsCodePrefixes(value, terms.codes))
    if (attribute === 'name') ranges.push(...findTypedSizes(value, terms.sizes))
    if (ranges.length === 0) continue
    const merged = mergeRanges(ranges, value.length)
    if (merged.length > 0) highlights[attribute] = merged
  }
  return highlights
}

/** Converts a range in bytes of UTF-8, as the engine reports it, to UTF-16 code units. */
function toUtf16Range(value: string, start: number, length: number): Range {
  if (asciiPattern.test(value)) return [start, length]
  const bytes = Buffer.from(value)
  return [
    bytes.subarray(0, start).toString().length,
    bytes.subarray(start, start + length).toString().length,
  ]
}

/**
 * Extends a match with a typo to the end of its word, because the engine marks only as many letters
 * as were typed. For "martilo" it marks "martill" of "martillo", and this returns all of the word.
 * Exact prefixes and phrases stay as they are.
 */
function extendToWord(value: string, [start, length]: Range, words: Set<string>): Range {
  const marked = foldText(value.slice(start, start + length))
  if (marked.includes(' ') || words.has(marked)) return [start, length]
  const rest = restOfWordPattern.exec(value.slice(start + length))?.[0].length ?? 0
  return [start, length + rest]
}

function findWordPrefixes(value: string, words: Set<string>): Range[] {
  return [...value.matchAll(wordPattern)].flatMap(({ 0: found, index }): Range[] => {
    const length = prefixLength(found, words)
    return length > 0 ? [[index, length]] : []
  })
}

/**
 * Returns how many code units of the found word match the longest of `words` with which it begins.
 * Returns 0 if it begins with none.
 */
function prefixLength(found: string, words: Set<string>): number {
  const folded = foldText(found)
  let longest = 0
  for (const word of words)
    if (word.length > longest && folded.startsWith(word)) longest = word.length
  if (longest === 0 || folded.length === found.length) return longest
  // Folding has changed the length: the word has combining accents, or letters that fold to two. So
  // this counts the characters that fold to the beginning, and the accents after the last of them.
  let [end, foldedLength] = [0, 0]
  for (const character of found) {
    const width = foldText(character).length
    if (foldedLength >= longest && width > 0) break
    foldedLength += width
    end += character.length
  }
  return end
}

/** Finds the first of the codes that is in a SKU. The match includes separators inside it. */
function findCode(sku: string, codes: string[]): Range[] {
  if (codes.length === 0) return []
  const key = toCodeKey(sku)
  const positions = [...sku].flatMap((character, index, characters) =>
    toCodeKey(character) === '' ? [] : [characters.slice(0, index).join('').length],
  )
  // The conversion to lower case has changed the number of characters, so the positions do not fit
  // the key.
  if (positions.length !== key.length) return []
  for (const code of codes) {
    const start = key.indexOf(code)
    const [first, last] = [positions[start], positions[start + code.length - 1]]
    if (start >= 0 && first !== undefined && last !== undefined) return [[first, last - first + 1]]
  }
  return []
}

function findHsCodePrefixes(hsCode: string, codes: string[]): Range[] {
  if (codes.length === 0) return []
  return codes.filter((code) => hsCode.startsWith(code)).map((code) => [0, code.length])
}

function findTypedSizes(name: string, sizes: string[]): Range[] {
  if (sizes.length === 0) return []
  return findSizes(name).flatMap(({ start, length, forms }): Range[] =>
    forms.some((form) => sizes.includes(form)) ? [[start, length]] : [],
  )
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
