// The problems of rows: the table that collects them, and the error that lists them.
import type { ClientBase } from 'pg'
import { formatCount } from '../text/count-noun.ts'
import type { CsvFile } from './csv/read-rows.ts'
import type { SuggestedFormat } from './file-format.ts'
import { ImportError } from './import-error.ts'

const maxListedRows = 20

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
export const allProblems = "string_agg(problem, '; ' order by problem)"

/**
 * If there are invalid rows, throws an ImportError that lists the first 20. The error suggests
 * `suggestedFormat`.
 */
export async function throwIfRowsAreInvalid(
  client: ClientBase,
  suggestedFormat: SuggestedFormat | undefined,
): Promise<void> {
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
    { suggestedFormat },
  )
}

/**
 * Throws an ImportError if the key of an invalid row is unknown: it is empty, or cells before it
 * may have moved it. `reason` ends the message: why each key is needed. The error suggests
 * `suggestedFormat`.
 */
export async function throwIfKeysAreUnknown(
  client: ClientBase,
  { columns }: CsvFile,
  {
    key,
    reason,
    suggestedFormat,
  }: { key: string; reason: string; suggestedFormat: SuggestedFormat | undefined },
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
    { suggestedFormat },
  )
}

/** Returns the number of invalid rows, and one line of text for each of the first 20. */
export async function listInvalidRows(
  client: ClientBase,
  condition = 'true',
): Promise<{ total: number; lines: string[] }> {
  const { rows } = await client.query<{ line: number; problems: string; total: string }>(`
    select file_line as line, ${allProblems} as problems, count(*) over () as total
    from problems where ${condition}
    group by file_line order by file_line limit ${maxListedRows}`)
  const total = Number(rows[0]?.total ?? 0)
  return {
    total,
    lines: [
      ...rows.map(({ line, problems }) => `  line ${line}: ${problems}`),
      ...(total > rows.length ? [`  … and ${formatCount(total - rows.length)} more.`] : []),
    ],
  }
}
