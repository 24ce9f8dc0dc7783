// The PDF of a quote: its content and links, and hostile and long documents.
// Numbers such as S20 are those of the attacks in docs/security.md.
// Slow: it renders many PDFs.
import { createHash } from 'node:crypto'
import t from 'tap'
import { extractLinks, extractText, getDocumentProxy, getMeta } from 'unpdf'
import { serializeLinkedQuote } from '../../../src/quotes/page/quote-page.ts'
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
import { renderPage } from '../../support/quotes/render-page.ts'
import {
  renderDocument,
  startRenderer,
  waitLongForRenderings,
} from '../../support/quotes/rendering-processes.ts'

waitLongForRenderings(t)

const languages = ['es', 'en'] as const
/** Without the emoji sequence, which the fonts of the PDF lack. */
const printableHostileText = hostileText.replace('👩‍👩‍👧 ', '')

const renderer = startRenderer(t)

const createRequest = (quote: LinkedQuote, language: Language | null = 'es') => {
  const documentJson = JSON.stringify(quote.document)
  const contentHash = createHash('sha256').update(documentJson).digest('hex')
  return { documentJson, contentHash, status: quote.status, language }
}
const renderPdf = async (quote: LinkedQuote, language?: Language) =>
  (await renderDocument(renderer, createRequest(quote, language))).pdf

async function extractPages(pdf: Buffer): Promise<string[]> {
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(pdf)), {
    mergePages: false,
  })
  return text
}

/**
 * Returns the text of all pages without white space, headers and footers. Checks that the headers
 * and footers are right.
 */
async function extractBody(
  pdf: Buffer,
  language: Language,
  { legalName, number }: { legalName: string; number: string },
): Promise<string> {
  const pages = await extractPages(pdf)
  const texts = textsByLanguage[language].quotes
  return pages
    .map((page, index) => {
      const text = removeSpace(page)
      const header = index === 0 ? '' : removeSpace(`${legalName}${texts.quote}${number}`)
      const { before, between } = texts.pageNumber
      const pageNumber = `${before}${index + 1}${between}${pages.length}`
      const footer = removeSpace(`${texts.quote}${number}${pageNumber}`)
      t.ok(
        text.startsWith(header) && text.endsWith(footer),
        `page ${index + 1} has the seller, the quote number and the page numbers`,
      )
      return text.slice(header.length, text.length - footer.length)
    })
    .join('')
}

/** Removes white space and zero-width spaces, because page and PDF break lines differently. */
function removeSpace(text: string): string {
  return text.replace(/[\s\u00a0\u200b]+/g, '')
}

t.test('the metadata of a PDF contain the hash and the number as they are', async (t) => {
  const number = 'PRESUPUESTO-2026-000000017'
  const quote = withDocument({ number })
  const { info } = await getMeta(new Uint8Array(await renderPdf(quote)))
  t.equal(info.Keywords, createRequest(quote).contentHash)
  t.equal(info.Title, `Presupuesto ${number}`)
})

t.test(
  'page, JSON and PDF have the same content in Spanish and English and every status',
  async (t) => {
    const statuses = ['sent', 'accepted', 'rejected', 'expired', 'withdrawn', 'superseded'] as const
    for (const language of languages) {
      for (const status of statuses) {
        const quote = {
          ...linkedQuote,
          status,
          contentHash: createRequest(linkedQuote).contentHash,
        }
        const { legalName } = quote.document.seller
        const page = renderPage(quote, language, '?format=pdf')
        const printedText = getVisibleText(removeScreenOnly(page))
        // Some parts are at other places of the PDF, so the first comparison ignores the order.
        const sortCharacters = (text: string) => [...removeSpace(text)].sort().join('')
        const pdf = await extractBody(await renderPdf(quote, language), language, {
          legalName,
          number: quote.document.number,
        })
        t.equal(sortCharacters(pdf), sortCharacters(printedText), `${language} ${status}`)
        for (const text of printedText.split(/\s{2,}|\n/))
          t.ok(pdf.includes(removeSpace(text)), text)
      }
    }
    t.same(
      JSON.parse(serializeLinkedQuote({ ...openLink, documentJson: JSON.stringify(document) })),
      linkedQuote,
      'the JSON contains the document that page and PDF show',
    )
  },
)

