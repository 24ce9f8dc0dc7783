// Decides which texts of searches may be counted at all: none that looks like personal data or like
// a secret, whoever and however many search for it.
import { foldTextKeepingEnye } from '../text/accent-folding.ts'
import { stopWords } from '../text/stop-words.ts'

/** Telephone numbers, bank accounts, cards, tax ids, dates: digits with signs between them. */
const personalNumber = /\d(?:[\s().,/+_-]*\d){6}/
/** A short letter part of a tax id or account may stand between digits. */
const accountNumber = /\b[a-z]{2}\s?\d{2}(?:\s?[a-z0-9]){11,}\b/
const taxId = /\b(?:[a-z]\s?-?\s?\d{7,8}|\d{7,8}\s?-?\s?[a-z]|[a-z]\s?-?\s?\d{7}\s?-?\s?[a-z])\b/
/** Tokens and keys are long words. An address of a page contains its scheme or www. */
const secretOrAddress = /\S{25}|@|:\/\/|\bwww\./u
const minWordLetters = 3

/**
 * Returns the text as the report shows it: in lower case, without accents and control
 * characters. Returns null if it may not be counted.
 */
export function toKeptText(text: string): string | null {
  const kept = foldTextKeepingEnye(text.normalize('NFKC').replace(/\p{C}/gu, ' '))
    .replace(/\s+/g, ' ')
    .trim()
  // Decimal digits of every script count.
  const plain = kept.replace(/\p{Nd}/gu, '0')
  const patterns = [personalNumber, accountNumber, taxId, secretOrAddress]
  return kept === '' || patterns.some((pattern) => pattern.test(plain)) ? null : kept
}

/** Returns the words of a kept text that may be reported as words that no product has. */
export function listReportableWords(text: string): string[] {
  // Letters beside digits are parts of a code.
  const words = text.split(/[^\p{L}\p{M}\p{N}]+/u).filter((word) => /^[\p{L}\p{M}]+$/u.test(word))
  const isReportable = (word: string) => [...word].length >= minWordLetters && !stopWords.has(word)
  return [...new Set(words)].filter(isReportable)
}
