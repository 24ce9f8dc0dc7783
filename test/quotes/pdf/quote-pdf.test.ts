// The PDF of a quote: its content and links, and hostile and long documents.
// Numbers such as S20 are those of the attacks in docs/security.md.
// Slow: it renders many PDFs.
import { createHash } from 'node:crypto'
import t from 'tap'
import { extractLinks, getDocumentProxy, getMeta } from 'unpdf'
import { defaultBrand } from '../../../src/company/brand.ts'
import { serializeLinkedQuote } from '../../../src/quotes/page/quote-page.ts'
import { compilePdf } from '../../../src/quotes/pdf/typst-compiler.ts'
import type { LinkedQuote } from '../../../src/quotes/schema.ts'
import { type Language, textsByLanguage } from '../../../src/texts/languages.ts'
import {
  document,
  fillQuote,
  getVisibleText,
  hammer,
  hostileText,
  linkedQuote,
  minimalValues,
  openLink,
  removeScreenOnly,
  withDocument,
} from '../../support/quotes/linked-quote.ts'
import { readPdfPages, removeSpace, renderPdfPages } from '../../support/quotes/read-pdf.ts'
import { renderPage } from '../../support/quotes/render-page.ts'
import {
  renderDocument,
  startRenderer,
  waitLongForRenderings,
} from '../../support/quotes/rendering-processes.ts'

waitLongForRenderings(t)

/** Without the emoji sequence, which the fonts of the PDF lack. */
const printableHostileText = hostileText.replace('👩‍👩‍👧 ', '')

const hash = (document: object) =>
  createHash('sha256').update(JSON.stringify(document)).digest('hex')
const renderPdf = (quote: LinkedQuote, language: Language = 'es') =>
  compilePdf(quote, language, defaultBrand).pdf

/**
 * Returns the text of all pages without white space, headers and footers. Checks that the headers
 * and footers are right.
 */
async function readBody(quote: LinkedQuote, language: Language): Promise<string> {
  const { seller, number } = quote.document
  const { quote: name, pageNumber } = textsByLanguage[language].quotes
  const pages = await renderPdfPages(quote, language)
  return pages
    .map((page, index) => {
      const text = removeSpace(page)
      const header = index === 0 ? '' : removeSpace(`${seller.legalName}${name}${number}`)
      const counted = `${pageNumber.before}${index + 1}${pageNumber.between}${pages.length}`
      const footer = removeSpace(`${name}${number}${counted}`)
      t.ok(
        text.startsWith(header) && text.endsWith(footer),
        `page ${index + 1} has the seller, the quote number and the page numbers`,
      )
      return text.slice(header.length, text.length - footer.length)
    })
    .join('')
}

t.test('the metadata of a PDF contain the hash and the number as they are', async (t) => {
  const number = 'PRESUPUESTO-2026-000000017'
  const quote = { ...withDocument({ number }), contentHash: hash(document) }
  const { info } = await getMeta(new Uint8Array(renderPdf(quote)))
  t.equal(info.Keywords, hash(document))
  t.equal(info.Title, `Presupuesto ${number}`)
})

t.test('page, JSON and PDF have the same content in every status', async (t) => {
  for (const [status, language] of [
    ['sent', 'es'],
    ['accepted', 'es'],
    ['rejected', 'es'],
    ['expired', 'es'],
    ['withdrawn', 'es'],
    ['superseded', 'es'],
    ['sent', 'en'],
    ['expired', 'en'],
  ] as const) {
    const quote = { ...linkedQuote, status }
    const page = renderPage(quote, language, '?format=pdf')
    const printedText = getVisibleText(removeScreenOnly(page))
    // Some parts are at other places of the PDF, so the first comparison ignores the order.
    const sortCharacters = (text: string) => [...removeSpace(text)].sort().join('')
    const pdf = await readBody(quote, language)
    t.equal(sortCharacters(pdf), sortCharacters(printedText), `${language} ${status}`)
    for (const text of printedText.split(/\s{2,}|\n/)) t.ok(pdf.includes(removeSpace(text)), text)
  }
  t.same(
    JSON.parse(serializeLinkedQuote({ ...openLink, documentJson: JSON.stringify(document) })),
    linkedQuote,
    'the JSON contains the document that page and PDF show',
  )
})

t.test('the same content gives the same bytes in another process', async (t) => {
  const renderer = startRenderer(t)
  const render = async (status: 'sent' | 'accepted', language: Language | null) => {
    const documentJson = JSON.stringify(document)
    const request = { documentJson, contentHash: linkedQuote.contentHash, status, language }
    return (await renderDocument(renderer, request)).pdf
  }
  const first = renderPdf(linkedQuote)
  t.ok(first.equals(await render('sent', 'es')))
  t.ok(first.equals(await render('sent', null)), 'in the language of the document')
  t.notOk(first.equals(await render('accepted', 'es')), 'another status gives other bytes')
})

