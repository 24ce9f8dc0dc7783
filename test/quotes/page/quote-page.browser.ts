// The quote page in a real browser: accessibility, width, colour schemes and the keyboard.
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { generateLines, insertLinkedQuote } from '../../../scripts/bench/data/linked-quotes.ts'
import { createQuoteLink, revokeQuoteLink } from '../../../src/quotes/links/manage-links.ts'
import type { LinkedQuote } from '../../../src/quotes/schema.ts'
import { type Language, languages } from '../../../src/texts/languages.ts'
import { findAccessibilityViolations, openPage, startBrowser } from '../../support/browser.ts'
import { addQuote } from '../../support/database/add-quote.ts'
import { company } from '../../support/database/company.ts'
import {
  eur,
  hammer,
  document as quoteDocument,
  withDocument,
} from '../../support/quotes/linked-quote.ts'
import { readPdfPages, renderPdfPages } from '../../support/quotes/read-pdf.ts'
import { readQrCodeOfImage, readQrCodeOfPdf } from '../../support/quotes/read-qr-code.ts'
import { renderPage } from '../../support/quotes/render-page.ts'
import { testService } from '../../support/service/test-service.ts'

t.setTimeout(600_000)
const browser = await startBrowser(t)
const { app, db } = await testService(t, {
  clock: () => new Date('2026-11-21T10:00:00Z'),
  index: false,
})
const base = await app.listen({ host: '127.0.0.1', port: 0 })

const quotes = {
  sent: {
    customer_tax_id: 'ESB00000000',
    country: 'ES',
    incoterm: 'DAP',
    incoterm_place: 'Zaragoza',
    payment_terms: '30 días fecha factura',
  },
  accepted: { status: 'accepted', decided_on: '2026-11-10' },
  rejected: { status: 'rejected', decided_on: '2026-11-10' },
  expired: { valid_until: '2026-11-20' },
  revoked: {},
} as const
const links = new Map<string, string>()
for (const [number, values] of Object.entries(quotes)) {
  await addQuote(db, number, values)
  links.set(number, `${base}/quote/share/${await createQuoteLink(db, { number })}`)
}
const { id } = await db
  .selectFrom('quote_shares as share')
  .innerJoin('quotes as quote', 'quote.id', 'share.quote_id')
  .where('quote.number', '=', 'revoked')
  .select('share.id')
  .executeTakeFirstOrThrow()
await revokeQuoteLink(db, id)
links.set('unknown', `${base}/quote/share/${'x'.repeat(43)}`)

const height = 900

async function openLink(t: Test, name: string) {
  const options = { origins: [base], viewport: { width: 1440, height }, locale: 'es-ES' }
  const opened = await openPage(t, browser, options, (text) => /status of 4(04|10)/.test(text))
  await opened.page.goto(links.get(name) ?? '')
  return opened
}

const isTooWide = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)

for (const name of links.keys()) {
  t.test(
    `the ${name} link is accessible, loads nothing else, and fits a phone and a 4K screen`,
    async (t) => {
      const { page, pageErrors } = await openLink(t, name)
      // Both widths use the same page. Only the other language needs to load it again.
      for (const { scheme, width, query } of [
        { scheme: 'light', width: 360, query: '' },
        { scheme: 'light', width: 3840, query: '' },
        { scheme: 'dark', width: 1440, query: '?lang=en' },
      ] as const) {
        await page.setViewportSize({ width, height })
        await page.emulateMedia({ colorScheme: scheme })
        if (query !== '') await page.goto(links.get(name) + query)
        t.same(await findAccessibilityViolations(page), [], `${scheme}, ${width}`)
        t.equal(await isTooWide(page), false, `${width} px wide`)
        t.same(pageErrors, [])
      }
    },
  )
}

t.test('the keyboard reaches the PDF with a visible focus', async (t) => {
  const { page } = await openLink(t, 'sent')
  const focused: string[] = []
  for (let press = 0; press < 12; press += 1) {
    await page.keyboard.press('Tab')
    focused.push(await page.evaluate(() => document.activeElement?.getAttribute('href') ?? ''))
    if (!focused.at(-1)?.includes('format=pdf')) continue
    t.not(
      await page.evaluate(
        () => document.activeElement && getComputedStyle(document.activeElement).outlineStyle,
      ),
      'none',
    )
    break
  }
  t.ok(
    focused.some((href) => href.includes('format=pdf')),
    focused.join(' '),
  )
})

