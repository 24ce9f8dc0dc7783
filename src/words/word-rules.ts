// What may be a word of the company: lengths and numbers, and which words would make search worse.
// The triggers of the tables check the lengths and numbers too.
import { stopWords } from '../text/stop-words.ts'
import { type Token, tokenize, toSearchedText } from '../text/tokens.ts'

/** As a hidden word: all built-in words. */
export const everyWord = '*'
const maxPhraseLength = 50
/** The engine finds synonyms of at most three words in a query. */
export const maxPhraseWords = 3
/** A shorter word is the beginning of too many others. */
const minPhraseLetters = 2
export const maxSynonyms = 20
export const maxPinnedSkus = 20
const maxPinnedQueryLength = 200
const maxSkuCharacters = 100

/** Returns the form in which texts are compared: the folded words, with single blanks. */
export function toWordKey(text: string): string {
  return toSearchedText(text)
}

/** Returns a text as the tables store it: in lower case, with single blanks. */
export function toStoredPhrase(text: string): string {
  return text.replace(/\s+/g, ' ').trim().normalize('NFC').toLowerCase()
}

/** Returns why a text may not be a word of synonyms or a hidden word; undefined if it may. */
export function findPhraseProblem(phrase: string): string | undefined {
  const key = toWordKey(phrase)
  const count = phrase.split(' ').length
  if (key.length < minPhraseLetters) return 'needs at least two letters or digits'
  if ([...phrase].length > maxPhraseLength) return `has more than ${maxPhraseLength} characters`
  if (count > maxPhraseWords) return `has more than ${maxPhraseWords} words`
  if (/[,;|]/.test(phrase))
    return 'has a comma, semicolon or bar: only a list of synonyms has several, separated by |'
  if (key.split(' ').every((word) => stopWords.has(word)))
    return 'is a word such as "de" or "the", which is in too many names'
  if (/^[\d ]+$/.test(key)) return 'is a number: numbers are found exactly'
  if (tokenize(phrase).some(isSize)) return 'is a size: search knows the spellings of units'
  return undefined
}

const isSize = ({ kind, looseKeys }: Token) => kind === 'size' || looseKeys.length > 0

/** Returns why a text may not be the query of a pin; undefined if it may. */
export function findQueryProblem(query: string): string | undefined {
  if ([...query].length > maxPinnedQueryLength)
    return `has more than ${maxPinnedQueryLength} characters`
  return toWordKey(query) === '' ? 'needs at least one letter or digit' : undefined
}

/** Returns why a text may not be a pinned SKU; undefined if it may. */
export function findSkuProblem(sku: string): string | undefined {
  return [...sku].length > maxSkuCharacters
    ? `has more than ${maxSkuCharacters} characters`
    : undefined
}
