// The dashboard in a real browser: it shows the data of /api/stats, or says why it cannot.
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { extractText, getDocumentProxy } from 'unpdf'
import { createApiKey } from '../../src/auth/api-keys.ts'
import type { ServerConfig } from '../../src/config.ts'
import { formatCountry, formatMoney } from '../../src/quotes/formats.ts'
import type { Stats } from '../../src/stats/schema.ts'
import { foldUntilCurrent } from '../../src/stats/summary/fold-statistics.ts'
import { pollIntervalMs } from '../../src/web/dashboard/stats-polling.ts'
import { buildQuote, type Quote } from '../stats/quote-builder.ts'
import { findAccessibilityViolations, openPage, startBrowser } from '../support/browser.ts'
import { buildRoleUrl } from '../support/database/database-roles.ts'
import { type TestDatabase, testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { hourMs, waitForFreshWindow } from '../support/fresh-window.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { type TestService, testService } from '../support/service/test-service.ts'

t.setTimeout(600_000)
// Most of the time is spent waiting. Each test has its own browser context.
t.jobs = 4
const browser = await startBrowser(t)
const firstHalf = 'from=2026-01-01&to=2026-06-30'
const wideViewport = { width: 1440, height: 900 }

const examples: Quote[] = [
  buildQuote('1', { net: '9007199254740993.25', country: 'JP' }),
  buildQuote('2', { net: '1234.50', issued_on: '2026-01-31', decided_on: '2026-02-03' }),
  buildQuote('3', {
    currency: 'USD',
    rate: '0.925',
    net: '100.05',
    country: 'US',
    issued_on: '2026-05-02',
    decided_on: '2026-05-10',
  }),
  buildQuote('4', { currency: 'KWD', rate: null, net: '12.345', country: null }),
  buildQuote('5', { status: 'rejected', country: 'FR', issued_on: '2026-02-11' }),
  buildQuote('6', { status: 'expired', decided_on: null, country: 'FR', issued_on: '2026-04-30' }),
  buildQuote('7', { status: 'draft', decided_on: null, issued_on: '2026-06-30' }),
  buildQuote('8', { net: '800.00', issued_on: '2025-04-10', decided_on: '2025-04-11' }),
  buildQuote('9', { net: '700.00', issued_on: '2021-07-10', decided_on: '2021-07-11' }),
]
/** Folds too, so that the next response has them if nothing is cached. */
async function insertQuotes({ db }: Pick<TestService, 'db'>, quotes: Quote[]): Promise<void> {
  await db
    .insertInto('quotes')
    .values(quotes.map((quote) => ({ ...quote, tax: '0', gross: quote.net })))
    .execute()
  await foldUntilCurrent(db)
}

async function startService(
  t: Test,
  config: Partial<ServerConfig> = {},
  database?: TestDatabase,
  apiUrl?: string,
) {
  const service = await testService(t, {
    config: { WEB_PARTS: ['dashboard'], ...config },
    index: false,
    ...(database && { database }),
    ...(apiUrl !== undefined && { apiUrl }),
  })
  const url = await service.app.listen({ host: '127.0.0.1', port: 0 })
  return { ...service, base: url }
}
const main = await startService(t)
await insertQuotes(main, examples)
const [withoutAnonymousAccess, rateLimited, withoutDashboard] = await Promise.all([
  startService(t, { ANONYMOUS_SCOPES: [] }, main),
  startService(t, { STATS_LIMIT_PER_MINUTE: 1 }, main),
  startService(t, { WEB_PARTS: ['palette'] }, main),
])

type Options = {
  base?: string
  width?: number
  scheme?: 'light' | 'dark'
  isExpectedError?: (text: string) => boolean
}

async function open(
  t: Test,
  path: string,
  { base = main.base, width = wideViewport.width, scheme = 'light', isExpectedError }: Options = {},
) {
  const options = {
    origins: [new URL(base).origin],
    viewport: { ...wideViewport, width },
    colorScheme: scheme,
    locale: 'es-ES',
  }
  const watched = await openPage(t, browser, options, isExpectedError)
  await watched.page.goto(`${base}${path}`)
  return { ...watched, base }
}

/** Signals again and again that the tab became visible, which is faster than the poll interval. */
async function revisitUntil(page: Page, selector: string): Promise<void> {
  await eventually(
    async () => {
      await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
      return page.isVisible(selector)
    },
    (isVisible) => isVisible,
  )
  await page.waitForSelector(selector)
}

/** Waits until the statistics of the filters are shown. */
const waitForStats = (page: Page) =>
  page.waitForSelector('#statistics:not([hidden]):not([aria-busy]) #metrics dd')
async function openStats(t: Test, path: string, options?: Options) {
  const opened = await open(t, path, options)
  await waitForStats(opened.page)
  return opened
}
const waitForQuotes = (page: Page, count: string) =>
  page.waitForSelector(`[data-metric="quotes"] .value:text-is("${count}")`)
const waitForDate = (page: Page, field: '#from' | '#to', day: string) =>
  page.waitForFunction(
    ([field, day]) => document.querySelector<HTMLInputElement>(field)?.value === day,
    [field, day] as const,
  )
const waitForRows = (page: Page, count: number) =>
  page.waitForFunction(
    (count) => document.querySelectorAll('#timeline-table tbody tr').length === count,
    count,
  )
const focusedId = (page: Page) => page.evaluate(() => document.activeElement?.id)
const normalizeSpaces = (text: string | null | undefined) =>
  (text ?? '').replace(/[\u00a0\u202f]/g, ' ').trim()
const readMetric = async (page: Page, name: string) =>
  normalizeSpaces(await page.textContent(`[data-metric="${name}"] .value`))
/** The instant for which the page shows the statistics, in ISO 8601. */
const readAsOf = async (page: Page) => (await page.getAttribute('#data-age-text', 'datetime')) ?? ''
const withoutAsOf = (csv: string) => csv.replace(/^asOf;.*\r\n/m, '')
const readQuoteCount = (page: Page) => readMetric(page, 'quotes')
const readCells = (page: Page, place: string) =>
  page.$$eval(`${place} tbody tr`, (rows) =>
    rows.map((row) =>
      [...row.children]
        .map((cell) => cell.textContent ?? '')
        .map((text) => text.replace(/[\u00a0\u202f]/g, ' ')),
    ),
  )
const readStats = async (query: string, service: Pick<TestService, 'app'> = main) =>
  (await service.app.inject(`/api/stats?${query}`)).json<Stats>()
const isErrorResponse = (text: string) => /status of (401|403|429|503|400)/.test(text)

t.test(
  'shows a committed change by itself; unchanged statistics are not sent again (304)',
  async (t) => {
    const service = await startService(t)
    await insertQuotes(service, examples)
    const { page } = await open(t, '/web/icon.svg', { base: service.base })
    await page.clock.install()
    const statuses: number[] = []
    page.on(
      'response',
      (response) => response.url().includes('/api/stats') && statuses.push(response.status()),
    )
    await page.goto(`${service.base}/dashboard?${firstHalf}`)
    await waitForStats(page)
    t.equal(await readQuoteCount(page), '7')
    t.match(await page.textContent('#data-age-text'), /^Al día · datos de las \d\d:\d\d$/)
    const shownAsOf = await readAsOf(page)
    t.ok(Date.parse(shownAsOf) <= Date.now(), shownAsOf)
    await page.focus('#countries [data-key="FR"]')
    // Advances the clock of the page, so that its next poll is due.
    const pollUntil = <Result>(read: () => Promise<Result>, check: (result: Result) => boolean) =>
      eventually(async () => {
        await page.clock.runFor(pollIntervalMs)
        return read()
      }, check)
    const laterAsOf = await pollUntil(
      () => readAsOf(page),
      (asOf) => asOf > shownAsOf && statuses.includes(304),
    )
    t.ok(statuses.includes(304))
    t.ok(laterAsOf > shownAsOf, 'the time of the data advances with each 304')
    t.ok(Date.parse(laterAsOf) <= Date.now(), laterAsOf)
    t.notOk(statuses.slice(1).includes(200))
    await insertQuotes(service, [
      buildQuote('10', {
        status: 'sent',
        decided_on: null,
        country: 'PT',
        issued_on: '2026-05-05',
      }),
    ])
    const readCount = () => readQuoteCount(page)
    t.equal(await pollUntil(readCount, (text) => text === '8'), '8')
    t.ok((await readCells(page, '#countries')).some(([country]) => country === 'Portugal'))
    t.equal(
      await page.evaluate(() => document.activeElement?.getAttribute('data-key')),
      'FR',
      'the focus stays where it was',
    )
  },
)

t.test(
  'a hidden tab sends no requests, and sends one as soon as it is visible again',
  async (t) => {
    const { page } = await open(t, '/web/icon.svg')
    await page.clock.install()
    let requestCount = 0
    page.on('request', (request) => {
      if (request.url().includes('/api/stats')) requestCount += 1
    })
    const waitForRequests = (times: number) =>
      eventually(
        async () => requestCount,
        (count) => count >= times,
      )
    await page.goto(`${main.base}/dashboard?${firstHalf}`)
    await waitForStats(page)
    // More than one if loading takes longer than the interval.
    const atFirst = requestCount
    await page.clock.pauseAt(Date.now() + 60_000)
    t.equal(await waitForRequests(atFirst + 1), atFirst + 1, 'a visible tab continues to poll')
    await page.waitForSelector('#data-age-text[title="ahora"]')
    const setHidden = (hidden: boolean) =>
      page.evaluate((hidden) => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      }, hidden)
    await setHidden(true)
    await page.clock.fastForward('10:00')
    await setHidden(false)
    await page.clock.runFor(1)
    t.equal(
      await waitForRequests(atFirst + 2),
      atFirst + 2,
      'once, and not during the ten minutes before',
    )
  },
)

t.test(
  'shows every amount of /api/stats to the last digit, in Spanish and in English',
  async (t) => {
    const stats = await readStats(`${firstHalf}&compare=previous_year`)
    for (const lang of ['es', 'en'] as const) {
      const { page } = await openStats(
        t,
        `/dashboard?${firstHalf}&compare=previous_year&lang=${lang}`,
      )
      const money = (value: { amount: string; currency: string }) =>
        normalizeSpaces(formatMoney(value, lang))
      const amount = (text: string) =>
        (lang === 'es' ? text.replace('.', ',') : text).replace(
          /\B(?=(\d{3})+(?!\d)[,.])/g,
          lang === 'es' ? '.' : ',',
        )
      const decimal = (text: string) => (lang === 'es' ? text.replace('.', ',') : text)
      const percent = (ratio: string | null) => {
        if (ratio === null) return '–'
        const digits = decimal((Number(ratio) * 100).toFixed(1))
        return lang === 'es' ? `${digits} %` : `${digits}%`
      }
      const groupCells = (group: Stats['byCountry'][number] | Stats['byMonth'][number]) => [
        String(group.quotes),
        String(group.accepted),
        amount(group.revenue.amount),
        amount(group.money.open.amount),
        amount(group.money.lost.amount),
        percent(group.acceptance.ofDecided),
        percent(group.acceptance.ofDecidedValue),
        decimal(group.daysToDecision.median ?? '–'),
        decimal(group.daysToDecision.mean ?? '–'),
      ]
      t.match(stats.revenue.total.amount, '9007199254742320.30', 'more digits than a float holds')
      const { acceptance, byStatus, daysToDecision, money: outcomes } = stats.quotes
      const none = { amount: '', currency: '' }
      for (const [name, value] of Object.entries({
        revenue: money(stats.revenue.total),
        quotes: String(stats.quotes.total),
        accepted: String(byStatus.accepted),
        open: money(outcomes.open),
        lost: money(outcomes.lost),
        'of-sent': percent(acceptance.ofSent),
        'of-decided': percent(acceptance.ofDecided),
        'of-sent-value': percent(acceptance.ofSentValue),
        'of-decided-value': percent(acceptance.ofDecidedValue),
        days: decimal(daysToDecision.median ?? ''),
        average: money(stats.revenue.average ?? none),
      }))
        t.equal(await readMetric(page, name), value, name)
      for (const [name, ...texts] of [
        ['open', `: ${byStatus.sent}`],
        ['lost', `: ${(byStatus.rejected ?? 0) + (byStatus.expired ?? 0)}`],
        ['days', decimal(daysToDecision.mean ?? ''), `: ${daysToDecision.quotes}`],
      ])
        t.match(await page.locator(`[data-metric="${name}"] .note`).allTextContents(), texts)
      t.match(
        normalizeSpaces(await page.textContent('[data-metric="revenue"] .previous-value')),
        money(stats.comparison?.revenue.total ?? none),
      )
      t.match(
        normalizeSpaces(await page.textContent('[data-metric="quotes"] .previous-value')),
        lang === 'es' ? '+600 % antes 1' : '+600% previously 1',
      )
      t.same(
        (await readCells(page, '#timeline-table')).map(([, ...numbers]) => numbers),
        stats.byMonth.map(groupCells),
      )
      t.same(
        await readCells(page, '#countries'),
        stats.byCountry.map((group) => [
          group.country === null
            ? { es: 'Sin país', en: 'No country' }[lang]
            : formatCountry(group.country, lang),
          ...groupCells(group),
        ]),
      )
      t.same(
        (await readCells(page, '#statuses')).map(([, count]) => Number(count)),
        (['accepted', 'sent', 'rejected', 'expired', 'withdrawn', 'draft'] as const).map(
          (status) => stats.quotes.byStatus[status],
        ),
      )
      t.same(
        (await readCells(page, '#currencies')).map(([, ...rest]) => rest),
        stats.revenue.byCurrency.flatMap((accepted) => [
          [String(accepted.quotes), money(accepted)],
          ...stats.revenue.unconverted
            .filter(({ currency }) => currency === accepted.currency)
            .map((unconverted) => [String(unconverted.quotes), money(unconverted)]),
        ]),
      )
      t.equal(await page.getAttribute('html', 'lang'), lang)
    }
  },
)

