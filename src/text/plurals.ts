// Singular and plural forms of Spanish and English words, by their endings. Likely forms are stored
// in the index or among the synonyms, so nearly all must be words. Possible forms are only compared
// with words that exist, so they are all that the endings allow.
import { foldText } from './accent-folding.ts'

/** Shorter words have no other forms: with a different ending they are often different words. */
const minLetters = 4
/** A shorter word that ends like a plural is often a singular: "tres", "mes". */
const minPluralLetters = 5
/** The words of a folded name whose other forms are stored: "luz", but not "de". */
const inflectedWords = /[a-z]{3,30}/g

/**
 * Returns a folded word followed by its possible plurals, if it is a singular, or its possible
 * singulars. Some of them are not words, so they must be looked up before they are used.
 */
export function listNumberForms(word: string): string[] {
  if (word.length < minLetters) return [word]
  return [word, ...(word.endsWith('s') ? listPossibleSingulars(word) : listPossiblePlurals(word))]
}

/**
 * Returns the singular or plural of each word in a product's name, folded, if it differs by more
 * than one letter, because typo tolerance covers a single letter: "motores" gives "motor", "luz"
 * gives "luces", "battery" gives "batteries".
 */
export function listFormsBeyondOneTypo(name: string): string[] {
  const forms = new Set<string>()
  for (const word of foldText(name).match(inflectedWords) ?? []) {
    for (const singular of listLikelySingulars(word)) forms.add(singular)
    for (const plural of listLikelyPlurals(word))
      if (plural.length !== word.length + 1) forms.add(plural)
  }
  return [...forms]
}

/** Returns the plurals of a folded singular, the likelier first; none if the word ends in s. */
export function listLikelyPlurals(word: string): string[] {
  if (word.endsWith('s')) return []
  if (word.endsWith('z')) return [`${word.slice(0, -1)}ces`]
  if (/[^aeiou]y$/.test(word)) return [`${word.slice(0, -1)}ies`]
  if (/[aeiou]$/.test(word)) return [`${word}s`]
  return [`${word}s`, `${word}es`]
}

function listLikelySingulars(word: string): string[] {
  if (word.length < minPluralLetters) return []
  if (word.endsWith('ces')) return [`${word.slice(0, -3)}z`]
  if (word.endsWith('ies')) return [`${word.slice(0, -3)}y`]
  return /[^aeiou]es$/.test(word) ? [word.slice(0, -2)] : []
}

function listPossiblePlurals(word: string): string[] {
  const irregular = /[zy]$/.test(word) ? [word.replace(/z$/, 'ces').replace(/y$/, 'ies')] : []
  return [`${word}s`, `${word}es`, ...irregular]
}

function listPossibleSingulars(word: string): string[] {
  const regular = [word.slice(0, -1), ...(word.endsWith('es') ? [word.slice(0, -2)] : [])]
  const irregular = /[ci]es$/.test(word) ? [word.replace(/ces$/, 'z').replace(/ies$/, 'y')] : []
  return [...regular, ...irregular]
}