t.test(
  'the same content gives the same bytes in another process, with embedded fonts only',
  async (t) => {
    const otherRenderer = startRenderer(t)
    const first = await renderPdf(linkedQuote, 'es')
    t.ok(first.equals((await renderDocument(otherRenderer, createRequest(linkedQuote, 'es'))).pdf))
    t.ok(
      first.equals((await renderDocument(otherRenderer, createRequest(linkedQuote, null))).pdf),
      'without a language the PDF is in the language of the document',
    )
    t.notOk(
      first.equals(await renderPdf({ ...linkedQuote, status: 'accepted' }, 'es')),
      'another status gives other bytes',
    )
    for (const quote of [
      linkedQuote,
      fillQuote(printableHostileText),
      withDocument({ notes: 'ハンマー 锤子 Молоток 망치 שלום عربي ☎ €' }),
    ]) {
      const fonts = [
        ...(await renderPdf(quote)).toString('latin1').matchAll(/\/BaseFont ?\/(\S+)/g),
      ].map(([, name]) => name ?? '')
      t.ok(fonts.length > 0 && fonts.every((name) => name.includes('+Quotes')), fonts.join(' '))
    }
    const text = removeSpace(
      (
        await extractPages(await renderPdf(withDocument({ notes: 'ハンマー 锤子 Молоток ñÑ €' })))
      ).join(''),
    )
    t.match(text, removeSpace('ハンマー 锤子 Молоток ñÑ €'), 'text in many scripts can be selected')
  },
)

t.test('markup and Typst code in any field are text and are not run (S20, S21, S22)', async (t) => {
  const code =
    '#read("/etc/passwd") #import "@preview/cetz:0.3.0": * #image("http://127.0.0.1:9/x.png") ' +
    '#eval("1+1") $x^2$ *b* _i_ <label> @ref `raw` \\ // c'
  for (const text of [printableHostileText, code]) {
    const quote = fillQuote(text)
    const pdf = await renderPdf(quote)
    const pdfText = removeSpace((await extractPages(pdf)).join(''))
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
    (await extractLinks(await getDocumentProxy(new Uint8Array(await renderPdf(quote))))).links
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
    const text = (await extractPages(await renderPdf(minimal))).join('')
    t.notMatch(text, /none|null|undefined|IBAN|Cliente|Condiciones/)
    t.ok((await renderPdf(withDocument({ lines: [] }))).length > 0)
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
      t.match(
        removeSpace((await extractPages(await renderPdf(withDocument({ lines })))).join('')),
        shown,
      )
    }
  },
)

t.test(
  'a word of 10,000 characters wraps, and 2,000 lines have headings on each page',
  async (t) => {
    const wide = await extractPages(
      await renderPdf(
        withDocument({
          notes: 'W'.repeat(10_000),
          lines: [{ ...hammer, description: 'M'.repeat(10_000) }],
        }),
      ),
    )
    t.equal(wide.join('').match(/W/g)?.length, 10_000)
    t.equal(
      wide.join('').match(/M/g)?.length,
      10_000 + 2,
      'no character is lost beyond the edge (two more are in other words)',
    )
    const lines = Array.from({ length: 2_000 }, (_, index) => ({
      ...hammer,
      position: index + 1,
      description: `Artículo ${index + 1}.`,
    }))
    const pages = await extractPages(await renderPdf(withDocument({ lines })))
    t.ok(pages.length > 60)
    for (const [index, page] of pages.entries()) {
      t.match(page, `Página ${index + 1} de ${pages.length}`)
      if (page.includes('Artículo'))
        t.match(page, 'Descripción', 'each page has the column headings')
    }
    const allText = pages.join('\n')
    t.ok(lines.every(({ description }) => allText.includes(description)))
  },
)
