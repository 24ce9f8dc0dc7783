// The dashboard in a real browser while requests fail, hang or are slow, and while the visitor acts
// meanwhile: it recovers by itself, keeps the focus, and shows nothing without the key.
import type { Page, Route } from 'playwright-core'
import t, { type Test } from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { foldUntilCurrent } from '../../src/stats/summary/fold-statistics.ts'
import { requestTimeoutMs } from '../../src/web/browser/fetch-with-timeout.ts'
import { breakdownIntervalMs, searchReportIntervalMs } from '../../src/web/dashboard/requests.ts'
import { pollIntervalMs } from '../../src/web/dashboard/stats-polling.ts'
import { buildQuote } from '../stats/quote-builder.ts'
import { openPage, startBrowser } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { testService } from '../support/service/test-service.ts'

t.setTimeout(600_000)
// Most of the time is spent waiting. Each test has its own browser context.
t.jobs = 3
const browser = await startBrowser(t)
const firstHalf = 'from=2026-01-01&to=2026-06-30'

const config = { WEB_PARTS: ['dashboard' as const], STATS_LIMIT_PER_MINUTE: 100_000 }
const service = await testService(t, { config, index: false })
const base = await service.app.listen({ host: '127.0.0.1', port: 0 })
const { db } = service
const customers = Array.from({ length: 12 }, (_, index) => ({ name: `Customer ${index + 1}` }))
const ids = await db.insertInto('customers').values(customers).returning('id').execute()
let quoteCount = 0
const insertQuote = async (customer_id: string | null = null) => {
  const quote = buildQuote(`Q${++quoteCount}`, { customer_id, issued_on: '2026-02-10' })
  await db
    .insertInto('quotes')
    .values({ ...quote, tax: '0', gross: quote.net })
    .execute()
  await foldUntilCurrent(db)
}
for (const { id } of ids) await insertQuote(id)
const key = await createApiKey(db, {
  kind: 'secret',
  name: 'dashboard',
  scopes: ['stats:read', 'stats:detail'],
})
const closed = await testService(t, {
  config: { ...config, ANONYMOUS_SCOPES: [] },
  index: false,
  database: service,
})
const closedBase = await closed.app.listen({ host: '127.0.0.1', port: 0 })

const isFailedRequest = (text: string) => /status of \d|ERR_/.test(text)

type Options = { base?: string; withKey?: boolean; initScript?: () => void }

/** Opens the dashboard in English. Its clock moves only by `poll` and the like. */
async function open(
  t: Test,
  path: string,
  { base: url = base, withKey = false, initScript }: Options = {},
) {
  const options = { origins: [url], viewport: { width: 1440, height: 900 }, locale: 'en-GB' }
  const { page, context } = await openPage(t, browser, options, isFailedRequest)
  if (initScript) await context.addInitScript(initScript)
  await page.goto(`${url}/web/icon.svg`)
  if (withKey)
    await page.evaluate((key) => {
      sessionStorage.setItem('trade-quoting-service stats key', key)
    }, key)
  await page.clock.install()
  await page.goto(`${url}/dashboard?${path}`)
  return page
}

const waitForStats = (page: Page) =>
  page.waitForSelector('#statistics:not([hidden]):not([aria-busy]) #metrics dd')
async function openStats(t: Test, path: string, options?: Options) {
  const page = await open(t, path, options)
  await waitForStats(page)
  return page
}
const isStatsRequest = (url: string) => /\/api\/stats(\?|$)/.test(url) && !/by=|format=/.test(url)
const isBreakdownRequest = (url: string) => /\/api\/stats\?.*by=(customer|product)/.test(url)
const isStats = (url: URL) => isStatsRequest(url.href)
const isBreakdown = (url: URL) => isBreakdownRequest(url.href)

