// The codes that the database knows, and the base currency: what cells are checked against.
import type { ClientBase } from 'pg'

export type Codes = { currencies: Set<string>; countries: Set<string>; baseCurrency: string }

/** Throws when the company, and with it the base currency, is not recorded yet. */
export async function readCodes(client: ClientBase): Promise<Codes> {
  const { rows } = await client.query<{
    base_currency: string
    currencies: string[]
    countries: string[]
  }>(`
    select base_currency, array(select code from currencies) as currencies, array(select code from countries) as countries from company`)
  const [recorded] = rows
  if (!recorded)
    throw new Error(
      'The company is not recorded in the database yet: run `make migrate` (scripts/migrate.ts) first.',
    )
  return {
    currencies: new Set(recorded.currencies),
    countries: new Set(recorded.countries),
    baseCurrency: recorded.base_currency,
  }
}
