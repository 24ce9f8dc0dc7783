// The formats of a quote by language: amounts, percentages, dates, countries, units and IBANs.

import fc from 'fast-check'
import t from 'tap'
import {
  chooseLocale,
  formatCountry,
  formatDate,
  formatDecimal,
  formatInstant,
  formatMoney,
  formatPercent,
  formatUnit,
  getLanguage,
  parseLocale,
} from '../../../src/quotes/formats.ts'
import { formatIban, getTaxNumberLabel } from '../../../src/quotes/view-model/quote-view-model.ts'
import { textsByLanguage } from '../../../src/texts/languages.ts'
import { eur } from '../../support/quotes/linked-quote.ts'

t.test('amounts and percentages have the format of the language', async (t) => {
  const useSpaces = (text: string) => text.replaceAll('\u00a0', ' ')
  const es = (amount: string, currency = 'EUR') =>
    useSpaces(formatMoney({ amount, currency }, 'es'))
  const en = (amount: string, currency = 'EUR') =>
    useSpaces(formatMoney({ amount, currency }, 'en'))
  t.equal(es('1234.50'), '1.234,50 €', 'four digits are grouped too')
  t.equal(en('1234.50'), '€1,234.50')
  t.equal(es('0.0835'), '0,0835 €', 'a unit price keeps its decimals')
  t.equal(
    es('999999999999999999999999.99'),
    '999.999.999.999.999.999.999.999,99 €',
    'more digits than a float holds',
  )
  t.equal(es('-96.02'), '-96,02 €')
  t.equal(en('-1234.50', 'GBP'), '-£1,234.50')
  t.equal(es('581308', 'JPY'), '581.308 JPY')
  t.equal(en('1925.280', 'KWD'), 'KWD 1,925.280')
  t.equal(en('58520.20', 'USD'), 'US$58,520.20', 'the dollar is unambiguous')
  t.equal(useSpaces(formatPercent('5.2', 'es')), '5,2 %')
  t.equal(formatPercent('5.2', 'en'), '5.2%')
})

t.test('no digit of any amount is lost or moved', async (t) => {
  const amount = fc
    .tuple(fc.stringMatching(/^(0|[1-9][0-9]{0,40})$/), fc.stringMatching(/^(\.[0-9]{1,6})?$/))
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(amount, (amount) => {
      const es = formatMoney(eur(amount), 'es')
        .replaceAll('.', '')
        .replace(',', '.')
        .replace('\u00a0€', '')
      const en = formatMoney(eur(amount), 'en').replaceAll(',', '').replace('€', '')
      return es === amount && en === amount
    }),
  )
  t.pass()
})

t.test('dates, countries and units are in the language, and IBANs are checked', async (t) => {
  t.equal(formatDate('2026-03-01', 'es'), '1 de marzo de 2026', 'the same day in every time zone')
  t.equal(formatDate('2026-03-01', 'en'), '1 March 2026')
  t.equal(formatDate('2027-02-01', 'fr'), '1er février 2027')
  t.equal(formatDate('2027-02-11', 'fr'), '11 février 2027')
  t.equal(formatDate('2027-02-01', 'it'), '1º febbraio 2027')
  t.equal(formatDate('2027-02-01', 'de'), '1. Februar 2027')
  t.equal(formatCountry('DE', 'es'), 'Alemania')
  t.equal(formatCountry('DE', 'en'), 'Germany')
  t.equal(formatCountry('Freedonia', 'es'), 'Freedonia', 'other text is unchanged')
  t.equal(formatUnit('C62', '1', 'es'), 'ud.')
  t.equal(formatUnit('C62', '24', 'es'), 'uds.')
  t.equal(formatUnit('C62', '24', 'en'), 'pcs')
  t.equal(formatUnit('KGM', '2', 'en'), 'kg')
  for (const code of ['Q3', 'constructor', '__proto__'])
    t.equal(formatUnit(code, '2', 'en'), code, 'an unknown code is unchanged')
  t.equal(formatInstant('2026-12-31T23:30:00-01:00', 'en', 'UTC'), '1 January 2027, 00:30 UTC')
  t.equal(
    formatInstant('2027-01-01T01:30:00Z', 'es', 'America/Mexico_City'),
    '31 de diciembre de 2026, 19:30 GMT-6',
  )
  for (const [quantity, unit] of [
    ['0.5', 'bouteille'],
    ['1.5', 'bouteille'],
    ['-1', 'bouteille'],
    ['2', 'bouteilles'],
  ] as const)
    t.equal(formatUnit('XBO', quantity, 'fr'), unit, quantity)
  t.equal(formatUnit('XBO', '0.5', 'es'), 'botellas')
  t.match(formatIban('es9121000418450200051332'), {
    text: 'ES91 2100 0418 4502 0005 1332',
    isValid: true,
  })
  t.match(
    formatIban('ES9121000418450200051333'),
    { text: 'ES9121000418450200051333', isValid: false },
    'one wrong digit is found',
  )
})

t.test('no French line begins with a colon', (t) => {
  t.notMatch(JSON.stringify(textsByLanguage.fr.quotes), / [:;?!»]/)
  t.end()
})

t.test('a region changes how numbers are written, and nothing else', (t) => {
  for (const [lang, locale, number, amount, percent] of [
    ['es', 'es', '1.234,5', '1.234,50 MXN', '21 %'],
    ['es-MX', 'es-MX', '1,234.5', '$1,234.50', '21%'],
    ['ES-pe', 'es-PE', '1,234.5', 'MXN 1,234.50', '21%'],
    ['es-XX', 'es', '1.234,5', '1.234,50 MXN', '21 %'],
    ['de-CH', 'de-CH', '1’234.5', 'MX$ 1’234.50', '21%'],
    ['en-US', 'en-US', '1,234.5', 'MX$1,234.50', '21%'],
  ] as const) {
    t.equal(parseLocale(lang), locale)
    const read = (text: string) => text.replaceAll(/\s/g, ' ').replaceAll("'", '’')
    t.equal(read(formatDecimal('1234.5', locale)), number, lang)
    t.equal(read(formatMoney({ amount: '1234.50', currency: 'MXN' }, locale)), amount, lang)
    t.equal(read(formatPercent('21', locale)), percent, lang)
    t.equal(formatDate('2026-03-01', locale), formatDate('2026-03-01', getLanguage(locale)))
  }
  for (const lang of ['', 'x', 'xx-MX', 'es_MX', 'es-MX-x', 'es-', '-MX'])
    t.equal(parseLocale(lang), null)
  const seller = { country: 'MX' }
  t.equal(chooseLocale(null, { language: 'es', seller }), 'es-MX', 'a Mexican seller')
  t.equal(chooseLocale('es', { language: 'en', seller }), 'es-MX')
  t.equal(chooseLocale('es-ES', { language: 'es', seller }), 'es-ES')
  t.equal(chooseLocale(null, { language: 'en', seller }), 'en')
  t.equal(chooseLocale(null, { language: 'es', seller: {} }), 'es', 'an older document')
  t.end()
})

t.test('tax numbers are named as in the country of their owner', (t) => {
  for (const [country, locale, label] of [
    ['MX', 'it', 'RFC'],
    ['ES', 'en', 'NIF'],
    ['PL', 'es', 'N.º IVA'],
    ['JP', 'de', 'Steuernummer'],
    [null, 'es-MX', 'NIF'],
    [undefined, 'it', 'Partita IVA'],
  ] as const)
    t.equal(getTaxNumberLabel(country, locale), label, `${country} ${locale}`)
  t.end()
})
