// Assembles the quotes of the file: converts their fields, adds totals and customer, decides which
// are superseded, and finds the existing quote that each of them updates.
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
      coalesce(staged.kind, 'line') as kind, staged.sku, staged.description, value.*, staged.tax_reason, staged.unit, staged.hs_code,
      staged.origin_country, currencies.digits,
      line_net(value.quantity, value.unit_price, value.discount_percent, currencies.digits) as net
    from staged
    join staged_quotes on ${isSameQuote}
    join currencies on currencies.code = staged.currency
    cross join lateral (
      select ${numberOfPricedLine('quantity')}, ${numberOfPricedLine('unit_price')},
        coalesce(staged.discount_percent::numeric, 0) as discount_percent,
        ${numberOfPricedLine('tax_rate')}, ${numberOfPricedLine('surcharge_rate')}
    ) value
    left join (
      select staged.file_line, row_number() over (
          partition by staged_quotes.first_file_line order by staged.file_line
        ) as position
      from staged_quotes
      join staged on ${isSameQuote}
      where staged_quotes.numbered_row_count = 0
    ) numbered on numbered.file_line = staged.file_line`)
  await client.query('analyze imported_quote_lines (first_file_line, position, tax_rate)')
}

const nullIfZero = (column: string) => `nullif(staged.${column}::numeric, 0)`

/** SQL of a number of a line. Zeros in headings and texts mean nothing. */
const numberOfPricedLine = (column: string) =>
  `case when coalesce(staged.kind, 'line') in ('line', 'optional') then staged.${column}::numeric end
    as ${column}`

/**
 * Creates `imported_totals`: net and tax of each quote, as the SQL functions quote_tax_bases() and
 * quote_totals() compute them. Needs `imported_quote_lines`.
 */
export async function createImportedTotalsTable(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table imported_totals on commit drop as
    select first_file_line, sum(base) as net, sum(
        tax_amount(base, tax_rate, digits) + tax_amount(base, surcharge_rate, digits)
      ) as tax
    from (
      select *, undiscounted - discount_on(up_to, total, percent, amount, digits)
        + discount_on(up_to - undiscounted, total, percent, amount, digits) as base
      from (
        select rates.*, ${nullIfZero('global_discount_percent')} as percent,
          ${nullIfZero('global_discount_amount')} as amount,
          sum(undiscounted) over (
            partition by first_file_line
            order by rates.tax_rate desc nulls last, rates.surcharge_rate desc nulls last
          ) as up_to,
          sum(undiscounted) over (partition by first_file_line) as total
        from (
          select first_file_line, tax_rate, surcharge_rate, digits,
            coalesce(sum(net) filter (where kind = 'line'), 0) as undiscounted
          from imported_quote_lines
          group by first_file_line, tax_rate, surcharge_rate, digits
        ) rates join staged on staged.file_line = first_file_line
      ) sums
    ) taxes
    group by first_file_line`)
  // The planner cannot estimate the number of groups, so the totals are a table with statistics.
  await client.query('analyze imported_totals')
}

/**
 * Adds a problem for each quote whose net would be below zero. Needs `staged_quotes` and all other
 * problems: it computes only quotes with a negative cell or a discount of an amount, and only if all
 * their rows are valid, because cells of invalid rows may not be numbers.
 */
export async function addNegativeTotalProblems(client: ClientBase): Promise<void> {
  await client.query(`
    with negative as materialized (
      select distinct number, version_number as version from staged
      where not is_malformed and (quantity like '-%' or unit_price like '-%'
        or global_discount_amount is not null)
    ), valid as materialized (
      select number, version, first_file_line
      from staged_quotes join negative using (number, version)
      where not exists (
        select from problems join staged invalid using (file_line)
        where invalid.number = staged_quotes.number
          and coalesce(invalid.version_number, staged_quotes.version) = staged_quotes.version
      )
    ), sums as materialized (
      select valid.first_file_line, valid.number, staged.currency, currencies.digits,
        coalesce(sum(line_net(staged.quantity::numeric, staged.unit_price::numeric,
          coalesce(staged.discount_percent::numeric, 0), currencies.digits))
          filter (where coalesce(staged.kind, 'line') = 'line'), 0) as total,
        max(${nullIfZero('global_discount_percent')}) as percent,
        max(${nullIfZero('global_discount_amount')}) as amount
      from valid
      join staged on staged.number = valid.number and staged.version_number = valid.version
      join currencies on currencies.code = staged.currency
      group by valid.first_file_line, valid.number, staged.currency, currencies.digits
    ), nets as (
      select *, total - discount_on(total, total, percent, amount, digits) as net from sums
    )
    insert into problems (file_line, problem)
    select first_file_line,
      format('number: the lines of quote %s%s add up to %s %s, which is below zero', number,
        case when percent > 0 or amount > 0 then ', less its global discount,' end, net, currency)
    from nets where net < 0`)
}

