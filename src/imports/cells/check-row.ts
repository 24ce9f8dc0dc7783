// Applies the rules of a kind of file to a row: how each cell is read, which cells are required,
// the check of each cell, and the rules between cells.
import type { CellCheck, CellReader } from './cell-checks.ts'

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
  /** How cells are read whose form depends on the format of the file. */
  readers: Partial<Record<Column, CellReader | undefined>>
  crossCellRules: CrossCellRule<Column>[]
}

const missing = 'is missing'

/** The result for the last cell of a column. */
type CheckedCell = { written: string; plain: string; problem: string | undefined }

/**
 * Returns a function that returns all problems of a row in one text, such as "name: is missing;
 * price: …", or undefined if there are none. The cells must be trimmed and in the order of
 * `columns`. The function replaces each valid cell by its plain form, such as 1234.5 for 1234,5.
 */
export function createRowChecker<Column extends string>(
  { required, cells: cellRules, readers, crossCellRules }: RowRules<Column>,
  columns: readonly string[],
): (cells: string[]) => string | undefined {
  const checks = columns.map((column) => cellRules[column as Column])
  const columnReaders = columns.map((column) => readers[column as Column])
  const emptyProblems = columns.map((column) =>
    (required as readonly string[]).includes(column) ? missing : undefined,
  )
  const indexes = new Map(columns.map((column, index) => [column, index]))
  // Consecutive rows repeat many cells, so the result for the previous text of a column is reused.
  const previous = columns.map(
    (_, index): CheckedCell => ({ written: '', plain: '', problem: emptyProblems[index] }),
  )

  function checkCell(written: string, index: number): CheckedCell {
    if (written === '') return { written, plain: '', problem: emptyProblems[index] }
    const read = columnReaders[index]?.(written)
    if (read && 'problem' in read) return { written, plain: written, problem: read.problem }
    const plain = read?.plain ?? written
    const problem = checks[index]?.(plain, written)
    return { written, plain: problem === undefined ? plain : written, problem }
  }

  return (cells) => {
    const problems: string[] = []
    for (let index = 0; index < columns.length; index++) {
      const written = cells[index] ?? ''
      let checked = previous[index]
      if (checked?.written !== written) {
        checked = checkCell(written, index)
        previous[index] = checked
      }
      cells[index] = checked.plain
      if (checked.problem !== undefined) problems.push(`${columns[index]}: ${checked.problem}`)
    }
    const getCell = (column: Column) => cells[indexes.get(column) ?? -1] ?? ''
    for (const { column, findProblem } of crossCellRules) {
      const problem = findProblem(getCell)
      if (problem !== undefined) problems.push(`${column}: ${problem}`)
    }
    return problems.length > 0 ? problems.join('; ') : undefined
  }
}