t.test('a camera reads the transfer from the QR code of the page and of the PDF', async (t) => {
  const transfer = [
    ...[
      'BCD',
      '002',
      '1',
      'SCT',
      'CAIXESBBXXX',
      company.seller.legalName,
      'ES9121000418450200051332',
    ],
    ...['EUR1507.18', '', '', 'accepted'],
  ].join('\n')
  const { page } = await openLink(t, 'accepted')
  for (const { width, ...media } of [
    { width: 390, colorScheme: 'light' },
    { width: 1440, colorScheme: 'dark' },
    { width: 800, colorScheme: 'dark', media: 'print' },
  ] as const) {
    await page.setViewportSize({ width, height })
    await page.emulateMedia(media)
    const png = await page.screenshot({ fullPage: true })
    t.equal(await readQrCodeOfImage(browser, png), transfer, JSON.stringify({ width, ...media }))
  }
  const pdf = await fetch(`${links.get('accepted')}?format=pdf`)
  const bytes = Buffer.from(await pdf.arrayBuffer())
  t.equal(await readQrCodeOfPdf(browser, bytes, 1), transfer)
})

t.test('a long quote keeps its number and total in view, with a link to the totals', async (t) => {
  const { page } = await openLink(t, 'sent')
  t.equal(await page.$('.sticky-summary'), null, 'a short quote does not need it')
  const number = 'LONG'
  await insertLinkedQuote(db, number, generateLines(60)).then((token) =>
    page.goto(`${base}/quote/share/${token}`),
  )
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height })
    await page.evaluate(() => scrollTo(0, 2_000))
    const box = await page.locator('.sticky-summary').boundingBox()
    t.ok(box && box.y >= 0 && box.y < 20, `${width} px: ${JSON.stringify(box)}`)
    t.match(await page.innerText('.sticky-summary'), /LONG.*Ir al total.*€/s)
    t.equal(await isTooWide(page), false)
    t.same(await findAccessibilityViolations(page), [], `${width} px`)
    await page.click('.sticky-summary a')
    const totals = await page.locator('#total').boundingBox()
    t.ok(totals && totals.y >= -1 && totals.y < height, 'the totals are in view')
  }
})

t.test('on a phone the total and the action are on the first screen', async (t) => {
  const { page } = await openLink(t, 'sent')
  await page.setViewportSize({ width: 390, height: 700 })
  const bottomOf = async (selector: string) => {
    const box = await page.locator(selector).first().boundingBox()
    return box ? box.y + box.height : Number.POSITIVE_INFINITY
  }
  t.ok((await bottomOf('h1')) < 260, 'the letterhead is compact')
  for (const selector of ['.summary .sum', '.summary time', '.actions .button'])
    t.ok((await bottomOf(selector)) < 700, selector)
  const main = await page.locator('.actions .button:not(.quiet)').allInnerTexts()
  t.same(main, ['Aceptar'], 'there is one primary action')
  // The numbers of a line are on one row, below its description.
  const rows = await page.locator('.items tbody tr').first().locator('td').all()
  const tops = await Promise.all(
    rows.slice(1, -1).map(async (cell) => (await cell.boundingBox())?.y),
  )
  t.equal(new Set(tops.map((top) => Math.round(top ?? 0))).size, 1, tops.join(' '))
})

t.test('on a phone the surcharge of a line is beside its tax, never alone', async (t) => {
  const { page } = await openPage(t, browser, { origins: [base] })
  const cells = { taxRate: '21', surchargeRate: '5.2' }
  const quote = withDocument({
    lines: ['0', '5', '12.5'].map((discountPercent) => ({ ...hammer, ...cells, discountPercent })),
  })
  for (const language of languages) {
    await page.setContent(renderPage(quote, language, null))
    for (const width of [320, 390]) {
      await page.setViewportSize({ width, height: 700 })
      const bottoms = await page.locator('.items tbody tr').evaluateAll((rows) =>
        rows.map((row) => {
          const bottomOf = (name: string) =>
            Math.round(row.querySelector(`td.${name}`)?.getBoundingClientRect().bottom ?? 0)
          return { tax: bottomOf('tax'), surcharge: bottomOf('surcharge') }
        }),
      )
      t.equal(bottoms.length, 3)
      for (const { tax, surcharge } of bottoms)
        t.equal(surcharge, tax, `${language}, ${width} pixels`)
    }
  }
})

