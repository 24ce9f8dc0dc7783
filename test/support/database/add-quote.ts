// Adds quotes to the database for tests of links, and lets links expire.
import { type Insertable, sql } from 'kysely'
import type { Database } from '../../../src/database/postgres-pool.ts'
import type { Tables } from '../../../src/database/table-types.ts'

/** Adds a quote with two lines. Its internal notes must never be sent. */
export async function addQuote(
  db: Database,
  number: string,
  values: Partial<Insertable<Tables['quotes']>> = {},
): Promise<void> {
  const { id } = await db
    .insertInto('quotes')
    .values({
      number,
      status: 'sent',
      customer_name: 'Cliente <b>Ejemplo</b> & Cía.',
      currency: 'EUR',
      rate: '1',
      issued_on: '2026-11-01',
      valid_until: '2026-11-30',
      language: 'es',
      notes: 'Gracias por su interés.',
      internal_notes: 'margen secreto 23 %',
      net: '1245.60',
      tax: '261.58',
      gross: '1507.18',
      ...values,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await db
    .insertInto('quote_lines')
    .values([
      {
        quote_id: id,
        position: 1,
        sku: 'AB-1',
        description: 'Martillo',
        quantity: '100',
        unit: 'C62',
        unit_price: '12.5',
        discount_percent: '5',
        tax_rate: '21',
        net: '1187.50',
      },
      {
        quote_id: id,
        position: 2,
        description: 'Porte',
        quantity: '1',
        unit_price: '58.1',
        tax_rate: '21',
        net: '58.10',
      },
    ])
    .execute()
}

/** Lets each link with an expiry expire a day ago, by the clock of the database. */
export async function expireLinks(db: Database): Promise<void> {
  await sql`alter table quote_shares disable trigger guard`.execute(db)
  await sql`
    update quote_shares set created_at = now() - interval '2 days',
      expires_at = now() - interval '1 day'
    where expires_at is not null
  `.execute(db)
  await sql`alter table quote_shares enable trigger guard`.execute(db)
}
