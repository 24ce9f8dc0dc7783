// Assembles the quotes of the file: converts their fields, adds totals and customer, decides which
// are superseded, and finds the existing quote that each of them updates.
import type { ClientBase } from 'pg'
import { isSameCustomer } from './match-customers.ts'

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
      staged.delivery, staged.payment_terms, staged.language, staged.tax_label, staged.notes,
      staged.internal_notes, totals.net, totals.tax, totals.net + totals.tax as gross
    from staged_quotes
    join staged on staged.file_line = staged_quotes.first_file_line
    join imported_totals totals on totals.first_file_line = staged_quotes.first_file_line
    left join current_versions on current_versions.number = staged_quotes.number
    left join quotes existing
      on existing.number = staged_quotes.number and existing.version = staged_quotes.version
    left join customers on ${isSameCustomer}`,
    [baseCurrency],
  )
  await client.query('analyze imported_quotes (id, first_file_line, number, version)')
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
