// Creates quotes with links for measurements: generated ones, and a large invoice of the demo data.
import { sql } from 'kysely'
import type { Database } from '../../../src/database/postgres-pool.ts'
import { createQuoteLink } from '../../../src/quotes/links/manage-links.ts'
import { readInvoiceLines } from '../../demo/online-retail.ts'

type Line = {
  sku: string | null
  description: string
  quantity: string
  unit_price: string
  tax_rate: string | null
  discount_percent: string
}

/** Generates lines with two VAT rates, some with a discount. */
export function generateLines(count: number): Line[] {
  return Array.from({ length: count }, (_, n) => ({
    sku: `AB-${n}`,
    description: `Martillo de bola de ${n + 1}00 g con mango de fresno`,
    quantity: String(n + 1),
    unit_price: `${n + 7}.25`,
    tax_rate: n % 3 === 0 ? '10' : '21',
    discount_percent: n % 4 === 0 ? '5' : '0',
  }))
}

/** Reads the lines of an invoice of the demo data. */
export async function readInvoice(invoice: string): Promise<Line[]> {
  const lines = (await readInvoiceLines()).filter((line) => line.invoice === invoice)
  return lines.map(({ sku, description, quantity, price }) => ({
    sku,
    description: description || '—',
    quantity,
    unit_price: price,
    tax_rate: null,
    discount_percent: '0',
  }))
}

/** Inserts a sent quote with these lines. Returns the token of a link to it. */
export async function insertLinkedQuote(
  db: Database,
  number: string,
  lines: Line[],
): Promise<string> {
  const { id } = await db
    .insertInto('quotes')
    .values({
      number,
      status: 'sent',
      customer_name: 'Talleres del Ejemplo, S.L.',
      currency: 'EUR',
      rate: '1',
      issued_on: '2026-11-01',
      notes: 'Gracias.',
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await sql`
    insert into quote_lines (quote_id, position, sku, description, quantity, unit_price,
      tax_rate, discount_percent, net)
    select ${id}, position, sku, description, quantity, unit_price, tax_rate, discount_percent,
      line_net(quantity, unit_price, discount_percent, 2)
    from rows from (json_to_recordset(${JSON.stringify(lines)}::json)
        as (sku text, description text, quantity numeric, unit_price numeric,
          tax_rate numeric, discount_percent numeric)) with ordinality
      as lines (sku, description, quantity, unit_price, tax_rate, discount_percent, position)
  `.execute(db)
  await sql`
    update quotes set (net, tax, gross) = (select net, tax, gross from quote_totals(${id}))
    where id = ${id}
  `.execute(db)
  return createQuoteLink(db, { number })
}
