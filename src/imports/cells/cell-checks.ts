// The rules for cells: length, pattern, list of values, numbers, dates, codes, yes and no.
// The rules mirror the constraints of the schema, but report readable problems. They are checked
// while the file is read: in PostgreSQL the same checks took longer than the rest of an import.

import type { ClientBase } from 'pg'
import { isLocalDate } from '../../company/calendar.ts'
import { createNotRecordedError } from '../../company/company-record.ts'

/**
 * Returns the problem of a cell that is not empty, or undefined if it has none. `written` is the
 * cell as the file has it, for the message; `cell` is its plain form: 1234.5, 2026-12-31.
 */
export type CellCheck = (cell: string, written?: string) => string | undefined

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

/** What spreadsheets and exports make of a SKU, by the reason. */
const damages: [pattern: RegExp, reason: string][] = [
  [
    /^\d([.,]\d+)?E\+\d+$/i,
    'is a number with an exponent, which a spreadsheet has made of a long SKU',
  ],
  [/^="?|^'/, 'begins with a mark that a spreadsheet uses for texts: save the text without it'],
  [/^#[A-ZÁÉÍÓÚÑ/¡]+[!?/A]/, 'is an error of a spreadsheet: correct its formula'],
  [/[\n\r]/, 'has a line break'],
]

/** A SKU as it can be typed, and as long as the schema allows. */
export const checkSku: CellCheck = (cell) => {
  const damage = damages.find(([pattern]) => pattern.test(cell))
  return damage ? `${quoteForMessage(cell)} ${damage[1]}` : checkLength(100)(cell)
}

/** Requires a match with `expression`; `problem` follows the quoted cell in the message. */
function checkPattern(expression: RegExp, problem: string): CellCheck {
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

/** A longer cell is cut in a message. */
export const maxQuotedCharacters = 60

/** Returns a cell for a message: in quotation marks, on one line, cut after 60 characters. */
export function quoteForMessage(cell: string): string {
  const line = cell.replace(/\s+/g, ' ')
  const isTooLong = line.length > maxQuotedCharacters
  return `"${isTooLong ? `${line.slice(0, maxQuotedCharacters)}…` : line}"`
}

/** Returns SQL that quotes a cell as `quoteForMessage` does, or gives the word empty for null. */
export function sqlQuoteForMessage(cell: string): string {
  const line = `regexp_replace(${cell}, '\\s+', ' ', 'g')`
  return `case when ${cell} is null then 'empty'
    when length(${line}) > ${maxQuotedCharacters}
      then '"' || left(${line}, ${maxQuotedCharacters}) || '…"'
    else '"' || ${line} || '"' end`
}

/** A whole number from 1 that fits into an integer. */
export const checkPositiveInteger = checkPattern(
  /^0{0,20}[1-9][0-9]{0,8}$/,
  'is not a whole number from 1 to 999999999',
)

/**
 * Requires a number in plain decimal notation: 0 or more, above 0, or, if `sign` is `any` or
 * `notZero`, also below 0. PostgreSQL casts it to numeric later. Up to 20 leading and trailing
 * zeros are ignored; more could exceed what numeric holds.
 */
export function checkDecimal({
  wholeDigits,
  decimals,
  sign = 'zeroOrMore',
}: {
  wholeDigits: number
  decimals: number
  sign?: keyof typeof signs
}): CellCheck {
  const { minus, lowest, mayBeZero } = signs[sign]
  const allowed = new RegExp(
    `^${minus}0{0,20}[0-9]{1,${wholeDigits}}(\\.[0-9]{1,${decimals}}0{0,20})?$`,
  )
  const limit = `1${'0'.repeat(wholeDigits)}`
  const limits =
    `must be ${lowest.replace('LIMIT', limit)} and below ${limit}, ` +
    `with at most ${decimals} decimals`
  return (cell, written = cell) =>
    allowed.test(cell) && (mayBeZero || !isZero(cell))
      ? undefined
      : `${quoteForMessage(written)} ${isDecimal(cell) ? limits : notDecimal}`
}

/** 0 to 100, with at most four decimals. */
export const checkPercentage: CellCheck = (cell, written = cell) => {
  if (/^0{0,20}([0-9]{1,2}(\.[0-9]{1,4}0{0,20})?|100(\.0{1,20})?)$/.test(cell)) return undefined
  const limits = 'must be from 0 to 100, with at most 4 decimals'
  return `${quoteForMessage(written)} ${isDecimal(cell) ? limits : notDecimal}`
}

const signs = {
  zeroOrMore: { minus: '', lowest: '0 or more', mayBeZero: true },
  aboveZero: { minus: '', lowest: 'above 0', mayBeZero: false },
  any: { minus: '-?', lowest: 'above -LIMIT', mayBeZero: true },
  notZero: { minus: '-?', lowest: 'other than 0, above -LIMIT', mayBeZero: false },
}

const isZero = (cell: string) => !/[1-9]/.test(cell)
const isDecimal = (cell: string) => /^-?[0-9]+(\.[0-9]+)?$/.test(cell)
const notDecimal = 'is not a number such as 1234.5'

const earliestDay = '1970-01-01'
const latestDay = '2099-12-31'

/**
 * A date as people write it, with a time of day only if it is midnight, as spreadsheets add it. The
 * groups 1 and 3 are day and month, or month and day.
 */
export const slashedDate = /^(\d{1,2})([/.-])(\d{1,2})\2(\d{4})(?: 0?0:00(?::00)?)?$/
export const isoDate = /^\d{4}-\d\d-\d\d$/

export const checkDay: CellCheck = (cell, written = cell) => {
  if (isLocalDate(cell)) return undefined
  const problem = isoDate.test(cell)
    ? 'is a day that does not exist'
    : 'is not a date such as 2026-12-31'
  return `${quoteForMessage(written)} ${problem}`
}

export const checkDayOfIssue: CellCheck = (cell, written = cell) =>
  checkDayUntil2099(cell, written) ??
  (cell < earliestDay ? `${quoteForMessage(written)} is before 1970` : undefined)

/**
 * For days of events: one mistyped year would make the default period of the statistics thousands
 * of years long.
 */
export const checkDayUntil2099: CellCheck = (cell, written = cell) =>
  checkDay(cell, written) ??
  (cell > latestDay ? `${quoteForMessage(written)} is after 2099` : undefined)

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

/** The database allows the same Incoterms. */
const incoterms2020 = ['EXW', 'FCA', 'CPT', 'CIP', 'DAP', 'DPU', 'DDP', 'FAS', 'FOB', 'CFR', 'CIF']

export const checkIncoterm = checkOneOf(incoterms2020, 'is not an Incoterms 2020 rule such as FCA')

/** Yes and no, as people and spreadsheets write them, in lower case. */
const yesWords = ['true', 'yes', 'sí', 'si', 'verdadero', '1']
/** Only ASCII words, because PostgreSQL compares them with lower(). */
const noWords = ['false', 'no', 'falso', '0']
const words = [...yesWords, ...noWords]

export const sqlListOfNoWords = noWords.map((word) => `'${word}'`).join(', ')

export const checkYesOrNo: CellCheck = (cell) =>
  words.includes(cell.normalize('NFC').toLowerCase())
    ? undefined
    : `${quoteForMessage(cell)} is not one of ${words.join(', ')}`

export type KnownCodes = {
  currencies: Set<string>
  countries: Set<string>
  baseCurrency: string
}

/** Throws if no company is recorded yet, and therefore no base currency. */
export async function readKnownCodes(client: ClientBase): Promise<KnownCodes> {
  const { rows } = await client.query<{
    base_currency: string
    currencies: string[]
    countries: string[]
  }>(`
    select base_currency, array(select code from currencies) as currencies,
      array(select code from countries) as countries
    from company`)
  const [company] = rows
  if (!company) throw createNotRecordedError()
  return {
    currencies: new Set(company.currencies),
    countries: new Set(company.countries),
    baseCurrency: company.base_currency,
  }
}
