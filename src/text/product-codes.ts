// What in a text is a code: a SKU, an HS code or a part of one, in whatever pieces it is typed. Codes allow no typo.
import { findSizes } from './sizes.ts'

/** A code without case and separators, as it is compared: "AB-742-X" and "ab 742x" are one. */
export function codeKey(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
}

/** A part of a code as it stands at the beginning of one of its forms: like its key, and without accents, as the engine folds words. */
export function codePart(text: string): string {
  return codeKey(text.normalize('NFD'))
}

/**
 * The key of a part of a code that was typed in pieces, such as ab742 for "ab-742" or 820520 for "8205.20": the code itself may be written in one
 * piece, or in others, which the engine does not find by itself where typos are off. Undefined for what is no such thing, as for sizes.
 */
export function codeInPieces(text: string): string | undefined {
  const pieces = text.match(/[\p{L}\p{N}]+/gu) ?? []
  if (pieces.length < 2 || pieces.length > 5 || pieces.some((piece) => piece.length > 6))
    return undefined
  const part = codePart(text)
  return /\d/.test(part) && part.length >= 3 && findSizes(text).length === 0 ? part : undefined
}

/** Whether there is nothing but a code, in pieces, such as ab-742 or 8205.20; sizes are none. */
export function isCodeAlone(text: string): boolean {
  return (
    /^[\p{L}\p{N}]+(?:[^\p{L}\p{N}\s]+[\p{L}\p{N}]+)+$/u.test(text) &&
    /\d/.test(text) &&
    findSizes(text).length === 0
  )
}

/** Whether an HS code may begin with this key: they are digits, at least four. */
export function mayBeginHsCode(key: string): boolean {
  return /^\d{4,}$/.test(key)
}
