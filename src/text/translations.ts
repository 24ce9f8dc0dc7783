// Translates single words between Spanish and English, for query words that no product holds. The
// pairs are in translations.csv, which scripts/translations.ts generates. Only a second search
// request uses them, so there may be thousands, unlike trade synonyms, which slow every search.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { foldText } from './accent-folding.ts'
import { candidateNumberForms } from './plurals.ts'

const maxTranslations = 2
const translations = readTranslations(join(import.meta.dirname, 'translations.csv'))

/**
 * Returns at most two translations of a word, folded, the likelier first. The word may be in either
 * number, with or without accents. Returns an empty list for an unknown word and for a prefix.
 */
export function translateWord(word: string): string[] {
  const [folded = ''] = foldedWords(word)
  const form = candidateNumberForms(folded).find((candidate) => translations.has(candidate))
  return form === undefined ? [] : (translations.get(form) ?? [])
}

/** Splits a text into folded words of the letters a to z and digits, as in translations.csv. */
export function foldedWords(text: string): string[] {
  return foldText(text).match(/[a-z0-9]+/g) ?? []
}

function readTranslations(file: string): Map<string, string[]> {
  const byWord = new Map<string, string[]>()
  const add = (word: string, translation: string) => {
    const others = byWord.get(word) ?? []
    if (others.length < maxTranslations) byWord.set(word, [...others, translation])
  }
  const [, ...lines] = readFileSync(file, 'utf8').trim().split('\n')
  for (const line of lines) {
    const [english = '', spanish = ''] = line.split(',')
    add(english, spanish)
    add(spanish, english)
  }
  return byWord
}
