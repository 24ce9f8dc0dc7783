// Applies the rules of a kind of file to a row: required cells, the check of each cell, and the
// rules between cells.
import type { CellCheck } from './cell-checks.ts'

/** A rule between cells of one row. An empty cell is the empty text. */
export type CrossCellRule<Column extends string> = {
  /** The column that the problem is reported for. */
  column: Column
  findProblem(getCell: (column: Column) => string): string | undefined
}

/** All rules for the rows of one kind of file. */
export type RowRules<Column extends string> = {
  required: readonly Column[]
  cells: Record<Column, CellCheck>
  crossCellRules: CrossCellRule<Column>[]
}

const missing = 'is missing'

/**
 * Returns a function that returns all problems of a row as "column: problem" parts, or undefined if
 * there are none. The cells are trimmed and in the order of `columns`.
 */
export function createRowChecker<Column extends string>(
  { required, cells: cellRules, crossCellRules }: RowRules<Column>,
  columns: readonly string[],
): (cells: string[]) => string | undefined {
  const cellChecks = columns.map((column) => cellRules[column as Column])
  const isRequired = columns.map((column) => (required as readonly string[]).includes(column))
  const indexes = new Map(columns.map((column, index) => [column, index]))
  // Consecutive rows repeat many cells, so the result for the previous text of a column is reused.
  const previousCells: string[] = columns.map(() => '')
  const previousProblems: (string | undefined)[] = isRequired.map((isRequiredColumn) =>
    isRequiredColumn ? missing : undefined,
  )

  function checkCell(cell: string, index: number): string | undefined {
    if (cell !== previousCells[index]) {
      previousCells[index] = cell
      const emptyProblem = isRequired[index] ? missing : undefined
      previousProblems[index] = cell === '' ? emptyProblem : cellChecks[index]?.(cell)
    }
    return previousProblems[index]
  }

  return (cells) => {
    const problems: string[] = []
    for (let index = 0; index < columns.length; index++) {
      const problem = checkCell(cells[index] ?? '', index)
      if (problem !== undefined) problems.push(`${columns[index]}: ${problem}`)
    }
    const getCell = (column: Column) => cells[indexes.get(column) ?? -1] ?? ''
    for (const { column, findProblem } of crossCellRules) {
      const problem = findProblem(getCell)
      if (problem !== undefined) problems.push(`${column}: ${problem}`)
    }
    return problems.length > 0 ? problems.join('; ') : undefined
  }
}
