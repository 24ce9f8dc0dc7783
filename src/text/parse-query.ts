// Parses the text of a query once. The search in the engine, the search in PostgreSQL and the order
// of hits use only the result.
import { builtInWords, type SearchWords } from '../words/search-words.ts'
import type { SynonymMap } from '../words/synonym-map.ts'
import { maxPhraseWords, toWordKey } from '../words/word-rules.ts'
import { findEnyeWords } from './accent-folding.ts'
import { readOrderLines, type SkuGuess } from './order-lines.ts'
import { toFoldedCodeKey, toPartialCodeKey, toSkuKey } from './sku-keys.ts'
import { stopWords } from './stop-words.ts'
import { type Token, tokenize, toSearchedText } from './tokens.ts'
import { translateWord } from './word-translations.ts'

/** A text has at most this many tokens that count. */
const maxTokens = 30

export type QueryToken = Token & {
  /** Whether it ends the text, so that more of it may be typed. */
  isLast: boolean
  /** Folded words and phrases that mean the same, or the same as a phrase that it is part of. */
  synonyms: readonly string[]
  /** Translations of a word, the likelier first. */
  translations: readonly string[]
  /** Words of products that are probably meant, because no product has this one. */
  corrections?: readonly string[]
}

export type ParsedQuery = {
  /** As typed, normalised. Empty: all products. */
  text: string
  /**
   * The words and codes that count, in their order: without stop words and words that the company
   * ignores, unless there are no others.
   */
  tokens: QueryToken[]
  /** The tokens that are words, and codes that have synonyms. */
  words: QueryToken[]
  /** The other tokens: codes, sizes and numbers. */
  codes: QueryToken[]
  /** All words and codes, folded, without separators. They have letters and digits only. */
  foldedWords: string[]
  /** The words with ñ, folded except for ñ. */
  enyeWords: string[]
  /** The keys of a SKU that equals the text, except for case and separators. */
  skuKeys: string[]
  /** SKUs that the text may have, besides quantities, units and prices: by lines. */
  orderLines: SkuGuess[][]
  /** The folded key of a text that may be a part of a code. */
  partialCodeKey: string | undefined
  /** Whether the text has numbers and sizes only. They are more often in names than in SKUs. */
  isAmount: boolean
  /** The SKUs that the company puts first for this query, in their order. */
  pinnedSkus: readonly string[]
}

/** Parses a normalised text: trimmed, NFC, without control characters but tabs and line breaks. */
export function parseQuery(text: string, companyWords: SearchWords = builtInWords): ParsedQuery {
  const { ignoredWords, hiddenWords } = companyWords
  const all = tokenize(text)
  const synonyms = findSynonyms(all, companyWords.synonyms)
  const kept = withoutWords(
    withoutWords(all, ({ text: word }) => ignoredWords.has(word)),
    ({ text: word }) => stopWords.has(word),
  ).slice(0, maxTokens)
  const tokens = kept.map((token) => ({
    ...token,
    isLast: token === all.at(-1),
    synonyms: listSynonyms(token, synonyms),
    translations: token.kind === 'word' ? translateWord(token.text, hiddenWords) : [],
  }))
  const isWord = ({ kind, synonyms: own }: QueryToken) => kind === 'word' || own.length > 0
  return {
    text,
    tokens,
    words: tokens.filter(isWord),
    codes: tokens.filter((token) => !isWord(token)),
    foldedWords: listFoldedWords(text, ignoredWords),
    enyeWords: findEnyeWords(text),
    skuKeys: text === '' ? [] : [...new Set([toSkuKey(text), toFoldedCodeKey(text)])],
    orderLines: readOrderLines(text),
    partialCodeKey: toPartialCodeKey(text),
    isAmount: all.every(({ kind }) => kind === 'number' || kind === 'size'),
    pinnedSkus: companyWords.pins.get(toWordKey(text)) ?? [],
  }
}

/** Removes tokens, unless nothing else is left. */
function withoutWords(tokens: Token[], isRemoved: (token: Token) => boolean): Token[] {
  const kept = tokens.filter((token) => token.kind !== 'word' || !isRemoved(token))
  return kept.length > 0 ? kept : tokens
}

/** Returns the synonyms of the words, and of the phrases of words next to each other. */
function findSynonyms(tokens: Token[], known: SynonymMap): SynonymMap {
  const words = tokens.map(({ text }) => text)
  const found = new Map<string, readonly string[]>()
  for (let length = 1; length <= maxPhraseWords; length++) {
    for (let start = 0; start + length <= words.length; start++) {
      const phrase = words.slice(start, start + length).join(' ')
      const synonyms = known.get(phrase)
      if (synonyms) found.set(phrase, synonyms)
    }
  }
  return found
}

/** Returns the synonyms of a word, and of the phrases that it is a part of. */
function listSynonyms({ text }: Token, synonyms: SynonymMap): string[] {
  return [...synonyms].flatMap(([phrase, own]) => (phrase.split(' ').includes(text) ? own : []))
}

function listFoldedWords(text: string, ignored: ReadonlySet<string>): string[] {
  const words = toSearchedText(text).split(' ').filter(Boolean)
  const kept = words.filter((word) => !ignored.has(word))
  return kept.length > 0 ? kept : words
}
