// The keys by which SKUs and HS codes are compared. Codes allow no typo.
//
//   text       toCodeKey   toFoldedCodeKey   toSkuKey
//   Ñu-742     ñu742       nu742             ñu742
//   B-½        b           b12               b
//   *          (empty)     (empty)           *
//
// PostgreSQL stores the key of toSkuKey in products.sku_key. Its function code_key computes it.

import { normalizeText } from './normalize.ts'
import { gluedKey } from './tokens.ts'

/** A longer sequence of words, or a longer word, is a phrase and not a code with separators. */
const maxCodeParts = 5
const maxPartLength = 14
const minCodePartLength = 3
/** Parts of a SKU are found within its first 40 characters, which limits the forms stored. */
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
 * Whether the key lacks characters of the SKU that are no separators, so that many SKUs may have
 * it: "B-½" and "B-¾" have the key "b".
 */
export function mayShareSkuKey(sku: string): boolean {
  return toCodeKey(sku) !== '' && /[^\p{Alphabetic}\0-\x7f]/u.test(toLowerCaseLetters(sku))
}

/** Converts letters one by one, as the database does: even at the end of a word, Σ becomes σ. */
function toLowerCaseLetters(text: string): string {
  if (/^[\0-\x7f]*$/.test(text)) return text.toLowerCase()
  return text.normalize('NFC').replace(/\p{L}|\p{So}|\p{Nl}/gu, (letter) => letter.toLowerCase())
}

/** Returns the key of a code as all words are compared: without accents and compatibility forms. */
export function toFoldedCodeKey(text: string): string {
  return gluedKey(normalizeText(text).text)
}

/** Returns the code and all its endings of at least two characters. A search for any finds it. */
export function listSkuForms(key: string): string[] {
  // The engine rejects a document with half of a character that is two UTF-16 units.
  const code = key.slice(0, maxSearchedLength).replace(/[\ud800-\udbff]$/, '')
  const endings = code === '' ? [] : [code]
  for (let start = 1; start < code.length - 1; start++) {
    const ending = code.slice(start)
    if (ending.isWellFormed()) endings.push(ending)
  }
  return endings
}

/** Returns the folded key of a text that may be a code, whole or in part; else undefined. */
export function toPartialCodeKey(text: string): string | undefined {
  const parts = text.match(/[\p{L}\p{N}]+/gu) ?? []
  if (parts.length > maxCodeParts || parts.some((part) => part.length > maxPartLength))
    return undefined
  const key = toFoldedCodeKey(text)
  return canBePartOfCode(key) ? key : undefined
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
