// The rules for cells with a number: decimals, percentages and whole numbers.
import type { FileFormat } from '../file-format.ts'
import { type CellCheck, type CellReader, checkPattern, quoteForMessage } from './cell-checks.ts'

/** Returns how numbers are read in a format, or undefined if they are written plainly. */
export function createNumberReader({ decimal }: FileFormat): CellReader | undefined {
  if (decimal === '.') return undefined
  return (cell) =>
    /^-?[0-9]+(,[0-9]+)?$/.test(cell)
      ? { plain: cell.replace(',', '.') }
      : { problem: `${quoteForMessage(cell)} ${describeOther(cell, notDecimalWithComma)}` }
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
      : `${quoteForMessage(written)} ${isDecimal(cell) ? limits : describeOther(cell, notDecimal)}`
}

/** 0 to 100, with at most four decimals. */
export const checkPercentage: CellCheck = (cell, written = cell) => {
  if (/^0{0,20}([0-9]{1,2}(\.[0-9]{1,4}0{0,20})?|100(\.0{1,20})?)$/.test(cell)) return undefined
  const limits = 'must be from 0 to 100, with at most 4 decimals'
  return `${quoteForMessage(written)} ${isDecimal(cell) ? limits : describeOther(cell, notDecimal)}`
}

const signs = {
  zeroOrMore: { minus: '', lowest: '0 or more', mayBeZero: true },
  aboveZero: { minus: '', lowest: 'above 0', mayBeZero: false },
  any: { minus: '-?', lowest: 'above -LIMIT', mayBeZero: true },
  notZero: { minus: '-?', lowest: 'other than 0, above -LIMIT', mayBeZero: false },
}

const isZero = (cell: string) => !/[1-9]/.test(cell)
const isDecimal = (cell: string) => /^-?[0-9]+(\.[0-9]+)?$/.test(cell)
const notDecimal =
  'is not a plain decimal number such as 1234.5 ' +
  '(digits and one point, no thousands separators, no exponent)'
const notDecimalWithComma =
  'is not a decimal number such as 1234,5 ' +
  '(digits and one comma, no thousands separators, no exponent)'

/** Describes a cell that is not a number: what a spreadsheet left in it, or else `otherwise`. */
function describeOther(cell: string, otherwise: string): string {
  if (cell.startsWith('=')) return 'is a formula: save the values, not the formulas'
  return /^#[A-ZÁÉÍÓÚÑ/¡]+[!?/A]/.test(cell)
    ? 'is an error of a spreadsheet: correct its formula'
    : otherwise
}
