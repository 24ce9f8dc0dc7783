// Applies the rules of a kind of file to a row: how each cell is read, which cells must not be
// empty, the check of each cell, and the rules between cells.
import type { Row } from '../readers/csv-parser.ts'
import { type CellCheck, quoteForMessage } from './cell-checks.ts'
import { type CellReader, cleanCell } from './cell-readers.ts'

/**
 * A rule between cells of one row. It is skipped if one of them is invalid, because its problem
 * would only repeat that one.
 */
export type CrossCellRule<Column extends string> = {
  /** The columns of the cells. A problem is reported for the first one. */
  columns: readonly [Column, ...Column[]]
  /** Gets the cells in this order. A cell that is empty or not in the file is the empty text. */
  findProblem(...cells: string[]): string | undefined
}

export type RowRules<Column extends string> = {
  /** Columns whose cells must not be empty, if the file has them. */
  nonEmpty: readonly Column[]
  cells: Record<Column, CellCheck>
  /** How cells are converted to their plain form. Without a reader a cell stays as it is. */
  readers: Partial<Record<Column, CellReader | undefined>>
  crossCellRules: CrossCellRule<Column>[]
}

const missing = 'is missing'
const lostCharacter = '\ufffd'
const lostProblem = `has the sign ${lostCharacter} for a lost character: export the file again in one encoding`

/**
 * Returns the cells of a row in their plain form, such as 1234.5 for 1234,5, and all its problems
 * in one text, such as "name: is missing; price: …", or undefined if there are none. An invalid
 * cell stays as it is written. The cells must be trimmed and in the order of the columns.
 */
export type RowReader = (row: Row) => {
  plainCells: string[]
  problem: string | undefined
}

type CellResult = { written: string; plain: string; problem: string | undefined }

export function createRowReader<Column extends string>(
  { nonEmpty, cells: cellRules, readers, crossCellRules }: RowRules<Column>,
  columns: readonly string[],
  cleanedSkus?: { add(example: string): void },
): RowReader {
  const checks = columns.map((column) => cellRules[column as Column])
  const columnReaders = columns.map((column) => readers[column as Column])
  const emptyProblems = columns.map((column) =>
    (nonEmpty as readonly string[]).includes(column) ? missing : undefined,
  )
  const rowRules = crossCellRules.map(({ columns: [column, ...others], findProblem }) => ({
    column,
    indexes: [column, ...others].map((name) => columns.indexOf(name)),
    findProblem,
  }))
  // Consecutive rows repeat many cells, so the result for the previous text of a column is reused.
  const previous = columns.map(
    (_, index): CellResult => ({ written: '', plain: '', problem: emptyProblems[index] }),
  )

  function readCell(written: string, index: number, isTyped: boolean): CellResult {
    const clean = cleanCell(written)
    if (clean === '') return { written, plain: '', problem: emptyProblems[index] }
    if (clean.includes(lostCharacter))
      return { written, plain: written, problem: `${quoteForMessage(clean)} ${lostProblem}` }
    const read = isTyped ? undefined : columnReaders[index]?.(clean)
    if (read && 'problem' in read) return { written, plain: written, problem: read.problem }
    const plain = read?.plain ?? clean
    const problem = checks[index]?.(plain, written)
    return { written, plain: problem === undefined ? plain : written, problem }
  }

  const skuIndex = cleanedSkus ? columns.indexOf('sku') : -1

  return ({ line, cells: writtenCells, typed }) => {
    const plainCells = writtenCells.slice()
    const problems: string[] = []
    const invalid = new Set<number>()
    for (let index = 0; index < columns.length; index++) {
      const written = writtenCells[index] ?? ''
      let cell = previous[index]
      if (cell?.written !== written || typed) {
        cell = readCell(written, index, typed?.[index] === true)
        previous[index] = cell
        if (index === skuIndex && cell.plain !== written && cell.problem === undefined)
          cleanedSkus?.add(`line ${line}: ${cell.plain}`)
      }
      plainCells[index] = cell.plain
      if (cell.problem === undefined) continue
      problems.push(`${columns[index]}: ${cell.problem}`)
      invalid.add(index)
    }
    for (const { column, indexes, findProblem } of rowRules) {
      if (indexes.some((index) => invalid.has(index))) continue
      const problem = findProblem(...indexes.map((index) => plainCells[index] ?? ''))
      if (problem !== undefined) problems.push(`${column}: ${problem}`)
    }
    return { plainCells, problem: problems.length > 0 ? problems.join('; ') : undefined }
  }
}