/** Advances the clock of the page by the poll interval, and waits for the response. */
async function poll(page: Page): Promise<void> {
  await Promise.all([
    page.waitForResponse((response) => isStatsRequest(response.url())),
    page.clock.runFor(pollIntervalMs),
  ])
}
/** Polls until `check` holds for what `ask` returns, and returns that. */
const pollUntil = <Result>(
  page: Page,
  ask: () => Promise<Result>,
  check: (result: Result) => boolean,
) =>
  eventually(async () => {
    await poll(page)
    return ask()
  }, check)
const fail = (status: number) => (route: Route) => route.fulfill({ status, body: '' })
const focused = (page: Page) =>
  page.evaluate(() => {
    const { localName = '', id = '' } = document.activeElement ?? {}
    return id || localName
  })
const countTables = (page: Page, id: string) => page.locator(`#${id} table`).count()
const search = (page: Page) => new URL(page.url()).search

// Runs alone: newer statistics, which other tests cause, would repeat the requests at once.
await t.test('customers and products return by themselves after a failure', async (t) => {
  for (const path of ['period=all', firstHalf]) {
    const page = await openStats(t, `${path}&lang=en`, { withKey: true })
    await page.route(isBreakdown, fail(503))
    await page.click('#breakdown summary')
    await page.waitForSelector('#breakdown-message:has-text("unavailable")')
    await page.unroute(isBreakdown)
    const tables = await pollUntil(
      page,
      () => countTables(page, 'breakdown'),
      (count) => count > 0,
    )
    t.ok(tables > 0, path)
  }
})

t.test('failing customers and products are requested no more often than others', async (t) => {
  const page = await openStats(t, `${firstHalf}&lang=en`, { withKey: true })
  let count = 0
  await page.route(isBreakdown, (route) => {
    count += 1
    return fail(429)(route)
  })
  await page.click('#breakdown summary')
  await page.waitForSelector('#breakdown-message:has-text("Too many")')
  const changes = await countTextChanges(page, '#breakdown-message')
  const intervals = 2
  for (let elapsedMs = 0; elapsedMs < intervals * breakdownIntervalMs; elapsedMs += pollIntervalMs)
    await poll(page)
  const expected = 2 + intervals * 2
  await eventually(
    async () => count,
    (current) => current >= expected,
  )
  t.ok(count <= expected, `${count} requests in ${intervals} intervals`)
  t.equal(await changes(), 0, 'screen readers do not repeat the message')
})

t.test('a request without a response ends, and the dashboard recovers', async (t) => {
  const page = await openStats(t, `${firstHalf}&lang=en`, { withKey: true })
  /** Lets the requests of `start` run into their time limit. */
  const hangDuring = async (isHanging: (url: URL) => boolean, start: () => Promise<void>) => {
    await page.route(isHanging, () => undefined)
    const requested = page.waitForRequest((request) => isHanging(new URL(request.url())))
    await start()
    await requested
    await page.clock.runFor(requestTimeoutMs)
  }
  await hangDuring(isStats, () => page.clock.runFor(pollIntervalMs))
  await page.waitForSelector('[data-state="stale"]')
  await page.waitForSelector('#error:has-text("unavailable")')
  t.match(await page.textContent('#data-age-text'), /^Not updated · \d\d:\d\d \(\d+ sec ago\)$/)
  await page.unroute(isStats)
  await page.click('#retry')
  await page.waitForSelector('[data-state="fresh"]')
  t.equal(await page.isVisible('#error'), false)

  await hangDuring(isBreakdown, () => page.click('#breakdown summary'))
  await page.waitForSelector('#breakdown-message:has-text("unavailable")')
  const isSearches = (url: URL) => url.pathname.endsWith('/searches')
  await hangDuring(isSearches, () => page.click('#searches summary'))
  await page.waitForSelector('#searches-summary:has-text("unavailable")')
  // The statistics would hide the failure of the file.
  await page.route(isStats, () => undefined)
  const isFile = (url: URL) => url.searchParams.get('format') === 'csv'
  await hangDuring(isFile, () => page.click('#csv'))
  await page.waitForSelector('#error:has-text("unavailable")')
})

