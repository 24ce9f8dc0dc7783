// The rules for cells that product files and quote files share, such as lengths, numbers and codes.
// They mirror the constraints of the schema, but report readable problems. They run while the file
// is read: in PostgreSQL the same checks took longer than the rest of an import.
import { isLocalDate } from '../company/calendar.ts'
import type { KnownCodes } from './known-codes.ts'

/** Returns the problem of a cell that is not empty, or undefined if it has none. */
export type CellCheck = (cell: string) => string | undefined

export function checkLength(maxCharacters: number): CellCheck {
  return (cell) => {
    if (cell.length <= maxCharacters) return undefined
    // PostgreSQL counts code points, but String.length counts UTF-16 code units.
    const characters = [...cell].length
    return characters > maxCharacters
      ? `has ${characters} characters: at most ${maxCharacters} are allowed`
      : undefined
  }
}

/** Requires a match with `expression`; `problem` follows the quoted cell in the message. */
export function checkPattern(expression: RegExp, problem: string): CellCheck {
  return (cell) => (expression.test(cell) ? undefined : `${quoteForMessage(cell)} ${problem}`)
}

/** Requires one of `values`; `problem` replaces the list of values in the message. */
export function checkOneOf(values: Iterable<string>, problem?: string): CellCheck {
  const allowed = new Set(values)
  return (cell) =>
    allowed.has(cell)
      ? undefined
      : `${quoteForMessage(cell)} ${problem ?? `is not one of ${[...allowed].join(', ')}`}`
}

/** Requires one of `words`, in upper or lower case. The words are given in lower case. */
export function checkOneOfIgnoringCase(words: string[]): CellCheck {
  const allowed = new Set(words)
  return (cell) =>
    allowed.has(cell.normalize('NFC').toLowerCase())
      ? undefined
      : `${quoteForMessage(cell)} is not one of ${words.join(', ')}`
}

export const checkDay: CellCheck = (cell) => {
  if (isLocalDate(cell)) return undefined
  const problem = /^\d{4}-\d\d-\d\d$/.test(cell)
    ? 'is a day that does not exist'
    : 'is not a date such as 2026-12-31'
  return `${quoteForMessage(cell)} ${problem}`
}

/** A whole number from 1 that fits into an integer. */
export const checkPositiveInteger = checkPattern(
  /^0{0,20}[1-9][0-9]{0,8}$/,
  'is not a whole number from 1 to 999999999',
)

/**
 * Requires a number in plain decimal notation that is not negative. PostgreSQL casts it to numeric
 * later. Up to 20 leading and trailing zeros are ignored; more could exceed what numeric holds.
 */
export function checkDecimal({
  wholeDigits,
  decimals,
  isAboveZero = false,
}: {
  wholeDigits: number
  decimals: number
  isAboveZero?: boolean
}): CellCheck {
  const allowed = new RegExp(`^0{0,20}[0-9]{1,${wholeDigits}}(\\.[0-9]{1,${decimals}}0{0,20})?$`)
  const limits =
    `must be ${isAboveZero ? 'above 0' : '0 or more'} and below 1${'0'.repeat(wholeDigits)}, ` +
    `with at most ${decimals} decimals`
  return (cell) =>
    allowed.test(cell) && !(isAboveZero && isZero(cell))
      ? undefined
      : `${quoteForMessage(cell)} ${isDecimal(cell) ? limits : notDecimal}`
}

/** 0 to 100, with at most four decimals. */
export const checkPercentage: CellCheck = (cell) => {
  if (/^0{0,20}([0-9]{1,2}(\.[0-9]{1,4}0{0,20})?|100(\.0{1,20})?)$/.test(cell)) return undefined
  const limits = 'must be from 0 to 100, with at most 4 decimals'
  return `${quoteForMessage(cell)} ${isDecimal(cell) ? limits : notDecimal}`
}

const isZero = (cell: string) => !/[1-9]/.test(cell)
const isDecimal = (cell: string) => /^-?[0-9]+(\.[0-9]+)?$/.test(cell)
const notDecimal =
  'is not a plain decimal number such as 1234.5 ' +
  '(digits and one point, no thousands separators, no exponent)'

export const checkUnit = checkPattern(
  /^[A-Z0-9]{2,3}$/,
  'is not a UN/ECE Recommendation 20 code such as C62 (piece), KGM or MTR',
)
export const checkHsCode = checkPattern(
  /^[0-9]{4,12}$/,
  'is not an HS code: 4 to 12 digits, without points',
)
export const checkCurrency = (codes: KnownCodes): CellCheck =>
  checkOneOf(codes.currencies, 'is not an ISO 4217 currency such as EUR')
export const checkCountry = (codes: KnownCodes): CellCheck =>
  checkOneOf(codes.countries, 'is not an ISO 3166-1 alpha-2 country such as ES')

const maxQuotedCharacters = 60

/** Returns a cell for a message: in quotation marks, on one line, cut after 60 characters. */
export function quoteForMessage(cell: string): string {
  const line = cell.replace(/\s+/g, ' ')
  const isTooLong = line.length > maxQuotedCharacters
  return `"${isTooLong ? `${line.slice(0, maxQuotedCharacters)}…` : line}"`
}
