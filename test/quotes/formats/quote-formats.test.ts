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
  const spaces = (text: string) => text.replaceAll('\u00a0', ' ')
  for (const [locale, amount, currency, expected] of [
    ['es', '1234.50', 'EUR', '1.234,50 €'],
    ['en', '1234.50', 'EUR', '€1,234.50'],
    ['es', '0.0835', 'EUR', '0,0835 €'],
    ['es', '999999999999999999999999.99', 'EUR', '999.999.999.999.999.999.999.999,99 €'],
    ['es', '-96.02', 'EUR', '-96,02 €'],
    ['en', '-1234.50', 'GBP', '-£1,234.50'],
    ['es-CL', '-1234.50', 'EUR', '-EUR 1.234,50'],
    ['es', '581308', 'JPY', '581.308 JPY'],
    ['en', '1925.280', 'KWD', 'KWD 1,925.280'],
    // The dollar is unambiguous.
    ['en', '58520.20', 'USD', 'US$58,520.20'],
    ['es', '-1.50', 'no code', '-1,50 no code'],
  ] as const)
    t.equal(spaces(formatMoney({ amount, currency }, locale)), expected)
  t.equal(spaces(formatPercent('5.2', 'es')), '5,2 %')
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
  for (const [date, locale, expected] of [
    ['2026-03-01', 'es', '1 de marzo de 2026'],
    ['2026-03-01', 'en', '1 March 2026'],
    ['2027-02-01', 'fr', '1er février 2027'],
    ['2027-02-11', 'fr', '11 février 2027'],
    ['2027-02-01', 'it', '1º febbraio 2027'],
    ['2027-02-01', 'de', '1. Februar 2027'],
  ] as const)
    t.equal(formatDate(date, locale), expected)
  for (const [instant, locale, zone, expected] of [
    ['2026-12-31T23:30:00-01:00', 'en', 'UTC', '1 January 2027, 00:30 UTC'],
    ['2027-01-01T01:30:00Z', 'es', 'America/Mexico_City', '31 de diciembre de 2026, 19:30 GMT-6'],
  ] as const)
    t.equal(formatInstant(instant, locale, zone), expected)
  for (const [code, locale, expected] of [
    ['DE', 'es', 'Alemania'],
    ['DE', 'en', 'Germany'],
    ['Freedonia', 'es', 'Freedonia'],
  ] as const)
    t.equal(formatCountry(code, locale), expected)
  for (const [code, quantity, locale, expected] of [
    ['C62', '1', 'es', 'ud.'],
    ['C62', '24', 'es', 'uds.'],
    ['C62', '24', 'en', 'pcs'],
    ['KGM', '2', 'en', 'kg'],
    ['XBO', '0.5', 'fr', 'bouteille'],
    ['XBO', '1.5', 'fr', 'bouteille'],
    ['XBO', '-1', 'fr', 'bouteille'],
    ['XBO', '2', 'fr', 'bouteilles'],
    ['XBO', '0.5', 'es', 'botellas'],
    // Unknown codes are unchanged.
    ['Q3', '2', 'en', 'Q3'],
    ['constructor', '2', 'en', 'constructor'],
    ['__proto__', '2', 'en', '__proto__'],
  ] as const)
    t.equal(formatUnit(code, quantity, locale), expected, `${quantity} ${code}`)
  for (const [iban, text, isValid] of [
    ['es9121000418450200051332', 'ES91 2100 0418 4502 0005 1332', true],
    ['ES9121000418450200051333', 'ES9121000418450200051333', false],
  ] as const)
    t.match(formatIban(iban), { text, isValid })
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
