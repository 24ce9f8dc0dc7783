/// <reference lib="dom" />
// Every page in every state has no finding of axe, in Chromium. dashboard.browser.ts and
// palette.browser.ts check more states, in one look each.
import type { Page } from 'playwright-core'
import t from 'tap'
import type { ErrorPageName } from '../../src/quotes/failures.ts'
import { createQuoteLink, revokeQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { renderErrorPage } from '../../src/quotes/page/quote-page.ts'
import type { LinkedQuote, QuoteDocument } from '../../src/quotes/schema.ts'
import { foldUntilCurrent } from '../../src/stats/summary/fold-statistics.ts'
import { type Language, languages, textsByLanguage } from '../../src/texts/languages.ts'
import type { ProductPalette } from '../../src/web/palette/palette.d.ts'
import { buildQuote } from '../stats/quote-builder.ts'
import { findAccessibilityViolations, openPage, startBrowser } from '../support/browser.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { company } from '../support/database/company.ts'
import { insertExampleProducts } from '../support/database/example-products.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import {
  document as fullDocument,
  hammer,
  linkedQuote,
  withDocument,
} from '../support/quotes/linked-quote.ts'
import { renderPage } from '../support/quotes/render-page.ts'
import { testService } from '../support/service/test-service.ts'

t.setTimeout(600_000)
const browser = await startBrowser(t)
const service = await testService(t, { config: { WEB_PARTS: ['palette', 'home'] } })
const { db } = service
await insertExampleProducts(db)
await service.sync()
const base = await service.app.listen({ host: '127.0.0.1', port: 0 })

/** A screen, or paper. `contrast` forces the colours of the system. */
type Look = {
  width: number
  colorScheme: 'light' | 'dark'
  media?: 'print'
  contrast?: boolean
}
const screens: Look[] = [
  { width: 390, colorScheme: 'light' },
  { width: 1440, colorScheme: 'dark' },
  { width: 1440, colorScheme: 'light' },
  { width: 390, colorScheme: 'dark' },
]
const contrasts: Look[] = [
  { width: 1440, colorScheme: 'dark', contrast: true },
  { width: 390, colorScheme: 'light', contrast: true },
]
const paper: Look = { width: 794, colorScheme: 'light', media: 'print' }
const looks: Look[] = [...screens, paper, ...contrasts]
/** Pages whose look is of no interest in itself take the looks in turn. */
const takeTurns = (index: number) => [looks[index % looks.length] as Look]

const { page } = await openPage(t, browser, { locale: 'es-ES' }, () => true)

/** Checks what the page shows now in each of these looks, without loading it again. */
async function findViolations(page: Page, state: string, shownIn: Look[]) {
  const found: string[] = []
  for (const { width, contrast = false, media = 'screen', ...look } of shownIn) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ ...look, media, forcedColors: contrast ? 'active' : 'none' })
    const name = `${state}, ${width} px, ${look.colorScheme}, ${contrast ? 'contrast' : media}`
    // Text that fades in has its colour only at the end.
    await page.evaluate(() =>
      Promise.all(
        document
          .getAnimations()
          .filter(({ effect }) => effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY)
          .map(({ finished }) => finished.catch(() => null)),
      ),
    )
    for (const violation of await findAccessibilityViolations(page))
      found.push(`${name}: ${violation}`)
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    )
    if (overflow > 0 && media === 'screen') found.push(`${name}: ${overflow} px too wide`)
  }
  return found
}

t.test('the page of a quote, in every status and language', async (t) => {
  const showQuote = (
    quote: LinkedQuote,
    language: Language,
    pdfLink: string | null = '?format=pdf',
  ) => page.setContent(renderPage(quote, language, pdfLink))
  let turn = 0
  for (const status of [
    'sent',
    'accepted',
    'rejected',
    'expired',
    'withdrawn',
    'superseded',
  ] as const)
    for (const language of languages) {
      await showQuote({ ...linkedQuote, status }, language)
      const shownIn = language === 'es' && status === 'accepted' ? looks : takeTurns(turn)
      turn += 1
      t.same(await findViolations(page, status, shownIn), [], `${status} ${language}`)
    }
  const { bank } = fullDocument.seller
  const changes: Record<string, Partial<QuoteDocument>> = {
    'many lines': {
      lines: Array.from({ length: 40 }, (_, n) => ({ ...hammer, position: n + 1 })),
    },
    'nothing optional': {
      validUntil: null,
      buyer: { name: null, taxId: null, address: null, contactName: null },
      legal: [],
      notes: null,
    },
    'a wrong IBAN': {
      seller: { ...fullDocument.seller, bank: bank && { ...bank, iban: 'ES00' } },
    },
  }
  for (const [state, change] of Object.entries(changes)) {
    await showQuote(withDocument(change), 'es')
    turn += 1
    t.same(await findViolations(page, state, takeTurns(turn)), [], state)
  }
  await showQuote(linkedQuote, 'es', null)
  await page.click('summary')
  t.same(await findViolations(page, 'open disclosure, no PDF', takeTurns(0)), [])
})

