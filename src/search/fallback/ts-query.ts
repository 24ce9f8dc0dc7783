// Builds the tsquery with which PostgreSQL finds products by words or their synonyms. A tsquery is
// the text of a full-text search, such as `'martillo':* & 'bola':*`.
import { type RawBuilder, sql } from 'kysely'
import type { SynonymMap } from '../../words/synonym-map.ts'
import { maxPhraseWords } from '../../words/word-rules.ts'

/**
 * Returns a tsquery for all the words. Instead of a word or a phrase, a product may have a synonym
 * of it. `toTerm` returns the term for a word, or undefined for a word that is not looked up. For
 * "broca de metal" and for "drill bit", this returns
 *
 *     (('broca':*) | ('mecha') | ('drill' <-> 'bit')) & (('metal':*))
 *     (((('drill':*) | ('taladro')) & (('bit':*))) | ('broca') | ('mecha'))
 *
 * Throws if a word or a synonym is not only letters and digits, because it could be an operator.
 */
export function toTsQuery(
  words: string[],
  synonyms: SynonymMap,
  toTerm: (word: string) => string | undefined,
): string {
  const addSynonyms = (term: string, phrase: string) => {
    const alternatives = (synonyms.get(phrase) ?? []).map(toPhraseTerm)
    return `(${[`(${term})`, ...alternatives].join(' | ')})`
  }
  const phraseTerms = splitIntoPhrases(words, synonyms).map((phrase) => {
    const wordTerms = phrase.flatMap((word) => {
      const term = toTerm(word)
      return term === undefined ? [] : [addSynonyms(term, word)]
    })
    const everyWord = wordTerms.join(' & ')
    if (phrase.length === 1) return everyWord
    const text = phrase.join(' ')
    return addSynonyms(everyWord || toPhraseTerm(text), text)
  })
  return phraseTerms.filter((term) => term !== '').join(' & ')
}

/** Splits the words into the longest phrases that have synonyms, and single words between them. */
function splitIntoPhrases(words: string[], synonyms: SynonymMap): string[][] {
  const phrases: string[][] = []
  for (let start = 0; start < words.length; ) {
    const length = findPhraseLength(words.slice(start), synonyms)
    phrases.push(words.slice(start, start + length))
    start += length
  }
  return phrases
}

/** Returns how many of the first words have synonyms together, else 1. */
function findPhraseLength(words: string[], synonyms: SynonymMap): number {
  for (let length = Math.min(maxPhraseWords, words.length); length > 1; length--)
    if (synonyms.has(words.slice(0, length).join(' '))) return length
  return 1
}

const toPhraseTerm = (phrase: string) => `(${phrase.split(' ').map(toWordTerm).join(' <-> ')})`

/** Returns the term for a word as it is. Throws like `checkWord`. */
export const toWordTerm = (word: string): string => `'${checkWord(word)}'`

/** Returns the term for all words that begin with this one. Throws like `checkWord`. */
export const toPrefixTerm = (word: string): string => `${toWordTerm(word)}:*`

/**
 * Returns the SQL of a tsquery of folded terms. fold_text turns some letters and digits into signs:
 * "½" into "1/2", "ŉ" into "'n". Inside quotes no sign is an operator, but a quote would end the
 * term. So the quotes of the terms are # while fold_text runs. Then a quote that fold_text has
 * added becomes a blank, and each # a quote.
 */
export function foldTsQuery(terms: string): RawBuilder<unknown> {
  const unfolded = terms.replaceAll("'", '#')
  return sql`to_tsquery('simple', translate(fold_text(${unfolded}), '''#', ' '''))`
}

/**
 * Returns the word, for a tsquery or a regular expression. Throws if it has other characters than
 * letters and digits. The words of a ParsedQuery have no others.
 */
export function checkWord(word: string): string {
  if (/^[\p{L}\p{N}]+$/u.test(word)) return word
  throw new Error('a word of a query has other characters than letters and digits')
}
