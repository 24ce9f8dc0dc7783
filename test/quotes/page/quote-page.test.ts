// The HTML of the quote page and the error page, without a browser: texts, links and escaping.
// Numbers such as S20 are those of the attacks in docs/security.md.
import { createHash } from 'node:crypto'
import t from 'tap'
import { defaultBrand } from '../../../src/company/brand.ts'
import { buildContentSecurityPolicy, renderErrorPage } from '../../../src/quotes/page/quote-page.ts'
import { languages as allLanguages, textsByLanguage } from '../../../src/texts/languages.ts'
import { findMissingFields } from '../../support/quotes/document-fields.ts'
import {
  document,
  fillQuote,
  getVisibleText,
  hammer,
  hostileText,
  linkedQuote,
  minimalValues,
  shownHostileText,
  withDocument,
} from '../../support/quotes/linked-quote.ts'
import { renderPage } from '../../support/quotes/render-page.ts'

const pdfLink = '?format=pdf'
const languages = ['es', 'en'] as const

const decimalFields = [
  'version',
  'position',
  'amount',
  'quantity',
  'discountPercent',
  'taxRate',
  'surchargeRate',
  'rate',
  'percent',
]
const formattedFields = [
  'unit',
  'currency',
  'iban',
  'originCountry',
  'language',
  'issuedOn',
  'validUntil',
]

/** The empty icon, which keeps browsers from requesting one. */
const emptyIcon = '<link rel="icon" href="data:,">'
const getAttributes = (html: string, name: string) =>
  [...html.replace(emptyIcon, '').matchAll(new RegExp(` ${name}="([^"]*)"`, 'g'))].map(
    ([, value]) => value ?? '',
  )
const getStyleSheet = (html: string) => /<style>(.*?)<\/style>/s.exec(html)?.[1] ?? ''

t.test(
  'the page shows every number and text of the document, in Spanish and English',
  async (t) => {
    // Tests of taxes show the label.
    t.same(findMissingFields(document, ['totals.taxLabel']), [], 'the document is complete')
    const { decimals, texts } = collectShownValues(document)
    for (const language of languages) {
      const text = getVisibleText(renderPage(linkedQuote, language, pdfLink))
      const [group, point] = language === 'es' ? ['.', ','] : [',', '.']
      const shownNumbers = new Set(
        (text.match(/\d[\d.,]*/g) ?? []).map((number) =>
          number.replaceAll(group, '').replace(point, '.'),
        ),
      )
      for (const decimal of decimals.filter((decimal) => decimal !== '0'))
        t.ok(shownNumbers.has(decimal), `${language}: ${decimal}`)
      const inOneLine = (shown: string) => shown.replace(/\s+/g, ' ')
      for (const expected of texts)
        t.ok(inOneLine(text).includes(inOneLine(expected)), `${language}: ${expected}`)
      for (const expected of [linkedQuote.contentHash, 'ES9121000418450200051332'])
        t.ok(text.replace(/\s+/g, '').includes(expected), `${language}: ${expected}`)
    }
  },
)

/** Returns the decimals of a document, and the texts that the page shows unchanged. */
function collectShownValues(value: unknown, field = ''): { decimals: string[]; texts: string[] } {
  // The legal texts show why a line has no tax.
  if (field === 'taxReason') return { decimals: [], texts: [] }
  if (typeof value === 'object' && value !== null) {
    const parts = Object.entries(value).map(([name, inner]) => collectShownValues(inner, name))
    return {
      decimals: parts.flatMap(({ decimals }) => decimals),
      texts: parts.flatMap(({ texts }) => texts),
    }
  }
  if (decimalFields.includes(field) && value !== null)
    return { decimals: [String(value)], texts: [] }
  if (field === 'kind') return { decimals: [], texts: [] }
  const isShownText = typeof value === 'string' && !formattedFields.includes(field)
  return { decimals: [], texts: isShownText ? [value] : [] }
}

