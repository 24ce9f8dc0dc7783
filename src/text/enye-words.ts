// Finds words with the letter ñ, which is called eñe: `enye` in identifiers. Meilisearch treats ñ
// as n, so these words are indexed once more, in a field of their own, and names with ñ come first
// if ñ was typed.
import { foldTextKeepingEnye } from './accent-folding.ts'

const enye = /ñ/u
/** Matches ñ in either Unicode form: one character, or n followed by a combining tilde. */
const anyEnye = /ñ|Ñ|\u0303/
const words = /[\p{L}\p{N}]+/gu

/**
 * Returns every prefix, from the first ñ on, of every word with ñ, folded except for ñ.
 * "Muñeca de caña" gives muñ, muñe, muñec, muñeca, cañ and caña.
 */
export function listEnyePrefixes(text: string): string[] {
  if (!anyEnye.test(text)) return []
  return [...new Set(findEnyeWords(text).flatMap(prefixesFromEnye))]
}

/** Returns the words with ñ, folded except for ñ: the values to look up among the prefixes. */
export function findEnyeWords(text: string): string[] {
  return (foldTextKeepingEnye(text).match(words) ?? []).filter((word) => enye.test(word))
}

function prefixesFromEnye(word: string): string[] {
  const shortest = word.indexOf('ñ') + 1
  // The engine rejects a document with half of a character that is two UTF-16 units.
  return Array.from({ length: word.length - shortest + 1 }, (_, extra) =>
    word.slice(0, shortest + extra),
  ).filter((prefix) => prefix.isWellFormed())
}
