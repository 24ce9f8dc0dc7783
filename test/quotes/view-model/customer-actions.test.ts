// What a customer does with a quote: replies by email, sees what it replaces, pays by QR code, and
// reads it in six languages.
// Numbers such as S48 are those of the attacks in docs/security.md.
import t from 'tap'
import { createQuoteLink } from '../../../src/quotes/links/manage-links.ts'
import type { LinkedQuote } from '../../../src/quotes/schema.ts'
import { buildSepaTransfer } from '../../../src/quotes/view-model/sepa-qr-code.ts'
import { type Language, languages, textsByLanguage } from '../../../src/texts/languages.ts'
import { addQuote } from '../../support/database/add-quote.ts'
import {
  document,
  eur,
  getVisibleText,
  linkedQuote,
  withDocument,
} from '../../support/quotes/linked-quote.ts'
import { renderPdfPages } from '../../support/quotes/read-pdf.ts'
import { renderPage } from '../../support/quotes/render-page.ts'
import { waitLongForRenderings } from '../../support/quotes/rendering-processes.ts'
import { startServiceWithLink } from '../../support/service/service-with-link.ts'
import { testService } from '../../support/service/test-service.ts'

waitLongForRenderings(t)

const pdfLink = '?format=pdf'
const render = (quote: LinkedQuote, language = 'es' as const, options = {}) =>
  renderPage(quote, language, pdfLink, options)

/** Returns the text of the PDF with single spaces. */
async function extractPdfText(quote: LinkedQuote, language: Language): Promise<string> {
  return (await renderPdfPages(quote, language)).join(' ').replace(/\s+/g, ' ')
}

/** Returns the decoded mailto links of the actions by their labels. */
function readReplies(html: string): Record<string, string> {
  const nav = /<nav class="replies.*?<\/nav>/s.exec(html)?.[0] ?? ''
  return Object.fromEntries(
    [...nav.matchAll(/href="([^"]+)">([^<]+)</g)].map(([, href = '', label = '']) => [
      label,
      decodeURIComponent(href.replaceAll('&amp;', '&')),
    ]),
  )
}

t.test('a customer accepts, asks, or asks for an updated quote by email', async (t) => {
  t.same(readReplies(render(linkedQuote)), {
    Aceptar:
      'mailto:ventas@example.com?subject=Acepto el presupuesto P-2026-17' +
      '&body=Acepto el presupuesto P-2026-17, versión 3, por un total de 1.238.473,63 €.',
    'Hacer una pregunta':
      'mailto:ventas@example.com?subject=Pregunta sobre el presupuesto P-2026-17',
  })
  t.same(Object.keys(readReplies(render({ ...linkedQuote, status: 'accepted' }))), [
    'Hacer una pregunta',
  ])
  for (const status of ['expired', 'rejected', 'withdrawn', 'superseded'] as const)
    t.same(Object.keys(readReplies(render({ ...linkedQuote, status }))), [
      'Pedir uno actualizado',
      'Hacer una pregunta',
    ])
  t.same(readReplies(render(linkedQuote, 'es', { offersReplies: false })), {})
  const invalid = withDocument({ seller: { ...document.seller, email: 'nobody' } })
  t.same(readReplies(render(invalid)), {}, 'no link without a valid address')
})

t.test('only a quote that can be accepted or is accepted shows where to pay', async (t) => {
  const { bank, selectToCopy, reference } = textsByLanguage.es.quotes
  const iban = 'ES91 2100 0418 4502 0005 1332'
  for (const [status, isPayable] of [
    ['sent', true],
    ['accepted', true],
    ['rejected', false],
    ['expired', false],
    ['withdrawn', false],
    ['superseded', false],
  ] as const) {
    const quote = { ...linkedQuote, status }
    const page = getVisibleText(render(quote))
    for (const text of [bank, selectToCopy, reference])
      t.equal(page.includes(text), isPayable, `${status}, page: ${text}`)
    t.equal(page.replace(/\s+/g, '').includes(iban.replaceAll(' ', '')), isPayable, status)
    const pdf = await extractPdfText(quote, 'es')
    for (const text of [bank, iban, reference])
      t.equal(pdf.includes(text), isPayable, `${status}, PDF: ${text}`)
    t.match(page, '30 % con el pedido', 'the terms of the quote are shown in every state')
  }
})

