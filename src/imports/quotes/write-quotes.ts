// Inserts new quotes and updates changed ones with their lines. Unchanged rows are not written.
import type { ClientBase } from 'pg'
import { quoteLineFields, repeatedQuoteFields } from '../file-kinds.ts'

/** The columns of the table quotes that an import sets, without number and version. */
const quoteTableColumns = [...repeatedQuoteFields, 'customer_id', 'net', 'tax', 'gross']

/** The columns of the table quote_lines, without quote_id and position. */
const lineTableColumns = [...quoteLineFields.filter((field) => field !== 'position'), 'net']

/** A larger import changes the distribution of the data, so it renews the planner statistics. */
const maxQuotesWithoutAnalyze = 1_000

/** Numbers of quotes: those of the file, and older versions that only the database has. */
type WrittenQuotes = {
  unchanged: number
  inserted: number
  updated: number
  superseded: number
}

/**
 * Writes `imported_quotes` and `imported_quote_lines` to the database. Needs `current_versions`. A
 * changed quote keeps its row, and therefore its links. Its lines are replaced if one of them
 * changed.
 */
export async function writeQuotes(client: ClientBase): Promise<WrittenQuotes> {
  await createQuotesWithChangedLinesTable(client)
  const superseded = await supersedeOlderVersions(client)
  const updated = await updateQuotes(client)
  const inserted = await insertQuotes(client)
  await replaceLines(client)
  // Queries after the import need current statistics before autovacuum notices the changes.
  if (inserted + updated > maxQuotesWithoutAnalyze)
    await client.query('analyze customers, quotes, quote_lines')
  const unchanged = (await countImportedQuotes(client)) - inserted - updated
  return { unchanged, inserted, updated, superseded }
}

async function countImportedQuotes(client: ClientBase): Promise<number> {
  const { rows } = await client.query<{ count: string }>('select count(*) from imported_quotes')
  return Number(rows[0]?.count)
}

/** Creates `quotes_with_changed_lines`: the ids of existing quotes whose lines differ. */
async function createQuotesWithChangedLinesTable(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table quotes_with_changed_lines on commit drop as
    select imported.id
    from imported_quotes imported
    join imported_quote_lines line using (first_file_line)
    left join quote_lines existing_line
      on existing_line.quote_id = imported.id and existing_line.position = line.position
    where imported.id is not null
    group by imported.id
    having bool_or(${differInAny('existing_line', 'line', lineTableColumns)})
      or count(*) <> (select count(*) from quote_lines where quote_id = imported.id)`)
  await client.query('analyze quotes_with_changed_lines')
}

/**
 * Supersedes the older versions that only the database has, and returns how many. A trigger would
 * do the same, but for each updated row separately.
 */
async function supersedeOlderVersions(client: ClientBase): Promise<number> {
  const { rowCount } = await client.query(`
    update quotes existing set status = 'superseded'
    from current_versions
    where existing.number = current_versions.number and existing.version < current_versions.version
      and existing.status <> 'superseded'
      and not exists (select from imported_quotes imported where imported.id = existing.id)`)
  return rowCount ?? 0
}

async function updateQuotes(client: ClientBase): Promise<number> {
  const assignments = quoteTableColumns.map((column) => `${column} = imported.${column}`)
  const { rows } = await client.query<{ updated: string }>(`
    with updated as (
      update quotes existing set ${assignments}
      from imported_quotes imported
      where imported.id = existing.id
        and ${differInAny('existing', 'imported', quoteTableColumns)}
      returning existing.id
    )
    select count(*) as updated
    from (select id from updated union select id from quotes_with_changed_lines) changed`)
  return Number(rows[0]?.updated)
}

async function insertQuotes(client: ClientBase): Promise<number> {
  const { rowCount } = await client.query(`
    with inserted as (
      insert into quotes (number, version, ${quoteTableColumns})
      select number, version, ${quoteTableColumns} from imported_quotes
      where is_new order by first_file_line
      returning id, number, version
    )
    update imported_quotes imported set id = inserted.id
    from inserted
    where inserted.number = imported.number and inserted.version = imported.version`)
  return rowCount ?? 0
}

async function replaceLines(client: ClientBase): Promise<void> {
  await client.query(`
    delete from quote_lines existing_line using quotes_with_changed_lines changed
    where changed.id = existing_line.quote_id`)
  await client.query(`
    insert into quote_lines (quote_id, position, ${lineTableColumns})
    select imported.id, line.position, ${prefixColumns('line', lineTableColumns)}
    from imported_quote_lines line join imported_quotes imported using (first_file_line)
    where imported.is_new or imported.id in (select id from quotes_with_changed_lines)`)
}

function differInAny(table: string, otherTable: string, columns: string[]): string {
  const [values, otherValues] = [table, otherTable].map((name) => prefixColumns(name, columns))
  return `(${values}) is distinct from (${otherValues})`
}

function prefixColumns(table: string, columns: string[]): string {
  return columns.map((column) => `${table}.${column}`).join(', ')
}
