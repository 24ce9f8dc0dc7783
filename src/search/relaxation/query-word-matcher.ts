// Compares the text of a product with the words of a query: which of them it contains, in which
// field, and how exactly. This ranks the hits of relaxed queries (relax-query.ts). The numbers were
// measured ("What each number gains" in docs/measurements.md).

import { oneTypoLetters, twoTyposLetters } from '../../search-engine/letters-for-typos.ts'
import type { EngineHit } from '../../search-engine/search-client.ts'
import { foldText } from '../../text/accent-folding.ts'
import { listNumberForms } from '../../text/plurals.ts'
import { findSizeForms } from '../../text/sizes-with-units.ts'
import { canBePartOfCode, toCodeKey } from '../../text/sku-and-hs-codes.ts'
import { isUnknown, type QueryWord } from './query-words.ts'

/** The weight of a match in the category or the description. In the other fields it is 1. */
const otherFieldWeight = 0.5
/**
 * How much a match with typos counts, or a match with the beginning of a word. An equal word, its
 * plural or a translation counts 1. So for "broca", "broca" ranks before the similar "brocha".
 */
const inexactQuality = 0.9
/** Too many words begin with a shorter word. It is a prefix only if it is the last word. */
const minLettersForPrefix = 3
/** The rest of a longer description is not compared. */
const maxDescriptionLength = 1_000

const textWords = /[\p{L}\p{N}]+(?:[./]\p{N}+)*/gu

type ComparedWord = {
  /** The word, its translations and its synonyms of one word, in singular and plural, folded. */
  forms: Set<string>
  /** Its synonyms of several words, folded, in the number in which the company wrote them. */
  phrases: string[]
  folded: string
  /** Its key, if the word is looked for in SKUs. */
  codeKey: string | undefined
  isLast: boolean
  /** The last word may be unfinished. A word that no product has as typed may be cut short. */
  mayBePrefix: boolean
  /** How well words of products match this word. Cached, because words recur in many products. */
  qualities: Map<string, number>
}

export class QueryWordMatcher {
  readonly #words: ComparedWord[]

  constructor(words: QueryWord[]) {
    this.#words = words.map((word) => {
      const { text, isLast, translations, synonyms } = word
      const folded = foldText(text)
      const codeKey = toCodeKey(folded)
      return {
        forms: new Set([folded, ...translations, ...synonyms].flatMap(listNumberForms)),
        phrases: synonyms.filter((synonym) => synonym.includes(' ')),
        folded,
        codeKey: canBePartOfCode(codeKey) ? codeKey : undefined,
        mayBePrefix: isLast || (isUnknown(word) && text.length >= minLettersForPrefix),
        isLast,
        qualities: new Map(),
      }
    })
  }

  /** Returns the words of the product that match a word of the query, folded, for highlights. */
  listMatches({ name, brand, category, description }: EngineHit): string[] {
    return [name, brand ?? '', category ?? '', shortenDescription(description)]
      .flatMap(listFoldedWords)
      .filter((candidate) => this.#words.some((word) => compareWords(word, candidate) > 0))
  }

  /** Returns for each word how well the product matches it: from 0 (not at all) to 1. */
  rateMatches(product: EngineHit): number[] {
    const fields: [fieldWords: string[], weight: number][] = [
      [listFoldedWords(`${product.name} ${product.brand ?? ''}`), 1],
      [findSizeForms(product.name), 1],
      [listFoldedWords(product.category ?? ''), otherFieldWeight],
      [listFoldedWords(shortenDescription(product.description)), otherFieldWeight],
    ]
    const sku = foldText(toCodeKey(product.sku))
    return this.#words.map((word) => {
      if (word.codeKey !== undefined && sku.includes(word.codeKey)) return 1
      return fields.reduce((best, [fieldWords, weight]) => {
        // A match in this field cannot be better.
        if (best >= weight) return best
        const quality = hasPhrase(word, fieldWords) ? 1 : bestQuality(word, fieldWords)
        return Math.max(best, weight * quality)
      }, 0)
    })
  }
}

const shortenDescription = (text: string | null) => (text ?? '').slice(0, maxDescriptionLength)

function listFoldedWords(text: string): string[] {
  return foldText(text).match(textWords) ?? []
}

/** Whether the words of a field, in their order, contain a synonym of several words. */
function hasPhrase({ phrases }: ComparedWord, fieldWords: string[]): boolean {
  if (phrases.length === 0) return false
  const text = ` ${fieldWords.join(' ')} `
  return phrases.some((phrase) => text.includes(` ${phrase} `))
}

/** Returns the quality of the best match among the words of a field. */
function bestQuality(word: ComparedWord, fieldWords: string[]): number {
  let best = 0
  for (const candidate of fieldWords) {
    if (best === 1) return best
    const cached = word.qualities.get(candidate)
    const quality = cached ?? compareWords(word, candidate)
    if (cached === undefined) word.qualities.set(candidate, quality)
    if (quality > best) best = quality
  }
  return best
}

function compareWords(word: ComparedWord, candidate: string): number {
  const { forms, folded, isLast, mayBePrefix } = word
  if (forms.has(candidate)) return 1
  if (mayBePrefix && candidate.startsWith(folded)) return inexactQuality
  if (folded.length < oneTypoLetters || /\d/.test(folded)) return 0
  const maxTypos = folded.length >= twoTyposLetters ? 2 : 1
  const typos = Math.min(
    countTypos(folded, candidate, maxTypos),
    isLast && candidate.length > folded.length
      ? countTypos(folded, candidate.slice(0, folded.length), maxTypos)
      : Number.POSITIVE_INFINITY,
  )
  return typos > maxTypos ? 0 : inexactQuality
}

/**
 * Returns the number of letters that were replaced, added, lost or swapped with the next one
 * (optimal string alignment). If there are more than `max`, returns any number above `max`. Letters
 * are UTF-16 code units here, because hardly any letter has two.
 */
export function countTypos(a: string, b: string, max: number): number {
  if (Math.abs(a.length - b.length) > max) return max + 1
  let beforePrevious: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    let lowest = row
    for (let column = 1; column <= b.length; column++) {
      const isEqual = a[row - 1] === b[column - 1]
      let cost = Math.min(
        (previous[column] ?? max) + 1,
        (current[column - 1] ?? max) + 1,
        (previous[column - 1] ?? max) + (isEqual ? 0 : 1),
      )
      const isSwap =
        row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (isSwap) cost = Math.min(cost, (beforePrevious[column - 2] ?? max) + 1)
      current.push(cost)
      lowest = Math.min(lowest, cost)
    }
    if (lowest > max) return max + 1
    beforePrevious = previous
    previous = current
  }
  return previous[b.length] ?? max + 1
}
