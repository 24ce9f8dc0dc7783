// Singular and plural forms of Spanish and English words, by their endings.
import { foldText } from './accent-folding.ts'

/** Shorter words have no other forms: with a different ending they are often different words. */
const minLetters = 4

/**
 * Returns a folded word followed by its possible plurals, if it is a singular, or its possible
 * singulars. Some of them are not words, so they must be looked up before they are used.
 */
export function listNumberForms(word: string): string[] {
  if (word.length < minLetters) return [word]
  return [word, ...(word.endsWith('s') ? listSingulars(word) : listPlurals(word))]
}

/**
 * Returns the singular or plural of each word in a product's name, folded, if it differs by more
 * than one letter, because typo tolerance covers a single letter: "motores" gives "motor", "luz"
 * gives "luces", "battery" gives "batteries".
 */
export function listFormsBeyondOneTypo(name: string): string[] {
  const forms = new Set<string>()
  for (const word of foldText(name).match(/[a-z]{3,30}/g) ?? []) {
    for (const singular of guessSingulars(word)) forms.add(singular)
    for (const plural of guessPlurals(word))
      if (plural.length !== word.length + 1) forms.add(plural)
  }
  return [...forms]
}

/** Returns the plurals of a folded singular, the likelier first; none if the word ends in s. */
export function guessPlurals(word: string): string[] {
  if (word.endsWith('s')) return []
  if (word.endsWith('z')) return [`${word.slice(0, -1)}ces`]
  if (/[^aeiou]y$/.test(word)) return [`${word.slice(0, -1)}ies`]
  if (/[aeiou]$/.test(word)) return [`${word}s`]
  return [`${word}s`, `${word}es`]
}

function guessSingulars(word: string): string[] {
  if (word.length < 5) return []
  if (word.endsWith('ces')) return [`${word.slice(0, -3)}z`]
  if (word.endsWith('ies')) return [`${word.slice(0, -3)}y`]
  return /[^aeiou]es$/.test(word) ? [word.slice(0, -2)] : []
}

function listPlurals(word: string): string[] {
  const irregular = /[zy]$/.test(word) ? [word.replace(/z$/, 'ces').replace(/y$/, 'ies')] : []
  return [`${word}s`, `${word}es`, ...irregular]
}

function listSingulars(word: string): string[] {
  const regular = [word.slice(0, -1), ...(word.endsWith('es') ? [word.slice(0, -2)] : [])]
  const irregular = /[ci]es$/.test(word) ? [word.replace(/ces$/, 'z').replace(/ies$/, 'y')] : []
  return [...regular, ...irregular]
}
