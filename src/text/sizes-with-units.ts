// Finds sizes and gives them one form for indexing and searching: "18 V", "18-Volt" and
// "18 voltios" become 18v, "2 in. x 4 in. x 8 ft." becomes 2x4x8.
import { removeAccentsKeepingLength } from './accent-folding.ts'
import { unitBySpelling } from './unit-spellings.ts'

/** An integer, a decimal number with a point or comma, or a fraction. */
const numberPattern = String.raw`(?:\d+/\d+|\d+(?:[.,]\d+)?)`
/** Longer spellings are tried first: "mm" before "m". */
const unitPattern = [...unitBySpelling.keys()].toSorted((a, b) => b.length - a.length).join('|')
/** A number and, in a second group, its unit, which must be followed by the end of a word. */
const amountPattern = String.raw`(${numberPattern})(?:[\s-]*(${unitPattern})\.?(?![\p{L}\d]))?`

/**
 * Matches the first digit of a number. Sizes are matched only there, because one expression for the
 * whole text took a third of the time of reading a catalogue.
 */
const numberStart = /(?<![\p{L}\d.,/])\d/gu
const sizeAtPosition = new RegExp(
  String.raw`${amountPattern}(?:\s*[x×]\s*${amountPattern})*`,
  'iuy',
)
const everyAmount = new RegExp(amountPattern, 'giu')

/** A unit of at least this many letters is written out and cannot be the start of another word. */
const completeUnitLetters = 4

export type Size = {
  /** Position and length in UTF-16 code units. */
  start: number
  length: number
  /** The indexed forms, the whole size first. */
  forms: string[]
  /** Whether the last unit cannot be the beginning of another word that is still being typed. */
  isComplete: boolean
}

/**
 * Returns every size in a text. Dimensions also have the forms of their sub-sequences, so that 2x4
 * finds 2x4x8.
 */
export function findSizes(text: string): Size[] {
  return matchSizes(removeAccentsKeepingLength(text)).flatMap((match) => toSize(match) ?? [])
}

/** Returns all forms of all sizes in a product's name, without duplicates. */
export function findSizeForms(name: string): string[] {
  return [...new Set(findSizes(name).flatMap(({ forms }) => forms))]
}

/**
 * Replaces the sizes in a query by their indexed forms, and returns the text and these forms. A
 * size at the end that may still be typed ("5 a" may become "5 agujas") stays as it is in the text.
 */
export function replaceSizes(query: string): { text: string; forms: string[] } {
  const forms: string[] = []
  let text = ''
  let copiedTo = 0
  for (const size of findSizes(query)) {
    const [form = ''] = size.forms
    forms.push(form)
    const end = size.start + size.length
    if (!size.isComplete && end >= query.length) continue
    text += query.slice(copiedTo, size.start) + form
    copiedTo = end
  }
  return { text: text + query.slice(copiedTo), forms }
}

/** Matches amounts and dimensions, and numbers without a unit. */
function matchSizes(text: string): RegExpExecArray[] {
  const matches: RegExpExecArray[] = []
  numberStart.lastIndex = 0
  for (let start = numberStart.exec(text); start; start = numberStart.exec(text)) {
    sizeAtPosition.lastIndex = start.index
    const match = sizeAtPosition.exec(text)
    if (!match) continue
    matches.push(match)
    numberStart.lastIndex = sizeAtPosition.lastIndex
  }
  return matches
}

/** Returns null for a single number without a unit. */
function toSize(match: RegExpExecArray): Size | null {
  const [size, , , secondValue] = match
  const matches = secondValue === undefined ? [match] : [...size.matchAll(everyAmount)]
  const amounts = matches.map(([, value = '', unit = '']) => ({
    value: value.replace(',', '.'),
    unit: unit.toLowerCase(),
  }))
  const position = { start: match.index, length: size.length }
  const [first] = amounts
  if (amounts.length > 1) {
    const forms = joinDimensions(amounts.map(({ value }) => value))
    return { ...position, forms, isComplete: true }
  }
  if (!first || first.unit === '') return null
  const form = `${first.value}${unitBySpelling.get(first.unit) ?? ''}`
  return { ...position, forms: [form], isComplete: first.unit.length >= completeUnitLetters }
}

/** Joins every run of at least two values with x, the longest first: 2x4x8, then 2x4 and 4x8. */
function joinDimensions(values: string[]): string[] {
  const joined: string[] = []
  for (let size = values.length; size >= 2; size--) {
    for (let start = 0; start + size <= values.length; start++)
      joined.push(values.slice(start, start + size).join('x'))
  }
  return joined
}
