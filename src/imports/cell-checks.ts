// The language in which the checks of a row are written, and how they are run. They mirror the constraints of the schema, in words. They run
// here while the file is read, not in PostgreSQL afterwards: there the same took longer than all the rest.
import { isLocalDate } from '../company/calendar.ts'

/** Says what is wrong with a cell that is not empty; undefined when it is fine. */
export type CellCheck = (cell: string) => string | undefined

/** Says what is wrong with a cell in the light of others of its row, empty ones being the empty text. */
export type RowRule<Column extends string> = {
  column: Column
  problem(row: (column: Column) => string): string | undefined
}

export type Checks<Column extends string> = {
  required: readonly Column[]
  cells: Record<Column, CellCheck>
  rules: RowRule<Column>[]
}

export function text(mostCharacters: number): CellCheck {
  return (cell) => {
    if (cell.length <= mostCharacters) return undefined
    // PostgreSQL counts code points, JavaScript their halves.
    const characters = [...cell].length
    return characters > mostCharacters
      ? `has ${characters} characters: at most ${mostCharacters} are allowed`
      : undefined
  }
}

export function pattern(expression: RegExp, is: string): CellCheck {
  return (cell) => (expression.test(cell) ? undefined : `${shown(cell)} ${is}`)
}

export function oneOf(values: Iterable<string>, is?: string): CellCheck {
  const known = new Set(values)
  return (cell) =>
    known.has(cell) ? undefined : `${shown(cell)} ${is ?? `is not one of ${[...known].join(', ')}`}`
}

/** One of these small words, in whatever case. */
export function wordOf(words: string[]): CellCheck {
  const known = new Set(words)
  return (cell) =>
    known.has(cell.normalize('NFC').toLowerCase())
      ? undefined
      : `${shown(cell)} is not one of ${words.join(', ')}`
}

export const day: CellCheck = (cell) => {
  if (isLocalDate(cell)) return undefined
  return `${shown(cell)} ${/^\d{4}-\d\d-\d\d$/.test(cell) ? 'is a day that does not exist' : 'is not a date such as 2026-12-31'}`
}

/** A whole number from 1 that fits an integer. */
export const positiveInteger = pattern(
  /^0{0,20}[1-9][0-9]{0,8}$/,
  'is not a whole number from 1 to 999999999',
)

/**
 * A number in plain decimal notation, not negative. It stays text: the cast to numeric comes in PostgreSQL. Zeros before and after it change
 * nothing, and are limited so that it is no more than numeric can hold.
 */
export function decimal({
  wholeDigits,
  decimals,
  aboveZero = false,
}: {
  wholeDigits: number
  decimals: number
  aboveZero?: boolean
}): CellCheck {
  const fits = new RegExp(`^0{0,20}[0-9]{1,${wholeDigits}}(\\.[0-9]{1,${decimals}}0{0,20})?$`)
  const must = `must be ${aboveZero ? 'above 0' : '0 or more'} and below 1${'0'.repeat(wholeDigits)}, with at most ${decimals} decimals`
  return (cell) =>
    fits.test(cell) && !(aboveZero && isZero(cell))
      ? undefined
      : `${shown(cell)} ${isDecimal(cell) ? must : noDecimal}`
}

/** 0 to 100, with at most four decimals. */
export const percentage: CellCheck = (cell) => {
  if (/^0{0,20}([0-9]{1,2}(\.[0-9]{1,4}0{0,20})?|100(\.0{1,20})?)$/.test(cell)) return undefined
  return `${shown(cell)} ${isDecimal(cell) ? 'must be from 0 to 100, with at most 4 decimals' : noDecimal}`
}

const isZero = (cell: string) => !/[1-9]/.test(cell)
const isDecimal = (cell: string) => /^-?[0-9]+(\.[0-9]+)?$/.test(cell)
const noDecimal =
  'is not a plain decimal number such as 1234.5 (digits and one point, no thousands separators, no exponent)'

const mostShown = 60

/** A cell for a message: in quotation marks, on one line, cut where it is long. */
export function shown(cell: string): string {
  const line = cell.replace(/\s+/g, ' ')
  return `"${line.length > mostShown ? `${line.slice(0, mostShown)}…` : line}"`
}

/** Makes the function that says everything wrong with a row, as "column: what" parts; undefined for a good one. Cells come trimmed, in the order of `columns`. */
export function rowChecker<Column extends string>(
  { required, cells: checks, rules }: Checks<Column>,
  columns: readonly string[],
): (cells: string[]) => string | undefined {
  const byIndex = columns.map((column) => checks[column as Column])
  const isRequired = columns.map((column) => (required as readonly string[]).includes(column))
  // Rows repeat much of the row before: what was found about a cell holds for the same text again.
  const previous: string[] = columns.map(() => '')
  const found = isRequired.map((required) => (required ? 'is missing' : undefined)) as (
    | string
    | undefined
  )[]
  const places = new Map(columns.map((column, index) => [column, index]))

  return (cells) => {
    const row = (column: Column) => cells[places.get(column) ?? -1] ?? ''
    const problems: string[] = []
    for (let index = 0; index < columns.length; index++) {
      const cell = cells[index] ?? ''
      if (cell !== previous[index]) {
        previous[index] = cell
        found[index] =
          cell !== '' ? byIndex[index]?.(cell) : isRequired[index] ? 'is missing' : undefined
      }
      const problem = found[index]
      if (problem !== undefined) problems.push(`${columns[index]}: ${problem}`)
    }
    for (const { column, problem } of rules) {
      const wrong = problem(row)
      if (wrong !== undefined) problems.push(`${column}: ${wrong}`)
    }
    return problems.length > 0 ? problems.join('; ') : undefined
  }
}