t.test('a long period is shown by years, with the rates of their sums', async (t) => {
  const { page } = await openStats(t, '/dashboard?period=all')
  const empty = ['0', '0', '0,00', '0,00', '0,00', '–', '–']
  t.same(await readCells(page, '#timeline-table'), [
    ['2021 parcial', '1', '1', '700,00', '0,00', '0,00', '100,0 %', '100,0 %'],
    ...['2022', '2023', '2024'].map((year) => [year, ...empty]),
    ['2025', '1', '1', '800,00', '0,00', '0,00', '100,0 %', '100,0 %'],
    ['2026 parcial', '7', '4', '9.007.199.254.742.320,30', '0,00', '200,00', '66,7 %', '100,0 %'],
  ])
  const headings = page.locator('#timeline-table .column-groups th')
  t.notOk(
    (await headings.allTextContents()).includes('Días hasta la decisión'),
    'months have no common median',
  )
})

t.test('by acceptance date nothing is open, lost or accepted in part', async (t) => {
  const { page } = await openStats(t, '/dashboard?period=all&date=accepted')
  t.equal(
    await page.textContent('#comparison'),
    'Por fecha de aceptación solo cuentan los aceptados',
  )
  t.equal(await readMetric(page, 'days'), '5,5')
  for (const name of ['open', 'lost', 'acceptance'])
    t.equal(await page.locator(`[data-metric="${name}"]`).count(), 0, name)
  const [japan] = await readCells(page, '#countries')
  t.same(japan, ['Japón', '1', '1', '9.007.199.254.740.993,25', '23,0', '23,0'])
})

t.test('a label shows its definition on demand', async (t) => {
  const { page } = await openStats(t, `/dashboard?${firstHalf}&lang=en`)
  for (const [label, definition] of [
    ['Revenue', 'net amount of accepted quotes'],
    ['Open', 'sent quotes that are still valid today'],
    ['Lost', 'rejected and expired quotes'],
    ['Acceptance', 'by number of quotes and by net amount'],
    ['Days to decision', 'days from issue to decision'],
  ] as const) {
    await page.click(`.term:text-is("${label}")`)
    const shown = page.locator('.definitions :popover-open')
    t.match(await shown.textContent(), definition)
    t.equal(await shown.count(), 1)
    if (label === 'Open') t.same(await findAccessibilityViolations(page), [])
    await page.keyboard.press('Escape')
    t.equal(await shown.count(), 0)
  }
})

