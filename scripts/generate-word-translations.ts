// Generates src/text/spanish-english-words.csv: pairs of words that translate each other, found in
// names that exist in both languages.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import { listNumberForms } from '../src/text/plurals.ts'
import { splitIntoDictionaryWords } from '../src/text/word-translations.ts'
import { runCommand } from './cli/command.ts'

const help = `
Usage: node scripts/generate-word-translations.ts [--only even|odd] [--out FILE]

Reads names in Spanish and English (demo/cpv.csv.gz, the EU's procurement vocabulary) and writes
pairs of words that translate each other. The method is competitive linking (Melamed 2000): each
word of a name is linked to at most one word of the other language, the most certain pairs first.
A pair is written if it is linked in most names that contain both words.
Overwrites manual changes: put those into src/words/built-in/synonyms-es-en.csv.

  --only even|odd   use only the names in even or odd positions, to evaluate on the others
  --out FILE        default: src/text/spanish-english-words.csv
`

const options = { only: { type: 'string' }, out: { type: 'string' } } as const
const defaultFile = join(import.meta.dirname, '../src/text/spanish-english-words.csv')

/** Words that are never translated, because they carry no meaning of their own. */
const stopWords = new Set(
  (
    'de del la las el los y o u e a en para por con sin que su sus al ' +
    'of and or the for in to with by on from other than not no otros otras etc'
  ).split(' '),
)

/** Words are linked in this many rounds. Each round scores pairs by the links of the one before. */
const linkingRounds = 4
/** A pair below this score is never linked. */
const minLinkScore = 0.02
/** A pair is written if it has enough links, and is linked in most names that have both words. */
const minLinks = 2
const minLinkShare = 0.6
/** The Dice coefficient: twice the names with both words, by the names with each word. */
const minDice = 0.15

/** The words of one name in both languages. */
type WordLists = { es: string[]; en: string[] }
type WordPair = { en: string; es: string }
type PairScore = (english: string, spanish: string) => number

await runCommand(help, options, async ({ only, out = defaultFile }) => {
  const rows = parse(gunzipSync(readFileSync(join(import.meta.dirname, '../demo/cpv.csv.gz'))), {
    columns: true,
  }) as { name_es: string; name_en: string }[]
  const names = rows
    .filter((_row, index) => only === undefined || (index % 2 === 0) === (only === 'even'))
    .map(({ name_es, name_en }) => ({ es: contentWords(name_es), en: contentWords(name_en) }))
  const pairs = findTranslationPairs(names)
  writeFileSync(out, `en,es\n${pairs.map(({ en, es }) => `${en},${es}\n`).join('')}`)
  console.log(`Wrote ${pairs.length} pairs to ${out}`)
  return 0
})

function contentWords(name: string): string[] {
  const words = splitIntoDictionaryWords(name).filter(
    (word) => word.length >= 3 && !stopWords.has(word) && !/\d/.test(word),
  )
  return [...new Set(words)]
}

/** Returns the pairs in the order of the English words, the likelier translations first. */
function findTranslationPairs(wordLists: WordLists[]): WordPair[] {
  const names = useOneNumber(wordLists)
  const counts = countOccurrences(names)
  const dice: PairScore = (en, es) =>
    (2 * countOf(counts.both, pairKey(en, es))) / (countOf(counts.en, en) + countOf(counts.es, es))
  const links = linkInRounds(names, counts, dice)
  const singleWordPairs = findSingleWordPairs(names)
  return [...links]
    .map(([key, linkCount]) => {
      const [en = '', es = ''] = key.split(' ')
      return { key, linkCount, en, es }
    })
    .filter(({ en, es }) => en !== es)
    .filter(
      ({ key, linkCount, en, es }) =>
        singleWordPairs.has(key) ||
        (linkCount >= minLinks &&
          linkCount / countOf(counts.both, key) >= minLinkShare &&
          dice(en, es) >= minDice),
    )
    .toSorted((a, b) => compareTexts(a.en, b.en) || b.linkCount - a.linkCount)
}

/** Links words first by the Dice coefficient, then by the links of the round before. */
function linkInRounds(
  names: WordLists[],
  counts: Occurrences,
  dice: PairScore,
): Map<string, number> {
  let links = linkWords(names, dice)
  for (let round = 2; round <= linkingRounds; round++) {
    const previousLinks = links
    links = linkWords(names, (en, es) => {
      const key = pairKey(en, es)
      const linkShare = countOf(previousLinks, key) / (countOf(counts.both, key) + 1)
      return linkShare * Math.sqrt(dice(en, es))
    })
  }
  return links
}

/** Pairs of names that consist of one word each. These are written even if they occur once. */
function findSingleWordPairs(names: WordLists[]): Set<string> {
  return new Set(
    names.flatMap(({ es, en }) =>
      es.length === 1 && en.length === 1 ? [pairKey(en[0] ?? '', es[0] ?? '')] : [],
    ),
  )
}

/** Compares by code units, so that the order does not depend on a locale. */
function compareTexts(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Replaces plurals by their singulars if the singular occurs too. */
function useOneNumber(names: WordLists[]): WordLists[] {
  const toSpanishSingular = createSingularizer(names.flatMap(({ es }) => es))
  const toEnglishSingular = createSingularizer(names.flatMap(({ en }) => en))
  return names.map(({ es, en }) => ({
    es: [...new Set(es.map(toSpanishSingular))],
    en: [...new Set(en.map(toEnglishSingular))],
  }))
}

function createSingularizer(words: string[]): (word: string) => string {
  const vocabulary = new Set(words)
  return (word) => {
    if (!word.endsWith('s')) return word
    const forms = listNumberForms(word)
    return forms.find((form) => form !== word && vocabulary.has(form)) ?? word
  }
}

/** How many names contain each word, and how many contain both words of a pair. */
type Occurrences = Record<'en' | 'es' | 'both', Map<string, number>>

function countOccurrences(names: WordLists[]): Occurrences {
  const counts: Occurrences = { en: new Map(), es: new Map(), both: new Map() }
  for (const { es, en } of names) {
    for (const word of es) increment(counts.es, word)
    for (const word of en) increment(counts.en, word)
    for (const english of en)
      for (const spanish of es) increment(counts.both, pairKey(english, spanish))
  }
  return counts
}

/** Links the words of each name one to one, best score first, and counts the links of each pair. */
function linkWords(names: WordLists[], score: PairScore): Map<string, number> {
  const links = new Map<string, number>()
  for (const { es, en } of names) {
    const unlinked = { es: new Set(es), en: new Set(en) }
    const candidates = en.flatMap((english) =>
      es.map((spanish) => ({ english, spanish, score: score(english, spanish) })),
    )
    for (const { english, spanish, score } of candidates.toSorted((a, b) => b.score - a.score)) {
      if (score < minLinkScore || !unlinked.en.has(english) || !unlinked.es.has(spanish)) continue
      unlinked.en.delete(english)
      unlinked.es.delete(spanish)
      increment(links, pairKey(english, spanish))
    }
  }
  return links
}

function pairKey(english: string, spanish: string): string {
  return `${english} ${spanish}`
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, countOf(counts, key) + 1)
}

function countOf(counts: Map<string, number>, key: string): number {
  return counts.get(key) ?? 0
}
