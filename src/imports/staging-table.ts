// Brings the rows of a file into a staging table as they are: text, with the line on which each begins.
import { pipeline } from 'node:stream/promises'
import type { ClientBase } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { Rows } from './csv/header-and-rows.ts'

type StageOptions = {
  columns: readonly string[]
  /** Columns that the staging table computes, as SQL. */
  computed?: string[]
  /** Says what is wrong with the cells of a row. */
  check(cells: string[]): string | undefined
  /** Kept from a malformed row too, where it has that many cells: it may tell what the row belongs to. */
  keyColumn: string
  onProgress?: ((rows: number) => void) | undefined
  signal?: AbortSignal | undefined
}

/**
 * Copies the rows into the temporary table `staged`, which lives until the transaction ends, and returns how many there were: the line, what is wrong
 * with the row (`problem`), and a text column for each of `columns`, null where the cell is empty. A row with too few or too many cells has them in
 * `malformed` instead.
 */
export async function stage(
  client: ClientBase,
  { columns, rows }: Rows,
  options: StageOptions,
): Promise<number> {
  const { columns: known, computed = [], check, keyColumn, onProgress, signal } = options
  const definitions = [
    'line integer not null',
    'problem text',
    'malformed json',
    ...known.map((column) => `${column} text`),
    ...computed,
  ]
  await client.query(`create temporary table staged (${definitions.join(', ')}) on commit drop`)
  const key = columns.indexOf(keyColumn)
  let staged = 0
  async function* copyText(): AsyncGenerator<string> {
    for await (const batch of rows) {
      let text = ''
      for (const { line, cells } of batch) {
        text +=
          cells.length === columns.length
            ? copyRow(line, check(cells), cells)
            : copyMalformed(line, cells, key, columns.length)
      }
      yield text
      staged += batch.length
      onProgress?.(staged)
    }
  }
  const copy = client.query(
    copyFrom(`copy staged (line, problem, malformed, ${columns.join(', ')}) from stdin`),
  )
  await pipeline(copyText, copy, signal ? { signal } : {})
  return staged
}

// The text format of COPY: https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.2
function copyRow(line: number, problem: string | undefined, cells: string[]): string {
  let text = `${line}\t${copyCell(problem ?? '')}\t\\N`
  for (const cell of cells) text += `\t${copyCell(cell)}`
  return `${text}\n`
}

function copyMalformed(line: number, cells: string[], key: number, columnCount: number): string {
  const problem = `has ${cells.length} cells where the header has ${columnCount}: is a comma in a cell that is not in quotation marks?`
  let text = `${line}\t${problem}\t${copyCell(JSON.stringify(cells))}`
  for (let index = 0; index < columnCount; index++)
    text += `\t${index === key ? copyCell(cells[index] ?? '') : '\\N'}`
  return `${text}\n`
}

function copyCell(cell: string): string {
  if (cell === '') return '\\N'
  return /[\\\n\r\t]/.test(cell)
    ? cell.replace(/[\\\n\r\t]/g, (character) => escapes[character] ?? '')
    : cell
}

const escapes: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }
