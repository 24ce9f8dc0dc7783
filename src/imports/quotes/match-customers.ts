// Matches the customers of quotes with the table customers by name, tax id and country.
import type { ClientBase } from 'pg'

/**
 * SQL that joins `customers` with `staged`. coalesce() instead of `is not distinct from` allows a
 * hash join; neither column ever holds the empty text.
 */
export const isSameCustomer = `customers.name = staged.customer_name
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
