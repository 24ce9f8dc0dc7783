// No dead ends: when no product holds all the words, products that hold some of them, the rarer words counting more.

import type { EngineHit, EngineQuery, SearchEngine } from '../search-engine/engine-client.ts'
import { translateWord } from '../text/translations.ts'

/** Little words that a name may lack without the match being any weaker. */
const littleWords = new Set(
  'a al con de del e el en la las lo los o para por sin u un una unos unas y an and at by for from in of on or the to with'.split(
    ' ',
  ),
)

/** The engine ignores words after the tenth. */
const maxWords = 10
const perQuery = 15
const maxTranslated = 8
const mainDepth = 50
/** Of reciprocal rank fusion: score = Σ 1 / (60 + rank), after Cormack, Clarke and Büttcher 2009. */
const fusionK = 60
/** Stands for the size of the catalogue in the weight of a word: only the order of the weights matters. */
const manyProducts = 100_000

export function wordsOf(text: string): string[] {
  return [
    ...new Set(text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+(?:[./][\p{N}]+)*/gu) ?? []),
  ].slice(0, maxWords)
}

/** Whether the best hit lacks a word that matters. */
export function missesWords(hit: EngineHit, words: string[]): boolean {
  const matched = hit._rankingScoreDetails?.words
  if (!matched) return false
  return (
    matched.maxMatchingWords - matched.matchingWords >
    words.filter((word) => littleWords.has(word)).length
  )
}

/** Whether a second request could find what no product holds: other words' products, or those of a word in the other language. */
export function canWiden(words: string[]): boolean {
  return words.length > 1 || words.some((word) => translateWord(word).length > 0)
}

/** What is asked of the engine, the words that its hits count as holding, and those that it says in the other language. */
type Group = { q: string; words: string[]; translated?: string[] }

/**
 * Asks in one request for every word, for what it is in the other language, and for pairs of words. Products are ordered by the weight of the words
 * that they are found to hold; those that hold the same, by their reciprocal ranks in what the engine answers to each.
 * The list depends on the words and filters alone, so that its pages follow each other; its length is the total.
 */
export async function widen(
  engine: SearchEngine,
  base: Omit<EngineQuery, 'limit'>,
  signal: AbortSignal,
): Promise<EngineHit[]> {
  const words = wordsOf(base.q).filter(
    (word, _place, all) => !littleWords.has(word) || all.every((other) => littleWords.has(other)),
  )
  const groups: Group[] = [
    ...words.map((word) => ({ q: word, words: [word] })),
    ...words
      .flatMap((word) => translateWord(word).map((q) => ({ q, words: [word], translated: [word] })))
      .slice(0, maxTranslated),
    ...nearPairs(words).map((pair) => ({ q: pair.join(' '), words: pair })),
    ...translated(words),
  ]
  const [main, ...results] = await engine.search(
    [
      { ...base, limit: mainDepth, matchingStrategy: 'frequency' },
      ...groups.map(
        ({ q }): EngineQuery => ({
          ...base,
          q,
          limit: perQuery,
          matchingStrategy: 'all',
          showRankingScoreDetails: true,
        }),
      ),
    ],
    signal,
  )
  // Another language is only for words that no product holds, at most something like them.
  const held = new Set(
    words.filter(
      (_word, place) => results[place]?.hits[0]?._rankingScoreDetails?.typo?.typoCount === 0,
    ),
  )
  const totals = new Map<string, number>()
  const known = new Map<
    string,
    { hit: EngineHit; matched: number; words: Set<string>; closeness: number }
  >()
  for (const [place, { hits, estimatedTotalHits }] of [
    ...results,
    ...(main ? [main] : []),
  ].entries()) {
    const { words: meant = [], translated = [] } = groups[place] ?? {}
    if (translated.some((word) => held.has(word))) continue
    const [word] = meant
    if (meant.length === 1 && word !== undefined)
      totals.set(word, (totals.get(word) ?? 0) + estimatedTotalHits)
    for (const [rank, hit] of hits.entries()) {
      const entry = known.get(hit.id) ?? {
        hit,
        matched: meant.length,
        words: new Set<string>(),
        closeness: 0,
      }
      // Shown with the places of the most words.
      if (meant.length > entry.matched) Object.assign(entry, { hit, matched: meant.length })
      for (const word of meant) entry.words.add(word)
      entry.closeness += 1 / (fusionK + rank)
      known.set(hit.id, entry)
    }
  }
  const weights = new Map(
    words.map((word) => [word, Math.log(1 + manyProducts / (totals.get(word) || manyProducts))]),
  )
  const weightOf = (entry: { words: Set<string> }) =>
    [...entry.words].reduce((sum, word) => sum + (weights.get(word) ?? 0), 0)
  return [...known.values()]
    .map((entry) => ({ ...entry, weight: weightOf(entry) }))
    .toSorted((a, b) => b.weight - a.weight || b.closeness - a.closeness)
    .map(({ hit }) => hit)
}

/** All words at once in the other language, and each two of them that stand side by side; what has no translation stays, as names do. */
function translated(words: string[]): Group[] {
  const known = words.filter((word) => translateWord(word).length > 0)
  if (known.length === 0 || words.length === 1) return []
  const inOther = (group: string[]) => ({
    q: group.map((word) => translateWord(word)[0] ?? word).join(' '),
    words: group,
    translated: group.filter((word) => known.includes(word)),
  })
  const neighbours = known.slice(1).map((word, place) => [known[place] ?? word, word])
  return [
    ...(words.length > 2 || known.length < 2 ? [inOther(words)] : []),
    ...neighbours.slice(0, maxTranslated).map(inOther),
  ]
}

/** All pairs of a short query; of a long one, where they would be too many for a keystroke, words that stand side by side. */
function nearPairs(words: string[]): string[][] {
  const reach = words.length <= 4 ? words.length : 1
  return words.flatMap((word, place) =>
    words.slice(place + 1, place + 1 + reach).map((other) => [word, other]),
  )
}
