// Known-item search: somebody knows a product and types its two or three rarest words, with slips or without. The share of queries that show
// it first, or among the first five, judges a search without any human grades.
import { removeAccents } from '../../../src/text/accent-folding.ts'
import type { Product } from './catalogues.ts'
import { type Random, seeded, shuffle } from './seeded-random.ts'

export const variants = ['clean', 'deaccent', 'typo1', 'typo2', 'prefix', 'code'] as const
export type Variant = (typeof variants)[number]
/** The SKUs that count as the item (those with the very same name), and what is typed. */
export type KnownItem = { skus: Set<string>; queries: Record<Variant, string> }

const letters = /^\p{L}+$/u

/** Queries for `count` products drawn at random. Products whose names have too few words for it are passed over. */
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
    const long = words.filter(maySlip)
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
        prefix: withCutEnd(typed),
        code: sku,
      },
    })
    if (items.length === count) break
  }
  return items
}

export type Success = { first: number; fifth: number; reciprocalRank: number; empty: number }

/** Asks every query of a variant and says how often the item was first, among the first five, and how often there was nothing at all. */
export async function measure(
  items: KnownItem[],
  variant: Variant,
  ask: (query: string) => Promise<string[]>,
): Promise<Success> {
  let [first, fifth, reciprocalRank, empty] = [0, 0, 0, 0]
  for (const { skus, queries } of items) {
    const answer = await ask(queries[variant])
    const rank = answer.slice(0, 10).findIndex((sku) => skus.has(sku)) + 1
    if (rank === 1) first++
    if (rank >= 1 && rank <= 5) fifth++
    if (rank > 0) reciprocalRank += 1 / rank
    if (answer.length === 0) empty++
  }
  const share = (count: number) => count / items.length
  return {
    first: share(first),
    fifth: share(fifth),
    reciprocalRank: share(reciprocalRank),
    empty: share(empty),
  }
}

function wordsOf(name: string): string[] {
  return name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

function maySlip(word: string): boolean {
  return word.length >= 5 && letters.test(word)
}

function withCutEnd(words: string[]): string {
  const last = words.at(-1) ?? ''
  return [...words.slice(0, -1), last.slice(0, Math.max(3, Math.ceil(last.length * 0.6)))].join(' ')
}

/** `count` slips, on different words where there are enough. */
function withTypos(words: string[], count: number, random: Random): string {
  const slipped = [...words]
  const able = words.flatMap((word, place) => (maySlip(word) ? [place] : []))
  const used: number[] = []
  for (let n = 0; n < count && able.length > 0; n++) {
    const fresh = able.filter((place) => !used.includes(place))
    const place = random.pick(fresh.length > 0 ? fresh : able)
    used.push(place)
    slipped[place] = withTypo(slipped[place] ?? '', random)
  }
  return slipped.join(' ')
}

const rows = ['qwertyuiop', 'asdfghjklñ', 'zxcvbnm']

/** Keys beside or, roughly, below and above a key. */
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

/** One slip as fingers make them, never on the first letter: a neighbouring key, a letter lost, one too many, or two swapped. */
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
