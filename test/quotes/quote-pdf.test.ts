// The PDF of a quote: that it says what the page and the JSON say, and what hostile documents, many orders and long ones do to it.
import type { ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import t from 'tap'
import { extractLinks, extractText, getDocumentProxy } from 'unpdf'
import { renderQuotePage } from '../../src/quotes/page/quote-page.ts'
import type { PdfLimits } from '../../src/quotes/pdf/pdf-limits.ts'
import { PdfUnavailableError } from '../../src/quotes/pdf/pdf-process.ts'
import { PdfRenderer } from '../../src/quotes/pdf/pdf-renderer.ts'
import type { Language } from '../../src/quotes/quote-texts/quote-texts.ts'
import { serializeSharedQuote } from '../../src/quotes/read-shared-quote.ts'
import type { SharedQuote } from '../../src/quotes/schema.ts'
import { createShareLink } from '../../src/quotes/share-links.ts'
import { addQuote } from '../support/quotes.ts'
import {
  document,
  eur,
  filledWith,
  hammer,
  hostile,
  shared,
  textOf,
  withDocument,
} from '../support/shared-quote.ts'
import { testService } from '../support/test-service.ts'

const languages = ['es', 'en'] as const
const links = { pdf: '?format=pdf', json: '?format=json' }

const press = new PdfRenderer({ timeoutMs: 120_000 })
t.teardown(() => press.close())

const order = (quote: SharedQuote, language: Language | null = 'es') => {
  const json = JSON.stringify(quote.document)
  const contentHash = createHash('sha256').update(json).digest('hex')
  return { document: json, contentHash, status: quote.status, language }
}
const pdfOf = async (quote: SharedQuote, language?: Language) =>
  (await press.render(order(quote, language))).pdf

async function pagesOf(pdf: Buffer): Promise<string[]> {
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(pdf)), {
    mergePages: false,
  })
  return text
}

/** The text of all pages without blanks, and without what stands above and below each page. */
async function bodyOf(
  pdf: Buffer,
  language: Language,
  { legalName, number }: { legalName: string; number: string },
): Promise<string> {
  const pages = await pagesOf(pdf)
  const word = { es: 'Presupuesto', en: 'Quotation' }[language]
  return pages
    .map((page, index) => {
      const text = solid(page)
      const head = index === 0 ? '' : solid(`${legalName}${word}${number}`)
      const foot = solid(
        `${word}${number}${{ es: 'Página', en: 'Page' }[language]}${index + 1}${{ es: 'de', en: 'of' }[language]}${pages.length}`,
      )
      t.ok(
        text.startsWith(head) && text.endsWith(foot),
        `page ${index + 1} says whose it is, its number, and how many there are`,
      )
      return text.slice(head.length, text.length - foot.length)
    })
    .join('')
}

/** Without blanks and what has no width: where lines break is the business of each form. */
function solid(text: string): string {
  return text.replace(/[\s\u00a0\u200b]+/g, '')
}

t.test(
  'the page, the JSON and the PDF say the same, all of it, in both languages and every status',
  async (t) => {
    const statuses = ['sent', 'accepted', 'rejected', 'expired', 'superseded'] as const
    for (const language of languages) {
      for (const status of statuses) {
        const quote = { ...shared, status, contentHash: order(shared).contentHash }
        const { legalName } = quote.document.seller
        const page = renderQuotePage(quote, language, links)
        const onScreen =
          /<p class="screen-only">.*?<\/p>|<a class="button".*?<\/a>|<title>.*?<\/title>/gs
        // The parts that the PDF puts elsewhere on its first page: the same characters in another order.
        const characters = (text: string) => [...solid(text)].sort().join('')
        const pdf = await bodyOf(await pdfOf(quote, language), language, {
          legalName,
          number: quote.document.number,
        })
        t.equal(
          characters(pdf),
          characters(textOf(page.replace(onScreen, ''))),
          `${language} ${status}`,
        )
        for (const text of textOf(page.replace(onScreen, '')).split(/\s{2,}|\n/))
          t.ok(pdf.includes(solid(text)), text)
      }
    }
    const link = {
      ...shared,
      state: 'open',
      shareId: '1',
      document: JSON.stringify(document),
    } as const
    t.same(
      JSON.parse(serializeSharedQuote(link)),
      shared,
      'and the JSON is the document that both are made of',
    )
  },
)

