// Synonyms of the index: the words of the trade, and the plurals and singulars of the catalogue's own words.
import { isDeepStrictEqual } from 'node:util'
import { type Kysely, sql } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Tables } from '../database/tables.ts'
import { tradeWords } from './trade-words.ts'

/** The most frequent words of the catalogue; rarer ones have the typo tolerance. */
const mostWords = 20_000

/**
 * Brings the synonyms of an index up to date with the catalogue; does nothing when they are. Cheap for the engine: no document is indexed again.
 * Throws when the engine refuses them.
 */
export async function refreshSynonyms(db: Kysely<Tables>, engine: Meilisearch, indexName: string): Promise<void> {
  const wanted = withPlurals(tradeWords, await catalogueWords(db))
  const index = engine.index(indexName)
  if (isDeepStrictEqual({ ...(await index.getSynonyms()) }, wanted)) return
  const task = await index.updateSynonyms(wanted).waitTask({ timeout: 600_000, interval: 20 })
  if (task.status !== 'succeeded') throw new Error(`Meilisearch: synonyms refused: ${task.error?.message ?? 'no reason given'}`)
}

async function catalogueWords(db: Kysely<Tables>): Promise<string[]> {
  const { rows } = await sql<{ word: string }>`
    select word from products, regexp_split_to_table(fold_text(name), '[^a-z]+') as word
    where active and length(word) between 4 and 30 group by word order by count(*) desc, word limit ${mostWords}
  `.execute(db)
  return rows.map(({ word }) => word)
}

/** Every word of a group leads to the others; words of the catalogue lead to their plural and singular, whichever was typed. */
export function withPlurals(groups: readonly (readonly string[])[], words: string[]): Record<string, string[]> {
  const synonyms = new Map<string, Set<string>>()
  const add = (from: string, to: string) => {
    if (from !== to) synonyms.set(from, (synonyms.get(from) ?? new Set()).add(to))
  }
  for (const group of groups) for (const word of group) for (const other of group) add(word, other)
  for (const word of words) {
    for (const other of otherNumbers(word)) add(other, word)
  }
  for (const group of groups) {
    // Plurals of single words of the trade lead to the group as well.
    for (const word of group) if (!word.includes(' ')) for (const plural of plurals(word)) for (const other of group) add(plural, other)
  }
  const entries = [...synonyms].map(([word, others]): [string, string[]] => [word, [...others].sort()])
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** How the other number of a word may be written, in Spanish or English: motor, motores; luz, luces; battery, batteries. */
function otherNumbers(word: string): string[] {
  const singulars = [
    ...(word.endsWith('ces') ? [`${word.slice(0, -3)}z`] : []),
    ...(word.endsWith('ies') ? [`${word.slice(0, -3)}y`] : []),
    ...(/[^aeiou]es$/.test(word) ? [word.slice(0, -2)] : []),
    ...(/[^s]s$/.test(word) ? [word.slice(0, -1)] : []),
  ]
  return [...singulars.filter((singular) => singular.length >= 3), ...(word.endsWith('s') ? [] : plurals(word))]
}

function plurals(word: string): string[] {
  if (word.endsWith('z')) return [`${word.slice(0, -1)}ces`]
  if (/[^aeiou]y$/.test(word)) return [`${word.slice(0, -1)}ies`]
  if (/[aeiou]$/.test(word)) return [`${word}s`]
  if (word.endsWith('s')) return [`${word}es`]
  return [`${word}s`, `${word}es`]
}
