// Translates single words between Spanish and English, for query words that no product contains.
//
// The pairs are in spanish-english-words.csv. They were linked in the names of the EU's procurement
// vocabulary (competitive linking, Melamed 2000). There may be thousands, because only a second
// search request uses them. Trade synonyms, in contrast, slow every search.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { everyWord } from '../words/word-rules.ts'
import { normalizeText } from './normalize.ts'
import { listNumberForms } from './plurals.ts'

const maxTranslationsPerWord = 2
const translationsByWord = readTranslations(join(import.meta.dirname, 'spanish-english-words.csv'))

/**
 * Returns at most two translations of a word, folded, the likelier first. The word may be singular
 * or plural, with or without accents. Returns an empty list for an unknown word and for a prefix.
 * Words in `hidden` (folded) are neither translated nor translations; `*` stands for every word.
 */
export function translateWord(word: string, hidden: ReadonlySet<string>): string[] {
  if (hidden.has(everyWord)) return []
  const [folded = ''] = splitIntoDictionaryWords(word)
  const form = listNumberForms(folded).find((candidate) => translationsByWord.has(candidate))
  const translations = (form !== undefined && translationsByWord.get(form)) || []
  if (hidden.size === 0) return translations
  const isHidden = (own: string) => listNumberForms(own).some((candidate) => hidden.has(candidate))
  return isHidden(folded) ? [] : translations.filter((translation) => !isHidden(translation))
}

/** Splits a text into folded words of the letters a to z and digits, as the CSV file has them. */
function splitIntoDictionaryWords(text: string): string[] {
  return normalizeText(text).text.match(/[a-z0-9]+/g) ?? []
}

/**
 * Reads the pairs in both directions. The likelier translations of a word come first in the file.
 */
function readTranslations(file: string): Map<string, string[]> {
  const byWord = new Map<string, string[]>()
  const add = (word: string, translation: string) => {
    const translations = byWord.get(word) ?? []
    if (translations.length < maxTranslationsPerWord)
      byWord.set(word, [...translations, translation])
  }
  const [, ...lines] = readFileSync(file, 'utf8').trim().split('\n')
  for (const line of lines) {
    const [english = '', spanish = ''] = line.split(',')
    add(english, spanish)
    add(spanish, english)
  }
  return byWord
}
