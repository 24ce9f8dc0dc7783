// Words that stand for each other: those of the trade as synonyms in the engine, plurals and singulars of the catalogue's own words as forms in
// its documents. Not the plurals too as synonyms: the engine reads all synonyms at each search, and 15,000 made it ten times slower.
import { tradeWords } from './trade-synonyms.ts'

/** Every word of a group leads to the others; so do the plurals of its single words. */
export const synonyms: Record<string, string[]> = synonymsOf(tradeWords)

function synonymsOf(groups: readonly (readonly string[])[]): Record<string, string[]> {
  const found = new Map<string, Set<string>>()
  for (const group of groups) {
    for (const word of group) {
      const others = group.filter((other) => other !== word)
      const typed = [
        word,
        ...(word.includes(' ') || word.length < 4 ? [] : plurals(word).slice(0, 1)),
      ]
      for (const from of typed) found.set(from, new Set([...(found.get(from) ?? []), ...others]))
    }
  }
  return Object.fromEntries([...found].map(([word, others]) => [word, [...others]]))
}

/**
 * The other number of a name's words where it differs by more than one letter, which the typo tolerance does not bridge: "motores" gives motor,
 * "luz" luces, "battery" batteries. Folded.
 */
export function otherNumbers(name: string): string[] {
  const found = new Set<string>()
  for (const word of withoutMarks(name)
    .toLowerCase()
    .match(/[a-z]{3,30}/g) ?? []) {
    for (const singular of singulars(word)) found.add(singular)
    for (const plural of plurals(word)) if (plural.length !== word.length + 1) found.add(plural)
  }
  return [...found]
}

const isAscii = (text: string) => /^[\0-\x7f]*$/.test(text)
const withoutMarks = (text: string) =>
  isAscii(text) ? text : text.normalize('NFD').replace(/\p{M}/gu, '')

function singulars(word: string): string[] {
  if (word.length < 5) return []
  if (word.endsWith('ces')) return [`${word.slice(0, -3)}z`]
  if (word.endsWith('ies')) return [`${word.slice(0, -3)}y`]
  return /[^aeiou]es$/.test(word) ? [word.slice(0, -2)] : []
}

/** The likelier first. */
function plurals(word: string): string[] {
  if (word.endsWith('s')) return []
  if (word.endsWith('z')) return [`${word.slice(0, -1)}ces`]
  if (/[^aeiou]y$/.test(word)) return [`${word.slice(0, -1)}ies`]
  if (/[aeiou]$/.test(word)) return [`${word}s`]
  return [`${word}s`, `${word}es`]
}
