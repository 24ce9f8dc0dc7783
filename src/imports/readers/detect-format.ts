// Finds out how a file writes its numbers and dates, from all its rows.
import { type FileColumns, quoteForMessage, readAffix, slashedDate } from '../cells.ts'
import { type FileFormat, ImportError } from '../file-format.ts'
import type { Row } from './csv-parser.ts'

type CellFormat = Pick<FileFormat, 'numbers' | 'dates'>
/** A cell that shows something about the format. */
type Sample = { line: number; column: string; cell: string }

const describe = ({ line, column, cell }: Sample) =>
  `${column} ${quoteForMessage(cell)} on line ${line}`

/**
 * Returns the decimal sign and the order of dates that all cells have. What `given` says is not
 * questioned. Throws an ImportError that names both cells if two contradict each other, and one
 * that shows both readings if a column allows two.
 */
export async function detectFormat(
  rows: AsyncIterable<Row[]>,
  columns: readonly string[],
  fileColumns: FileColumns,
  given: Partial<CellFormat>,
): Promise<CellFormat> {
  const numbers = new NumberEvidence(given.numbers)
  const dates = new DateEvidence(given.dates)
  const currency = columns.indexOf('currency')
  const examiners = columns.flatMap((column, index) => {
    const form = fileColumns.columns[column]?.form
    if (form === undefined) return []
    const examine: Examiner =
      form === 'date' ? (sample) => dates.examine(sample) : numbers.createExaminer(column)
    return [{ index, column, examine, previous: '' }]
  })
  for await (const batch of rows) {
    for (const { line, cells, typed } of batch) {
      for (const examiner of examiners) {
        const cell = cells[examiner.index] ?? ''
        // Most cells are plain, and consecutive rows repeat many.
        if (cell === examiner.previous || typed?.[examiner.index]) continue
        examiner.previous = cell
        const { column } = examiner
        examiner.examine({ line, column, cell }, cells[currency] ?? '')
      }
    }
  }
  return { numbers: numbers.decide(), dates: dates.decide() }
}

type Examiner = (sample: Sample, currency: string) => void

/** Returns the found format in words, for the columns that the file has. */
export function describeFormat(
  { numbers, dates }: CellFormat,
  columns: readonly string[],
  fileColumns: FileColumns,
): string[] {
  const orders = { ymd: [], dmy: ['day first'], mdy: ['month first'] }
  return [
    ...(columns.some((column) => /number|percent/.test(fileColumns.columns[column]?.form ?? ''))
      ? [numbers === '.' ? 'decimal point' : 'decimal comma']
      : []),
    ...orders[dates],
  ]
}

/** Signs and codes of currencies before or after an amount, by the currency if it is certain. */
const currencyOfSign: Record<string, string> = { '€': 'EUR', '£': 'GBP' }

class NumberEvidence {
  readonly #given: FileFormat['numbers'] | undefined
  /** The first cell that shows the decimal sign, by the sign. */
  readonly #proofs: Partial<Record<FileFormat['numbers'], Sample>> = {}
  /** The first cell of each column that allows two readings. */
  readonly #ambiguous = new Map<string, Sample>()
  readonly #proven = new Set<string>()

  constructor(given: FileFormat['numbers'] | undefined) {
    this.#given = given
  }