t.test('a phone shows one group of columns at a time', async (t) => {
  const { page } = await openStats(t, `/dashboard?${firstHalf}&lang=en`, { width: 390 })
  const visibleHeadings = async (place: string) =>
    (await page.locator(`${place} thead tr:last-child th:visible`).allInnerTexts()).map((text) =>
      text.replace(/\s+/g, ' '),
    )
  t.same(await visibleHeadings('#countries'), ['Country', 'Quotes', 'Accepted', 'Revenue (EUR)'])
  await page.click('#country-columns :text("Open and lost")')
  t.same(await visibleHeadings('#countries'), ['Country', 'Open (EUR)', 'Lost (EUR)'])
  await page.click('#country-columns :text("Acceptance")')
  t.same(await visibleHeadings('#countries'), [
    'Country',
    'By number (of decided)',
    'By value (of decided)',
  ])
  await page.click('#timeline-table-button')
  t.same(await visibleHeadings('#timeline-table'), ['Month', 'Quotes', 'Accepted', 'Revenue (EUR)'])
  await page.click('#timeline-columns :text("Days")')
  t.same(await visibleHeadings('#timeline-table'), ['Month', 'Median', 'Mean'])
  t.equal(
    await page.evaluate(() => document.activeElement?.textContent),
    'Days',
    'the focus stays where it was',
  )
  t.same(await findAccessibilityViolations(page), [])
  await page.setViewportSize(wideViewport)
  t.equal((await visibleHeadings('#timeline-table')).length, 10, 'a wide screen shows all columns')
  t.equal(await page.isVisible('#country-columns'), false)
})

t.test('keeps the filters in the address; back, forward, a new tab and links work', async (t) => {
  // The page and the test must see the same date.
  await waitForFreshWindow(hourMs, 60_000)
  const { page, context, base } = await openStats(t, '/dashboard')
  const search = () => new URL(page.url()).search
  const today = new Intl.DateTimeFormat('en-CA', { timeZone: 'Europe/Madrid' }).format(new Date())
  t.equal(search(), '', 'default filters need no parameter')
  t.equal(await page.inputValue('#to'), today)
  for (const [text, query, from] of [
    ['Este mes', '?period=month', `${today.slice(0, 7)}-01`],
    ['Este año', '?period=year', `${today.slice(0, 4)}-01-01`],
    ['Todo', '?period=all', '2021-07-10'],
  ] as const) {
    await page.click(`text="${text}"`)
    await waitForDate(page, '#from', from)
    t.equal(search(), query)
    t.equal(
      await page.getAttribute('[aria-current][data-preset]', 'data-preset'),
      query.split('=')[1],
    )
  }
  await waitForStats(page)
  t.equal(await readQuoteCount(page), '9')
  await page.selectOption('#country', 'FR')
  await waitForQuotes(page, '2')
  t.equal(search(), '?period=all&country=FR')
  await page.selectOption('#date', 'accepted')
  await waitForQuotes(page, '0')
  t.ok(await page.isVisible('#no-quotes'), 'says that there are no quotes')
  await page.goBack()
  await page.goBack()
  await waitForQuotes(page, '9')
  t.same(
    [search(), await page.inputValue('#country'), await page.inputValue('#date')],
    ['?period=all', '', 'issued'],
  )
  await page.goForward()
  await waitForQuotes(page, '2')
  t.equal(await page.inputValue('#country'), 'FR')

  const other = await context.newPage()
  await other.goto(page.url())
  await waitForStats(other)
  t.equal(await readQuoteCount(other), '2', 'the same address shows the same statistics')
  await other.close()

  await page.goto(`${base}/dashboard?${firstHalf}`)
  await waitForStats(page)
  await page.click('#countries a:has-text("Japón")')
  await waitForQuotes(page, '1')
  t.equal(search(), `?${firstHalf}&country=JP`)
  await page.click('#timeline-table-button')
  await page.click('#timeline-table a:has-text("marzo de 2026")')
  await waitForDate(page, '#to', '2026-03-31')
  t.equal(
    search(),
    '?from=2026-03-01&to=2026-03-31&country=JP&within=2026-01-01..2026-06-30',
    'the address keeps the period where the visitor started',
  )
  await page.click('#previous')
  await waitForDate(page, '#to', '2026-02-28')
  await page.fill('#from', '2026-01-15')
  await page.waitForURL('**/dashboard?from=2026-01-15&to=2026-02-28&country=JP')
})

t.test(
  'asks for a key if one is needed, stores it in this tab only, and sends it only to the service',
  async (t) => {
    const { base } = withoutAnonymousAccess
    const { page, context } = await open(t, `/dashboard?${firstHalf}`, {
      base,
      isExpectedError: isErrorResponse,
    })
    const enterKey = async (key: string) => {
      await page.waitForSelector('#key-form:not([hidden])')
      t.equal(await focusedId(page), 'key', 'the field has the focus')
      await page.keyboard.type(key)
      await page.keyboard.press('Enter')
    }
    await enterKey('tqs_nonsense')
    await page.waitForSelector('#key-error:has-text("no vale")')
    t.same(await findAccessibilityViolations(page), [])
    await enterKey(
      await createApiKey(main.db, { kind: 'secret', name: 'search', scopes: ['search:read'] }),
    )
    await page.waitForSelector('#key-error:has-text("stats:read")')
    const key = await createApiKey(main.db, {
      kind: 'secret',
      name: 'stats',
      scopes: ['stats:read'],
    })
    await enterKey(key)
    await waitForStats(page)
    t.equal(await readQuoteCount(page), '7')
    t.same(
      await page.evaluate(() => [
        Object.values({ ...sessionStorage }),
        Object.values({ ...localStorage }),
        document.cookie,
      ]),
      [[key], [], ''],
    )
    t.notMatch(page.url(), key)
    t.notMatch(await page.content(), key)
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#csv')])
    t.equal(download.suggestedFilename(), 'stats-2026-01-01-2026-06-30.csv')
    const chunks: Buffer[] = []
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer)
    const expectedCsv = await main.app.inject(`/api/stats?${firstHalf}&format=csv&locale=es`)
    t.equal(
      withoutAsOf(Buffer.concat(chunks).toString()),
      withoutAsOf(expectedCsv.body),
      'CSV in the format of Spanish spreadsheets',
    )
    await page.route(/format=csv/, (route) => route.fulfill({ status: 503, body: '' }))
    await page.click('#csv')
    await page.waitForSelector('#error-text:has-text("no responde")')
    t.pass('a failed download shows why')

    const other = await context.newPage()
    await other.goto(`${base}/dashboard`)
    await other.waitForSelector('#key-form:not([hidden])')
    t.pass('another tab asks for the key again')
    await page.click('#forget-key')
    await page.waitForSelector('#key-form:not([hidden])')
    t.equal(await page.isVisible('#statistics'), false)
    t.equal(await page.evaluate(() => sessionStorage.length), 0)
  },
)