t.test('wide numbers fit the sheet, and a subtotal is beside its heading', async (t) => {
  const { page } = await openPage(t, browser, { origins: [base] })
  const wide = {
    ...hammer,
    quantity: '999999.123456',
    unitPrice: eur('123456789.12345678'),
    net: eur('108024595794630.39'),
  }
  const heading = { ...hammer, kind: 'heading' as const, description: 'Obra' }
  const short = { ...heading, subtotal: eur('100.00') }
  for (const lines of [
    [short, hammer],
    [{ ...heading, subtotal: wide.net }, wide],
  ]) {
    await page.setContent(renderPage(withDocument({ lines }), 'es', null))
    for (const width of [390, 1100, 1440]) {
      await page.setViewportSize({ width, height })
      const boxOf = (selector: string) => page.locator(selector).first().boundingBox()
      const [items, table] = [await boxOf('.items'), await boxOf('.items table')]
      t.ok((table?.width ?? 0) <= (items?.width ?? 0) + 1, `${width} px: ${table?.width}`)
      if (lines[0] !== short) continue
      const [name, sum] = [await boxOf('.heading th'), await boxOf('.heading .net')]
      t.ok(Math.abs((name?.y ?? 0) - (sum?.y ?? 99)) < 8, `${width} px: on one line`)
    }
  }
})

t.test('the language switch and the disclosure of the hash work without a script', async (t) => {
  const { page } = await openLink(t, 'sent')
  t.equal(await page.locator('footer code:visible').count(), 0)
  await page.click('summary')
  t.match(await page.innerText('footer details code'), /^[0-9a-f]{64}$/)
  await page.emulateMedia({ media: 'print' })
  t.match(await page.innerText('footer .print-only code'), /^[0-9a-f]{64}$/)
  t.equal(await page.locator('.languages:visible, details:visible, .button:visible').count(), 0)
  await page.emulateMedia({ media: 'screen' })
  await page.click('.languages a[hreflang=de]')
  t.equal(await page.getAttribute('html', 'lang'), 'de')
  t.equal(await page.getAttribute('.languages [aria-current]', 'hreflang'), 'de')
  t.match(await page.getAttribute('a[type="application/pdf"]', 'href'), 'lang=de')
})

t.test('five lines and the bank account are on one page, printed and as PDF', async (t) => {
  const { page } = await openPage(t, browser, { origins: [] })
  const print = async (quote: LinkedQuote, language: Language) => {
    await page.setContent(renderPage(quote, language, '?format=pdf'))
    return readPdfPages(await page.pdf({ preferCSSPageSize: true }))
  }
  const { totals } = quoteDocument
  const plain = withDocument({
    lines: [1, 2, 3, 4, 5].map((position) => ({ ...hammer, position, surchargeRate: null })),
    totals: {
      ...totals,
      discount: null,
      withheld: null,
      taxes: totals.taxes
        .slice(0, 1)
        .map((tax) => ({ ...tax, surchargeRate: null, surchargeAmount: null })),
    },
  })
  const accepted: LinkedQuote = { ...plain, status: 'accepted' }
  const withoutTerms: LinkedQuote = {
    ...accepted,
    document: {
      ...accepted.document,
      trade: { incoterm: null, delivery: null },
      payment: { terms: null },
    },
  }
  for (const language of languages)
    for (const [name, quote] of Object.entries({ plain, accepted, withoutTerms })) {
      const printed = await print(quote, language)
      t.match(printed[0], /1 \/ 1/, `${language}, ${name}`)
      const pdf = await renderPdfPages(quote, language)
      for (const pages of [printed, pdf]) {
        t.equal(pages.length, 1, `${language}, ${name}`)
        t.match(
          pages[0],
          /ES91 ?2100 ?0418 ?4502 ?0005 ?1332\n/,
          `${language}, ${name}: on one line`,
        )
      }
    }
  const many = Array.from({ length: 60 }, (_, n) => ({ ...hammer, position: n + 1 }))
  const pages = await print(withDocument({ lines: many }), 'es')
  t.ok(pages.length > 2)
  t.match(
    pages.at(-1),
    /Martillo(.|\n)*Totales(.|\n)*1\.238\.473,63/,
    'the totals are with the last line',
  )
  t.match(pages.at(-1), '883.500,00 €', 'each line of a long quote has the running total')
  for (const [index, text] of pages.entries()) {
    t.match(text, 'Presupuesto P-2026-17')
    t.match(text, `${index + 1} / ${pages.length}`)
  }
})