t.test('the page of every error of a link', async (t) => {
  const { legalName, email, phone } = company.seller
  const seller = { legalName, email: email ?? '', phone: phone ?? '' }
  const names = Object.keys(textsByLanguage.es.quotes.errors) as ErrorPageName[]
  // The pages differ in their text only: each has one language and look, and one of them has all.
  const pages = [
    ...names.map((name, turn) => [name, languages[turn % languages.length]] as const),
    ...languages.map((language) => ['link_expired', language] as const),
  ]
  for (const [turn, [name, language = 'es']] of pages.entries()) {
    await page.setContent(
      renderErrorPage({ name, language, contact: turn % 2 === 0 ? seller : null }),
    )
    const shownIn = name === 'link_expired' && language === 'es' ? looks : takeTurns(turn)
    t.same(await findViolations(page, name, shownIn), [], `${name} ${language}`)
  }
})

t.test('links that fail, as the service answers them', async (t) => {
  const createLink = async (number: string, lifetimeMs?: number) => {
    await addQuote(db, number)
    const token = await createQuoteLink(db, {
      number,
      ...(lifetimeMs && { expiry: { lifetimeMs } }),
    })
    return `/quote/share/${token}`
  }
  const expired = await createLink('expired', 1_000)
  const open = await createLink('open')
  const revoked = await createLink('revoked')
  const { id } = await db
    .selectFrom('quote_shares')
    .select('id')
    .orderBy('id', 'desc')
    .executeTakeFirstOrThrow()
  await revokeQuoteLink(db, id)
  const start = async (options: Parameters<typeof testService>[1]) => {
    const { app } = await testService(t, { index: false, ...options })
    return app.listen({ host: '127.0.0.1', port: 0 })
  }
  const limited = await start({ database: service, config: { LINK_LIMIT_PER_MINUTE: 1 } })
  await eventually(
    () => fetch(limited + open),
    ({ status }) => status === 429,
  )
  const database = await testDatabase(t)
  await database.db.schema.alterTable('quote_shares').renameTo('quote_shares_missing').execute()
  const broken = await start({ database })
  await eventually(
    () => fetch(base + expired),
    ({ status }) => status === 410,
  )
  const answers = [
    [`${base}/quote/share/${'x'.repeat(43)}`, 404],
    [base + revoked, 410],
    [base + expired, 410],
    [base.replace('127.0.0.1', 'other.example.test') + revoked, 421],
    [limited + open, 429],
    [broken + revoked, 503],
  ] as const
  for (const [turn, [url, status]] of answers.entries()) {
    // The limit of one request a minute begins anew with each minute.
    const response = await eventually(
      () => page.goto(url),
      (response) => response?.status() === status,
    )
    t.equal(response?.status(), status, url)
    t.match(response?.headers()['content-type'], 'text/html')
    t.same(await findViolations(page, `${status}`, takeTurns(turn)), [], `${status}`)
  }
})

t.test('/, in every language', async (t) => {
  for (const [turn, language] of languages.entries()) {
    await page.goto(`${base}/?lang=${language}`)
    await page.waitForLoadState('networkidle')
    const state = `/ ${language}`
    t.same(await findViolations(page, state, turn === 0 ? looks : takeTurns(turn)), [], state)
  }
})

