// The problems of rows: the table that collects them, and the error that lists them.

import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ClientBase } from 'pg'
import { formatCount } from '../text/count-noun.ts'
import type { Column } from './cells.ts'
import { type FileFormat, ImportError, rejectedRowColumns } from './file-format.ts'
import type { ImportTable } from './readers/open-table.ts'

const maxListedRows = 20
/** More rows with the same cause are listed as one line. */
const maxRowsOfCause = 5

/**
 * Creates the temporary table `problems` from the problems that were found while the rows were
 * staged. Problems between rows are added to it later. A row may have several.
 */
export async function createProblemsTable(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table problems on commit drop as
    select file_line, problem from staged where problem is not null`)
}

/** Adds a problem for each row whose key occurs in another row. The problem names that line. */
export async function addRepeatedKeyProblems(
  client: ClientBase,
  key: 'sku' | 'word' | 'query',
): Promise<void> {
  await client.query(`
    insert into problems (file_line, problem)
    select staged.file_line, format('${key}: is also on line %s',
      case when staged.file_line = repeated.first_line then repeated.second_line
        else repeated.first_line end)
    from staged
    join (
      select ${key}, min(file_line) as first_line,
        (array_agg(file_line order by file_line))[2] as second_line
      from staged where not is_malformed and ${key} is not null
      group by ${key} having count(*) > 1
    ) repeated on repeated.${key} = staged.${key}
    where not staged.is_malformed`)
}

/** SQL that aggregates the problems of one row into one text. */
const allProblems = "string_agg(problem, '; ' order by problem)"

/** If there are invalid rows, throws an ImportError that lists their problems. */
export async function throwIfRowsAreInvalid(client: ClientBase): Promise<void> {
  const { total, lines } = await listInvalidRows(client)
  if (total === 0) return
  const subject = total === 1 ? 'One row is' : `${formatCount(total)} rows are`
  throw new ImportError(
    [
      `${subject} invalid, so nothing was imported:`,
      ...lines,
      'Correct them, or use --rejects FILE to import the valid rows and write the invalid ones to' +
        ' FILE.',
    ].join('\n'),
  )
}

/**
 * Throws an ImportError if the key of an invalid row is unknown: it is empty, or cells before it
 * may have moved it. `reason` ends the message: why each key is needed.
 */
export async function throwIfKeysAreUnknown(
  client: ClientBase,
  { columns, fileColumns: { key } }: ImportTable,
  reason: string,
): Promise<void> {
  const mayHaveMoved = columns[0] === key ? '' : 'or is_malformed'
  const { total, lines } = await listInvalidRows(
    client,
    `file_line in (select file_line from staged where ${key} is null ${mayHaveMoved})`,
  )
  if (total === 0) return
  const rows = total === 1 ? 'an invalid row' : `${formatCount(total)} invalid rows`
  throw new ImportError(
    [`The ${key} of ${rows} is unknown, so nothing was imported:`, ...lines, reason].join('\n'),
  )
}

/**
 * Returns the number of invalid rows, and lines that name their problems. Problems that differ only
 * in what the cells hold are one cause. If more than a few rows have the same causes, they are one
 * line.
 */
export async function listInvalidRows(
  client: ClientBase,
  condition = 'true',
): Promise<{ total: number; lines: string[] }> {
  const { rows } = await client.query<{
    line: number
    problems: string
    alike: number
    listed: string
    total: string
  }>(`
    with invalid as (
      select file_line as line, ${allProblems} as problems
      from problems where ${condition} group by file_line
    ), causes as (
      select line, problems, count(*) over cause as alike, row_number() over (cause order by line)
      from (
        select *, regexp_replace(problems, '"[^"]*"|[0-9]+', '', 'g') as cause from invalid
      ) invalid
      window cause as (partition by cause)
    )
    select line, problems, alike::integer, count(*) over () as listed,
      (select count(*) from invalid) as total
    from causes
    where row_number = 1 or alike <= ${maxRowsOfCause}
    order by line limit ${maxListedRows}`)
  const [first] = rows
  const rest = Number(first?.listed ?? 0) - rows.length
  return {
    total: Number(first?.total ?? 0),
    lines: [
      ...rows.map(({ line, problems, alike }) =>
        alike > maxRowsOfCause
          ? `  ${formatCount(alike)} rows, the first on line ${line}: ${problems}`
          : `  line ${line}: ${problems}`,
      ),
      ...(rest > 0 ? [`  … and ${formatCount(rest)} more.`] : []),
    ],
  }
}

const rowsPerFetch = 250

/**
 * Writes the rows with problems to `rejectedRows` as CSV in the format of the imported file, with
 * their lines and reasons, and ends that stream. Deletes them from `staged` and returns their
 * number. Writes nothing if there are none. Resolves when the stream has written everything, so
 * that a full disk stops the import. Without that stream, it does nothing and returns 0.
 */
export async function moveInvalidRowsToRejects(
  client: ClientBase,
  rejectedRows: Writable | undefined,
  file: ImportTable,
): Promise<number> {
  if (!rejectedRows) return 0
  await pipeline(formatInvalidRows(client, file), rejectedRows)
  const { rowCount } = await client.query(
    'delete from staged where file_line in (select file_line from problems)',
  )
  return rowCount ?? 0
}

type InvalidRow = { line: number; reason: string; written: string[] | null; plain: string[] }

/** Yields the rows with problems as CSV with a header, or nothing if there are none. */
async function* formatInvalidRows(
  client: ClientBase,
  { columns, fileColumns, format, hasSeparatorLine }: ImportTable,
): AsyncGenerator<string> {
  const cells = columns.map((column) => `coalesce(staged.${column}, '')`)
  await client.query(`
    declare invalid_rows no scroll cursor for
    select staged.file_line as line, invalid.reason, staged.written,
      to_json(array[${cells.join(', ')}]) as plain
    from (
      select file_line, ${allProblems} as reason from problems group by file_line
    ) invalid
    join staged on staged.file_line = invalid.file_line
    order by staged.file_line`)
  const forms = columns.map((column) => fileColumns.columns[column]?.form)
  const formatRow = ({ line, reason, written, plain }: InvalidRow) => {
    const cells = written ?? plain.map((cell, index) => writeCell(cell, forms[index], format))
    return joinCells([String(line), reason, ...cells], format)
  }
  for (let isFirst = true; ; isFirst = false) {
    const { rows } = await client.query<InvalidRow>(`fetch ${rowsPerFetch} from invalid_rows`)
    if (rows.length === 0) break
    if (isFirst) {
      const separatorLine = hasSeparatorLine ? `sep=${format.delimiter}\n` : ''
      const header = joinCells([...rejectedRowColumns, ...columns], format)
      yield byteOrderMark(format) + separatorLine + header
    }
    yield rows.map(formatRow).join('')
  }
  await client.query('close invalid_rows')
}

/** The file is UTF-8. The mark says so to an import with the same options, and to Excel. */
const byteOrderMark = ({ encoding }: FileFormat) => (encoding === 'utf-8' ? '' : '\ufeff')

/** Writes a plain cell of a valid row in the format. */
function writeCell(cell: string, form: Column['form'], { numbers, dates }: FileFormat): string {
  if (form === undefined || cell === '') return cell
  if (form !== 'date') return cell.replace('.', numbers)
  const [year, month, day] = cell.split('-')
  return { ymd: cell, dmy: `${day}/${month}/${year}`, mdy: `${month}/${day}/${year}` }[dates]
}

function joinCells(cells: string[], { delimiter }: FileFormat): string {
  const quoteCell = (cell: string) =>
    /["\r\n]/.test(cell) || cell.includes(delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell
  return `${cells.map(quoteCell).join(delimiter)}\n`
}
