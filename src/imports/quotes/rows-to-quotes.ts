// Puts the staged rows of a quote file together to quotes: which rows are one quote, whether they agree, and which quotes a bad row spoils.
import type { ClientBase } from 'pg'
import { quoteFields } from '../column-names.ts'

/** What the staging table computes from the text of a row: null where that is not a number, which a check then reports. */
export const computedQuoteColumns = [
  `quote_version integer generated always as (case when malformed is null then
    case when version is null then 1 when version ~ '^0{0,20}[0-9]{1,9}$' then version::integer end end) stored`,
  `line_position integer generated always as (case when position ~ '^0{0,20}[0-9]{1,9}$' then position::integer end) stored`,
]

/** Makes the table `staged_quotes`: a row for each quote, with the line on which it begins. */
export async function groupQuotes(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table staged_quotes on commit drop as
    select number, quote_version as version, min(line) as line, count(*) as row_count, count(position) as numbered_count
    from staged where number is not null and quote_version is not null group by number, quote_version`)
  await client.query('analyze staged_quotes')
}

const repeatedFields = quoteFields.filter((field) => field !== 'number' && field !== 'version')

/** Records the rows whose quote fields differ from those of the first row of their quote. */
export async function findDisagreements(client: ClientBase): Promise<void> {
  await client.query(`
    insert into problems (line, reason)
    select s.line, format('%s: %s here, but %s on line %s of the same quote', field.name, ${value('here')}, ${value('there')}, q.line)
    from staged_quotes q
    join staged f on f.line = q.line
    join staged s on s.number = q.number and s.quote_version = q.version
    cross join lateral (values ${repeatedFields.map((field) => `('${field}', s.${field}, f.${field})`)}) as field (name, here, there)
    where (${repeatedFields.map((field) => `s.${field}`)}) is distinct from (${repeatedFields.map((field) => `f.${field}`)})
      and field.here is distinct from field.there`)
}

const value = (cell: string) =>
  `case when ${cell} is null then 'empty' else '"' || regexp_replace(left(${cell}, 60), '\\s+', ' ', 'g') || '"' end`

/** Records positions that a quote has twice, and missing ones where other rows of the quote have one. */
export async function findBadPositions(client: ClientBase): Promise<void> {
  await client.query(`
    insert into problems (line, reason)
    select s.line, 'position: is empty, but other rows of the quote have one: give it on all of them or on none'
    from staged_quotes q join staged s on s.number = q.number and s.quote_version = q.version
    where q.numbered_count between 1 and q.row_count - 1 and s.position is null`)
  await client.query(`
    insert into problems (line, reason)
    select s.line, format('position: %s is already on line %s of the same quote', s.line_position, taken.line)
    from (select number, quote_version, line_position, min(line) as line from staged where line_position is not null
      group by number, quote_version, line_position having count(*) > 1) taken
    join staged s using (number, quote_version, line_position)
    where s.line <> taken.line`)
}

/**
 * Removes from `staged_quotes` every quote that has a bad row, and returns SQL for its other rows, with the reason. A bad row that does not tell its
 * version (malformed, or the version is bad) spoils every version of its number.
 */
export async function dropBadQuotes(client: ClientBase): Promise<string> {
  await client.query(`
    create temporary table bad_quotes on commit drop as
    select q.number, q.version, min(bad.line) as line
    from (select distinct line from problems) problem
    join staged bad on bad.line = problem.line
    join staged_quotes q on q.number = bad.number and q.version = coalesce(bad.quote_version, q.version)
    group by q.number, q.version`)
  await client.query(
    'delete from staged_quotes q using bad_quotes b where b.number = q.number and b.version = q.version',
  )
  return `
    select s.line, format('another row of quote %s version %s is bad: line %s', b.number, b.version, b.line)
    from bad_quotes b join staged s on s.number = b.number and s.quote_version = b.version
    where not exists (select from problems p where p.line = s.line)`
}
