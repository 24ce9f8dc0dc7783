// Adds problems for products that need a column that the file does not have: a new product needs a
// name, a price needs a currency, and a currency needs a price.
import type { ClientBase } from 'pg'

/** Adds a problem for each staged row whose product would be incomplete. */
export async function addIncompleteProductProblems(
  client: ClientBase,
  columns: string[],
): Promise<void> {
  if (!columns.includes('name')) await addMissingNameProblems(client)
  if (columns.includes('price') !== columns.includes('currency'))
    await addIncompletePriceProblems(client, columns.includes('price') ? 'price' : 'currency')
}

async function addMissingNameProblems(client: ClientBase): Promise<void> {
  await client.query(`
    insert into problems (file_line, problem)
    select file_line, 'sku: there is no such product yet, and a new one needs the column name'
    from staged
    where not is_malformed and sku is not null
      and not exists (select from products where products.sku = staged.sku)`)
}

/** A product has both a price and a currency, or neither. */
async function addIncompletePriceProblems(
  client: ClientBase,
  given: 'price' | 'currency',
): Promise<void> {
  const other = given === 'price' ? 'currency' : 'price'
  await client.query(`
    insert into problems (file_line, problem)
    select file_line, case
      when staged.${given} is null then '${given}: is empty, but the product has a ${other}: '
        'empty both, in a file with the column ${other}'
      else '${given}: the product has no ${other}: add the column ${other}' end
    from staged left join products using (sku)
    where not is_malformed and sku is not null
      and (staged.${given} is null) <> (products.${other} is null)`)
}
