// Orders the products that an engine or PostgreSQL has found, by what of the query each of them
// holds. docs/architecture.md has the rules, which a test executes.
import { LRUCache } from 'lru-cache'
import { productFields, type SearchedName, searchedNames } from '../products/fields.ts'
import type { EngineHit } from '../search-engine/client.ts'
import { findEnyeWords } from '../text/accent-folding.ts'
import type { ParsedQuery, QueryToken } from '../text/parse-query.ts'
import { listNumberForms } from '../text/plurals.ts'
import { canBePartOfCode, toCodeKey, toFoldedCodeKey, toSkuKey } from '../text/sku-keys.ts'
import { stopWords } from '../text/stop-words.ts'
import { readText, type TextParts, toLookAlike, toSearchedText, toSound } from '../text/tokens.ts'
import { countTypos, maxTyposIn } from '../text/typos.ts'

/** What must be known of a product. */
export type ComparedProduct = Pick<EngineHit, SearchedName | 'hsCode'>

/**
 * How a hit matches: it has the SKU; it has all the words and codes, also as synonyms, plurals or
 * beginnings; some of them with corrections; or not all of them.
 */
export type Match = 'exact' | 'words' | 'corrected' | 'some_words'

/** How much a token counts. Rare ones count more. */
export type TokenWeights = readonly number[]

export type ScoredProduct<Product> = {
  product: Product
  match: Match
  score: number
  /** The weight of the tokens that the product has, from 0 to 1. */
  held: number
  /** The words that were corrected: as typed, and as the product has them. */
  corrections: { from: string; to: string }[]
}

// What each number gains was measured with people's judgements.
const quality = {
  same: 1,
  prefix: 0.9,
  codeOfPart: 0.97,
  looseCode: 0.95,
  partOfSku: 0.85,
  correctedWord: 0.85,
}
/** Too many words begin with a shorter word. It is a prefix only if it is the last word. */
const minLettersForPrefix = 3
const nounBonus = 2
const adjacencyBonus = 5
/** For a name that has the typed words with the stop words between them. */
const phraseBonus = 3
/** For names with the stop words of one letter: LETTER "Y" is not LETTER "A". */
const letterBonus = 20
/** For names with the typed ñ. More than anything else. */
const enyeBonus = 200
/** For the share of the name that was asked for, so that shorter names come first. */
const shareOfNameBonus = 1.5
/** How much the place that the engine gave counts. */
const placeWeight = 10
const placeOffset = 5
/** Only descriptions are longer. */
const maxSearchedLength = 1_000
/** In UTF-16 code units, together. */
const maxCachedTexts = 500_000

/** `words` are without stop words. */
type FieldWords = {
  words: string[]
  wordCount: number
  all: Set<string>
  codes: Map<string, CodePosition>
  /** The words and codes with their places, for highlights. */
  parts: TextParts
  /** The text as a code (toFoldedCodeKey). */
  codeKey: string
}
/** Among the words. */
type CodePosition = { position: number; isPart: boolean }
/** Texts recur from keystroke to keystroke, and reading them takes most of the time. */
const readTexts = new LRUCache<string, FieldWords>({
  maxSize: maxCachedTexts,
  sizeCalculation: (_, text) => text.length + 1,
})

type TokenMatch = {
  quality: number
  isCorrected: boolean
  /** The word or key of the product. */
  found: string
  /** Its position among the words of the name; -1 if it is elsewhere. */
  position: number
}
const noMatch: TokenMatch = { quality: 0, isCorrected: false, found: '', position: -1 }

/** Compares products with a query. Caches what it has compared. */
export class ProductOrder {
  readonly #query: ParsedQuery
  readonly #tokens: ComparedToken[]
  readonly #weights: TokenWeights
  /** The typed words, if there are stop words among them. */
  readonly #phrase: string | null
  /** The typed stop words of one letter. */
  readonly #letters: string[]