t.test('the Spanish page has the Spanish texts', async (t) => {
  const html = renderPage(linkedQuote, 'es', pdfLink)
  const text = getVisibleText(html).replaceAll('\u00a0', ' ').replace(/\s+/g, ' ')
  t.match(html, '<html lang="es"')
  t.match(html, '<title>Presupuesto P-2026-17 · Ferretería de Prueba, S.L.</title>')
  for (const expected of [
    'Presupuesto P-2026-17',
    'Fecha 17 de noviembre de 2026',
    'Válido hasta 1 de diciembre de 2026',
    'Versión 3',
    'Total 1.238.473,63 €',
    '1.240 uds. 12,50 € 5 % 21 % 5,2 % 14.725,00 €',
    '37,5 m 4,2751 €',
    'Código arancelario 820520 Origen Alemania',
    'Herramientas Subtotal 77,70 €',
    'Taladro Opcional, no incluido en el total',
    'Descuentos, ya aplicados 783,02 € Subtotal 1.334.667,57 € Descuento 7,5 % -100.100,07 €',
    'Retención IRPF 15 % sobre 1.234.567,50 € -185.185,13 € Importe a pagar 1.053.288,50 €',
    'IVA 21 % sobre 14.877,30 € 3.124,23 €',
    'Recargo de equivalencia 5,2 % sobre 14.877,30 € 773,62 €',
    'Incoterms® 2020 DAP Zaragoza',
    'confírmelo con nosotros por teléfono antes de pagar: +34 900 000 000',
    'hasta el 3 de enero de 2027, 14:05 UTC',
  ]) {
    t.ok(text.includes(expected), expected)
  }
})

t.test(
  'the English page has the English texts, and marks the Spanish ones as Spanish',
  async (t) => {
    const html = renderPage(linkedQuote, 'en', pdfLink)
    const text = getVisibleText(html).replace(/\s+/g, ' ')
    t.match(html, '<html lang="en"')
    for (const expected of [
      'Quotation P-2026-17',
      'Valid until 1 December 2026',
      'VAT 21% on €14,877.30 €3,124.23',
      'HS code 820520 Origin Germany',
    ]) {
      t.ok(text.includes(expected), expected)
    }
    t.match(html, '<bdi lang=es>Incluye el embalaje.</bdi>')
    t.notMatch(renderPage(linkedQuote, 'es', pdfLink), ' lang=es>')
  },
)

t.test('the table has headings, and no column that no line uses', async (t) => {
  const html = renderPage(linkedQuote, 'es', pdfLink)
  const readHeadings = (page: string) =>
    [...page.matchAll(/<th scope="col"[^>]*>(?:<bdi>)?([^<]*)/g)].map(([, label]) => label).join()
  t.equal(readHeadings(html), 'N.º,Descripción,Cantidad,Precio,Dto.,IVA,Recargo,Importe')
  t.equal(html.match(/<th scope="row" role="rowheader"/g)?.length, document.lines.length)
  t.match(html, '<caption>Detalle</caption>')
  const plain = renderPage(withDocument(minimalValues), 'es', pdfLink)
  t.equal(readHeadings(plain), 'N.º,Descripción,Cantidad,Precio,Importe')
  t.notMatch(getVisibleText(plain), /Código arancelario|Origen|Ref\./)
})

t.test('every status but sent has a banner with text', async (t) => {
  for (const [status, es, en] of [
    ['accepted', 'Aceptado.', 'Accepted.'],
    ['rejected', 'Rechazado.', 'Rejected.'],
    ['expired', 'Vencido.', 'Expired.'],
    ['withdrawn', 'Retirado.', 'Withdrawn.'],
    ['superseded', 'Sustituido.', 'Superseded.'],
  ] as const) {
    t.ok(getVisibleText(renderPage({ ...linkedQuote, status }, 'es', pdfLink)).includes(es), es)
    t.ok(getVisibleText(renderPage({ ...linkedQuote, status }, 'en', pdfLink)).includes(en), en)
  }
  const sent = renderPage(linkedQuote, 'es', pdfLink)
  t.notMatch(sent.replace(getStyleSheet(sent), ''), /banner/)
  t.match(
    getVisibleText(renderPage({ ...linkedQuote, status: 'expired' }, 'es', pdfLink)),
    'Fue válido hasta el 1 de diciembre de 2026.',
  )
  const isNoReply = (href: string) => !/^mailto:.*(body=|Solicitud)/.test(href)
  const superseded = renderPage({ ...linkedQuote, status: 'superseded' }, 'es', pdfLink)
  // The telephone number stands twice in a sent quote: also beside its bank account.
  t.same(
    new Set(getAttributes(superseded, 'href').filter(isNoReply)),
    new Set(getAttributes(sent, 'href').filter(isNoReply)),
    'a superseded quote does not link to its successor',
  )
  t.match(getVisibleText(sent), 'Válido hasta')
  t.notMatch(getVisibleText(superseded), 'Válido hasta')
})

