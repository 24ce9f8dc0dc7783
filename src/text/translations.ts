// Words of the trade in Spanish and English that stand for each other, for words that no product holds: dictionary.csv, made by scripts/translations.ts.
// They cost nothing until then, so there may be thousands of them, unlike trade words, which the engine reads at each search.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const maxTranslations = 2
const translations = readTranslations(join(import.meta.dirname, 'translations.csv'))

/** Up to two words that stand for this one in the other language, the likelier first. Whole words only, in any number, with or without accents. */
export function translationsOf(word: string): string[] {
  const [key = ''] = wordKeys(word)
  const known = numbersOf(key).find((form) => translations.has(form))
  return known === undefined ? [] : (translations.get(known) ?? [])
}

/** The words of a text, folded. */
export function wordKeys(text: string): string[] {
  const folded = text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
  return folded.match(/[a-z0-9]+/g) ?? []
}

/** A word and what it may be in the other number, in either language. */
export function numbersOf(word: string): string[] {
  if (word.length < 4) return [word]
  if (!word.endsWith('s'))
    return [
      word,
      `${word}s`,
      `${word}es`,
      ...(/[zy]$/.test(word) ? [word.replace(/z$/, 'ces').replace(/y$/, 'ies')] : []),
    ]
  const without = [word.slice(0, -1), ...(word.endsWith('es') ? [word.slice(0, -2)] : [])]
  return [
    word,
    ...without,
    ...(/[ci]es$/.test(word) ? [word.replace(/ces$/, 'z').replace(/ies$/, 'y')] : []),
  ]
}

function readTranslations(file: string): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const line of readFileSync(file, 'utf8').trim().split('\n').slice(1)) {
    const [en = '', es = ''] = line.split(',')
    for (const [from, to] of [
      [en, es],
      [es, en],
    ] as const) {
      const others = found.get(from) ?? []
      if (others.length < maxTranslations) found.set(from, [...others, to])
    }
  }
  return found
}