  createExaminer(column: string): Examiner {
    let firstAffix: { affix: string; sample: Sample } | undefined
    return (sample, currency) => {
      const { cell } = sample
      if (/^-?\d*$/.test(cell)) return
      const { number, affix } = readAffix(cell)
      if (affix !== '') {
        firstAffix ??= { affix, sample }
        if (firstAffix.affix !== affix)
          throw new ImportError(
            `${describe(sample)} has another sign than ${describe(firstAffix.sample)}. ` +
              'Write the numbers of a column with the same sign, or without one.',
          )
        const code = /^[A-Z]{3}$/.test(affix) ? affix : currencyOfSign[affix]
        if (code && currency && currency.toUpperCase() !== code)
          throw new ImportError(
            `${describe(sample)} is not in the currency ${quoteForMessage(currency)} of its row.`,
          )
      }
      const decimal = findDecimalSign(number)
      if (decimal === 'ambiguous') {
        if (!this.#ambiguous.has(column)) this.#ambiguous.set(column, { ...sample, cell: number })
      } else if (decimal !== undefined) {
        this.#proofs[decimal] ??= sample
        this.#proven.add(column)
      }
    }
  }

  decide(): FileFormat['numbers'] {
    if (this.#given) return this.#given
    const { '.': point, ',': comma } = this.#proofs
    if (point && comma) {
      const [first, second] = point.line < comma.line ? [point, comma] : [comma, point]
      throw new ImportError(
        `The file writes numbers in two ways: ${describe(first)}, but ${describe(second)}. ` +
          'Correct one of them, or say how the file writes decimals with --numbers point or ' +
          '--numbers comma.',
      )
    }
    for (const [column, sample] of this.#ambiguous) {
      if (this.#proven.has(column)) continue
      const sign = sample.cell.includes('.') ? 'point' : 'comma'
      const whole = sample.cell.replace(/[.,]/, '')
      const decimal = sample.cell.replace(',', '.')
      const [whenPoint, whenComma] = sign === 'point' ? [decimal, whole] : [whole, decimal]
      const proof = point ?? comma
      throw new ImportError(
        `${describe(sample)} may be ${whole} or ${decimal}: in this column every ${sign} is ` +
          `followed by exactly three digits. Say how the file writes decimals: --numbers point ` +
          `reads ${whenPoint}, --numbers comma reads ${whenComma}.` +
          (proof ? ` Elsewhere the file has ${describe(proof)}.` : ''),
      )
    }
    return comma ? ',' : '.'
  }
}

/**
 * Returns the decimal sign that a number shows: a sign that is not followed by exactly three
 * digits, or the last one of two. A sign that occurs twice separates thousands. Returns undefined
 * if the number shows nothing or is none.
 */
function findDecimalSign(number: string): FileFormat['numbers'] | 'ambiguous' | undefined {
  const [, whole = '', sign, digits = ''] = /^-?(.*?)([.,])(\d*)$/.exec(number) ?? []
  if (!/^[\d.,'’\s]*$/.test(whole) || (sign !== '.' && sign !== ',')) return undefined
  const other = sign === '.' ? ',' : '.'
  if (whole.includes(other)) return whole.includes(sign) ? undefined : sign
  if (whole.includes(sign))
    return /^\d{1,3}([.,]\d{3})+$/.test(`${whole}${sign}${digits}`) ? other : undefined
  const mayBeThousands = /^[1-9]\d{0,2}$/.test(whole) && digits.length === 3
  return mayBeThousands ? 'ambiguous' : sign
}

class DateEvidence {
  readonly #given: FileFormat['dates'] | undefined
  readonly #proofs: { dmy?: Sample; mdy?: Sample } = {}
  #ambiguous: Sample | undefined
  #hasOrder = false

  constructor(given: FileFormat['dates'] | undefined) {
    this.#given = given
  }

  examine(sample: Sample): void {
    const [, first = '', sign, second = ''] = slashedDate.exec(sample.cell) ?? []
    if (first === '') return
    this.#hasOrder = true
    // Dates with points have the day first everywhere.
    if (Number(first) > 12 || sign === '.') this.#proofs.dmy ??= sample
    else if (Number(second) > 12) this.#proofs.mdy ??= sample
    else if (first !== second) this.#ambiguous ??= sample
  }

  decide(): FileFormat['dates'] {
    if (this.#given) return this.#given
    const { dmy, mdy } = this.#proofs
    if (dmy && mdy) {
      const [first, second] = dmy.line < mdy.line ? [dmy, mdy] : [mdy, dmy]
      throw new ImportError(
        `The file writes dates in two ways: ${describe(first)}, but ${describe(second)}. ` +
          'Correct one of them, or say the order with --dates dmy or --dates mdy.',
      )
    }
    if (dmy || mdy) return dmy ? 'dmy' : 'mdy'
    if (this.#ambiguous) {
      const [, first, , second] = slashedDate.exec(this.#ambiguous.cell) ?? []
      throw new ImportError(
        `${describe(this.#ambiguous)} may be ${nameDay(first, second)} or ` +
          `${nameDay(second, first)}, and no other date of the file shows the order. Say it with ` +
          '--dates dmy or --dates mdy.',
      )
    }
    return this.#hasOrder ? 'dmy' : 'ymd'
  }
}

function nameDay(day: string | undefined, month: string | undefined): string {
  const date = new Date(Date.UTC(2000, Number(month) - 1))
  return `${Number(day)} ${date.toLocaleString('en', { month: 'long', timeZone: 'UTC' })}`
}
