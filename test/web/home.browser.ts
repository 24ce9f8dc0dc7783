// The page / in a real browser: its three features and its code samples.
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import type { Stats } from '../../src/stats/schema.ts'
import { requestTimeoutMs } from '../../src/web/browser/fetch-with-timeout.ts'
import { buildQuote } from '../stats/quote-builder.ts'
import { findAccessibilityViolations, openPage, startBrowser } from '../support/browser.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { chooseFixedPort } from '../support/servers/fixed-port.ts'
import { testService } from '../support/service/test-service.ts'

t.setTimeout(600_000)
// Most of the time is spent waiting. Each test has its own browser context.
t.jobs = 3
const browser = await startBrowser(t)
const port = await chooseFixedPort()
const base = `http://127.0.0.1:${port}`
const database = await testDatabase(t)
const { db } = database
await db
  .insertInto('products')
  .values([
    { sku: 'AB-1', name: 'Martillo de bola 300 g', price: '12.5', currency: 'EUR' },
    { sku: 'AB-2', name: 'Taladro percutor', price: '89', currency: 'EUR' },
  ])
  .execute()
await addQuote(db, 'P-1')
const quotesOfYear = Array.from({ length: 12 }, (_, month) =>
  buildQuote(`Q-${month}`, {
    issued_on: `2025-${String(month + 1).padStart(2, '0')}-05`,
    decided_on: '2025-12-30',
    net: `${month + 1}00.25`,
  }),
)
await db
  .insertInto('quotes')
  .values(quotesOfYear.map((quote) => ({ ...quote, tax: '0', gross: quote.net })))
  .execute()
const link = `${base}/quote/share/${await createQuoteLink(db, { number: 'P-1' })}`
const key = await createApiKey(db, {
  kind: 'publishable',
  name: 'page',
  scopes: ['search:read'],
  origins: [base],
})
const config = {
  PUBLIC_BASE_URL: base,
  WEB_PARTS: ['home' as const, 'dashboard' as const],
  HOME_PALETTE: key,
  HOME_QUOTE_URL: link,
}
// The search needs the publishable key.
const service = await testService(t, {
  database,
  config: { ...config, ANONYMOUS_SCOPES: ['stats:read'] },
})
await service.sync()
await service.app.listen({ host: '127.0.0.1', port })

const normalizeSpaces = (text: string | null | undefined) =>
  (text ?? '').replace(/[\u00a0\u202f]/g, ' ').trim()
const waitUntilReady = (page: Page) => page.waitForSelector('body.ready')

async function open(
  test: Test,
  path = '/',
  { scheme = 'light' as 'light' | 'dark', width = 1440, origin = base } = {},
) {
  const watched = await openPage(
    test,
    browser,
    {
      origins: [origin],
      viewport: { width, height: 900 },
      colorScheme: scheme,
      locale: 'es-ES',
      permissions: ['clipboard-read', 'clipboard-write'],
    },
    (text) => /status of (401|503)/.test(text),
  )
  await watched.page.goto(origin + path)
  await waitUntilReady(watched.page)
  return watched
}

t.test('finds products, shows responses, and opens a quote and the dashboard', async (t) => {
  const { page } = await open(t)
  await page.click('#product')
  await page.keyboard.type('martilo')
  await page.waitForSelector('[role=option]:has-text("Martillo de bola")')
  t.same(await findAccessibilityViolations(page), [], 'with the open list')
  await page.keyboard.press('Enter')
  t.equal(
    normalizeSpaces(await page.textContent('#chosen')),
    'Elegido: Martillo de bola 300 g · AB-1 · 12,50 €',
  )
  await page.keyboard.press('Control+k')
  await page.waitForSelector('product-palette dialog[open]')
  await page.keyboard.press('Escape')
  t.equal(await page.getAttribute('.tools a', 'href'), 'docs', 'links to the documentation')

  // On a busy machine the service may reject a request.
  const samples = await eventually(
    async () => {
      await page.reload()
      await waitUntilReady(page)
      return page.$$eval('code[data-path]', (codes) => codes.map((code) => code.textContent ?? ''))
    },
    (texts) => texts.every((text) => text.startsWith('{')),
  )
  const { quotes, revenue } = (await service.app.inject('/api/stats')).json<Stats>()
  t.match(JSON.parse(samples[0] ?? ''), {
    quotes: { total: quotes.total },
    revenue: { total: revenue.total },
  })
  t.match(JSON.parse(samples[1] ?? ''), {
    document: { totals: { gross: { amount: '1507.18', currency: 'EUR' } } },
  })

  await page.click('#open-quote')
  await page.waitForURL(`${link}?lang=es`)
  t.match(await page.textContent('h1'), /P-1/)
  await page.goBack()
  await waitUntilReady(page)
  await page.click('#open-dashboard')
  await page.waitForURL(`${base}/dashboard?lang=es`)
  await page.waitForSelector('#metrics dd')
})

