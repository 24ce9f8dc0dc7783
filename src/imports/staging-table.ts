// Copies the rows of a file as text into a temporary table, each with its line and its problem.
import { pipeline } from 'node:stream/promises'
import type { ClientBase } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { countNoun } from '../text/count-noun.ts'
import type { RowReader } from './cells.ts'
import { delimiterNames, type FileFormat } from './file-format.ts'
import type { Row } from './readers/csv-parser.ts'
import type { ImportTable } from './readers/open-table.ts'

type StagingOptions = {
  computedColumns?: string[] | undefined
  readRow: RowReader
  onProgress?: ((rows: number) => void) | undefined
  signal?: AbortSignal | undefined
}

type InvalidRow = {
  line: number
  problem: string
  isMalformed: boolean
  /** The cells as the file has them, in JSON. */
  written: string
  cells: string[]
}

/**
 * Copies the rows into the temporary table `staged`, which exists until the transaction ends. It
 * has a text column for each column that a file may have, null if the cell is empty. A row with a
 * `problem` also has its cells as the file has them, in `written`, a JSON array. A row with too few
 * or too many cells is malformed: all its columns but the key are null. Returns the number of rows.
 */
export async function stageRows(
  client: ClientBase,
  { columns, fileColumns, rows, format }: ImportTable,
  { readRow, computedColumns = [], onProgress, signal }: StagingOptions,
): Promise<number> {
  await createStagingTable(client, [
    ...fileColumns.allowed.map((column) => `${column} text`),
    ...computedColumns,
  ])
  let read = 0
  function formatRow(row: Row): string {
    const { line, cells } = row
    if (cells.length !== columns.length) {
      const problem = describeCellCount(cells.length, columns.length, format)
      // With its key, so that its quote, product or word counts as present in the file.
      const keyCells = columns.map((column, index) =>
        column === fileColumns.key ? (cells[index] ?? '') : '',
      )
      const written = JSON.stringify(cells)
      return formatInvalidRow({ line, problem, isMalformed: true, written, cells: keyCells })
    }
    const { plainCells, problem } = readRow(row)
    if (problem === undefined) return formatValidRow(line, plainCells)
    const written = JSON.stringify(cells)
    return formatInvalidRow({ line, problem, isMalformed: false, written, cells: plainCells })
  }
  async function* copyText(): AsyncGenerator<string> {
    for await (const batch of rows) {
      let text = ''
      for (const row of batch) text += formatRow(row)
      yield text
      read += batch.length
      onProgress?.(read)
    }
  }
  const copy = client.query(
    copyFrom(
      `copy staged (file_line, problem, is_malformed, written, ${columns.join(', ')}) from stdin`,
    ),
  )
  await pipeline(copyText, copy, signal ? { signal } : {})
  return read
}

async function createStagingTable(client: ClientBase, columns: string[]): Promise<void> {
  const definitions = [
    'file_line integer not null',
    'problem text',
    'is_malformed boolean not null',
    'written json',
    ...columns,
  ]
  await client.query(`create temporary table staged (${definitions.join(', ')}) on commit drop`)
}

function describeCellCount(
  cellCount: number,
  columnCount: number,
  { delimiter }: FileFormat,
): string {
  const advice =
    cellCount > columnCount
      ? `a cell with a ${delimiterNames[delimiter]} must be in quotation marks`
      : 'the file is cut short'
  return `has ${countNoun(cellCount, 'cell')}, but the header has ${columnCount}: ${advice}`
}

// The text format of COPY: https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.2
function formatValidRow(line: number, cells: string[]): string {
  return `${line}\t\\N\tfalse\t\\N${formatCells(cells)}\n`
}

function formatInvalidRow({ line, problem, isMalformed, written, cells }: InvalidRow): string {
  const own = `${line}\t${copyCell(problem)}\t${isMalformed}\t${copyCell(written)}`
  return `${own}${formatCells(cells)}\n`
}

function formatCells(cells: string[]): string {
  let text = ''
  for (const cell of cells) text += `\t${copyCell(cell)}`
  return text
}

function copyCell(cell: string): string {
  if (cell === '') return '\\N'
  return /[\\\n\r\t]/.test(cell)
    ? cell.replace(/[\\\n\r\t]/g, (character) => escapes[character] ?? '')
    : cell
}

const escapes: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }
