// Recognises product codes in a text and compares them without separators. A product code is a SKU
// or an HS code, or part of one. Codes allow no typo. Two codes are equal if their keys are equal.
// Each function returns a different key:
//
//   text       toCodeKey   toFoldedCodeKey   toPartialCodeKey   toSkuKey   toDistinctSkuKey
//   Ñu-742     ñu742       nu742             nu742              ñu742      undefined
//   8205.20    820520      820520            820520             820520     undefined
//   B-½        b           b                 undefined          b          =b½
//   *          (empty)     (empty)           undefined          *          undefined
//   martillo   martillo    martillo          undefined          martillo   undefined
//
//   function            stored by documents in           compared in a search
//   toSkuKey            skuKey                           with an exact SKU
//   toDistinctSkuKey    skuKey, as its second value      with an exact SKU, first
//   toPinKey            (it is one of these two)         with pinned SKUs
//   toFoldedCodeKey     skuForms, with all its endings   (by toPartialCodeKey)
//   toPartialCodeKey    (not stored)                     with starts of skuKey, skuForms, hsCode
//   toCodeKey           (not stored)                     for highlights and relaxed queries
//
// PostgreSQL stores the key of toSkuKey in products.sku_key. Its function code_key computes it, and
// also the key of a query in the fallback. So code_key is toSkuKey and not toCodeKey.
//
// A parsed query has the results of toSkuKey, toDistinctSkuKey and toPartialCodeKey as skuKey,
// distinctSkuKey and partialCodeKey.
import { removeAccents } from './accent-folding.ts'
import { findSizes } from './sizes-with-units.ts'

/** A longer sequence of words, or a longer word, is a phrase and not a code with separators. */
const maxCodeParts = 5
const maxPartLength = 6
const minCodePartLength = 3
/** Parts of a SKU are found within its first 40 characters, which limits the suffixes stored. */
const maxSearchedLength = 40

/** Returns a code in lower case without separators: "AB-742-X" and "ab 742x" have the same key. */
export function toCodeKey(text: string): string {
  return toLowerCaseLetters(text).replace(/[^\p{Alphabetic}0-9]/gu, '')
}

/**
 * Returns the key by which a whole SKU is found. A SKU of signs only, such as "*", is its own key.
 * The function code_key of the database does the same for every character that both Unicode
 * versions define.
 */
export function toSkuKey(sku: string): string {
  return toCodeKey(sku) || toLowerCaseLetters(sku)
}

/**
 * Returns a key that distinguishes SKUs with the same `toSkuKey`: "=b½" for "B-½" and "=b¾" for
 * "B-¾", which both have the key "b" without digits and signs beyond ASCII. Undefined for a SKU
 * that has no such characters, or no others.
 */
export function toDistinctSkuKey(sku: string): string | undefined {
  const lowerCase = toLowerCaseLetters(sku)
  const isDistinct = toCodeKey(sku) === '' || !/[^\p{Alphabetic}\0-\x7f]/u.test(lowerCase)
  return isDistinct ? undefined : `=${lowerCase.replace(/[^a-z0-9\x80-\u{10ffff}]/gu, '')}`
}

/** Whether many SKUs may have the `toSkuKey` of this one. */
export function mayShareSkuKey(sku: string): boolean {
  return toDistinctSkuKey(sku) !== undefined
}

/** Returns the key by which a pinned SKU is found: the one that fewer SKUs have. */
export function toPinKey(sku: string): string {
  return toDistinctSkuKey(sku) ?? toSkuKey(sku)
}

/** Converts letters one by one, as the database does: even at the end of a word, Σ becomes σ. */
function toLowerCaseLetters(text: string): string {
  if (/^[\0-\x7f]*$/.test(text)) return text.toLowerCase()
  return text.normalize('NFC').replace(/\p{L}|\p{So}|\p{Nl}/gu, (letter) => letter.toLowerCase())
}

/** Returns the key of a code without accents, as the forms of a SKU are indexed. */
export function toFoldedCodeKey(text: string): string {
  return toCodeKey(removeAccents(text))
}

/** Returns the code and all its suffixes of at least two characters. A search for any finds it. */
export function listCodeSuffixes(key: string): string[] {
  // The engine rejects a document with half of a character that is two UTF-16 units.
  const code = key.slice(0, maxSearchedLength).replace(/[\ud800-\udbff]$/, '')
  const suffixes = code === '' ? [] : [code]
  for (let start = 1; start < code.length - 1; start++) {
    const suffix = code.slice(start)
    if (suffix.isWellFormed()) suffixes.push(suffix)
  }
  return suffixes
}

/**
 * Returns the folded key of a text that may be a code with separators: ab742 for "ab-742", 820520
 * for "8205.20". Undefined for any other text, and for sizes. The engine finds such a code by
 * itself only if it is stored with the same separators, because typos are off for codes.
 */
export function toPartialCodeKey(text: string): string | undefined {
  const parts = text.match(/[\p{L}\p{N}]+/gu) ?? []
  if (parts.length < 2 || parts.length > maxCodeParts) return undefined
  if (parts.some((part) => part.length > maxPartLength)) return undefined
  const key = toFoldedCodeKey(text)
  return canBePartOfCode(key) && findSizes(text).length === 0 ? key : undefined
}

/** Whether the text is a single code with separators and nothing else: "ab-742", not "18-volt". */
export function isOnlyCode(text: string): boolean {
  return (
    /^[\p{L}\p{N}]+(?:[^\p{L}\p{N}\s]+[\p{L}\p{N}]+)+$/u.test(text) &&
    /\d/.test(text) &&
    findSizes(text).length === 0
  )
}

/**
 * Whether a key is looked for inside codes. It has at least three characters, and one is a digit.
 * Other keys are inside too many codes.
 */
export function canBePartOfCode(key: string): boolean {
  return key.length >= minCodePartLength && /\d/.test(key)
}

/** Whether an HS code can begin with this key: at least four digits. */
export function canBeginHsCode(key: string): boolean {
  return /^\d{4,}$/.test(key)
}