t.test('the page has a PDF button only with a link to the PDF', async (t) => {
  t.ok(getAttributes(renderPage(linkedQuote, 'es', pdfLink), 'href').includes(pdfLink))
  const html = renderPage(linkedQuote, 'es', null)
  t.notMatch(getVisibleText(html), 'PDF')
  t.ok(getAttributes(html, 'href').includes('?format=json'))
})

t.test('a quote without optional values shows no empty parts', async (t) => {
  const minimal = withDocument(minimalValues)
  const html = renderPage({ ...minimal, link: { expiresAt: null } }, 'es', null)
  const text = getVisibleText(html)
  t.notMatch(text, /null|undefined|\[object/)
  t.notMatch(
    text,
    /Cliente|Condiciones|IBAN|Observaciones|Menciones|Válido|Descuentos|Incoterms|enlace/,
  )
  t.match(text, 'Sin impuestos indicados')
  t.notMatch(
    getVisibleText(renderPage(withDocument({ lines: [] }), 'es', pdfLink)),
    'Detalle',
    'without lines there is no table',
  )
})

t.test('an IBAN with wrong check digits has a warning', async (t) => {
  const bank = { holder: 'X', iban: 'ES9121000418450200051333', bic: null }
  const html = renderPage(withDocument({ seller: { ...document.seller, bank } }), 'es', pdfLink)
  t.match(getVisibleText(html), textsByLanguage.es.quotes.ibanIsWrong)
  t.notMatch(
    getVisibleText(renderPage(linkedQuote, 'es', pdfLink)),
    textsByLanguage.es.quotes.ibanIsWrong,
  )
})

t.test(
  'markup in any field is text and adds no element or attribute (S20, S21, S24)',
  async (t) => {
    // The title that is printed on each page is the only text in an attribute that is no link.
    const getTags = (html: string) =>
      html
        .replace(getStyleSheet(html), '')
        .replace(/ data-print-footer="[^"<>]*">/, '>')
        .match(/<[^>]*>/g)
    // As long as the hostile text, because the widths of columns decide the layout.
    const harmless = 'texto'.repeat(40)
    for (const language of languages) {
      const html = renderPage(fillQuote(hostileText), language, pdfLink)
      const expected = renderPage(fillQuote(harmless), language, pdfLink)
      t.same(getTags(html), getTags(expected))
      t.equal(
        getVisibleText(html).split(shownHostileText).length,
        getVisibleText(expected).split(harmless).length,
        'the whole text is shown',
      )
      t.equal(getStyleSheet(html), getStyleSheet(renderPage(linkedQuote, language, pdfLink)))
    }
  },
)

t.test('the page contains no control characters and no bidirectional ones (S20)', async (t) => {
  const html = renderPage(fillQuote(hostileText), 'es', pdfLink)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds controls
  t.notMatch(html, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ud800]/u)
  const isolated = html.match(/<bdi[^>]*>/g)?.length ?? 0
  t.ok(isolated > 30, 'right-to-left texts are isolated')
})

t.test('a website is a link only with http or https (S23)', async (t) => {
  const getHrefs = (website: string) =>
    getAttributes(
      renderPage(withDocument({ seller: { ...document.seller, website } }), 'es', pdfLink),
      'href',
    )
  t.ok(getHrefs('https://example.com/tienda').includes('https://example.com/tienda'))
  for (const website of [
    'javascript:alert(1)',
    'JAVASCRIPT:alert(1)',
    ' java\nscript:alert(1)',
    '\u0000javascript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:x',
    'file:///etc/passwd',
    '//example.com',
    'example.com',
    '',
  ]) {
    t.equal(getHrefs(website).length, getHrefs('https://example.com').length - 1, website)
  }
})

