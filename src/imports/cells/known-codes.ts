// Reads the currency and country codes that cells are checked against, and the base currency.
import type { ClientBase } from 'pg'
import { createNotRecordedError } from '../../company/company-record.ts'

export type KnownCodes = {
  currencies: Set<string>
  countries: Set<string>
  baseCurrency: string
}

/** Throws if no company is recorded yet, and therefore no base currency. */
export async function readKnownCodes(client: ClientBase): Promise<KnownCodes> {
  const { rows } = await client.query<{
    base_currency: string
    currencies: string[]
    countries: string[]
  }>(`
    select base_currency, array(select code from currencies) as currencies,
      array(select code from countries) as countries
    from company`)
  const [company] = rows
  if (!company) throw createNotRecordedError()
  return {
    currencies: new Set(company.currencies),
    countries: new Set(company.countries),
    baseCurrency: company.base_currency,
  }
}