t.test(
  'says that it is rate-limited, offline or misconfigured, and recovers by itself',
  async (t) => {
    const database = await testDatabase(t)
    const faultyProxy = await startFaultyProxy(t, database.url)
    const service = await startService(t, {}, database, buildRoleUrl(faultyProxy.url, 'api'))
    await insertQuotes(database, examples)
    const { page, context } = await openStats(t, `/dashboard?${firstHalf}`, {
      base: service.base,
      isExpectedError: (text) => isErrorResponse(text) || /ERR_INTERNET_DISCONNECTED/.test(text),
    })
    faultyProxy.refuseConnections()
    await revisitUntil(page, '[data-state="stale"]')
    t.match(
      await page.textContent('#data-age-text'),
      /^Sin actualizar · \d\d:\d\d \((ahora|hace \d+ s)\)$/,
    )
    t.same(await findAccessibilityViolations(page), [])
    await page.click('text="Este mes"')
    await page.waitForSelector('#error:has-text("no responde")')
    t.equal(await page.isVisible('#statistics'), false, 'statistics of other filters are not shown')
    t.same(await findAccessibilityViolations(page), [])
    faultyProxy.restore()
    await revisitUntil(page, '#statistics:not([hidden]):not([aria-busy])')
    t.equal(await page.isVisible('#error'), false)

    await context.setOffline(true)
    await revisitUntil(page, '#error:has-text("Sin conexión")')
    t.equal(await page.isVisible('#statistics'), true, 'the statistics stay')
    await context.setOffline(false)
    await page.waitForSelector('#error', { state: 'hidden' })

    await page.goto(`${service.base}/dashboard?from=2026-02-30&country=Spain`)
    await page.waitForSelector('#error:has-text("country")')

    const limited = await open(t, '/dashboard', {
      base: rateLimited.base,
      isExpectedError: isErrorResponse,
    })
    await limited.page.waitForSelector('#statistics:not([aria-busy])')
    await limited.page.click('text="Todo"')
    await limited.page.waitForSelector('#error:has-text("Demasiadas")')
    t.match(await limited.page.textContent('#retry-countdown'), /Se reintenta en \d+ s\./)
  },
)

t.test('can be used with the keyboard alone', async (t) => {
  const { page } = await openStats(t, `/dashboard?${firstHalf}`)
  const reached: string[] = []
  for (let presses = 0; presses < 40; presses += 1) {
    await page.keyboard.press('Tab')
    const [name = '', outline = ''] = await page.evaluate(() => {
      const focused = document.activeElement as HTMLElement
      const { outlineStyle, outlineWidth } = getComputedStyle(focused)
      return [
        focused.dataset.preset ?? focused.dataset.key ?? focused.id,
        `${outlineStyle} ${outlineWidth}`,
      ]
    })
    if (name === '' || (reached.includes(name) && name !== reached.at(-1))) break
    if (!reached.includes(name))
      t.notMatch(outline, /none|^\w+ 0px/, `the focus is visible on ${name}`)
    if (!reached.includes(name)) reached.push(name)
  }
  const controls = [
    'csv',
    'print',
    ...['en', 'pt', 'fr', 'it', 'de'].map((code) => `language-${code}`),
    'month',
    'year',
    '12m',
    'all',
    'previous',
    'from',
    'to',
    'next',
    'country',
    'date',
    'compare',
  ]
  const terms = ['revenue', 'open', 'lost', 'acceptance', 'days'].map(
    (name) => `definition-${name}`,
  )
  const countries = ['JP', 'ES', 'US', 'FR', 'unknown']
  const currencies = ['EUR', 'USD', 'KWD']
  t.same(reached, [...controls, ...terms, 'timeline-table-button', ...countries, ...currencies])
  await page.focus('#timeline-table-button')
  await page.keyboard.press('Space')
  await page.keyboard.press('Tab')
  t.equal(await page.evaluate(() => document.activeElement?.getAttribute('data-key')), '2026-01')
  await page.keyboard.press('Enter')
  await page.waitForURL(/from=2026-01-01&to=2026-01-31&within=2026-01-01..2026-06-30$/)
  await waitForQuotes(page, '1')
  t.match(await page.textContent('#announcement'), /enero|ene/, 'screen readers announce it')
})

t.test('shows what people search for to a key with stats:detail', async (t) => {
  await main.db
    .insertInto('search_report_days')
    .values({ day: new Date().toISOString().slice(0, 10), searches: 1_234, without_result: 56 })
    .execute()
  const markup = '<img src=x onerror=alert(1)> ‮'
  for (const [text, kind, count] of [
    ['taladro', 'query', 40],
    [markup, 'query', 30],
    ['mastillo', 'word', 20],
  ] as const) {
    await main.db
      .insertInto('search_report_counts')
      .values({
        day: new Date().toISOString().slice(0, 10),
        kind,
        text,
        searches: count,
        without_result: text === 'taladro' ? 0 : count,
      })
      .execute()
  }
  const isExpectedError = (text: string) => text.includes('40')
  const { page } = await open(t, '/dashboard?lang=es', { isExpectedError })
  await page.click('#searches summary')
  await page.waitForSelector('#searches-summary:has-text("stats:detail")')
  const keyWith = (scopes: ('stats:read' | 'stats:detail')[]) =>
    createApiKey(main.db, { kind: 'secret', name: 'panel', scopes })
  const openWithKey = async (key: string) => {
    await page.evaluate((text) => {
      sessionStorage.setItem('trade-quoting-service stats key', text)
    }, key)
    await page.reload()
    await page.click('#searches summary')
  }
  await openWithKey(await keyWith(['stats:read']))
  await page.waitForSelector('#searches-summary:has-text("stats:detail")')
  t.equal(await page.locator('#searches table').count(), 0)
  await openWithKey(await keyWith(['stats:read', 'stats:detail']))
  await page.waitForSelector('#searches table')
  t.match(await page.textContent('#searches-summary'), /30 días: 1\.?234 búsquedas, 56 de ellas/)
  t.same(await page.locator('#searches th[scope=row] bdi').allTextContents(), [
    'taladro',
    markup,
    markup,
    'mastillo',
  ])
  t.same(await findAccessibilityViolations(page), [])
})

t.test('leads from years to months to days and back, by links that can be shared', async (t) => {
  const { page, context, base } = await openStats(t, '/dashboard?period=all')
  const rowNames = async () => (await readCells(page, '#timeline-table')).map(([name]) => name)
  const trail = async () => (await page.locator('#trail li').allTextContents()).map(normalizeSpaces)
  /** Follows a link by keyboard and waits for the rows that it leads to. */
  const follow = async (link: string, firstRow: string) => {
    await page.focus(link)
    await page.keyboard.press('Enter')
    await page.waitForFunction(
      (text) => document.querySelector('#timeline-table tbody th')?.textContent?.startsWith(text),
      firstRow,
    )
    t.equal(await focusedId(page), 'period', 'the focus is on top')
  }
  t.equal(await page.isVisible('#trail'), false)
  await page.click('#timeline-table-button')
  await follow('#timeline-table [data-key="2026"]', 'enero')
  t.same(await trail(), ['Todo', '2026'])
  await follow('#timeline-table [data-key="2026-05"]', '1 may')
  t.same(await trail(), ['Todo', '2026', 'mayo de 2026'])
  t.equal((await rowNames()).length, 31)
  const stats = await readStats('from=2026-05-01&to=2026-05-31&by=day')
  t.same(
    (await readCells(page, '#timeline-table')).map(([, quotes]) => quotes),
    stats.byDay?.map(({ quotes }) => String(quotes)),
  )
  await page.click('#timeline-table-button')
  t.same(
    await page.locator('#quotes-chart .label').allTextContents(),
    Array.from({ length: 31 }, (_, index) => String(index + 1)),
    'the chart shows days',
  )
  await page.click('#timeline-table-button')
  t.same(await findAccessibilityViolations(page), [])
  const other = await context.newPage()
  await other.goto(page.url())
  await waitForStats(other)
  t.same(await other.locator('#trail li').allTextContents(), await trail(), 'a link shows the same')
  t.equal(await other.locator('#timeline-table tbody tr').count(), 31)
  await other.close()
  await follow('#timeline-table [data-key="2026-05-02"]', '2 may 2026')
  t.same(await trail(), ['Todo', '2026', 'mayo de 2026', '2 may 2026'])
  t.same(
    (await readCells(page, '#countries')).map(([country]) => country),
    ['Estados Unidos'],
    'a day shows its countries',
  )
  t.notMatch(
    (await page.locator('#quotes-chart .tick').allTextContents()).join(' '),
    /[.,]/,
    'no tick is half a quote',
  )
  await follow('#trail a:text-is("mayo de 2026")', '1 may 2026')
  await follow('#trail a:text-is("2026")', 'enero')
  await page.goBack()
  await page.waitForSelector('#timeline-table [data-key="2026-05-31"]')
  t.same(await trail(), ['Todo', '2026', 'mayo de 2026'], 'the back button works')
  await follow('#trail a:text-is("Todo")', '2021')
  t.equal(page.url(), `${base}/dashboard?period=all`)
  t.equal(await page.isVisible('#trail'), false)
})

t.test('leads from a currency to its quotes and back', async (t) => {
  const { page } = await openStats(t, `/dashboard?${firstHalf}`)
  t.match(await page.textContent('#currencies .note'), 'no tiene tipo de cambio')
  await page.click('#currencies [data-key="USD"]')
  await page.waitForSelector('#currencies [data-key="USD"][aria-current]')
  t.equal(new URL(page.url()).search, `?${firstHalf}&currency=USD`)
  t.equal(await readQuoteCount(page), '1')
  t.equal(await readMetric(page, 'revenue'), '92,55 €')
  t.match(normalizeSpaces(await page.textContent('#period')), / · USD$/)
  t.same(await page.locator('#trail li').allTextContents(), ['Todas las divisas', 'USD'])
  t.match(await page.getAttribute('#csv', 'href'), 'currency=USD')
  t.equal(await page.locator('#currencies .note').count(), 0, 'its amounts are all converted')
  t.same(await findAccessibilityViolations(page), [])
  await page.click('#trail a')
  await page.waitForSelector('#currencies [data-key="USD"]:not([aria-current])')
  t.equal(await readQuoteCount(page), '7')
})

t.test('leads from a country to its months, and a link to another language does too', async (t) => {
  const { page } = await openStats(t, `/dashboard?${firstHalf}&lang=es`, { width: 390 })
  await page.focus('#countries [data-key="JP"]')
  await page.keyboard.press('Enter')
  await page.waitForSelector('#countries [data-key="JP"][aria-current]')
  t.equal(await focusedId(page), 'period')
  await page.click('#timeline-table-button')
  await page.click('#timeline-table [data-key="2026-03"]')
  await page.waitForSelector('#timeline-table [data-key="2026-03-31"]')
  t.same((await page.locator('#trail li').allTextContents()).map(normalizeSpaces).slice(1), [
    'marzo de 2026',
    'Todos los países',
    'Japón',
  ])
  t.same(await findAccessibilityViolations(page), [])
  await page.goBack()
  await page.waitForSelector('#timeline-table [data-key="2026-06"]')
  await page.click('#language-en')
  await page.waitForSelector('html[lang=en] #countries [data-key="JP"][aria-current]')
  t.equal(await page.textContent('#countries [data-key="JP"]'), 'Japan')
  t.equal(new URL(page.url()).search, `?${firstHalf}&country=JP&lang=en`)
})