t.test('the dashboard, in every state', async (t) => {
  const { app, db } = await testService(t, { config: { WEB_PARTS: ['dashboard'] }, index: false })
  const quotes = [
    buildQuote('1', { net: '9007199254740993.25', country: 'JP' }),
    buildQuote('2', {
      ...{ currency: 'USD', rate: '0.925', net: '100.05', country: 'US' },
      ...{ issued_on: '2026-05-02', decided_on: '2026-05-10' },
    }),
    buildQuote('3', { currency: 'KWD', rate: null, net: '12.345', country: null }),
    buildQuote('4', { status: 'rejected', country: 'FR', issued_on: '2026-02-11' }),
    buildQuote('5', { status: 'draft', decided_on: null, issued_on: '2026-06-30' }),
  ]
  await db
    .insertInto('quotes')
    .values(quotes.map((quote) => ({ ...quote, tax: '0', gross: quote.net })))
    .execute()
  await foldUntilCurrent(db)
  const dashboard = `${await app.listen({ host: '127.0.0.1', port: 0 })}/dashboard`
  const { page } = await openPage(t, browser, { locale: 'es-ES' }, () => true)
  const check = async (state: string) => {
    for (const look of screens) t.same(await findViolations(page, state, [look]), [], state)
  }
  const waitForStats = () =>
    page.waitForSelector('#statistics:not([hidden]):not([aria-busy]) #metrics dd')
  let answer = () => {}
  const held = new Promise<void>((resolve) => {
    answer = resolve
  })
  await page.route('**/api/stats?*', async (route) => {
    await held
    await route.continue()
  })
  await page.goto(`${dashboard}?from=2026-05-01&to=2026-05-31&within=12m&country=US`)
  await page.waitForSelector('#statistics[aria-busy]')
  await check('loading')
  answer()
  await waitForStats()
  await check('days')
  await page.click('#breakdown summary')
  await page.waitForSelector('#breakdown-message button')
  await check('details without a key')
  await page.click('#breakdown-message button')
  await check('a key is asked')
  await page.goto(`${dashboard}?from=2001-01-01&to=2001-12-31`)
  await waitForStats()
  await check('empty')
  await page.goto(`${dashboard}?from=2026-01-01&to=2026-06-30&compare=previous_year`)
  await waitForStats()
  await check('data')
  await page.click('#timeline-table-button')
  await check('the table')
  await page.goto(`${dashboard}?country=Spain`)
  await page.waitForSelector('#error:not([hidden])')
  await check('error')
})

t.test('the palette, in every state', async (t) => {
  const [contrast] = contrasts as [Look]
  let turn = 0
  const check = async (state: string) => {
    const screen = screens[turn++ % screens.length] as Look
    t.same(await findViolations(page, state, [screen, contrast]), [], state)
  }
  const type = async (text: string) => {
    await page.locator('[part=input]').fill(text)
    await page.waitForSelector('[part=panel]:not([data-busy])')
  }
  await page.goto(`${base}/?lang=es`)
  await page.waitForSelector('body.ready')
  await page.evaluate(() => {
    const palette = document.querySelector('product-palette:not([for])') as ProductPalette
    palette.actions = [
      { id: 'new', label: 'Crear presupuesto', group: 'Acciones', keywords: 'llave' },
      { id: 'customers', label: 'Ir a clientes', group: 'Ir a', detail: 'Alt+C' },
    ]
    palette.show()
  })
  await page.waitForSelector('[part~=option] [part=star]')
  await check('open, with actions')
  await type('llave')
  await check('results and an action')
  await page.keyboard.press('Shift+Enter')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Control+Enter')
  await check('a favourite, and a product that was chosen')
  await type('')
  await check('favourites and recent products')
  await type('a')
  await page.keyboard.press('ArrowUp')
  await check('the option that shows more is active')
  await type('qqqzzzxxx')
  await check('no results')
  await page.route('**/api/search?*', (route) => route.abort('connectionrefused'))
  await type('martillo')
  await page.waitForSelector('[part~=trouble]')
  await check('an error without results')
  await page.unrouteAll()
  await type('llave')
  await page.route('**/api/search?*', (route) =>
    route.fulfill({ status: 429, headers: { 'retry-after': '3600' } }),
  )
  await type('llaves')
  await page.waitForSelector('[part=list][aria-disabled]')
  await page.keyboard.press('Enter')
  await check('outdated results after a 429, and a refused choice')
  await page.unrouteAll()
  await page.reload()
  await page.waitForSelector('body.ready')
  await page.locator('#product').fill('llave')
  await page.waitForSelector('[part~=popup] [part~=option]')
  await check('the list below an input')
})
