// Checks the country code of GET /api/stats and suggests the code for a common mistake.
import { isCountryCode } from '../company/countries.ts'
import { invalidParameter } from '../http/problem-details.ts'
import type { StatsQuery } from './schema.ts'

/**
 * Codes of tax authorities, of languages and of former countries, and the ISO code of the same
 * country. Any two letters are close to many codes, so no other code is suggested.
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

/** Throws 400 if the code is unknown: the statistics of a misspelt code would be zeros. */
export function checkCodes({ country }: Pick<StatsQuery, 'country'>): void {
  if (country === undefined || country === 'unknown' || isCountryCode(country)) return
  throw invalidParameter('country', describeUnknownCountry(country))
}

function describeUnknownCountry(code: string): string {
  return `${code} is not an ISO 3166-1 country code.${suggest(countryMistakes.get(code))}`
}

function suggest(code: string | undefined): string {
  return code === undefined ? '' : ` Did you mean ${code}?`
}