t.test('a quarter can be shown by days, and a tap on a column offers its days', async (t) => {
  const { page } = await openStats(t, '/dashboard?from=2026-01-01&to=2026-03-31&lang=en')
  t.same(await page.locator('#interval-choice a:visible').allTextContents(), ['Days', 'Months'])
  await page.click('#interval-choice a:text-is("Days")')
  await waitForRows(page, 90)
  await page.goBack()
  await waitForRows(page, 3)
  await page.locator('#charts').evaluate((charts) => {
    const { left, width, top } = charts.getBoundingClientRect()
    for (const type of ['pointerdown', 'pointerup', 'pointerleave'])
      charts.dispatchEvent(
        new PointerEvent(type, {
          pointerType: 'touch',
          clientX: left + width / 2,
          clientY: top + 60,
        }),
      )
  })
  await page.click('#timeline-details a:text-is("February 2026")')
  await page.waitForURL(/from=2026-02-01&to=2026-02-28/)
})

t.test(
  'addresses that do not exist lead to an error or to the default, not to nothing',
  async (t) => {
    const { page, base } = await openStats(t, '/dashboard?within=nonsense..x&by=day', {
      isExpectedError: isErrorResponse,
    })
    t.equal(await page.isVisible('#trail'), false)
    await page.goto(`${base}/dashboard?from=2026-02-30&to=2026-13-41&within=all&by=day`)
    await page.waitForSelector('#error:has-text("from")')
  },
)

t.test('shows customers and products to a key with stats:detail', async (t) => {
  const service = await startService(t)
  const customers = Array.from({ length: 51 }, (_, index) => ({
    name: `Customer ${index + 1} <b>`,
  }))
  const ids = await service.db.insertInto('customers').values(customers).returning('id').execute()
  const { id } = await service.db
    .insertInto('quotes')
    .values(
      ids.map(({ id: customer_id }, index) => {
        const quote = buildQuote(`C${index}`, { customer_id, net: `${1000 - index}.00` })
        return { ...quote, tax: '0', gross: quote.net }
      }),
    )
    .returning('id')
    .executeTakeFirstOrThrow()
  t.ok(id)
  await foldUntilCurrent(service.db)
  const { page } = await openStats(t, `/dashboard?${firstHalf}&lang=en`, {
    base: service.base,
    isExpectedError: isErrorResponse,
  })
  await page.click('#breakdown summary')
  await page.waitForSelector('#breakdown-message:has-text("stats:detail")')
  const createKey = (...scopes: ('stats:read' | 'stats:detail')[]) =>
    createApiKey(service.db, { kind: 'secret', name: 'dashboard', scopes })
  const enterKey = async (key: string) => {
    await page.click('#breakdown-message button')
    t.equal(await focusedId(page), 'key')
    t.same(await findAccessibilityViolations(page), [])
    await page.keyboard.type(key)
    await page.keyboard.press('Enter')
  }
  await page.click('#breakdown-message button')
  await page.click('#cancel-key')
  t.equal(await page.isVisible('#key-form'), false)
  t.equal(await page.evaluate(() => document.activeElement?.textContent), 'Enter a key')
  await enterKey(await createKey('stats:read'))
  await page.waitForSelector('#key-form', { state: 'hidden' })
  await page.waitForSelector('#breakdown-message:has-text("stats:detail")')
  t.equal(await page.locator('#breakdown table').count(), 0)
  await enterKey(await createKey('stats:read', 'stats:detail'))
  await page.waitForSelector('#breakdown table')
  const rows = page.locator('#breakdown table tbody tr')
  t.same(
    await page.locator('#breakdown table tbody tr:visible th').allTextContents(),
    [...customers.slice(0, 10).map(({ name }) => name), '1 other customer'],
    'the first ten, and the rest in the singular',
  )
  t.same(await rows.first().locator('td').allTextContents(), ['1', '1', '1,000.00'])
  await page.click('#breakdown button:text-is("Show all 50")')
  t.equal(await page.locator('#breakdown table tbody tr:visible').count(), 51)
  t.same(await findAccessibilityViolations(page), [])
  await page.click('#forget-key')
  await page.waitForSelector('#breakdown-message:has-text("stats:detail")')
  t.equal(await page.locator('#breakdown table').count(), 0, 'without the key no names stay')
})

t.test('no figure is cut off on a tablet, in any language', async (t) => {
  const cut = (page: Page, selector: string) =>
    page
      .locator(selector)
      .evaluateAll((elements) =>
        elements
          .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
          .map(({ textContent }) => textContent),
      )
  for (const lang of ['es', 'en', 'pt', 'fr', 'it', 'de']) {
    const { page } = await openStats(
      t,
      `/dashboard?${firstHalf}&compare=previous_year&lang=${lang}`,
      {
        width: 768,
      },
    )
    t.same(await cut(page, '#metrics, #metrics .metric'), [], lang)
  }
})

