// Copies the rows of a file as text into a temporary table, each with its line and its problem.
import { pipeline } from 'node:stream/promises'
import type { ClientBase } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { FileRows } from './csv/read-rows.ts'

type StagingOptions = {
  columns: readonly string[]
  /** SQL of columns that the staging table computes. */
  computedColumns?: string[]
  /** Returns the problems of a row, or undefined if it has none. */
  checkRow(cells: string[]): string | undefined
  /** The column that is also stored for a malformed row, to find the other rows of its quote. */
  keyColumn: string
  onProgress?: ((rows: number) => void) | undefined
  signal?: AbortSignal | undefined
}

/**
 * Copies the rows into the temporary table `staged`, which exists until the transaction ends, and
 * returns their number. A row has its line, its `problem`, and a text column for each of `columns`,
 * null if the cell is empty. A row with too few or too many cells has them as a JSON array in
 * `malformed` instead.
 */
export async function stageRows(
  client: ClientBase,
  { columns, rows }: FileRows,
  options: StagingOptions,
): Promise<number> {
  const { checkRow, keyColumn, onProgress, signal } = options
  await createStagingTable(client, options)
  const keyIndex = columns.indexOf(keyColumn)
  let rowCount = 0
  async function* copyText(): AsyncGenerator<string> {
    for await (const batch of rows) {
      let text = ''
      for (const { line, cells } of batch) {
        text +=
          cells.length === columns.length
            ? copyRow(line, checkRow(cells), cells)
            : copyMalformedRow(line, cells, keyIndex, columns.length)
      }
      yield text
      rowCount += batch.length
      onProgress?.(rowCount)
    }
  }
  const copy = client.query(
    copyFrom(`copy staged (line, problem, malformed, ${columns.join(', ')}) from stdin`),
  )
  await pipeline(copyText, copy, signal ? { signal } : {})
  return rowCount
}

async function createStagingTable(
  client: ClientBase,
  { columns, computedColumns = [] }: StagingOptions,
): Promise<void> {
  const definitions = [
    'line integer not null',
    'problem text',
    'malformed json',
    ...columns.map((column) => `${column} text`),
    ...computedColumns,
  ]
  await client.query(`create temporary table staged (${definitions.join(', ')}) on commit drop`)
}

// The text format of COPY: https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.2
function copyRow(line: number, problem: string | undefined, cells: string[]): string {
  let text = `${line}\t${copyCell(problem ?? '')}\t\\N`
  for (const cell of cells) text += `\t${copyCell(cell)}`
  return `${text}\n`
}

function copyMalformedRow(
  line: number,
  cells: string[],
  keyIndex: number,
  columnCount: number,
): string {
  const problem =
    `has ${cells.length} cells, but the header has ${columnCount}: ` +
    'a cell with a comma must be in quotation marks'
  let text = `${line}\t${problem}\t${copyCell(JSON.stringify(cells))}`
  for (let index = 0; index < columnCount; index++)
    text += `\t${index === keyIndex ? copyCell(cells[index] ?? '') : '\\N'}`
  return `${text}\n`
}

function copyCell(cell: string): string {
  if (cell === '') return '\\N'
  return /[\\\n\r\t]/.test(cell)
    ? cell.replace(/[\\\n\r\t]/g, (character) => escapes[character] ?? '')
    : cell
}

const escapes: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }
