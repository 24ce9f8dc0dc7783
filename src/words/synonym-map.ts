// Builds the synonyms of search: the built-in ones of trade, without those that the company hides,
// and its own.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { listLikelyPlurals } from '../text/plurals.ts'
import { everyWord, toWordKey } from './word-rules.ts'

/** A row of search_synonyms, or of a file of built-in synonyms. */
export type Synonyms = { word: string; synonyms: string[]; two_way: boolean }

/** What a search for a word or phrase finds besides it. All are folded. */
export type SynonymMap = ReadonlyMap<string, readonly string[]>

/** A changed ending of a shorter word would often be another word. */
const minLettersForPlural = 4

const builtInFolder = join(import.meta.dirname, 'built-in')
const builtInSynonyms = readdirSync(builtInFolder).toSorted().flatMap(readBuiltInFile)

/**
 * Maps every word, and the plurals that a single word may have, to its synonyms. A plural finds the
 * singular too. A synonym is not followed further: if a finds b and b finds c, a does not find c.
 * `hidden`: folded words without built-in synonyms.
 */
export function buildSynonymMap(own: Synonyms[], hidden: ReadonlySet<string>): SynonymMap {
  const builtIn = hidden.has(everyWord)
    ? []
    : builtInSynonyms.map((row) => withoutWords(row, hidden))
  const map = new Map<string, Set<string>>()
  for (const { word, synonyms, two_way: isTwoWay } of [...builtIn, ...own]) {
    const keys = [word, ...synonyms].map(toWordKey).filter((key) => key !== '')
    for (const key of isTwoWay ? keys : keys.slice(0, 1))
      for (const form of listForms(key)) {
        const found = map.get(form) ?? new Set()
        for (const other of keys) if (other !== form) found.add(other)
        if (found.size > 0) map.set(form, found)
      }
  }
  return new Map([...map].map(([word, found]) => [word, [...found]]))
}

/** Returns the word and its plurals. */
function listForms(word: string): string[] {
  const hasPlural = !word.includes(' ') && word.length >= minLettersForPlural
  return [word, ...(hasPlural ? listLikelyPlurals(word) : [])]
}

function withoutWords(
  { word, synonyms, two_way }: Synonyms,
  hidden: ReadonlySet<string>,
): Synonyms {
  const [first = '', ...others] = [word, ...synonyms].filter((own) => !hidden.has(toWordKey(own)))
  return { word: first, synonyms: others, two_way }
}

/** Every file of the folder applies. The form is that of files for `import synonyms`. */
function readBuiltInFile(name: string): Synonyms[] {
  const text = readFileSync(join(builtInFolder, name), 'utf8')
  const rows = parse(text, { columns: true }) as { word: string; synonyms: string }[]
  return rows.map(({ word, synonyms }) => ({
    word,
    synonyms: synonyms.split('|').map((synonym) => synonym.trim()),
    two_way: true,
  }))
}
