// Groups the staged rows into quotes, checks that the rows of one quote are consistent, and drops
// the quotes with invalid rows.
import type { ClientBase } from 'pg'
import { maxQuotedCharacters } from '../cells/cell-checks.ts'
import { quoteFields } from '../file-columns.ts'

/** Wider than checkPositiveInteger: it only makes the cast safe. */
const upToNineDigits = "'^0{0,20}[0-9]{1,9}$'"

/** Columns that the staging table computes from text: null if the text is not a number. */
export const computedQuoteColumns = [
  `quote_version integer generated always as (
    case when malformed is null then
      case when version is null then 1 when version ~ ${upToNineDigits} then version::integer end
    end
  ) stored`,
  `line_position integer generated always as (
    case when position ~ ${upToNineDigits} then position::integer end
  ) stored`,
]

/** Creates the temporary table `staged_quotes`: each quote with the line on which it begins. */
export async function groupRowsByQuote(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table staged_quotes on commit drop as
    select number, quote_version as version, min(line) as line, count(*) as row_count,
      count(position) as numbered_count
    from staged
    where number is not null and quote_version is not null
    group by number, quote_version`)
  await client.query('analyze staged_quotes')
}

const repeatedFields = quoteFields.filter((field) => field !== 'number' && field !== 'version')

/** Adds a problem for each row whose quote fields differ from the first row of its quote. */
export async function addContradictionProblems(client: ClientBase): Promise<void> {
  const fields = repeatedFields.map((field) => `('${field}', s.${field}, f.${field})`)
  const rowFields = repeatedFields.map((field) => `s.${field}`)
  const firstRowFields = repeatedFields.map((field) => `f.${field}`)
  await client.query(`
    insert into problems (line, problem)
    select s.line, format('%s: %s here, but %s on line %s of the same quote',
      field.name, ${describeCell('field.here')}, ${describeCell('field.first')}, q.line)
    from staged_quotes q
    join staged f on f.line = q.line
    join staged s on s.number = q.number and s.quote_version = q.version
    cross join lateral (values ${fields}) as field (name, here, first)
    where (${rowFields}) is distinct from (${firstRowFields})
      and field.here is distinct from field.first`)
}

/** SQL for a cell in a message: the first 60 characters between quotes, or the word empty. */
const describeCell = (cell: string) => `case when ${cell} is null then 'empty'
  else '"' || regexp_replace(left(${cell}, ${maxQuotedCharacters}), '\\s+', ' ', 'g') || '"' end`

/**
 * Adds problems for repeated positions, and for missing ones if other rows of the quote have one.
 */
export async function addPositionProblems(client: ClientBase): Promise<void> {
  await client.query(`
    insert into problems (line, problem)
    select s.line, 'position: is empty, but other rows of the quote have one: '
      'give all rows a position, or none'
    from staged_quotes q join staged s on s.number = q.number and s.quote_version = q.version
    where q.numbered_count between 1 and q.row_count - 1 and s.position is null`)
  await client.query(`
    insert into problems (line, problem)
    select s.line, format('position: %s is already on line %s of the same quote',
      s.line_position, first.line)
    from (
      select number, quote_version, line_position, min(line) as line
      from staged
      where line_position is not null
      group by number, quote_version, line_position having count(*) > 1
    ) first
    join staged s using (number, quote_version, line_position)
    where s.line <> first.line`)
}

/**
 * Removes every quote with an invalid row from `staged_quotes`, and adds its other rows to
 * `rejected`. Returns the number of these quotes. If an invalid row has no readable version,
 * because the row is malformed or the version is invalid, every version of its number is removed.
 */
export async function dropInvalidQuotes(client: ClientBase): Promise<number> {
  await client.query(`
    create temporary table invalid_quotes on commit drop as
    select q.number, q.version, min(invalid.line) as line
    from (select distinct line from problems) problem
    join staged invalid on invalid.line = problem.line
    join staged_quotes q
      on q.number = invalid.number and q.version = coalesce(invalid.quote_version, q.version)
    group by q.number, q.version`)
  await client.query(`
    insert into rejected (line, reason)
    select s.line,
      format('another row of quote %s version %s is invalid: line %s', b.number, b.version, b.line)
    from invalid_quotes b join staged s on s.number = b.number and s.quote_version = b.version
    where not exists (select from problems p where p.line = s.line)`)
  const { rowCount } = await client.query(`
    delete from staged_quotes q using invalid_quotes b
    where b.number = q.number and b.version = q.version`)
  return rowCount ?? 0
}