t.test('a PDF has only embedded fonts, and text in many scripts can be selected', async (t) => {
  const notes = 'ハンマー 锤子 Молоток 망치 שלום عربي ☎ ñÑ €'
  for (const quote of [linkedQuote, fillQuote(printableHostileText), withDocument({ notes })]) {
    const fonts = [
      ...renderPdf(quote)
        .toString('latin1')
        .matchAll(/\/BaseFont ?\/(\S+)/g),
    ].map(([, name]) => name ?? '')
    t.ok(fonts.length > 0 && fonts.every((name) => name.includes('+Quotes')), fonts.join(' '))
  }
  const text = removeSpace((await renderPdfPages(withDocument({ notes }))).join(''))
  for (const word of ['ハンマー锤子Молоток망치', '☎ñÑ€']) t.match(text, word)
})

t.test('markup and Typst code in any field are text and are not run (S20, S21, S22)', async (t) => {
  const code =
    '#read("/etc/passwd") #import "@preview/cetz:0.3.0": * #image("http://127.0.0.1:9/x.png") ' +
    '#eval("1+1") $x^2$ *b* _i_ <label> @ref `raw` \\ // c'
  for (const text of [printableHostileText, code]) {
    const quote = fillQuote(text)
    const pdf = renderPdf(quote)
    const pdfText = removeSpace((await readPdfPages(pdf)).join(''))
    t.match(
      pdfText,
      removeSpace(
        text === code
          ? code
          : '<script>alert(1)</script></style><style>*{display:none}</style>' +
              '<imgsrc=xonerror=alert(2)>',
      ),
    )
    t.notMatch(pdfText, /root:/)
    t.notMatch(
      pdf.toString('latin1'),
      /\/(JavaScript|JS|Launch|EmbeddedFile|OpenAction|AA|SubmitForm|GoToR)\b/,
    )
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds controls
    t.notMatch(pdfText, /[\u0000-\u0008\u202a-\u202e\u2066-\u2069]/)
  }
})

t.test('the PDF contains only email, phone and http(s) links (S23)', async (t) => {
  const renderAndExtractLinks = async (quote: LinkedQuote) =>
    (await extractLinks(await getDocumentProxy(new Uint8Array(renderPdf(quote))))).links
  t.same((await renderAndExtractLinks(linkedQuote)).map((link) => link.split(':')[0]).sort(), [
    'https',
    'mailto',
    'tel',
    'tel',
  ])
  for (const website of ['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd']) {
    const seller = { ...document.seller, website }
    t.notMatch(
      (await renderAndExtractLinks(withDocument({ seller }))).join(' '),
      /javascript|data:|file:/,
    )
  }
})

t.test(
  'a quote without optional values and amounts of any size and currency are rendered',
  async (t) => {
    const minimal = withDocument(minimalValues)
    const text = (await renderPdfPages(minimal)).join('')
    t.notMatch(text, /none|null|undefined|IBAN|Cliente|Condiciones/)
    t.ok(renderPdf(withDocument({ lines: [] })).length > 0)
    for (const [amount, currency, shown] of [
      ['999999999999999999999999999.99', 'EUR', '999.999.999.999.999.999.999.999.999,99€'],
      ['581308', 'JPY', '581.308JPY'],
      ['1925.280', 'KWD', '1.925,280KWD'],
    ] as const) {
      const lines = [
        {
          ...hammer,
          quantity: '999999999999.999999',
          unitPrice: { amount, currency },
          net: { amount, currency },
        },
      ]
      t.match(removeSpace((await renderPdfPages(withDocument({ lines }))).join('')), shown)
    }
  },
)

t.test('a word of 10,000 characters wraps', async (t) => {
  const lines = [{ ...hammer, description: 'M'.repeat(10_000) }]
  const text = (await renderPdfPages(withDocument({ notes: 'W'.repeat(10_000), lines }))).join('')
  t.equal(text.match(/W/g)?.length, 10_000)
  t.equal(text.match(/M/g)?.length, 10_000 + 2, 'two more are in other words')
})

t.test('each page of a long quote has its number and the headings of the columns', async (t) => {
  const lines = Array.from({ length: 400 }, (_, index) => ({
    ...hammer,
    position: index + 1,
    description: `Artículo ${index + 1}.`,
  }))
  const pages = await renderPdfPages(withDocument({ lines }))
  t.ok(pages.length > 10)
  for (const [index, page] of pages.entries()) {
    t.match(page, `Página ${index + 1} de ${pages.length}`)
    if (page.includes('Artículo')) t.match(page, 'Descripción')
  }
  const allText = pages.join('\n')
  t.ok(lines.every(({ description }) => allText.includes(description)))
})