  constructor(query: ParsedQuery, weights: TokenWeights = query.tokens.map(() => 1)) {
    this.#query = query
    this.#weights = weights
    const { foldedWords } = query
    this.#phrase = foldedWords.some((word) => stopWords.has(word)) ? foldedWords.join(' ') : null
    this.#letters = foldedWords.filter((word) => word.length === 1 && stopWords.has(word))
    this.#tokens = query.tokens.map(compareToken)
  }

  /** Orders products, the best first. Equal ones keep their order. */
  sort<Product extends ComparedProduct>(products: Product[]): ScoredProduct<Product>[] {
    return products
      .map((product) => this.score(product, null))
      .toSorted((a, b) => b.score - a.score)
  }

  /** Scores a product that was found at this place. Null: its place says nothing. */
  score<Product extends ComparedProduct>(
    product: Product,
    place: number | null,
  ): ScoredProduct<Product> {
    const { name, sku } = product
    const nameText = read(name)
    // The name is the first one.
    const fields = searchedNames.flatMap((each): [FieldWords, number][] => {
      const text = product[each]?.slice(0, maxSearchedLength)
      return text ? [[read(text), productFields[each].search.weight]] : []
    })
    const { codeKey } = read(sku)
    const matches = this.#tokens.map((token) => token.findIn(fields, codeKey, product.hsCode))
    this.#joinNeighbours(matches, fields)
    const held = this.#toShareHeld(matches)
    return {
      product,
      match: this.#toMatch(product, matches),
      score:
        100 * held + this.#toScore(matches, nameText, place) + this.#toNameBonus(nameText, name),
      held,
      corrections: matches.flatMap(({ isCorrected, found, quality: own }, index) => {
        const from = this.#query.tokens[index]
        return isCorrected && own > 0 && from ? [{ from: from.text, to: found }] : []
      }),
    }
  }

  /** Returns how many letters of a word of a product match the query: all, its beginning, or 0. */
  countMatchingLetters(word: string): number {
    return Math.max(0, ...this.#tokens.map((token) => token.countMatchingLetters(word)))
  }

  /** Whether a key of a product is one of the query. */
  hasCode(key: string): boolean {
    return this.#query.tokens.some(
      ({ keys, looseKeys, isLast }) =>
        keys.includes(key) ||
        looseKeys.includes(key) ||
        (isLast && keys.some((own) => key.startsWith(own))),
    )
  }

  /** The keys of the whole query and of its tokens, as they may be in a SKU. */
  get codeKeys(): string[] {
    const { partialCodeKey, tokens } = this.#query
    const own = partialCodeKey === undefined ? [] : [partialCodeKey]
    return [...own, ...tokens.map(({ text }) => toCodeKey(text)).filter((key) => /\d/.test(key))]
  }

  /** Two neighbours of the query may be one word of the product: "lava vajillas". */
  #joinNeighbours(matches: TokenMatch[], fields: [FieldWords, number][]): void {
    for (const [index, token] of this.#tokens.entries()) {
      const next = this.#tokens[index + 1]
      if (!next || (matches[index]?.quality && matches[index + 1]?.quality)) continue
      const joined = token.text + next.text
      const field = fields.find(
        ([{ all, codes }]) =>
          all.has(joined) || codes.has(joined) || (next.isLast && hasPrefix(all, joined)),
      )
      if (!field) continue
      const match = { ...noMatch, quality: field[1], found: joined }
      matches[index] = match
      matches[index + 1] = match
    }
  }

  #toMatch({ sku }: ComparedProduct, matches: TokenMatch[]): Match {
    const { skuKeys } = this.#query
    if (skuKeys.length > 0 && skuKeys.includes(toSkuKey(sku))) return 'exact'
    if (matches.some(({ quality: own }) => own === 0)) return 'some_words'
    return matches.some(({ isCorrected }) => isCorrected) ? 'corrected' : 'words'
  }

  /** For what the words of the query do not say: ñ, and stop words. */
  #toNameBonus({ all }: FieldWords, name: string): number {
    const { enyeWords } = this.#query
    let bonus = 0
    if (enyeWords.length > 0) {
      const words = findEnyeWords(name)
      if (enyeWords.every((word) => words.some((own) => own.startsWith(word)))) bonus += enyeBonus
    }
    if (this.#phrase === null) return bonus
    const letters = this.#letters.filter((letter) => all.has(letter)).length
    bonus += (letterBonus * letters) / Math.max(1, this.#letters.length)
    return bonus + (toSearchedText(name).includes(this.#phrase) ? phraseBonus : 0)
  }

  #toShareHeld(matches: TokenMatch[]): number {
    let held = 0
    let total = 0
    for (const [index, match] of matches.entries()) {
      const weight = this.#weights[index] ?? 1
      held += weight * match.quality
      total += weight
    }
    return total === 0 ? 0 : held / total
  }

  #toScore(matches: TokenMatch[], name: FieldWords, place: number | null): number {
    let pairs = 0
    for (const [index, match] of matches.entries()) {
      const next = matches[index + 1]
      if (next && match.position >= 0 && next.position === match.position + 1) pairs += 1
    }
    const lastToken = matches.at(-1)
    const lastWord = name.words.at(-1)
    const nameLength = Math.max(1, name.wordCount)
    const hasNoun = matches.length > 1 && lastToken !== undefined && lastToken.found === lastWord
    return (
      (hasNoun ? nounBonus : 0) +
      shareOfNameBonus *
        Math.min(1, matches.filter(({ position }) => position >= 0).length / nameLength) +
      (matches.length > 1 ? (adjacencyBonus * pairs) / (matches.length - 1) : 0) -
      (place === null ? 0 : placeWeight * Math.log(place + placeOffset))
    )
  }
}

