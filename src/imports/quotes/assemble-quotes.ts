// Assembles the quotes of the file: converts their fields, adds totals and customer, decides which
// are superseded, and finds the existing quote that each of them updates.
import type { ClientBase } from 'pg'
import { isSameCustomer } from './match-customers.ts'

/**
 * Creates the temporary table `imported_quotes` from `staged_quotes` and `imported_totals`. `id` is
 * the quote that is updated, or null for a new one. A quote that is older than the current version
 * of its number gets the status `superseded`. A trigger would set it too, but then every import
 * would write these rows again.
 */
export async function assembleQuotes(client: ClientBase, baseCurrency: string): Promise<void> {
  await createCurrentVersionsTable(client)
  await client.query(
    `create temporary table imported_quotes on commit drop as
    select e.id, e.id is null as is_new, q.line, q.number, q.version,
      case when q.version < current.version then 'superseded' else s.status end as status,
      c.id as customer_id, s.customer_name, s.customer_tax_id, s.customer_address,
      s.customer_contact, s.country, s.currency,
      case when s.currency = $1 then 1 else s.rate::numeric end as rate,
      s.issued_on::date as issued_on, s.valid_until::date as valid_until,
      s.decided_on::date as decided_on, s.incoterm, s.incoterm_place, s.delivery, s.payment_terms,
      s.language, s.tax_label, s.notes, s.internal_notes, t.net, t.tax, t.net + t.tax as gross
    from staged_quotes q
    join staged s on s.line = q.line
    join imported_totals t on t.quote_line = q.line
    left join current_versions current on current.number = q.number
    left join quotes e on e.number = q.number and e.version = q.version
    left join customers c on ${isSameCustomer}`,
    [baseCurrency],
  )
  await client.query('analyze imported_quotes (id, line, number, version)')
}

/**
 * Creates the temporary table `current_versions`: the newest version of each number that was sent,
 * if there are older ones to supersede. The statuses in the file replace those in the database.
 */
async function createCurrentVersionsTable(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table current_versions on commit drop as
    select number, max(version) as version
    from (
      select q.number, q.version, s.status
      from staged_quotes q join staged s on s.line = q.line
      union all
      select e.number, e.version, e.status
      from quotes e
      where e.number in (select number from staged_quotes) and not exists (
        select from staged_quotes q where q.number = e.number and q.version = e.version
      )
    ) known
    where is_current_status(status)
    group by number having max(version) > 1`)
  await client.query('analyze current_versions')
}
