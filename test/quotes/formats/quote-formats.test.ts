// The formats of a quote by language: amounts, percentages, dates, countries, units and IBANs.
import fc from 'fast-check'
import t from 'tap'
import {
  formatCountry,
  formatDate,
  formatInstant,
  formatMoney,
  formatPercent,
  formatUnit,
} from '../../../src/quotes/formats.ts'
import { quoteTexts } from '../../../src/quotes/quote-texts/quote-texts.ts'
import { formatIban } from '../../../src/quotes/view-model/quote-view-model.ts'
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
  t.equal(formatInstant('2026-12-31T23:30:00-01:00', 'en'), '1 January 2027, 00:30 UTC')
  t.same(formatIban('es9121000418450200051332'), {
    text: 'ES91 2100 0418 4502 0005 1332',
    isValid: true,
  })
  t.same(
    formatIban('ES9121000418450200051333'),
    { text: 'ES9121000418450200051333', isValid: false },
    'one wrong digit is found',
  )
})

t.test('no French line begins with a colon', (t) => {
  t.notMatch(JSON.stringify(quoteTexts.fr), / [:;?!»]/)
  t.end()
})
