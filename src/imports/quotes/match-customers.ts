// Matches the customers of quotes with the table customers by name, tax id and country.
import type { ClientBase } from 'pg'

/**
 * SQL that joins a customer `c` with a staged row `s`. coalesce() instead of `is not distinct from`
 * allows a hash join; neither column ever holds the empty text.
 */
export const isSameCustomer = `c.name = s.customer_name
  and coalesce(c.tax_id, '') = coalesce(s.customer_tax_id, '')
  and coalesce(c.country, '') = coalesce(s.country, '')`

/** Creates the missing customers and returns their number. Existing customers stay unchanged. */
export async function createMissingCustomers(client: ClientBase): Promise<number> {
  const { rowCount } = await client.query(`
    insert into customers (name, tax_id, address, contact_name, country)
    select distinct on (s.customer_name, s.customer_tax_id, s.country)
      s.customer_name, s.customer_tax_id, s.customer_address, s.customer_contact, s.country
    from staged_quotes q
    join staged s on s.line = q.line
    where s.customer_name is not null
      and not exists (select from customers c where ${isSameCustomer})
    order by s.customer_name, s.customer_tax_id, s.country, s.line
    on conflict do nothing`)
  return rowCount ?? 0
}
