// The page behind a quote link in a real browser: read on a phone, at a desk and on a wall, in the light and in the dark, with the keyboard and by machines.
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { createShareLink, revokeShareLink } from '../../src/quotes/share-links.ts'
import { findAccessibilityViolations, openPage, startBrowser } from '../support/browser.ts'
import { addQuote } from '../support/quotes.ts'
import { testService } from '../support/test-service.ts'

t.setTimeout(120_000)
const browser = await startBrowser(t)
const { app, db } = await testService(t, { clock: () => new Date('2026-11-21T10:00:00Z') })
const base = await app.listen({ host: '127.0.0.1', port: 0 })

const rich = {
  customer_tax_id: 'ESB00000000',
  country: 'ES',
  incoterm: 'DAP',
  incoterm_place: 'Zaragoza',
  payment_terms: '30 días fecha factura',
}
const links = new Map<string, string>()
for (const [number, more] of Object.entries({
  sent: rich,
  accepted: { status: 'accepted', decided_on: '2026-11-10' },
  rejected: { status: 'rejected', decided_on: '2026-11-10' },
  outlived: { valid_until: '2026-11-20' },
  withdrawn: {},
} as const)) {
  await addQuote(db, number, more)
  links.set(number, `${base}/quote/share/${await createShareLink(db, { number })}`)
}
const { id } = await db
  .selectFrom('quote_shares as share')
  .innerJoin('quotes as quote', 'quote.id', 'share.quote_id')
  .where('quote.number', '=', 'withdrawn')
  .select('share.id')
  .executeTakeFirstOrThrow()
await revokeShareLink(db, id)
links.set('unknown', `${base}/quote/share/${'x'.repeat(43)}`)

type Look = { scheme?: 'light' | 'dark'; width?: number; query?: string }

async function open(
  t: Test,
  name: string,
  { scheme = 'light', width = 1440, query = '' }: Look = {},
) {
  const options = {
    origins: [base],
    viewport: { width, height: 900 },
    colorScheme: scheme,
    locale: 'es-ES',
  }
  const watched = await openPage(t, browser, options, (text) => /status of 4(04|10)/.test(text))
  await watched.page.goto(links.get(name) + query)
  return watched
}

const isTooWide = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)

for (const name of links.keys()) {
  t.test(
    `${name}: axe finds nothing, nothing is loaded from elsewhere, and it fits a phone and a wall`,
    async (t) => {
      for (const look of [
        { scheme: 'light', width: 360 },
        { scheme: 'dark', width: 1440, query: '?lang=en' },
        { scheme: 'light', width: 3840 },
      ] as const) {
        const { page, pageErrors } = await open(t, name, look)
        t.same(await findAccessibilityViolations(page), [], `${look.scheme}, ${look.width}`)
        t.equal(await isTooWide(page), false, `${look.width} px wide`)
        t.same(pageErrors, [])
      }
    },
  )
}

t.test(
  'the keyboard comes to the PDF and sees where it is; without colours or style the text tells all',
  async (t) => {
    const { page } = await open(t, 'sent')
    const seen: string[] = []
    for (let press = 0; press < 12; press += 1) {
      await page.keyboard.press('Tab')
      seen.push(await page.evaluate(() => document.activeElement?.getAttribute('href') ?? ''))
      if (!seen.at(-1)?.includes('format=pdf')) continue
      t.not(
        await page.evaluate(
          () => document.activeElement && getComputedStyle(document.activeElement).outlineStyle,
        ),
        'none',
      )
      break
    }
    t.ok(
      seen.some((href) => href.includes('format=pdf')),
      seen.join(' '),
    )
    const text = (await page.innerText('body')).replace(/[\u00a0\u202f]/g, ' ')
    for (const one of [
      'sent',
      'DAP',
      'Zaragoza',
      '30 días fecha factura',
      '1507,18 €'.replace('1507', '1.507'),
      'ES91 2100 0418 4502 0005 1332',
    ])
      t.ok(text.includes(one), `${one} in ${text.slice(0, 2_000)}`)
  },
)