t.test('a quote number cannot add headers or receivers to a reply (S48)', async (t) => {
  const number = 'P-1\r\nBcc: evil@example.com&bcc=evil@example.com?cc=evil@example.com'
  for (const href of render(withDocument({ number })).match(/href="mailto:[^"]+"/g) ?? []) {
    t.notMatch(href, /%0d|%0a|[?&;](bcc|cc)=/i)
    t.match(href, /^href="mailto:ventas@example\.com\?subject=[^?&]+(&#?\w*;?body=[^?&]+)?"$/)
  }
})

t.test('QUOTE_REPLIES=false removes the links that reply', async (t) => {
  const { app, url } = await startServiceWithLink(t, { config: { QUOTE_REPLIES: false } })
  const { body } = await app.inject(url)
  t.same(readReplies(body), {})
})

t.test('the page of a later version says that it replaces earlier ones', async (t) => {
  t.match(getVisibleText(render(linkedQuote)), /Versión\s+3\s+Sustituye a las versiones anteriores/)
  t.notMatch(getVisibleText(render(withDocument({ version: 1 }))), 'Sustituye')
})

t.test('an accepted quote in euros has a QR code for the transfer', async (t) => {
  const accepted = { ...linkedQuote, status: 'accepted' } as const
  t.equal(
    buildSepaTransfer(accepted),
    [
      'BCD',
      '002',
      '1',
      'SCT',
      'CAIXESBBXXX',
      'Ferretería de Prueba, S.L.',
      'ES9121000418450200051332',
      'EUR1053288.50',
      '',
      '',
      'P-2026-17',
    ].join('\n'),
  )
  t.match(render(accepted), /<svg viewBox="-4 -4 \d+ \d+".*<path d="M0 0h1v1h-1z/s)
  const bank = { holder: 'Ferretería', iban: 'ES9121000418450200051332', bic: 'CAIXESBBXXX' }
  const withBank = (changes: { holder?: string; iban?: string; bic?: string | null }) => ({
    ...accepted,
    document: { ...document, seller: { ...document.seller, bank: { ...bank, ...changes } } },
  })
  const totals = (amount: string) => ({ ...document.totals, gross: eur(amount), withheld: null })
  const without: Record<string, LinkedQuote> = {
    'not accepted': linkedQuote,
    'another currency': { ...accepted, document: { ...document, currency: 'USD' } },
    'no bank': {
      ...accepted,
      document: { ...document, seller: { ...document.seller, bank: null } },
    },
    'wrong check digits': withBank({ iban: 'ES9121000418450200051333' }),
    'an account outside SEPA': withBank({ iban: 'BR1800360305000010009795493C1' }),
    'nothing to pay': { ...accepted, document: { ...document, totals: totals('0.00') } },
    'a credit': { ...accepted, document: { ...document, totals: totals('-5.00') } },
    'a number that is too long for a reference': {
      ...accepted,
      document: { ...document, number: 'P'.repeat(141) },
    },
    'more bytes than a code may have': {
      ...withBank({ holder: '锤'.repeat(70) }),
      document: {
        ...withBank({ holder: '锤'.repeat(70) }).document,
        number: '锤'.repeat(40),
      },
    },
    'outside the EEA without a BIC': withBank({ iban: 'CH9300762011623852957', bic: null }),
    'too much': { ...accepted, document: { ...document, totals: totals('1000000000.00') } },
  }
  const readName = (holder: string) => buildSepaTransfer(withBank({ holder }))?.split('\n')[5]
  t.equal(readName(`${'x'.repeat(69)} y`), 'x'.repeat(69), 'the first 70 characters')
  t.equal(readName(` A\n B\u202e `), 'A B', 'on one line')
  t.match(buildSepaTransfer(withBank({ bic: 'wrong' })), /^BCD\n002\n1\nSCT\n\nFerretería/)
  t.match(
    buildSepaTransfer(withBank({ iban: 'CH9300762011623852957', bic: 'UBSWCHZH80A' })),
    /UBSWCHZH80A/,
  )
  const longest = withBank({ holder: 'é'.repeat(70) })
  longest.document = { ...longest.document, number: 'P'.repeat(100) }
  const bytes = Buffer.byteLength(buildSepaTransfer(longest) ?? '')
  t.ok(bytes > 300 && bytes <= 331, `${bytes} bytes`)
  t.match(render(longest), '<svg')
  for (const [name, quote] of Object.entries(without)) {
    t.equal(buildSepaTransfer(quote), null, name)
    t.notMatch(render(quote), '<svg', name)
  }
})

t.test('legal texts are in the language of the page, and name their lines', async (t) => {
  const quote = withDocument({
    legal: ['Precios válidos.'],
    legalForLines: [{ text: 'Exportación exenta.', lines: [2, 4, 5, 6] }],
    legalTranslations: {
      en: { legal: ['Prices hold.'], legalForLines: [{ text: 'Exempt export.', lines: [2] }] },
    },
  })
  const read = (language: Language) => {
    const page = renderPage(quote, language, pdfLink)
    return {
      section: /<section class="legal"[^>]*>/.exec(page)?.[0],
      text: getVisibleText(/<section class="legal".*?<\/section>/s.exec(page)?.[0] ?? '')
        .replace(/\s+/g, ' ')
        .trim(),
    }
  }
  t.same(read('es'), {
    section: '<section class="legal">',
    text: 'Menciones legales Precios válidos. Líneas 2, 4–6: Exportación exenta.',
  })
  t.same(read('en'), {
    section: '<section class="legal">',
    text: 'Legal information Prices hold. Line 2: Exempt export.',
  })
  t.same(read('de'), {
    section: '<section class="legal" lang=es>',
    text: 'Rechtliche Hinweise Precios válidos. Líneas 2, 4–6: Exportación exenta.',
  })
  for (const language of ['es', 'en', 'de'] as const) {
    const legal = read(language).text.split(' ').slice(-5).join(' ')
    t.ok((await extractPdfText(quote, language)).includes(legal), `${language}: ${legal}`)
  }
})

t.test('legal texts in another language than the page say so, and none is missing', async (t) => {
  const quote = withDocument({
    language: 'fr',
    legal: ['Sauf erreur.'],
    legalInOtherLanguages: [
      { language: 'es', text: 'Exportación exenta.', lines: [2, 3] },
      { language: 'de', text: 'Nur für Gewerbe.' },
    ],
  })
  const read = (language: Language) =>
    /<section class="legal".*?<\/section>/s.exec(renderPage(quote, language, pdfLink))?.[0] ?? ''
  t.match(read('fr'), /<section class="legal">/)
  t.match(read('en'), /<section class="legal" lang=fr>/)
  for (const language of ['fr', 'en'] as const) {
    const page = read(language)
    t.match(page, /<p class="lines"><bdi>Sauf erreur/)
    t.match(page, /<p class="lines" lang=es><strong>Líneas 2, 3:|lang=es><strong>Líneas 2–3:/)
    t.match(page, /<p class="lines" lang=de><bdi>Nur für Gewerbe/)
    const pdf = await extractPdfText(quote, language)
    t.match(pdf, 'Exportación exenta.')
    t.match(pdf, 'Nur für Gewerbe.')
  }
})

t.test('the tax has its name in every language', async (t) => {
  const { totals } = document
  const igic = Object.fromEntries(languages.map((language) => [language, `IGIC ${language}`]))
  for (const [taxLabel, expected] of [
    [undefined, { es: 'IVA', en: 'VAT', fr: 'TVA' }],
    [
      { es: 'IVA', en: 'VAT' },
      { es: 'IVA', en: 'VAT', fr: 'TVA' },
    ],
    [
      { es: 'IGIC', en: 'IGIC' },
      { es: 'IGIC', en: 'IGIC', fr: 'IGIC' },
    ],
    [igic, { es: 'IGIC es', en: 'IGIC en', fr: 'IGIC fr' }],
  ] as const) {
    const { taxLabel: _, ...others } = totals
    const quote = withDocument({ totals: { ...others, ...(taxLabel && { taxLabel }) } })
    for (const language of ['es', 'en', 'fr'] as const)
      t.match(
        getVisibleText(renderPage(quote, language, pdfLink)),
        new RegExp(`${expected[language]} 21`),
      )
  }
})

t.test('every language is accepted for a quote, a link, ?lang= and error pages', async (t) => {
  const { app, db } = await testService(t, { index: false })
  for (const language of languages) {
    await addQuote(db, `P-${language}`, { language })
    const token = await createQuoteLink(db, { number: `P-${language}` })
    const url = `/quote/share/${token}`
    t.match((await app.inject(url)).body, `<html lang="${language}"`)
    t.match((await app.inject(`${url}?lang=${language}`)).body, `<html lang="${language}"`)
    const unknown = await app.inject({
      url: `/quote/share/${'x'.repeat(43)}`,
      headers: { 'accept-language': `${language}-XX, xx` },
    })
    t.match(unknown.body, textsByLanguage[language].quotes.errors.not_found.title)
  }
})