t.test('the code samples work as they are copied', async (t) => {
  const { page } = await open(t, '/?lang=en')
  const samples = await page.$$eval('figure:has(.copy) code', (codes) =>
    codes.map((code) => code.textContent ?? ''),
  )
  t.equal(
    samples[0],
    `<script type="module" src="${base}/web/palette.js"></script>
<product-palette endpoint="${base}" api-key="${key}"></product-palette>`,
  )
  t.equal(
    await page.textContent('#key-note'),
    `The key shown is for pages of ${base}. For your own pages, create a key for their origin:`,
  )
  const [command = '', ...args] = (samples[1] ?? '').replaceAll('\\\n', '').split(/\s+/)
  t.equal(command, 'scripts/run')
  t.same(args.slice(0, 4), ['api-key', 'create', '--kind', 'publishable'])
  const [, url = '', integrity] =
    /src="([^"]+\?v=[\w-]+)"\s+integrity="(sha384-[^"]+)"/.exec(samples[2] ?? '') ?? []
  const script = Buffer.from(await (await fetch(url)).arrayBuffer())
  t.equal(`sha384-${createHash('sha384').update(script).digest('base64')}`, integrity)
  for (const [, url = ''] of samples
    .slice(4)
    .flatMap((text) => [...text.matchAll(/'(http[^']+)'/g)])) {
    // On a busy machine the PDF may take longer than a request waits.
    const { status } = await eventually(
      () => fetch(url),
      (response) => response.ok,
    )
    t.equal(status, 200, url)
  }
  t.match(
    samples[3],
    /^curl -H 'Authorization: Bearer tqs_…' 'http/,
    'the sample of the search shows a placeholder for the key',
  )
  await page.click('.copy >> nth=0')
  await page.waitForSelector('#announcement:has-text("Copied")')
  t.equal(await page.evaluate(() => navigator.clipboard.readText()), samples[0])
})

t.test('says that statistics and a quote without a response are unavailable', async (t) => {
  const { page } = await open(t)
  await page.clock.install()
  await page.route('**/api/stats', () => undefined)
  await page.route('**/quote/share/*?format=json', () => undefined)
  const requested = ['/api/stats', '?format=json'].map((end) =>
    page.waitForRequest((request) => request.url().endsWith(end)),
  )
  await page.goto(`${base}/?lang=en`)
  await Promise.all(requested)
  await page.clock.runFor(requestTimeoutMs)
  await waitUntilReady(page)
  t.match(await page.textContent('#stats-response'), /unavailable/)
  t.match(await page.textContent('#quote-response'), /unavailable/)
})

t.test('loads at most 100 kB', async (t) => {
  const { page } = await open(t)
  const paths = await page.evaluate(() =>
    performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname),
  )
  let weight = gzipSync((await service.app.inject('/api/stats')).body).length
  for (const url of ['/', ...new Set(paths.filter((path) => path.startsWith('/web/')))]) {
    weight += (await service.app.inject({ url, headers: { 'accept-encoding': 'gzip' } })).rawPayload
      .length
  }
  t.comment(`${weight} bytes gzipped`)
  t.ok(weight <= 100_000, `${weight} bytes`)
})

t.test('says how to get a key and a quote link if they are not configured', async (t) => {
  const unconfigured = await testService(t, {
    database,
    config: { WEB_PARTS: ['home'], ANONYMOUS_SCOPES: [], PUBLIC_BASE_URL: base },
  })
  const origin = await unconfigured.app.listen({ host: '127.0.0.1', port: 0 })
  const { page } = await open(t, '/', { origin })
  t.match(await page.textContent('#stats-response'), 'clave')
  t.match(await page.textContent('main'), 'scripts/run share create')
  t.equal(await page.textContent('#key-note'), 'Crea una clave para el origen de tu página:')
  t.equal(await page.$('#open-quote'), null)
  t.same(await findAccessibilityViolations(page), [])
})
