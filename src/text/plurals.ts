// Singular and plural forms of Spanish and English words, by their endings.
import { foldText } from './accent-folding.ts'

/** Shorter words have no forms: a changed ending would often be another word. */
const minLetters = 4

/**
 * Returns a folded word followed by every form that it may have in the other number. The forms are
 * candidates: look them up before using them.
 */
export function candidateNumberForms(word: string): string[] {
  if (word.length < minLetters) return [word]
  return [word, ...(word.endsWith('s') ? candidateSingulars(word) : candidatePlurals(word))]
}

/**
 * Returns the other number of each word in a product's name, folded, if it differs by more than one
 * letter. Typo tolerance covers a single letter: "motores" gives "motor", "luz" gives "luces",
 * "battery" gives "batteries".
 */
export function distantNumberForms(name: string): string[] {
  const forms = new Set<string>()
  for (const word of foldText(name).match(/[a-z]{3,30}/g) ?? []) {
    for (const singular of likelySingulars(word)) forms.add(singular)
    for (const plural of likelyPlurals(word))
      if (plural.length !== word.length + 1) forms.add(plural)
  }
  return [...forms]
}

/** Returns the plurals of a folded singular, the likelier first; none if the word ends in s. */
export function likelyPlurals(word: string): string[] {
  if (word.endsWith('s')) return []
  if (word.endsWith('z')) return [`${word.slice(0, -1)}ces`]
  if (/[^aeiou]y$/.test(word)) return [`${word.slice(0, -1)}ies`]
  if (/[aeiou]$/.test(word)) return [`${word}s`]
  return [`${word}s`, `${word}es`]
}

function likelySingulars(word: string): string[] {
  if (word.length < 5) return []
  if (word.endsWith('ces')) return [`${word.slice(0, -3)}z`]
  if (word.endsWith('ies')) return [`${word.slice(0, -3)}y`]
  return /[^aeiou]es$/.test(word) ? [word.slice(0, -2)] : []
}

function candidatePlurals(word: string): string[] {
  const irregular = /[zy]$/.test(word) ? [word.replace(/z$/, 'ces').replace(/y$/, 'ies')] : []
  return [`${word}s`, `${word}es`, ...irregular]
}

function candidateSingulars(word: string): string[] {
  const regular = [word.slice(0, -1), ...(word.endsWith('es') ? [word.slice(0, -2)] : [])]
  const irregular = /[ci]es$/.test(word) ? [word.replace(/ces$/, 'z').replace(/ies$/, 'y')] : []
  return [...regular, ...irregular]
}
