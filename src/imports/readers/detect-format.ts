// Finds out how a file writes its numbers and dates, from all its rows: each cell is read in every
// way in which a file may write it.
import {
  type CellReader,
  type Column,
  createFormReader,
  type FileColumns,
  quoteForMessage,
  readAffix,
} from '../cells.ts'
import { type FileFormat, formatWords, ImportError } from '../file-format.ts'
import type { Row } from './csv-parser.ts'

type CellFormat = Pick<FileFormat, 'numbers' | 'dates'>
/** A cell that shows something about the format. */
type Sample = { line: number; column: string; cell: string }

const describe = ({ line, column, cell }: Sample) =>
  `${column} ${quoteForMessage(cell)} on line ${line}`

/**
 * Returns the decimal sign and the order of dates that all cells have. What `given` says is not
 * questioned. Throws an ImportError that names both cells if two contradict each other, and one
 * that shows both readings if a column of numbers, or all dates, allow two.
 */
export async function detectFormat(
  rows: AsyncIterable<Row[]>,
  columns: readonly string[],
  fileColumns: FileColumns,
  given: Partial<CellFormat>,
): Promise<CellFormat> {
  const evidence = { numbers: new Evidence('numbers'), dates: new Evidence('dates') }
  const currency = columns.indexOf('currency')
  const examiners = columns.flatMap((column, index) => {
    const form = fileColumns.columns[column]?.form
    if (form === undefined) return []
    const part = form === 'date' ? 'dates' : 'numbers'
    const checks = [
      ...(form === 'date' ? [] : [createSignCheck()]),
      ...(given[part] ? [] : [evidence[part].createExaminer(form)]),
    ]
    return [{ index, column, checks, previous: '' }]
  })
  for await (const batch of rows) {
    for (const { line, cells, typed } of batch) {
      for (const examiner of examiners) {
        const cell = cells[examiner.index] ?? ''
        // Most cells are plain, and consecutive rows repeat many.
        if (cell === examiner.previous || typed?.[examiner.index] || /^-?\d*$/.test(cell)) continue
        examiner.previous = cell
        const sample = { line, column: examiner.column, cell }
        for (const check of examiner.checks) check(sample, cells[currency] ?? '')
      }
    }
  }
  return {
    numbers: given.numbers ?? evidence.numbers.decide(),
    dates: given.dates ?? evidence.dates.decide(),
  }
}

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

/** Which of the ways of writing numbers or dates the cells of a file allow. */
class Evidence<Part extends keyof CellFormat> {
  readonly #part: Part
  /** The words of the option. The first one that no cell excludes is found. */
  readonly #words: [word: string, value: CellFormat[Part]][]
  /** The first cell that cannot be written so, by the word. */
  readonly #excluded = new Map<string, Sample>()
  /** The first cell that allows several readings, by what must agree: a column, or all dates. */
  readonly #ambiguous = new Map<string, { sample: Sample; readings: string[][] }>()
  /** Where a cell allows only one reading. */
  readonly #decided = new Set<string>()

  constructor(part: Part) {
    this.#part = part
    this.#words = Object.entries(formatWords[part]) as [string, CellFormat[Part]][]
  }

  createExaminer(form: NonNullable<Column['form']>): (sample: Sample) => void {
    const readers = this.#words.map(([word, value]): [string, CellReader] => [
      word,
      createFormReader(form, { [this.#part]: value }),
    ])
    return (sample) => {
      const group = form === 'date' ? 'date' : sample.column
      const canBe = ([word, read]: [string, CellReader]) =>
        this.#excluded.has(word) || typeof read(sample.cell) === 'string'
      // The cell shows nothing new: every way that is left can read it.
      if (this.#decided.has(group) && readers.every(canBe)) return
      const results = readers.map(([word, read]) => [word, read(sample.cell)] as const)
      const readings = results.filter(
        (result): result is [string, string] => typeof result[1] === 'string',
      )
      // A row with such a cell is invalid.
      if (readings.length === 0) return
      for (const [word, result] of results)
        if (typeof result !== 'string' && !this.#excluded.has(word))
          this.#excluded.set(word, sample)
      if (readings.length === 1) this.#decided.add(group)
      else if (readings.some(([, text]) => text !== readings[0]?.[1]))
        if (!this.#ambiguous.has(group)) this.#ambiguous.set(group, { sample, readings })
    }
  }

  decide(): CellFormat[Part] {
    const part = this.#part
    const found = this.#words.find(([word]) => !this.#excluded.has(word))
    // Other dates than those of one kind exclude 2026-12-31, which comes first.
    const ways = this.#words.slice(-2).map(([word]) => word)
    const proofs = ways
      .flatMap((word) => this.#excluded.get(word) ?? [])
      .sort((a, b) => a.line - b.line)
      .map(describe)
    if (!found)
      throw new ImportError(
        `The file writes ${part} in two ways: ${proofs.join(', but ')}. Correct one of them, or ` +
          `say how the file writes ${part}: ${ways.map((word) => `--${part} ${word}`).join(' or ')}.`,
      )
    for (const [group, { sample, readings }] of this.#ambiguous) {
      if (this.#decided.has(group)) continue
      throw new ImportError(
        `${describe(sample)} may be ${readings.map(([, text]) => text).join(' or ')}, and no other ` +
          `${group} of the file shows which. Say how the file writes ${part}: ` +
          `${readings.map(([word, text]) => `--${part} ${word} reads ${text}`).join(', ')}.` +
          (proofs[0] ? ` Elsewhere the file has ${proofs[0]}.` : ''),
      )
    }
    return found[1]
  }
}

/** The currencies of signs that belong to only one. */
const currencyOfSign: Record<string, string> = { '€': 'EUR', '£': 'GBP' }

/**
 * Returns a check of the signs of currencies in a column. It throws an ImportError if they differ,
 * or contradict the currency of their row.
 */
function createSignCheck(): (sample: Sample, currency: string) => void {
  let first: { affix: string; sample: Sample } | undefined
  return (sample, currency) => {
    const { affix } = readAffix(sample.cell)
    if (affix === '') return
    first ??= { affix, sample }
    if (first.affix !== affix)
      throw new ImportError(
        `${describe(sample)} has another sign than ${describe(first.sample)}. ` +
          'Write the numbers of a column with the same sign, or without one.',
      )
    const code = /^[A-Z]{3}$/.test(affix) ? affix : currencyOfSign[affix]
    if (code && currency && currency.toUpperCase() !== code)
      throw new ImportError(
        `${describe(sample)} is not in the currency ${quoteForMessage(currency)} of its row.`,
      )
  }
}
