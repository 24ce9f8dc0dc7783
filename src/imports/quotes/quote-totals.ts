// Computes the net of each line with line_net(), and the net and tax of each quote with
// tax_amount(), as quote_totals() does. Also reports quotes whose net would be below zero.
import type { ClientBase } from 'pg'
import { isSameQuote } from './quote-row-consistency.ts'

/**
 * Creates `imported_quote_lines`: the lines with their types, positions and nets. Needs
 * `staged_quotes`. Lines of a quote without positions are numbered in the order of the file.
 */
export async function createImportedQuoteLinesTable(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table imported_quote_lines on commit drop as
    select staged_quotes.first_file_line,
      coalesce(staged.position_number, numbered.position)::integer as position,
      staged.sku, staged.description, value.*, staged.unit, staged.hs_code, staged.origin_country,
      currencies.digits,
      line_net(value.quantity, value.unit_price, value.discount_percent, currencies.digits) as net
    from staged
    join staged_quotes on ${isSameQuote}
    join currencies on currencies.code = staged.currency
    cross join lateral (
      select staged.quantity::numeric as quantity, staged.unit_price::numeric as unit_price,
        coalesce(staged.discount_percent::numeric, 0) as discount_percent,
        staged.tax_rate::numeric as tax_rate, staged.surcharge_rate::numeric as surcharge_rate
    ) value
    left join (
      select staged.file_line, row_number() over (
          partition by staged_quotes.first_file_line order by staged.file_line
        ) as position
      from staged_quotes
      join staged on ${isSameQuote}
      where staged_quotes.numbered_row_count = 0
    ) numbered on numbered.file_line = staged.file_line`)
  await client.query('analyze imported_quote_lines (first_file_line, position)')
}

/** Creates `imported_totals`: net and tax of each quote. Needs `imported_quote_lines`. */
export async function createImportedTotalsTable(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table imported_totals on commit drop as
    select first_file_line, sum(base) as net, sum(
        tax_amount(base, tax_rate, digits) + tax_amount(base, surcharge_rate, digits)
      ) as tax
    from (
      select first_file_line, tax_rate, surcharge_rate, digits, sum(net) as base
      from imported_quote_lines
      group by first_file_line, tax_rate, surcharge_rate, digits
    ) taxes
    group by first_file_line`)
  // The planner cannot estimate the number of groups, so the totals are a table with statistics.
  await client.query('analyze imported_totals')
}

/**
 * Adds a problem for each quote whose net would be below zero. Needs `staged_quotes` and all other
 * problems: it computes only quotes with a negative cell, and only if all their rows are valid,
 * because cells of invalid rows may not be numbers.
 */
export async function addNegativeTotalProblems(client: ClientBase): Promise<void> {
  await client.query(`
    with negative as materialized (
      select distinct number, version_number as version from staged
      where not is_malformed and (quantity like '-%' or unit_price like '-%')
    ), valid as materialized (
      select number, version, first_file_line
      from staged_quotes join negative using (number, version)
      where not exists (
        select from problems join staged invalid using (file_line)
        where invalid.number = staged_quotes.number
          and coalesce(invalid.version_number, staged_quotes.version) = staged_quotes.version
      )
    ), nets as materialized (
      select valid.first_file_line, valid.number, staged.currency,
        sum(line_net(staged.quantity::numeric, staged.unit_price::numeric,
          coalesce(staged.discount_percent::numeric, 0), currencies.digits)) as net
      from valid
      join staged on staged.number = valid.number and staged.version_number = valid.version
      join currencies on currencies.code = staged.currency
      group by valid.first_file_line, valid.number, staged.currency
    )
    insert into problems (file_line, problem)
    select first_file_line,
      format('number: the lines of quote %s add up to %s %s, which is below zero',
        number, net, currency)
    from nets where net < 0`)
}