t.test('a failure leaves the form for a key open while the visitor types', async (t) => {
  const page = await openStats(t, `${firstHalf}&lang=en`)
  await page.click('#breakdown summary')
  await page.click('#breakdown-message button')
  await page.keyboard.type('tqs_')
  for (const status of [503, 429]) {
    await page.route(isStats, fail(status))
    await page.clock.runFor(pollIntervalMs * 2)
    await page.waitForSelector(`#error:has-text("${status === 503 ? 'unavailable' : 'Too many'}")`)
    t.equal(await page.isVisible('#key-form'), true)
    t.equal(await focused(page), 'key')
    await page.unroute(isStats)
    await page.clock.runFor(60_000)
    await page.waitForSelector('#error', { state: 'hidden' })
  }
  await page.keyboard.type('x')
  t.equal(await page.inputValue('#key'), 'tqs_x')
  await page.keyboard.press('Escape')
  t.equal(await page.isVisible('#key-form'), false, 'the form can still be closed')
})

t.test('the focus is not lost when the form or a button disappears', async (t) => {
  const needed = await open(t, `${firstHalf}&lang=en`, { base: closedBase })
  await needed.waitForSelector('#key-form:not([hidden])')
  await needed.keyboard.type(key)
  await needed.keyboard.press('Enter')
  await waitForStats(needed)
  t.equal(await focused(needed), 'period')

  const page = await openStats(t, `${firstHalf}&lang=en`)
  await page.click('#breakdown summary')
  await page.click('#breakdown-message button')
  await page.keyboard.type(key)
  await page.keyboard.press('Enter')
  await page.waitForSelector('#breakdown table')
  t.equal(await focused(page), 'summary')
  const showAll = page.locator('#breakdown button:has-text("Show all")')
  await showAll.focus()
  await page.keyboard.press('Enter')
  const focusedText = () => page.evaluate(() => document.activeElement?.textContent ?? '')
  t.match(await focusedText(), /^Customer 11/, 'the first row that was hidden')
  await insertQuote()
  await pollUntil(
    page,
    () => page.locator('#breakdown th:has-text("No customer")').count(),
    (count) => count > 0,
  )
  t.match(await focusedText(), /^Customer/, 'also after newer data')
})

t.test('a key works in a browser that denies storage', async (t) => {
  const page = await open(t, `${firstHalf}&lang=en`, {
    base: closedBase,
    initScript: () => {
      Object.defineProperty(window, 'sessionStorage', {
        get() {
          throw new DOMException('denied', 'SecurityError')
        },
      })
    },
  })
  await page.waitForSelector('#key-form:not([hidden])')
  await page.keyboard.type(key)
  await page.keyboard.press('Enter')
  await waitForStats(page)
  await page.click('#forget-key')
  await page.waitForSelector('#key-form:not([hidden])')
  t.equal(await page.isVisible('#statistics'), false)
})

t.test('no name stays in the page without the key, nor arrives later', async (t) => {
  const page = await openStats(t, `${firstHalf}&lang=en`, {
    base: closedBase,
    withKey: true,
  })
  await page.click('#breakdown summary')
  await page.click('#searches summary')
  await page.waitForSelector('#breakdown table')
  await page.waitForSelector('#searches-summary:has-text("Last")')
  const readSections = () =>
    page.evaluate(() =>
      ['breakdown-message', 'breakdown-tables', 'searches-summary', 'searches-tables'].map(
        (id) => document.getElementById(id)?.textContent,
      ),
    )
  await page.click('#forget-key')
  await page.waitForSelector('#key-form:not([hidden])')
  t.same(await readSections(), ['', '', '', ''])

  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let delivered = 0
  const isDetail = (url: URL) => isBreakdown(url) || url.pathname.endsWith('/searches')
  await page.route(isDetail, async (route) => {
    const response = await route.fetch()
    await released
    await route.fulfill({ response })
    delivered += 1
  })
  const waiting = page.waitForRequest((request) => isBreakdownRequest(request.url()))
  await page.keyboard.type(key)
  await page.keyboard.press('Enter')
  await waitForStats(page)
  await waiting
  await page.click('#forget-key')
  await page.waitForSelector('#key-form:not([hidden])')
  release()
  t.equal(
    await eventually(
      async () => delivered,
      (count) => count === 3,
    ),
    3,
  )
  t.same(await readSections(), ['', '', '', ''])
})

