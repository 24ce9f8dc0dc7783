// From good staged rows to typed quotes and lines with their totals, in the temporary tables new_quotes and new_lines.
import type { ClientBase } from 'pg'

/** The columns of quotes that an import sets, apart from number and version. */
export const quoteValues = [
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
  'notes',
  'internal_notes',
  'net',
  'tax',
  'gross',
] as const

/** The columns of quote_lines, apart from quote_id and position. */
export const lineValues = [
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
] as const

/** Types the lines and gives each quote's unnumbered ones their positions, in the order of the file. `quote_line` is the line on which the quote begins. */
export async function loadLines(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table new_lines on commit drop as
    select q.line as quote_line, coalesce(s.line_position, unnumbered.position)::integer as position, s.sku, s.description, value.*, s.unit, s.hs_code,
      s.origin_country, c.digits, line_net(value.quantity, value.unit_price, value.discount_percent, c.digits) as net
    from staged s
    join staged_quotes q on q.number = s.number and q.version = s.quote_version
    join currencies c on c.code = s.currency
    cross join lateral (select s.quantity::numeric as quantity, s.unit_price::numeric as unit_price,
      coalesce(s.discount_percent::numeric, 0) as discount_percent, s.tax_rate::numeric as tax_rate, s.surcharge_rate::numeric as surcharge_rate) value
    left join (
      select s.line, row_number() over (partition by q.line order by s.line) as position
      from staged_quotes q join staged s on s.number = q.number and s.quote_version = q.version
      where q.numbered_count = 0
    ) unnumbered on unnumbered.line = s.line`)
  await client.query('analyze new_lines (quote_line, position)')
}

/** Creates the customers that are missing; those that exist stay as they are. Returns how many are new. */
export async function createCustomers(client: ClientBase): Promise<number> {
  const { rowCount } = await client.query(`
    insert into customers (name, tax_id, address, contact_name, country)
    select distinct on (s.customer_name, s.customer_tax_id, s.country)
      s.customer_name, s.customer_tax_id, s.customer_address, s.customer_contact, s.country
    from staged_quotes q
    join staged s on s.line = q.line
    where s.customer_name is not null and not exists (select from customers c where ${sameCustomer})
    order by s.customer_name, s.customer_tax_id, s.country, s.line
    on conflict do nothing`)
  return rowCount ?? 0
}

// Written so that it can be hashed: neither column is ever the empty text.
const sameCustomer = `c.name = s.customer_name and coalesce(c.tax_id, '') = coalesce(s.customer_tax_id, '')
  and coalesce(c.country, '') = coalesce(s.country, '')`

/**
 * Types the quotes, with their totals as quote_totals() gives them, their customer, and the id of the quote that they update, if there is one. A quote is
 * superseded when there is a newer version, in the file or in the database.
 */
export async function loadQuotes(client: ClientBase, baseCurrency: string): Promise<void> {
  // A table of its own, analyzed: the planner cannot know how many groups there will be, and guesses badly.
  await client.query(`
    create temporary table new_totals on commit drop as
    select quote_line, sum(base) as net,
      sum(round(base * coalesce(tax_rate, 0) / 100, digits) + round(base * coalesce(surcharge_rate, 0) / 100, digits)) as tax
    from (select quote_line, tax_rate, surcharge_rate, digits, sum(net) as base from new_lines group by quote_line, tax_rate, surcharge_rate, digits) taxes
    group by quote_line`)
  await client.query('analyze new_totals')
  await client.query(
    `create temporary table new_quotes on commit drop as
    select e.id, e.id is null as is_new, q.line, q.number, q.version,
      case when q.version < q.newest_version or exists (select from quotes newer where newer.number = q.number and newer.version > q.version)
        then 'superseded' else s.status end as status,
      c.id as customer_id, s.customer_name, s.customer_tax_id, s.customer_address, s.customer_contact, s.country,
      s.currency, case when s.currency = $1 then 1 else s.rate::numeric end as rate,
      s.issued_on::date as issued_on, s.valid_until::date as valid_until, s.decided_on::date as decided_on, s.incoterm, s.incoterm_place,
      s.delivery, s.payment_terms, s.language, s.notes, s.internal_notes, t.net, t.tax, t.net + t.tax as gross
    from (select *, max(version) over (partition by number) as newest_version from staged_quotes) q
    join staged s on s.line = q.line
    join new_totals t on t.quote_line = q.line
    left join quotes e on e.number = q.number and e.version = q.version
    left join customers c on ${sameCustomer}`,
    [baseCurrency],
  )
  await client.query('analyze new_quotes (id, line, number, version)')
}
