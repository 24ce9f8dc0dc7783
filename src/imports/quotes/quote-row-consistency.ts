// Groups the staged rows into quotes, checks that the rows of one quote are consistent, and drops
// the quotes with invalid rows.
import type { ClientBase } from 'pg'
import { sqlQuoteForMessage } from '../cells.ts'
import { repeatedQuoteFields } from '../file-kinds.ts'

/** Wider than checkPositiveInteger: it only makes the cast safe. */
const upToNineDigits = "'^0{0,20}[0-9]{1,9}$'"

/** Columns that the staging table computes from text: null if the text is not a number. */
export const computedQuoteColumns = [
  `version_number integer generated always as (
    case when not is_malformed then
      case when version is null then 1 when version ~ ${upToNineDigits} then version::integer end
    end
  ) stored`,
  `position_number integer generated always as (
    case when position ~ ${upToNineDigits} then position::integer end
  ) stored`,
]

/** SQL that joins the rows in `staged` with their quote in `staged_quotes`. */
export const isSameQuote = `staged.number = staged_quotes.number
  and staged.version_number = staged_quotes.version`

/** Creates `staged_quotes`. Needs `staged`. */
export async function createStagedQuotesTable(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table staged_quotes on commit drop as
    select number, version_number as version, min(file_line) as first_file_line,
      count(*) as row_count, count(position) as numbered_row_count
    from staged
    where number is not null and version_number is not null
    group by number, version_number`)
  await client.query('analyze staged_quotes')
}

/**
 * Adds a problem for each row whose quote fields differ from the first row of its quote. If both
 * look the same in the message, it says where they differ. Needs `staged_quotes`.
 */
export async function addContradictionProblems(client: ClientBase): Promise<void> {
  const fields = repeatedQuoteFields.map(
    (field) => `('${field}', staged.${field}, first_row.${field})`,
  )
  const rowFields = repeatedQuoteFields.map((field) => `staged.${field}`)
  const firstRowFields = repeatedQuoteFields.map((field) => `first_row.${field}`)
  await client.query(`
    insert into problems (file_line, problem)
    select staged.file_line,
      case when shown.here = shown.first
        then format('%s: %s here differs at character %s from line %s of the same quote',
          field.name, shown.here, ${findFirstDifference}, first_row.file_line)
        else format('%s: %s here, but %s on line %s of the same quote',
          field.name, shown.here, shown.first, first_row.file_line) end
    from staged_quotes
    join staged first_row on first_row.file_line = staged_quotes.first_file_line
    join staged on ${isSameQuote}
    cross join lateral (values ${fields.join(', ')}) as field (name, here, first)
    cross join lateral (
      select ${sqlQuoteForMessage('field.here')} as here,
        ${sqlQuoteForMessage('field.first')} as first
    ) shown
    where (${rowFields.join(', ')}) is distinct from (${firstRowFields.join(', ')})
      and field.here is distinct from field.first`)
}

/** SQL of the place of the first character that differs, from 1. */
const findFirstDifference = `(
  select min(place)
  from unnest(string_to_array(field.here, null), string_to_array(field.first, null))
    with ordinality as pair (here, first, place)
  where pair.here is distinct from pair.first
)`

/**
 * Adds problems for repeated positions, and for missing ones if other rows of the quote have one.
 * Needs `staged_quotes`.
 */
export async function addPositionProblems(client: ClientBase): Promise<void> {
  await client.query(`
    insert into problems (file_line, problem)
    select staged.file_line, 'position: is empty, but other rows of the quote have one: '
      'give all rows a position, or none'
    from staged_quotes join staged on ${isSameQuote}
    where staged_quotes.numbered_row_count between 1 and staged_quotes.row_count - 1
      and staged.position is null`)
  await client.query(`
    insert into problems (file_line, problem)
    select staged.file_line, format('position: %s is already on line %s of the same quote',
      staged.position_number, repeated.first_line)
    from (
      select number, version_number, position_number, min(file_line) as first_line
      from staged
      where position_number is not null
      group by number, version_number, position_number having count(*) > 1
    ) repeated
    join staged using (number, version_number, position_number)
    where staged.file_line <> repeated.first_line`)
}

/**
 * Deletes every quote with an invalid row from `staged_quotes`, adds a problem for its other rows,
 * and returns the number of these quotes. If an invalid row has no readable version, because the
 * row is malformed or the version is invalid, every version of its number is deleted.
 */
export async function dropInvalidQuotes(client: ClientBase): Promise<number> {
  const { rowCount } = await client.query(`
    with invalid_quotes as materialized (
      select staged_quotes.number, staged_quotes.version, min(invalid.file_line) as invalid_line
      from staged_quotes
      join staged invalid on invalid.number = staged_quotes.number
        and coalesce(invalid.version_number, staged_quotes.version) = staged_quotes.version
      where invalid.file_line in (select file_line from problems)
      group by staged_quotes.number, staged_quotes.version
    ), other_rows as (
      insert into problems (file_line, problem)
      select staged.file_line, format('another row of quote %s version %s is invalid: line %s',
        invalid_quotes.number, invalid_quotes.version, invalid_quotes.invalid_line)
      from invalid_quotes
      join staged on staged.number = invalid_quotes.number
        and staged.version_number = invalid_quotes.version
      where not exists (select from problems where problems.file_line = staged.file_line)
    )
    delete from staged_quotes using invalid_quotes
    where invalid_quotes.number = staged_quotes.number
      and invalid_quotes.version = staged_quotes.version`)
  return rowCount ?? 0
}
