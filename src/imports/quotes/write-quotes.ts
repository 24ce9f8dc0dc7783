// Inserts new quotes and updates changed ones with their lines. Unchanged rows are not written.
import type { ClientBase } from 'pg'

/** The columns of the table quotes that an import sets, without number and version. */
const quoteTableColumns = [
  'status',
  'customer_id',
  'customer_name',
  'customer_tax_id',
  'customer_address',
  'customer_contact',
  'country',
  'currency',
  'rate',
  'issued_on',
  'valid_until',
  'decided_on',
  'incoterm',
  'incoterm_place',
  'delivery',
  'payment_terms',
  'language',
  'tax_label',
  'notes',
  'internal_notes',
  'net',
  'tax',
  'gross',
]

/** The columns of the table quote_lines, without quote_id and position. */
const lineTableColumns = [
  'sku',
  'description',
  'quantity',
  'unit',
  'unit_price',
  'discount_percent',
  'tax_rate',
  'surcharge_rate',
  'hs_code',
  'origin_country',
  'net',
]

/** A larger import changes the distribution of the data, so it renews the planner statistics. */
const maxQuotesWithoutAnalyze = 1_000

/** Numbers of quotes: those of the file, and older versions that only the database has. */
export type WrittenQuotes = {
  unchanged: number
  inserted: number
  updated: number
  superseded: number
}

/**
 * Writes `imported_quotes` and `imported_lines` to the database. A changed quote keeps its row, and
 * therefore its links. Its lines are replaced if one of them changed.
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

/** Creates the temporary table `quotes_with_changed_lines`: ids of quotes whose lines differ. */
async function createQuotesWithChangedLinesTable(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table quotes_with_changed_lines on commit drop as
    select i.id
    from imported_quotes i
    join imported_lines l on l.quote_line = i.line
    left join quote_lines e on e.quote_id = i.id and e.position = l.position
    where i.id is not null
    group by i.id
    having bool_or(${differInAny('e', 'l', lineTableColumns)})
      or count(*) <> (select count(*) from quote_lines e where e.quote_id = i.id)`)
  await client.query('analyze quotes_with_changed_lines')
}

/**
 * Supersedes the older versions that only the database has, and returns how many. A trigger would
 * do the same, but for each updated row separately.
 */
async function supersedeOlderVersions(client: ClientBase): Promise<number> {
  const { rowCount } = await client.query(`
    update quotes older set status = 'superseded'
    from current_versions current
    where older.number = current.number and older.version < current.version
      and older.status <> 'superseded'
      and not exists (select from imported_quotes i where i.id = older.id)`)
  return rowCount ?? 0
}

async function updateQuotes(client: ClientBase): Promise<number> {
  const { rows } = await client.query<{ updated: string }>(`
    with updated as (
      update quotes q set ${quoteTableColumns.map((column) => `${column} = i.${column}`).join(', ')}
      from imported_quotes i
      where i.id = q.id
        and ${differInAny('q', 'i', quoteTableColumns)}
      returning q.id
    )
    select count(*) as updated
    from (select id from updated union select id from quotes_with_changed_lines) changed`)
  return Number(rows[0]?.updated)
}

async function insertQuotes(client: ClientBase): Promise<number> {
  const { rowCount } = await client.query(`
    with inserted as (
      insert into quotes (number, version, ${quoteTableColumns})
      select number, version, ${quoteTableColumns} from imported_quotes where is_new order by line
      returning id, number, version
    )
    update imported_quotes i set id = inserted.id
    from inserted where inserted.number = i.number and inserted.version = i.version`)
  return rowCount ?? 0
}

async function replaceLines(client: ClientBase): Promise<void> {
  await client.query(
    'delete from quote_lines l using quotes_with_changed_lines c where c.id = l.quote_id',
  )
  await client.query(`
    insert into quote_lines (quote_id, position, ${lineTableColumns})
    select i.id, l.position, ${prefixColumns('l', lineTableColumns)}
    from imported_lines l join imported_quotes i on i.line = l.quote_line
    where i.is_new or i.id in (select id from quotes_with_changed_lines)`)
}

/** Returns the SQL condition that two rows differ in one of the columns. */
function differInAny(table: string, otherTable: string, columns: string[]): string {
  const [values, otherValues] = [table, otherTable].map((name) => prefixColumns(name, columns))
  return `(${values}) is distinct from (${otherValues})`
}

/** Returns a list of columns for SQL, each with the alias of its table. */
function prefixColumns(table: string, columns: string[]): string {
  return columns.map((column) => `${table}.${column}`).join(', ')
}