/**
 * SQL that joins `customers` with `staged`. coalesce() instead of `is not distinct from` allows a
 * hash join; neither column ever holds the empty text.
 */
const isSameCustomer = `customers.name = staged.customer_name
  and coalesce(customers.tax_id, '') = coalesce(staged.customer_tax_id, '')
  and coalesce(customers.country, '') = coalesce(staged.country, '')`

/**
 * Creates the missing customers and returns their number. Existing customers stay unchanged. Needs
 * `staged_quotes`.
 */
export async function createMissingCustomers(client: ClientBase): Promise<number> {
  const { rowCount } = await client.query(`
    insert into customers (name, tax_id, address, contact_name, country)
    select distinct on (staged.customer_name, staged.customer_tax_id, staged.country)
      staged.customer_name, staged.customer_tax_id, staged.customer_address,
      staged.customer_contact, staged.country
    from staged_quotes
    join staged on staged.file_line = staged_quotes.first_file_line
    where staged.customer_name is not null
      and not exists (select from customers where ${isSameCustomer})
    order by staged.customer_name, staged.customer_tax_id, staged.country, staged.file_line
    on conflict do nothing`)
  return rowCount ?? 0
}

/**
 * Creates `imported_quotes`. Needs `staged_quotes` and `imported_totals`. `id` is the quote to
 * update. It is null for a new quote until insertQuotes() sets it, so `is_new` keeps the
 * difference. A quote that is older than the current version of its number gets the status
 * `superseded`. A trigger would set it too, but then every import would write these rows again.
 */
export async function createImportedQuotesTable(
  client: ClientBase,
  baseCurrency: string,
): Promise<void> {
  await createCurrentVersionsTable(client)
  await client.query(
    `create temporary table imported_quotes on commit drop as
    select existing.id, existing.id is null as is_new, staged_quotes.first_file_line,
      staged_quotes.number, staged_quotes.version,
      case when staged_quotes.version < current_versions.version then 'superseded'
        else staged.status end as status,
      customers.id as customer_id, staged.customer_name, staged.customer_tax_id,
      staged.customer_address, staged.customer_contact, staged.country, staged.currency,
      case when staged.currency = $1 then 1 else staged.rate::numeric end as rate,
      staged.issued_on::date as issued_on, staged.valid_until::date as valid_until,
      staged.decided_on::date as decided_on, staged.incoterm, staged.incoterm_place,
      staged.delivery, staged.payment_terms, staged.language, staged.tax_label,
      staged.default_tax_reason, staged.notes, staged.internal_notes,
      ${nullIfZero('global_discount_percent')} as global_discount_percent,
      ${nullIfZero('global_discount_amount')} as global_discount_amount,
      ${nullIfZero('withholding_percent')} as withholding_percent,
      totals.net, totals.tax, totals.net + totals.tax as gross
    from staged_quotes
    join staged on staged.file_line = staged_quotes.first_file_line
    join imported_totals totals on totals.first_file_line = staged_quotes.first_file_line
    left join current_versions on current_versions.number = staged_quotes.number
    left join quotes existing
      on existing.number = staged_quotes.number and existing.version = staged_quotes.version
    left join customers on ${isSameCustomer}`,
    [baseCurrency],
  )
  await client.query('analyze imported_quotes (id, first_file_line, number, version, status)')
}

/**
 * Creates `current_versions`: the newest version of each number that was sent, if there are older
 * ones to supersede. The statuses in the file replace those in the database.
 */
async function createCurrentVersionsTable(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table current_versions on commit drop as
    select number, max(version) as version
    from (
      select staged_quotes.number, staged_quotes.version, staged.status
      from staged_quotes
      join staged on staged.file_line = staged_quotes.first_file_line
      union all
      select existing.number, existing.version, existing.status
      from quotes existing
      where existing.number in (select number from staged_quotes) and not exists (
        select from staged_quotes
        where staged_quotes.number = existing.number and staged_quotes.version = existing.version
      )
    ) known
    where is_current_status(status)
    group by number having max(version) > 1`)
  await client.query('analyze current_versions')
}
