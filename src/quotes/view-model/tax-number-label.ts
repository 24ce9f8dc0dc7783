// What the tax number of a party is called: in the party's country, not in the language of the
// page.
import { textsByLanguage } from '../../texts/languages.ts'
import { getLanguage, type Locale } from '../formats.ts'

/** Names that are the same in each language. */
const ownNames: Record<string, string> = {
  AR: 'CUIT',
  AT: 'UID',
  BO: 'NIT',
  BR: 'CNPJ',
  CH: 'UID',
  CL: 'RUT',
  CO: 'NIT',
  CU: 'NIT',
  DE: 'USt-IdNr.',
  DO: 'RNC',
  EC: 'RUC',
  ES: 'NIF',
  FR: 'N° TVA',
  GT: 'NIT',
  HN: 'RTN',
  IT: 'Partita IVA',
  MX: 'RFC',
  NI: 'RUC',
  PA: 'RUC',
  PE: 'RUC',
  PT: 'NIF',
  PY: 'RUC',
  SV: 'NIT',
  US: 'EIN',
  UY: 'RUT',
  VE: 'RIF',
}

/** Countries whose tax numbers on quotes are VAT numbers: the EU, and those around it. */
const withVatNumbers = new Set(
  'BE BG CY CZ DK EE FI GB GR HR HU IE LT LU LV MT NL NO PL RO SE SI SK XI'.split(' '),
)

/** `country` is null if nobody knows it. Then the label is the usual one of the language. */
export function getTaxNumberLabel(country: string | null | undefined, locale: Locale): string {
  const texts = textsByLanguage[getLanguage(locale)].quotes
  if (country == null) return texts.taxId
  return ownNames[country] ?? (withVatNumbers.has(country) ? texts.vatNumber : texts.taxNumber)
}