t.test(
  'the same content gives the same bytes, in another process too, and nothing of the machine',
  async (t) => {
    const other = new PdfRenderer()
    t.teardown(() => other.close())
    const first = await pdfOf(shared, 'es')
    t.ok(first.equals((await other.render(order(shared, 'es'))).pdf))
    t.ok(
      first.equals((await other.render(order(shared, null))).pdf),
      'without a language it is in its own',
    )
    t.notOk(
      first.equals(await pdfOf({ ...shared, status: 'accepted' }, 'es')),
      'the status is part of it',
    )
    for (const quote of [
      shared,
      filledWith(hostile),
      withDocument({ notes: 'ハンマー 锤子 Молоток שלום عربي ☎ €' }),
    ]) {
      const fonts = [
        ...(await pdfOf(quote)).toString('latin1').matchAll(/\/BaseFont ?\/(\S+)/g),
      ].map(([, name]) => name ?? '')
      t.ok(fonts.length > 0 && fonts.every((name) => name.includes('+Quotes')), fonts.join(' '))
    }
    const text = solid(
      (await pagesOf(await pdfOf(withDocument({ notes: 'ハンマー 锤子 Молоток ñÑ €' })))).join(''),
    )
    t.match(text, solid('ハンマー 锤子 Молоток ñÑ €'), 'and text of many scripts can be selected')
  },
)

t.test(
  'S20, S21, S22: markup, typst code and steering characters in any field are text; nothing is run, read or fetched',
  async (t) => {
    const code =
      '#read("/etc/passwd") #import "@preview/cetz:0.3.0": * #image("http://127.0.0.1:9/x.png") #eval("1+1") $x^2$ *b* _i_ <label> @ref `raw` \\ // c'
    for (const text of [hostile, code]) {
      const quote = filledWith(text)
      const pdf = await pdfOf(quote)
      const said = solid((await pagesOf(pdf)).join(''))
      t.match(
        said,
        solid(
          text === code
            ? code
            : '<script>alert(1)</script></style><style>*{display:none}</style><imgsrc=xonerror=alert(2)>',
        ),
      )
      t.notMatch(said, /root:/)
      t.notMatch(
        pdf.toString('latin1'),
        /\/(JavaScript|JS|Launch|EmbeddedFile|OpenAction|AA|SubmitForm|GoToR)\b/,
      )
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it is controls that must not be there
      t.notMatch(said, /[\u0000-\u0008\u202a-\u202e\u2066-\u2069]/)
    }
  },
)

t.test('S23: links lead to mail, telephone and http(s) only', async (t) => {
  const linksOf = async (quote: SharedQuote) =>
    (await extractLinks(await getDocumentProxy(new Uint8Array(await pdfOf(quote))))).links
  t.same((await linksOf(shared)).map((link) => link.split(':')[0]).sort(), [
    'https',
    'mailto',
    'tel',
    'tel',
  ])
  for (const website of ['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd']) {
    const seller = { ...document.seller, website }
    t.notMatch((await linksOf(withDocument({ seller }))).join(' '), /javascript|data:|file:/)
  }
})

t.test(
  'a quote without anything optional, and amounts of any size and currency, are set too',
  async (t) => {
    const bare = withDocument({
      validUntil: null,
      seller: { ...document.seller, website: null, bank: null, taxId: '' },
      buyer: { name: null, taxId: null, address: null, contactName: null },
      lines: [
        {
          ...hammer,
          sku: null,
          unit: null,
          discountPercent: '0',
          taxRate: null,
          surchargeRate: null,
          hsCode: null,
          originCountry: null,
          unitPrice: eur('0.00'),
          net: eur('0.00'),
        },
      ],
      totals: { net: eur('1.00'), discounts: eur('0.00'), taxes: [], gross: eur('1.00') },
      trade: { incoterm: null, delivery: null },
      payment: { terms: null },
      legal: [],
      notes: null,
    })
    const text = (await pagesOf(await pdfOf(bare))).join('')
    t.notMatch(text, /none|null|undefined|IBAN|Cliente|Condiciones/)
    t.ok((await pdfOf(withDocument({ lines: [] }))).length > 0)
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
      t.match(solid((await pagesOf(await pdfOf(withDocument({ lines })))).join('')), shown)
    }
  },
)