t.test('bars stand apart from labels and lines, and dates have room on a phone', async (t) => {
  for (const width of [1440, 390]) {
    const { page } = await openStats(t, `/dashboard?${firstHalf}`, { width })
    const rows = await page.locator('#statuses tbody tr').evaluateAll((elements) =>
      elements.map((row) => {
        const heading = row.querySelector('th') as HTMLElement
        const range = document.createRange()
        range.selectNodeContents(heading.firstChild as Node)
        const label = range.getBoundingClientRect()
        const track = (heading.querySelector('.track') as HTMLElement).getBoundingClientRect()
        return {
          isApart: track.left >= label.right || track.top >= label.bottom - 2,
          height: track.height,
          aboveLine: heading.getBoundingClientRect().bottom - track.bottom,
        }
      }),
    )
    t.equal(rows.length, 6)
    for (const { isApart, height, aboveLine } of rows) {
      t.ok(isApart, 'the bar does not cover the label')
      t.ok(height >= 6, `${height} px high`)
      t.ok(aboveLine >= 4, `${aboveLine} px above the line`)
    }
    const from = await page.locator('#from').boundingBox()
    const to = await page.locator('#to').boundingBox()
    t.ok((from?.width ?? 0) >= 120, `${from?.width} px`)
    t.ok((to?.x ?? 0) - ((from?.x ?? 0) + (from?.width ?? 0)) >= 8, 'the dates stand apart')
  }
})

t.test('prints the statistics with their table and without controls', async (t) => {
  const { page } = await openStats(t, `/dashboard?${firstHalf}`)
  await page.emulateMedia({ media: 'print' })
  for (const hidden of ['.filters', '#csv', '#print', '#timeline-table-button'])
    t.equal(await page.isVisible(hidden), false, hidden)
  const pdf = await page.pdf({ preferCSSPageSize: true })
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(pdf)), {
    mergePages: true,
  })
  for (const words of [
    '1 ene – 30 jun 2026',
    'marzo de 2026',
    'Japón',
    'Rechazado',
    'KWD',
    'Pendiente: importe neto',
  ])
    t.match(normalizeSpaces(text.replace(/\s+/g, ' ')), words)
})

t.test('loads at most 60 kB, and its policy allows only its own files', async (t) => {
  const { page } = await openStats(t, '/dashboard')
  const paths = await page.evaluate(() =>
    performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname),
  )
  // A browser without a window loads no icon.
  const icon = await page.locator('link[rel=icon]').evaluate((link) => link.getAttribute('href'))
  t.equal(icon?.split('?')[0], 'web/icon.svg')
  const loaded = paths.filter((path) => path.startsWith('/web/') && path !== '/web/icon.svg')
  const files = ['/dashboard', ...new Set(loaded), '/web/icon.svg']
  t.same(files, [
    '/dashboard',
    '/web/page-theme.css',
    '/web/page-layout.css',
    '/web/dashboard.css',
    '/web/dashboard.js',
    '/web/icon.svg',
  ])
  let weight = 0
  for (const url of files) {
    const { statusCode, rawPayload, headers } = await main.app.inject({
      url,
      headers: { 'accept-encoding': 'gzip' },
    })
    t.same(
      [statusCode, headers['content-encoding'], headers['x-content-type-options']],
      [200, 'gzip', 'nosniff'],
      url,
    )
    weight += rawPayload.length
  }
  weight += gzipSync(JSON.stringify(await readStats(firstHalf))).length
  t.comment(`${weight} bytes gzipped`)
  t.ok(weight <= 60_000, `${weight} bytes`)
  const { headers } = await main.app.inject('/dashboard')
  t.equal(
    headers['content-security-policy'],
    [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "img-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ].join('; '),
  )
  t.match(headers, {
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex, nofollow',
    'cache-control': 'private, no-cache',
  })
  t.notMatch(
    (await main.app.inject('/dashboard')).body,
    /<script(?! type="(module|application\/json)")|<style| style=|javascript:| on[a-z]+=/i,
  )
})

t.test('works below a path that a proxy strips', async (t) => {
  const { port } = new URL(main.base)
  const proxy = createServer((request, response) => {
    if (!request.url?.startsWith('/erp/')) return void response.writeHead(404).end()
    const { method, headers } = request
    httpRequest({ port, path: request.url.slice(4), method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    }).end()
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.teardown(() => proxy.close())
  const base = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const { page } = await openStats(t, `/erp/dashboard?${firstHalf}`, { base })
  t.equal(await readQuoteCount(page), '7')
  await page.click('text="Todo"')
  await page.waitForURL(`${base}/erp/dashboard?period=all`)
  t.match(
    await page.evaluate(() => (document.querySelector('#csv') as HTMLAnchorElement).href),
    `${base}/erp/api/stats?format=csv`,
  )
})

t.test('the dashboard is not found if it is switched off', async (t) => {
  const { app } = withoutDashboard
  for (const path of ['/dashboard', '/', '/web/dashboard.js']) {
    const response = await app.inject(path)
    t.match([response.statusCode, response.json()], [404, { code: 'not_found' }], path)
  }
})

t.test('no amount of millions is broken across lines on a tablet or a phone', async (t) => {
  const service = await startService(t)
  await insertQuotes(service, [
    buildQuote('1', { net: '10291040.40' }),
    buildQuote('2', { net: '10291040.40', status: 'rejected' }),
    buildQuote('3', { net: '10291040.40', status: 'sent', decided_on: null }),
  ])
  for (const width of [768, 390, 320]) {
    const { page } = await open(t, `/dashboard?${firstHalf}&lang=es`, {
      base: service.base,
      width,
    })
    await page.waitForSelector('.value')
    const amounts = await page.locator('dd.value').evaluateAll((values) =>
      values.map((value) => {
        const range = document.createRange()
        range.selectNodeContents(value)
        const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)))
        return { text: value.textContent, lines: tops.size }
      }),
    )
    t.ok(amounts.some(({ text }) => /10\.291\.040,40/.test(text ?? '')))
    t.same(
      amounts.filter(({ text, lines }) => /€/.test(text ?? '') && lines > 1),
      [],
      `${width} px`,
    )
  }
})
