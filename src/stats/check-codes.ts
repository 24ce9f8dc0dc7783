// Checks the country and currency codes of GET /api/stats and suggests the code for a common
// mistake.
import { isCountryCode } from '../company/countries.ts'
import { getCurrencyDigits } from '../company/currencies.ts'
import { createInvalidParameterProblem } from '../http/problem-details.ts'
import type { StatsQuery } from './schema.ts'

/**
 * Frequent mistakes and the codes that were meant. Most are codes of tax authorities, of languages
 * or of former countries. We do not guess by spelling, because two-letter codes are all similar.
 */
const countryMistakes = new Map([
  ['UK', 'GB'],
  ['EL', 'GR'],
  ['SP', 'ES'],
  ['CS', 'CZ'],
  ['DA', 'DK'],
  ['JA', 'JP'],
  ['KO', 'KR'],
  ['ZH', 'CN'],
  ['BU', 'MM'],
  ['DD', 'DE'],
  ['SU', 'RU'],
  ['TP', 'TL'],
  ['YU', 'RS'],
  ['ZR', 'CD'],
])

const euroPredecessors =
  'ATS BEF CYP DEM EEK ESP FIM FRF GRD HRK IEP ITL LTL LUF LVL MTL NLG PTE SIT SKK'.split(' ')

/** Abbreviations in daily use and currencies that were replaced, and the ISO code of today. */
const currencyMistakes = new Map([
  ...euroPredecessors.map((code): [string, string] => [code, 'EUR']),
  ['CNH', 'CNY'],
  ['GBX', 'GBP'],
  ['NTD', 'TWD'],
  ['PLZ', 'PLN'],
  ['RMB', 'CNY'],
  ['ROL', 'RON'],
  ['RUR', 'RUB'],
  ['STG', 'GBP'],
  ['TRL', 'TRY'],
  ['UKP', 'GBP'],
])

/** Throws 400 if a code is unknown: the statistics of a misspelt code would be zeros. */
export function checkCodes({ country, currency }: Pick<StatsQuery, 'country' | 'currency'>): void {
  if (country !== undefined && country !== 'unknown' && !isCountryCode(country))
    throw createInvalidParameterProblem(
      'country',
      `${country} is not an ISO 3166-1 country code.${suggest(countryMistakes.get(country))}`,
    )
  if (currency !== undefined && getCurrencyDigits(currency) === undefined)
    throw createInvalidParameterProblem(
      'currency',
      `${currency} is not an ISO 4217 currency.${suggest(currencyMistakes.get(currency))}`,
    )
}

function suggest(code: string | undefined): string {
  return code === undefined ? '' : ` Did you mean ${code}?`
}