t.test(
  'ten thousand characters without a blank, and thousands of lines, go on over pages that each have their heading',
  async (t) => {
    const wide = await pagesOf(
      await pdfOf(
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
      'none is lost beyond the edge (two are in other words)',
    )
    const lines = Array.from({ length: 3_000 }, (_, index) => ({
      ...hammer,
      position: index + 1,
      description: `Artículo ${index + 1}.`,
    }))
    const pages = await pagesOf(await pdfOf(withDocument({ lines })))
    t.ok(pages.length > 50)
    for (const [index, page] of pages.entries()) {
      t.match(page, `Página ${index + 1} de ${pages.length}`)
      if (page.includes('Artículo'))
        t.match(page, 'Descripción', 'the headings of the columns are on each page')
    }
    const all = pages.join('\n')
    t.ok(lines.every(({ description }) => all.includes(description)))
  },
)

t.test(
  'too many orders at once are refused, and one that takes too long is given up; the next is set',
  async (t) => {
    const started = (limits: Partial<PdfLimits>) => {
      const own = new PdfRenderer(limits)
      t.teardown(() => own.close())
      return own
    }
    const numbered = (number: string) => order(withDocument({ number }))
    const small = started({ maxQueued: 2 })
    const outcomes = await Promise.allSettled(
      ['1', '2', '3', '4', '5', '3', '1'].map((number) => small.render(numbered(number))),
    )
    t.same(
      outcomes.map(({ status }) => status === 'fulfilled'),
      [true, true, true, false, false, true, true],
      'who wants the same waits for one',
    )
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') t.type(outcome.reason, PdfUnavailableError)

    const lines = Array.from({ length: 5_000 }, (_, index) => ({ ...hammer, position: index + 1 }))
    const impatient = started({ timeoutMs: 1_500 })
    await t.rejects(
      impatient.render(order(withDocument({ lines }))),
      new PdfUnavailableError('The PDF took longer than 1500 ms.'),
    )
    const patient = started({ maxRendersPerProcess: 1, cacheBytes: 0 })
    const first = await patient.render(numbered('1'))
    t.ok(
      first.pdf.equals((await patient.render(numbered('1'))).pdf),
      'each from a process of its own',
    )
    patient.close()
    await t.rejects(
      patient.render(numbered('2')),
      new PdfUnavailableError('The service is stopping.'),
      'after the end there is none',
    )
  },
)

t.test(
  'while the process that sets them is killed again and again a PDF is a 503, and the page is there; afterwards it is set',
  async (t) => {
    const { app, db } = await testService(t)
    await addQuote(db, 'P-1')
    const url = `/quote/share/${await createShareLink(db, { number: 'P-1' })}`
    let killed = 0
    const kill = (message: unknown) => {
      const { process: started } = message as { process: ChildProcess }
      started.once('spawn', () => {
        if (
          started.spawnargs.some((word) => word.includes('pdf-worker.ts')) &&
          started.kill('SIGKILL')
        )
          killed += 1
      })
    }
    subscribe('child_process', kill)
    t.teardown(() => unsubscribe('child_process', kill))
    for (let time = 1; time <= 3; time += 1) {
      const refused = await app.inject(`${url}?format=pdf`)
      t.match(
        [refused.statusCode, refused.json()],
        [
          503,
          {
            code: 'unavailable',
            detail: 'The PDF cannot be made at the moment. Try again in a moment.',
          },
        ],
      )
      t.equal(refused.headers['retry-after'], '5')
      t.equal(killed, time, 'each time another one')
      t.equal((await app.inject(url)).statusCode, 200)
    }
    unsubscribe('child_process', kill)
    const set = await app.inject(`${url}?format=pdf`)
    t.same([set.statusCode, set.rawPayload.subarray(0, 5).toString()], [200, '%PDF-'])
  },
)
