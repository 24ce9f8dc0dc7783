// Where a hit matches what was typed: [start, length] in UTF-16 code units of the value sent.

import type { EngineHit } from '../search-engine/engine-client.ts'
import { foldText } from '../text/accent-folding.ts'
import { codeKey } from '../text/product-codes.ts'
import { findSizes } from '../text/sizes.ts'
import type { Hit } from './schema.ts'

type Range = [start: number, length: number]

/** What was typed: its words folded, what may be part of a code in it, and the sizes. */
export type Typed = { text: string; words: Set<string>; codes: string[]; sizes: string[] }

export function typedAs(text: string, sizes: string[]): Typed {
  const words = wordsOf(text)
  const codes = [text, ...words].map(codeKey).filter((code) => code.length >= 2 && /\d/.test(code))
  return { text, words: new Set(words.map(foldText)), codes, sizes }
}

const highlighted = ['sku', 'name', 'description', 'category', 'brand', 'hsCode'] as const

/** Sorted, without overlaps, never outside the value. */
export function highlightsOf(
  hit: EngineHit,
  { words: typed, codes, sizes }: Typed,
): Hit['highlights'] {
  const highlights: Hit['highlights'] = {}
  for (const attribute of highlighted) {
    const value = hit[attribute]
    if (!value) continue
    const found = (hit._matchesPosition?.[attribute] ?? []).map(({ start, length }) =>
      wholeWord(value, utf16Range(value, start, length), typed),
    )
    if (attribute === 'sku' && found.length === 0 && codes.length > 0)
      found.push(...codeRanges(value, codes))
    if (attribute === 'hsCode') found.push(...beginningRanges(value, codes))
    if (attribute === 'name' && sizes.length > 0) found.push(...sizeRanges(value, sizes))
    const ranges = merged(found, value.length)
    if (ranges.length > 0) highlights[attribute] = ranges
  }
  return highlights
}

/**
 * The same found by plain comparison, for hits that no engine told about: the beginnings of words, codes from their middle, and
 * sizes.
 */
export function plainHighlightsOf(
  hit: Pick<Hit, (typeof highlighted)[number]>,
  typed: Typed,
): Hit['highlights'] {
  const highlights: Hit['highlights'] = {}
  for (const attribute of highlighted) {
    const value = hit[attribute]
    if (!value) continue
    const found = [...value.matchAll(/[\p{L}\p{M}\p{N}]+/gu)].flatMap(({ 0: word, index }) => {
      const length = beginningOf(word, typed.words)
      return length > 0 ? [[index, length] as Range] : []
    })
    if (attribute === 'sku' && found.length === 0) found.push(...codeRanges(value, typed.codes))
    if (attribute === 'hsCode') found.push(...beginningRanges(value, typed.codes))
    if (attribute === 'name') found.push(...sizeRanges(value, typed.sizes))
    const ranges = merged(found, value.length)
    if (ranges.length > 0) highlights[attribute] = ranges
  }
  return highlights
}

/** How much of a word, in code units, is one of those that were typed; 0: it begins with none. */
function beginningOf(word: string, typed: Set<string>): number {
  const folded = foldText(word)
  let longest = 0
  for (const wanted of typed)
    if (wanted.length > longest && folded.startsWith(wanted)) longest = wanted.length
  if (longest === 0 || folded.length === word.length) return longest
  // Accents written apart, and letters that foldText to two: as many letters as it takes to foldText to what was typed.
  let [end, covered] = [0, 0]
  for (const letter of word) {
    const width = foldText(letter).length
    if (covered >= longest && width > 0) break
    covered += width
    end += letter.length
  }
  return end
}

const ascii = /^[\0-\x7f]*$/

/** The engine counts bytes of UTF-8. Up to here, in code units. */
function utf16Range(value: string, start: number, length: number): Range {
  if (ascii.test(value)) return [start, length]
  const bytes = Buffer.from(value)
  return [
    bytes.subarray(0, start).toString().length,
    bytes.subarray(start, start + length).toString().length,
  ]
}

/** With a slip the engine marks as many letters as were typed; what was found is the word. The beginning of a word, being typed, stays one. */
function wholeWord(value: string, [start, length]: Range, typed: Set<string>): Range {
  const marked = foldText(value.slice(start, start + length))
  if (marked.includes(' ') || typed.has(marked)) return [start, length]
  const rest = /^[\p{L}\p{M}\p{N}]+/u.exec(value.slice(start + length))?.[0].length ?? 0
  return [start, length + rest]
}

/** A code is found from its middle and across its separators: mark what lies between the first and the last character that match. */
function codeRanges(sku: string, codes: string[]): Range[] {
  const places = [...sku].flatMap((character, place, all) =>
    codeKey(character) === '' ? [] : [all.slice(0, place).join('').length],
  )
  const key = codeKey(sku)
  if (places.length !== key.length) return []
  for (const wanted of codes) {
    const at = key.indexOf(wanted)
    const [first, last] = [places[at], places[at + wanted.length - 1]]
    if (at >= 0 && first !== undefined && last !== undefined) return [[first, last - first + 1]]
  }
  return []
}

/** An HS code is found from its beginning, also typed with dots. */
function beginningRanges(hsCode: string, codes: string[]): Range[] {
  return codes.filter((code) => hsCode.startsWith(code)).map((code) => [0, code.length])
}

function sizeRanges(name: string, sizes: string[]): Range[] {
  return findSizes(name).flatMap(({ start, length, forms }): Range[] =>
    forms.some((form) => sizes.includes(form)) ? [[start, length]] : [],
  )
}

function merged(ranges: Range[], valueLength: number): Range[] {
  const result: Range[] = []
  for (const [start, length] of ranges.toSorted(([a], [b]) => a - b)) {
    const end = Math.min(valueLength, start + length)
    const last = result.at(-1)
    if (last && start <= last[0] + last[1]) last[1] = Math.max(last[1], end - last[0])
    else if (end > start) result.push([start, end - start])
  }
  return result
}

function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
}
