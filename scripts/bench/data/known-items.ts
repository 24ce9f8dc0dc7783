// Known-item search: a user knows a product and types its two or three rarest words, with or
// without typos. The share of queries that show it first, or among the first five, rates a search
// without human judgements.
import { removeAccents } from '../../../src/text/accent-folding.ts'
import type { Product } from './catalogues.ts'
import { type Random, seeded, shuffle } from './seeded-random.ts'

export const variants = ['clean', 'deaccent', 'typo1', 'typo2', 'prefix', 'cut', 'code'] as const
export type Variant = (typeof variants)[number]
/** `skus`: all products with this name. `queries`: what is typed. */
export type KnownItem = { skus: Set<string>; queries: Record<Variant, string> }

const letters = /^\p{L}+$/u

/** Makes queries for `count` random products. Skips products whose names have too few words. */
export function knownItems(products: Product[], count: number, seed = '1'): KnownItem[] {
  const frequency = new Map<string, number>()
  const same = new Map<string, Set<string>>()
  for (const { sku, name } of products) {
    const words = wordsOf(name)
    for (const word of new Set(words)) frequency.set(word, (frequency.get(word) ?? 0) + 1)
    const key = words.join(' ')
    same.set(key, (same.get(key) ?? new Set()).add(sku))
  }
  const rarest = (words: string[]) =>
    words.toSorted(
      (a, b) => (frequency.get(a) ?? 0) - (frequency.get(b) ?? 0) || (a < b ? -1 : Number(a > b)),
    )

  const items: KnownItem[] = []
  for (const { sku, name } of shuffle([...products], seeded(seed))) {
    const words = [...new Set(wordsOf(name).filter((word) => word.length >= 3))]
    const long = words.filter(canHaveTypo)
    const [rarestLong] = rarest(long)
    if (words.length < 2 || rarestLong === undefined) continue
    const picked = rarest(words).slice(0, words.length <= 3 ? 2 : 3)
    if (!picked.some((word) => long.includes(word))) picked[picked.length - 1] = rarestLong
    const typed = words.filter((word) => picked.includes(word))
    const random = seeded(`${seed}/${sku}`)
    items.push({
      skus: same.get(wordsOf(name).join(' ')) ?? new Set([sku]),
      queries: {
        clean: typed.join(' '),
        deaccent: removeAccents(typed.join(' ')),
        typo1: withTypos(typed, 1, random),
        typo2: withTypos(typed, 2, random),
        prefix: withShortenedWord(typed, typed.length - 1),
        cut: withShortenedWord(typed, Math.floor((typed.length - 1) / 2)),
        code: sku,
      },
    })
    if (items.length === count) break
  }
  return items
}

/** Sends the query of each item. Returns the mean reciprocal rank, and the share among five. */
export async function rate(
  items: KnownItem[],
  queries: string[],
  ask: (query: string) => Promise<string[]>,
): Promise<{ reciprocalRank: number; amongFive: number }> {
  let [reciprocalRanks, amongFive] = [0, 0]
  for (const [n, { skus }] of items.entries()) {
    const answer = await ask(queries[n] ?? '')
    const rank = answer.slice(0, 10).findIndex((sku) => skus.has(sku)) + 1
    if (rank > 0) reciprocalRanks += 1 / rank
    if (rank >= 1 && rank <= 5) amongFive++
  }
  return { reciprocalRank: reciprocalRanks / items.length, amongFive: amongFive / items.length }
}

function wordsOf(name: string): string[] {
  return name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

function canHaveTypo(word: string): boolean {
  return word.length >= 5 && letters.test(word)
}

function withShortenedWord(words: string[], place: number): string {
  const word = words[place] ?? ''
  return words.with(place, word.slice(0, Math.max(3, Math.ceil(word.length * 0.6)))).join(' ')
}

/** Makes `count` typos, in different words if there are enough. */
function withTypos(words: string[], count: number, random: Random): string {
  const typed = [...words]
  const candidates = words.flatMap((word, place) => (canHaveTypo(word) ? [place] : []))
  const used: number[] = []
  for (let n = 0; n < count && candidates.length > 0; n++) {
    const unused = candidates.filter((place) => !used.includes(place))
    const place = random.pick(unused.length > 0 ? unused : candidates)
    used.push(place)
    typed[place] = withTypo(typed[place] ?? '', random)
  }
  return typed.join(' ')
}

const rows = ['qwertyuiop', 'asdfghjklñ', 'zxcvbnm']

/** The keys next to a key, and roughly above and below it. */
function neighbours(letter: string): string {
  const plain = letter === 'ñ' ? letter : removeAccents(letter)
  const row = rows.findIndex((keys) => keys.includes(plain))
  if (row < 0) return ''
  const place = rows[row]?.indexOf(plain) ?? 0
  const near = [
    rows[row]?.[place - 1],
    rows[row]?.[place + 1],
    rows[row - 1]?.[place],
    rows[row + 1]?.[place],
  ]
  return near.join('')
}

/**
 * Makes one typo after the first letter: a neighbouring key, or a letter lost, added or swapped.
 */
function withTypo(word: string, random: Random): string {
  for (let attempt = 0; attempt < 50; attempt++) {
    const place = 1 + random.below(word.length - 1)
    const letter = word[place] ?? ''
    const near = neighbours(letter)
    const slips = [
      () =>
        word.slice(0, place) +
        (near === '' ? letter : random.pick([...near])) +
        word.slice(place + 1),
      () => word.slice(0, place) + word.slice(place + 1),
      () => word.slice(0, place) + random.pick([...near, letter]) + word.slice(place),
      () => word.slice(0, place) + (word[place + 1] ?? '') + letter + word.slice(place + 2),
    ]
    const slipped = random.pick(slips)()
    if (slipped !== word) return slipped
  }
  return word
}
