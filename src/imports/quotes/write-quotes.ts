// Writes new and changed quotes with their lines; what is as it was is not touched.
import type { ClientBase } from 'pg'
import { lineValues, quoteValues } from './quote-values.ts'

export type QuotesWritten = { inserted: number; updated: number; superseded: number }

/** Brings new_quotes and new_lines into the database. A quote keeps its row, and with it its links, when it changes; its lines are replaced. */
export async function writeQuotes(client: ClientBase): Promise<QuotesWritten> {
  await findChangedLines(client)
  const updated = await updateQuotes(client)
  const inserted = await insertQuotes(client)
  await replaceLines(client)
  const superseded = await supersedeOlderVersions(client)
  // A large import makes other tables of these: queries should not have to wait for autovacuum to notice.
  if (inserted + updated > 1_000) await client.query('analyze customers, quotes, quote_lines')
  return { inserted, updated, superseded }
}

/** Makes the table `changed_lines`: the ids of the quotes whose lines are others now. */
async function findChangedLines(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table changed_lines on commit drop as
    select n.id
    from new_quotes n
    join new_lines l on l.quote_line = n.line
    left join quote_lines e on e.quote_id = n.id and e.position = l.position
    where n.id is not null
    group by n.id
    having bool_or((${lineValues.map((column) => `e.${column}`)}) is distinct from (${lineValues.map((column) => `l.${column}`)}))
      or count(*) <> (select count(*) from quote_lines e where e.quote_id = n.id)`)
  await client.query('analyze changed_lines')
}

async function updateQuotes(client: ClientBase): Promise<number> {
  const { rows } = await client.query<{ updated: string }>(`
    with updated as (
      update quotes q set ${quoteValues.map((column) => `${column} = n.${column}`).join(', ')}
      from new_quotes n
      where n.id = q.id and (${quoteValues.map((column) => `q.${column}`)}) is distinct from (${quoteValues.map((column) => `n.${column}`)})
      returning q.id
    )
    select count(*) as updated from (select id from updated union select id from changed_lines) changed`)
  return Number(rows[0]?.updated)
}

async function insertQuotes(client: ClientBase): Promise<number> {
  const { rowCount } = await client.query(`
    with inserted as (
      insert into quotes (number, version, ${quoteValues})
      select number, version, ${quoteValues} from new_quotes where is_new order by line
      returning id, number, version
    )
    update new_quotes n set id = i.id from inserted i where i.number = n.number and i.version = n.version`)
  return rowCount ?? 0
}

async function replaceLines(client: ClientBase): Promise<void> {
  await client.query('delete from quote_lines l using changed_lines c where c.id = l.quote_id')
  await client.query(`
    insert into quote_lines (quote_id, position, ${lineValues})
    select n.id, l.position, ${lineValues.map((column) => `l.${column}`)}
    from new_lines l join new_quotes n on n.line = l.quote_line
    where n.is_new or n.id in (select id from changed_lines)`)
}

async function supersedeOlderVersions(client: ClientBase): Promise<number> {
  const { rowCount } = await client.query(`
    update quotes older set status = 'superseded'
    from (select number, max(version) as version from new_quotes group by number) newest
    where older.number = newest.number and older.version < newest.version and older.status <> 'superseded'`)
  return rowCount ?? 0
}
