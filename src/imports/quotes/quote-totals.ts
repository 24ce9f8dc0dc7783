// Computes the net of each line with line_net(), and the net and tax of each quote with
// tax_amount(), as quote_totals() does. Also reports quotes whose net would be below zero.
import type { ClientBase } from 'pg'

/**
 * Creates the temporary table `imported_lines`: the lines with their types, positions and nets.
 * Lines of a quote without positions are numbered in the order of the file. `quote_line` is the
 * line of the file on which the quote begins.
 */
export async function computeLines(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table imported_lines on commit drop as
    select q.line as quote_line, coalesce(s.line_position, numbered.position)::integer as position,
      s.sku, s.description, value.*, s.unit, s.hs_code, s.origin_country, c.digits,
      line_net(value.quantity, value.unit_price, value.discount_percent, c.digits) as net
    from staged s
    join staged_quotes q on q.number = s.number and q.version = s.quote_version
    join currencies c on c.code = s.currency
    cross join lateral (
      select s.quantity::numeric as quantity, s.unit_price::numeric as unit_price,
        coalesce(s.discount_percent::numeric, 0) as discount_percent,
        s.tax_rate::numeric as tax_rate, s.surcharge_rate::numeric as surcharge_rate
    ) value
    left join (
      select s.line, row_number() over (partition by q.line order by s.line) as position
      from staged_quotes q
      join staged s on s.number = q.number and s.quote_version = q.version
      where q.numbered_count = 0
    ) numbered on numbered.line = s.line`)
  await client.query('analyze imported_lines (quote_line, position)')
}

/** Creates the temporary table `imported_totals`: net and tax of the quotes of `imported_lines`. */
export async function computeTotals(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table imported_totals on commit drop as
    select quote_line, sum(base) as net, sum(
        tax_amount(base, tax_rate, digits) + tax_amount(base, surcharge_rate, digits)
      ) as tax
    from (
      select quote_line, tax_rate, surcharge_rate, digits, sum(net) as base
      from imported_lines
      group by quote_line, tax_rate, surcharge_rate, digits
    ) taxes
    group by quote_line`)
  // The planner cannot estimate the number of groups, so the totals are a table with statistics.
  await client.query('analyze imported_totals')
}

/**
 * Adds a problem for each quote whose net would be below zero. Computes only quotes with a negative
 * cell, and only if all their rows are valid, because cells of invalid rows may not be numbers.
 */
export async function addNegativeTotalProblems(client: ClientBase): Promise<void> {
  await client.query(`
    with negative as materialized (
      select distinct number, quote_version as version from staged
      where malformed is null and (quantity like '-%' or unit_price like '-%')
    ), valid as materialized (
      select q.number, q.version, q.line from staged_quotes q join negative using (number, version)
      where not exists (
        select from problems p join staged invalid on invalid.line = p.line
        where invalid.number = q.number and coalesce(invalid.quote_version, q.version) = q.version
      )
    ), nets as materialized (
      select valid.line, valid.number, s.currency, sum(line_net(s.quantity::numeric,
        s.unit_price::numeric, coalesce(s.discount_percent::numeric, 0), c.digits)) as net
      from valid
      join staged s on s.number = valid.number and s.quote_version = valid.version
      join currencies c on c.code = s.currency
      group by valid.line, valid.number, s.currency
    )
    insert into problems (line, problem)
    select line, format('number: the lines of quote %s add up to %s %s, which is below zero',
      number, net, currency)
    from nets where net < 0`)
}
