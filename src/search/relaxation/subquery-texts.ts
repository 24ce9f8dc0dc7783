// Writes the texts of the subqueries of a relaxed query: pairs and triples of words, and
// translations.
import { foldText } from '../../text/accent-folding.ts'
import type { ParsedQuery } from '../../text/parse-query.ts'

/** Pairs of known words that are further apart are not requested. */
const maxPairDistance = 4
/** At most this many triples of words are requested. */
const maxTriples = 10
/** At most this many translated words and this many translated pairs are requested. */
const maxTranslations = 8

/** The words of a query that are not stop words, and what is known about them. */
export type ClassifiedWords = {
  all: string[]
  /** For each word, the number of products that contain it as typed. */
  counts: Map<string, number>
  /** Few products contain them as typed. */
  rare: string[]
  /** No product contains them as typed: they may have typos, be cut short, or be translated. */
  unknown: string[]
  /** The translations of the unknown words, the likelier first. */
  translations: Map<string, string[]>
}

/**
 * Quotes words, so that the engine finds only products with exactly these words, in any order and
 * place. That takes a quarter of the time of words with typos, prefixes and synonyms.
 */
export function quote(...words: string[]): string {
  return words.map((word) => `"${word}"`).join(' ')
}

/**
 * Whether `quote` has quoted the last word of a text. The engine looks for no typos and no endings
 * of such a word. Words themselves have no quotes.
 */
export function isLastWordQuoted(text: string): boolean {
  return text.endsWith('"')
}

/** The texts for pairs of words. */
export class PairTexts {
  readonly #words: string[]
  readonly #lastWord: string | undefined
  readonly #unknown: Set<string>
  readonly #rare: Set<string>
  readonly #synonyms: ParsedQuery['synonyms']

  constructor({ searched, synonyms }: ParsedQuery, { all, rare, unknown }: ClassifiedWords) {
    this.#words = all
    this.#lastWord = searched.words.at(-1)
    this.#unknown = new Set(unknown)
    this.#rare = new Set(rare)
    this.#synonyms = synonyms
  }

  /** Returns the text for each pair, except for words that are far apart and both known. */
  list(): string[] {
    return listPairs(this.#words)
      .filter(
        ([word, other, distance]) =>
          distance <= maxPairDistance || this.#unknown.has(word) || this.#unknown.has(other),
      )
      .map(([word, other]) => this.get(word, other))
  }

  /** Returns the text for two words. `word` must come before `other` in the query. */
  get(word: string, other: string): string {
    const isAdjacent = this.#words.indexOf(other) - this.#words.indexOf(word) === 1
    if (isAdjacent && this.#synonyms.has(`${foldText(word)} ${foldText(other)}`))
      return `${word} ${other}`
    // The engine completes only the last word. A word that no product contains may be incomplete.
    const ordered =
      this.#unknown.has(word) && !this.#unknown.has(other) ? [other, word] : [word, other]
    return ordered.map((each) => (this.#isExact(each, isAdjacent) ? quote(each) : each)).join(' ')
  }

  /** Whether a word is searched as typed. Typos, synonyms and endings cost more. */
  #isExact(word: string, isAdjacent: boolean): boolean {
    if (this.#unknown.has(word)) return false
    if (!isAdjacent) return true
    const isUnfinished = word === this.#lastWord
    return !isUnfinished && !this.#rare.has(word) && !this.#synonyms.has(foldText(word))
  }
}

/** Returns the texts for the triples of words of which every pair is accepted by `isWanted`. */
export function listTriples(
  words: string[],
  isWanted: (word: string, other: string) => boolean,
): string[] {
  // The only triple of three words is the whole query, which was requested first.
  if (words.length <= 3) return []
  const triples = listPairs(words).flatMap(([first, second]) =>
    words
      .slice(words.indexOf(second) + 1)
      .filter(
        (third) => isWanted(first, second) && isWanted(first, third) && isWanted(second, third),
      )
      .map((third) => quote(first, second, third)),
  )
  return triples.slice(0, maxTriples)
}

/**
 * Returns the translated words, their pairs with every other word, and the whole query translated.
 * Words without a translation, such as brands, stay as they are.
 */
export function listTranslations({ all: words, translations }: ClassifiedWords): string[] {
  if (translations.size === 0) return []
  const translate = (word: string) => translations.get(word)?.[0] ?? word
  const single = [...new Set([...translations.values()].flat())]
  const pairs = listPairs(words)
    .filter(([word, other]) => translations.has(word) || translations.has(other))
    .map(([word, other]) => `${translate(word)} ${translate(other)}`)
  const whole = words.length > 2 ? [words.map(translate).join(' ')] : []
  return [...whole, ...single.slice(0, maxTranslations), ...pairs.slice(0, maxTranslations)]
}

/** Returns all pairs of words in their order, with the distance between them. */
function listPairs(words: string[]): [word: string, other: string, distance: number][] {
  return words.flatMap((word, index) =>
    words.slice(index + 1).map((other, next): [string, string, number] => [word, other, next + 1]),
  )
}
