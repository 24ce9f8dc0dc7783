// Copies the rows of a file as text into a temporary table, each with its line and its problem.
import { pipeline } from 'node:stream/promises'
import type { ClientBase } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { FileRows } from './csv/read-rows.ts'
import { suggestFormatFromRows } from './csv/suggested-format.ts'
import { delimiterNames, type FileFormat } from './file-format.ts'

type StagingOptions = {
  /** SQL of columns that the staging table computes. */
  computedColumns?: string[]
  /** Returns the problems of a row, or undefined. Converts its cells to their plain form. */
  checkRow(cells: string[]): string | undefined
  /** This column is stored even for a malformed row, to find the other rows of its quote. */
  keyColumn: string
  onProgress?: ((rows: number) => void) | undefined
  signal?: AbortSignal | undefined
}

export type StagedRows = {
  /** The number of rows. */
  read: number
  /** The format that invalid rows seem to have, if they were read with a different one. */
  suggestedFormat: FileFormat | undefined
}

/** The format is suggested from at most this many invalid rows. */
const maxSampledRows = 200

/**
 * Copies the rows into the temporary table `staged`, which exists until the transaction ends. It
 * has the line and the `problem` of each row, and a text column for each column that a file may
 * have, null if the cell is empty. `original` has the cells of a row with a problem as they were
 * written, as a JSON array. `malformed` has those of a row with too few or too many cells.
 */
export async function stageRows(
  client: ClientBase,
  { columns, fileColumns, rows, format }: FileRows,
  { checkRow, keyColumn, computedColumns = [], onProgress, signal }: StagingOptions,
): Promise<StagedRows> {
  await createStagingTable(client, [
    ...fileColumns.allowed.map((column) => `${column} text`),
    ...computedColumns,
  ])
  const keyIndex = columns.indexOf(keyColumn)
  const sample: string[][] = []
  let read = 0
  function formatRow(line: number, cells: string[]): string {
    if (cells.length !== columns.length)
      return formatMalformedRow(line, cells, keyIndex, columns.length, format)
    const original = cells.slice()
    const problem = checkRow(cells)
    if (problem === undefined) return formatCopyRow(line, '', '', cells)
    if (sample.length < maxSampledRows) sample.push(original)
    return formatCopyRow(line, problem, JSON.stringify(original), cells)
  }
  async function* copyText(): AsyncGenerator<string> {
    for await (const batch of rows) {
      let text = ''
      for (const { line, cells } of batch) text += formatRow(line, cells)
      yield text
      read += batch.length
      onProgress?.(read)
    }
  }
  const copy = client.query(
    copyFrom(`copy staged (line, problem, malformed, original, ${columns.join(', ')}) from stdin`),
  )
  await pipeline(copyText, copy, signal ? { signal } : {})
  return { read, suggestedFormat: suggestFormatFromRows(columns, sample, fileColumns, format) }
}

async function createStagingTable(client: ClientBase, columns: string[]): Promise<void> {
  const definitions = [
    'line integer not null',
    'problem text',
    'malformed json',
    'original json',
    ...columns,
  ]
  await client.query(`create temporary table staged (${definitions.join(', ')}) on commit drop`)
}

// The text format of COPY: https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.2
function formatCopyRow(line: number, problem: string, original: string, cells: string[]): string {
  let text = `${line}\t${copyCell(problem)}\t\\N\t${copyCell(original)}`
  for (const cell of cells) text += `\t${copyCell(cell)}`
  return `${text}\n`
}

function formatMalformedRow(
  line: number,
  cells: string[],
  keyIndex: number,
  columnCount: number,
  { delimiter }: FileFormat,
): string {
  const problem =
    `has ${cells.length} cells, but the header has ${columnCount}: ` +
    `a cell with a ${delimiterNames[delimiter].one} must be in quotation marks`
  let text = `${line}\t${problem}\t${copyCell(JSON.stringify(cells))}\t\\N`
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