/** A relaxed query orders the same products a second time. */
const comparedTokens = new WeakMap<QueryToken, ComparedToken>()

function compareToken(token: QueryToken): ComparedToken {
  const compared = comparedTokens.get(token) ?? new ComparedToken(token)
  comparedTokens.set(token, compared)
  return compared
}

/** A token of the query with what was found for words of products, because words recur. */
class ComparedToken {
  readonly text: string
  readonly isLast: boolean
  readonly #token: QueryToken
  readonly #forms: Set<string>
  readonly #phrases: string[]
  readonly #sound: string
  readonly #codeKey: string | undefined
  readonly #qualities = new Map<string, number>()

  constructor(token: QueryToken) {
    this.#token = token
    this.text = token.text
    this.isLast = token.isLast
    this.#forms = new Set(
      [token.text, ...token.synonyms, ...token.translations].flatMap(listNumberForms),
    )
    this.#phrases = token.synonyms.filter((synonym) => synonym.includes(' '))
    this.#sound = toSound(token.text)
    const key = toCodeKey(token.text)
    this.#codeKey = token.kind !== 'size' && canBePartOfCode(key) ? key : undefined
  }

  /** Returns the best match among the fields of a product. */
  findIn(
    fields: [FieldWords, weight: number][],
    skuKey: string,
    hsCode: string | null,
  ): TokenMatch {
    const isWord = this.#token.kind === 'word'
    let best = noMatch
    for (const [index, [field, weight]] of fields.entries()) {
      if (best.quality >= weight) continue
      const match = isWord ? this.#findWord(field) : this.#findCode(field)
      if (match.quality * weight <= best.quality) continue
      const position = index === 0 ? match.position : -1
      best = { ...match, position, quality: match.quality * weight }
    }
    if (best.quality < quality.partOfSku && isWord && skuKey.startsWith(this.text))
      return { ...noMatch, quality: quality.prefix, found: this.text }
    if (best.quality === 0 && this.text.length > 2 && skuKey.includes(this.text))
      return { ...noMatch, quality: quality.partOfSku, found: this.text }
    if (this.#codeKey !== undefined && best.quality < quality.prefix) {
      const isInCode = skuKey.includes(this.#codeKey) || hsCode?.startsWith(this.#codeKey)
      if (isInCode) return { ...noMatch, quality: quality.prefix, found: this.#codeKey }
      const lookAlike = toLookAlike(this.#codeKey)
      if (best.quality === 0 && toLookAlike(skuKey) === lookAlike)
        return { ...noMatch, quality: quality.correctedWord, isCorrected: true, found: skuKey }
    }
    return best
  }

  #findWord(field: FieldWords): TokenMatch {
    let best = noMatch
    for (const [position, word] of field.words.entries()) {
      const own = this.#compareWords(word)
      if (own <= best.quality) continue
      best = { quality: own, isCorrected: own === quality.correctedWord, found: word, position }
      if (own === 1) return best
    }
    if (best.quality < 1 && this.#phrases.length > 0) {
      const text = ` ${field.words.join(' ')} `
      if (this.#phrases.some((phrase) => text.includes(` ${phrase} `)))
        return { ...noMatch, quality: 1, found: this.text }
    }
    if (best.quality < 1)
      for (const form of this.#forms)
        if (field.all.has(form)) return { ...noMatch, quality: 1, found: form }
    return best
  }

  #compareWords(word: string): number {
    let own = this.#qualities.get(word)
    if (own === undefined) {
      own = this.#computeQuality(word)
      this.#qualities.set(word, own)
    }
    return own
  }

  countMatchingLetters(word: string): number {
    if (this.#phrases.some((phrase) => phrase.split(' ').includes(word))) return word.length
    if (this.#compareWords(word) === 0) return 0
    return word.startsWith(this.text) ? this.text.length : word.length
  }

  #computeQuality(word: string): number {
    if (this.#forms.has(word)) return quality.same
    if (this.#token.corrections?.includes(word)) return quality.correctedWord
    const mayBePrefix = this.isLast || this.text.length >= minLettersForPrefix
    if (this.isLast && word.startsWith(this.text)) return quality.prefix
    if (toSound(word) === this.#sound) return quality.correctedWord
    const maxTypos = maxTyposIn(this.text)
    if (maxTypos > 0) {
      if (countTypos(this.text, word, maxTypos) <= maxTypos) return quality.correctedWord
      const beginning = word.slice(0, this.text.length)
      if (this.isLast && countTypos(this.text, beginning, maxTypos) <= maxTypos)
        return quality.correctedWord
    }
    return mayBePrefix && word.startsWith(this.text) ? quality.correctedWord : 0
  }

  #findCode({ codes, all }: FieldWords): TokenMatch {
    const { keys, looseKeys } = this.#token
    const find = (candidates: string[], own: number) => {
      const found = candidates.find((key) => codes.has(key))
      return found === undefined
        ? undefined
        : { quality: own, isCorrected: false, found, position: codes.get(found)?.position ?? -1 }
    }
    const isWhole = (key: string) => codes.get(key)?.isPart === false
    const exact =
      find(keys.filter(isWhole), quality.same) ??
      find(keys, quality.codeOfPart) ??
      find(looseKeys, quality.looseCode)
    if (exact) return exact
    for (const form of this.#forms)
      if (all.has(form)) return { ...noMatch, quality: 1, found: form }
    if (this.isLast)
      for (const code of codes.keys())
        if (keys.some((key) => code.startsWith(key)))
          return { quality: quality.prefix, isCorrected: false, found: code, position: -1 }
    return noMatch
  }
}

/** Returns the words and codes of a text of a product. */
export function readParts(text: string): TextParts {
  return read(text).parts
}

function read(text: string): FieldWords {
  const known = readTexts.get(text)
  if (known) return known
  const fields = toFieldWords(readText(text), toFoldedCodeKey(text))
  readTexts.set(text, fields)
  return fields
}

/** A code has the position after the word before it. */
function toFieldWords(parts: TextParts, codeKey: string): FieldWords {
  const { words, otherWords, codes } = parts
  const significant = words.filter(({ text }) => !stopWords.has(text))
  const positions = new Map<string, CodePosition>()
  for (const { text, start, isPart } of codes) {
    const before = significant.findLastIndex((word) => word.start < start)
    positions.set(text, { position: before + 1, isPart })
  }
  const all = new Set([...words.map(({ text }) => text), ...otherWords])
  return {
    words: significant.map(({ text }) => text),
    wordCount: words.length,
    all,
    codes: positions,
    parts,
    codeKey,
  }
}

function hasPrefix(words: Set<string>, prefix: string): boolean {
  for (const word of words) if (word.startsWith(prefix)) return true
  return false
}
