// Decides which texts of searches may be counted at all: none that looks like personal data or like
// a secret, whoever and however many search for it.
import { foldTextKeepingEnye } from '../text/accent-folding.ts'
import { stopWords } from '../text/stop-words.ts'

/** Telephone numbers, bank accounts, cards, tax ids, dates: digits with signs between them. */
const minPersonalDigits = 7
const digitsWithSigns = /\d(?:[\s().,/+_-]*\d)*/g
/** A short letter part of a tax id or account may stand between digits. */
const accountNumber = /\b[a-z]{2}\s?\d{2}(?:\s?[a-z0-9]){11,}\b/
const taxId = /\b(?:[a-z]\s?-?\s?\d{7,8}|\d{7,8}\s?-?\s?[a-z]|[a-z]\s?-?\s?\d{7}\s?-?\s?[a-z])\b/
/** Tokens and keys are long words; an address of a page contains its scheme or www. */
const maxWordLength = 24
const webAddress = /:\/\/|\bwww\./
const minWordLetters = 3
const words = /[\p{L}\p{M}]+/gu

/**
 * Returns the text as the report shows it: in lower case, without accents and control
 * characters. Returns null if it may not be counted.
 */
export function toKeptText(text: string): string | null {
  const kept = foldTextKeepingEnye(text.normalize('NFKC').replace(/\p{C}/gu, ' '))
    .replace(/\s+/g, ' ')
    .trim()
  return kept === '' || looksPersonal(kept) ? null : kept
}

/** Returns the words of a kept text that may be reported as words that no product has. */
export function listReportableWords(text: string): string[] {
  const found = text.match(words) ?? []
  const letters = (word: string) => [...word].length
  return [...new Set(found)].filter(
    (word) => letters(word) >= minWordLetters && !stopWords.has(word) && isSeparateWord(text, word),
  )
}

function looksPersonal(text: string): boolean {
  // Decimal digits of every script count.
  const plain = text.replace(/\p{Nd}/gu, '0')
  const countDigits = (match: string) => match.replace(/\D/g, '').length
  return (
    text.includes('@') ||
    webAddress.test(text) ||
    (plain.match(digitsWithSigns) ?? []).some((match) => countDigits(match) >= minPersonalDigits) ||
    accountNumber.test(plain) ||
    taxId.test(plain) ||
    plain.split(/\s/).some((word) => [...word].length > maxWordLength)
  )
}

/** Letters beside digits are parts of a code. */
function isSeparateWord(text: string, word: string): boolean {
  return text.split(/[^\p{L}\p{M}\p{N}]+/u).includes(word)
}