t.test('email and phone links contain only the address and the number', async (t) => {
  const getHrefs = (email: string, phone: string) =>
    getAttributes(
      renderPage(
        withDocument({ number: 'P & 1', seller: { ...document.seller, email, phone } }),
        'es',
        pdfLink,
      ),
      'href',
    )
  t.ok(
    getHrefs('ventas@example.com', '+34 900-000 000').includes(
      'mailto:ventas@example.com?subject=Presupuesto%20P%20%26%201',
    ),
  )
  t.ok(getHrefs('ventas@example.com', '+34 (900) 000-000').includes('tel:+34900000000'))
  t.ok(
    getHrefs('a&bcc=x?y@example.com', '').some((href) =>
      href.startsWith('mailto:a%26bcc%3Dx%3Fy@example.com?'),
    ),
  )
  for (const phone of ['900 000 000 ext. 12', '---', '+ (  )'])
    t.notOk(
      getHrefs('no address', phone).some((href) => /^(mailto|tel):/.test(href)),
      phone,
    )
})

t.test(
  'the policy allows only this style sheet, and the page loads nothing else (S14, S24)',
  async (t) => {
    const pages = languages.flatMap((language) => [
      renderPage(linkedQuote, language, pdfLink),
      renderErrorPage({ name: 'not_found', language, contact: null }),
    ])
    for (const html of pages) {
      const hash = createHash('sha256').update(getStyleSheet(html)).digest('base64')
      t.same(buildContentSecurityPolicy(defaultBrand).split('; ').sort(), [
        "base-uri 'none'",
        "default-src 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        'img-src data:',
        `style-src 'sha256-${hash}'`,
      ])
      t.equal(html.match(/<style/g)?.length, 1)
      t.notMatch(
        html.replace(emptyIcon, ''),
        /<(script|img|link|iframe|object|embed|form|base|svg|video|audio)\b/i,
      )
      t.ok(html.includes(emptyIcon))
      t.notMatch(html, / (style|src|srcset|on[a-z]+)=/i)
      t.notMatch(getStyleSheet(html), /url\(|@import|@font-face/)
      t.match(html, '<meta name="robots" content="noindex,nofollow">')
      t.match(html, '<meta name="referrer" content="no-referrer">')
    }
  },
)

t.test('an error page gives the reason and the next step, in every language', async (t) => {
  const { legalName, email, phone } = document.seller
  const codes = Object.keys(
    textsByLanguage.es.quotes.errors,
  ) as (keyof typeof textsByLanguage.es.quotes.errors)[]
  for (const language of allLanguages) {
    for (const code of codes) {
      const html = renderErrorPage({ name: code, language, contact: null })
      t.match(html, `<html lang="${language}"`)
      t.ok(
        getVisibleText(html).includes(textsByLanguage[language].quotes.errors[code].explanation),
        `${language} ${code}`,
      )
      // Only links to the quote itself: to its page or PDF, or to the URL that was requested.
      const links = ['?format=html', '?format=pdf', '']
      t.same(
        getAttributes(html, 'href').filter((href) => !links.includes(href)),
        [],
      )
      t.notMatch(html, 'http-equiv', 'the page does not reload itself')
    }
    const expired = renderErrorPage({
      name: 'link_expired',
      language,
      contact: { legalName, email, phone },
    })
    for (const expected of [legalName, email, phone])
      t.ok(getVisibleText(expired).includes(expected), `${language}: ${expected}`)
    t.same(getAttributes(expired, 'href'), ['tel:+34900000000', 'mailto:ventas@example.com'])
  }
  const hostilePage = renderErrorPage({
    name: 'link_revoked',
    language: 'es',
    contact: { legalName: hostileText, email: hostileText, phone: hostileText },
  })
  t.notMatch(hostilePage, /<(script|img)/)
})

t.test('a quote of 12 lines is smaller than 30 kB, style sheet included', async (t) => {
  const lines = Array.from({ length: 12 }, (_, index) => ({ ...hammer, position: index + 1 }))
  t.ok(Buffer.byteLength(renderPage(withDocument({ lines }), 'es', pdfLink)) < 30_000)
})