t.test('names the filters that are still invalid', async (t) => {
  const page = await open(t, 'country=zz&currency=zz&lang=en')
  const waitForText = (text: string) =>
    page.waitForSelector(`#error-text strong:text-is("${text}")`)
  await waitForText('A filter is invalid: country, currency.')
  await page.selectOption('#country', '')
  await waitForText('A filter is invalid: currency.')
})

t.test('a date field that is left shows the period that applies', async (t) => {
  const page = await openStats(t, `${firstHalf}&lang=en`)
  await page.fill('#from', '')
  await page.locator('#from').blur()
  t.equal(await page.inputValue('#from'), '2026-01-01')
  t.equal(search(page), `?${firstHalf}&lang=en`)
})

t.test('passing through a date field does not change a period that is loading', async (t) => {
  const page = await openStats(t, `${firstHalf}&lang=en`)
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  await page.route(isStats, async (route) => {
    await released
    await route.continue()
  })
  await page.click('[data-preset="year"]')
  await page.focus('#to')
  await page.locator('#to').blur()
  t.equal(search(page), '?period=year&lang=en')
  release()
  await waitForStats(page)
  t.equal(search(page), '?period=year&lang=en')
})

t.test('the details of a column stay when newer data arrives', async (t) => {
  const page = await openStats(t, `${firstHalf}&lang=en`)
  const readQuotes = async () =>
    Number(/Quotes: (\d+)/.exec((await page.textContent('#timeline-details')) ?? '')?.[1])
  await page.locator('#charts').evaluate((charts) => {
    const { left, width, top } = charts.getBoundingClientRect()
    const place = { clientX: left + width / 4, clientY: top + 60 }
    for (const type of ['pointerdown', 'pointerup', 'pointerleave'])
      charts.dispatchEvent(new PointerEvent(type, { pointerType: 'touch', ...place }))
  })
  const link = page.locator('#timeline-details a')
  t.equal(await link.textContent(), 'February 2026')
  await link.focus()
  const before = await readQuotes()
  await insertQuote()
  const after = await pollUntil(page, readQuotes, (count) => count !== before)
  t.ok(after > before, 'with the newer figures')
  t.equal(await page.evaluate(() => document.activeElement?.textContent), 'February 2026')
  t.equal(await page.locator('.column.pointed').count(), 2, 'in both charts')
  await page.click('#timeline-table-button')
  t.equal(await link.count(), 0, 'the table needs no details')
})

t.test('unchanged searches are not announced again', async (t) => {
  const page = await openStats(t, `${firstHalf}&lang=en`, { withKey: true })
  await page.click('#searches summary')
  await page.waitForSelector('#searches-summary:has-text("Last")')
  const changes = await countTextChanges(page, '#searches-summary')
  let loaded = 0
  page.on('response', (response) => {
    if (response.url().endsWith('/searches')) loaded += 1
  })
  await pollUntil(
    page,
    async () => loaded,
    (count) => count > 0,
  )
  t.ok(loaded > 0, `it was loaded again within ${searchReportIntervalMs} ms`)
  t.equal(await changes(), 0)
})

/** Returns a function that returns how often the text of an element has been set since now. */
async function countTextChanges(page: Page, selector: string): Promise<() => Promise<number>> {
  await page.evaluate((selector) => {
    const state = { changes: 0 }
    Object.assign(window, { state })
    const element = document.querySelector(selector)
    if (!element) throw new Error(`There is no ${selector}.`)
    new MutationObserver(() => {
      state.changes += 1
    }).observe(element, { childList: true, characterData: true, subtree: true })
  }, selector)
  return () =>
    page.evaluate(() => (window as unknown as { state: { changes: number } }).state.changes)
}
