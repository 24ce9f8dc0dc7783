// What must work in every browser: the palette on slow and failing networks, by keyboard and by
// touch, and the pages without errors. `make browser-test` takes Chromium, Firefox and WebKit.
// Slow: it starts three browsers.
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import {
  type BrowserPage,
  findTestBrowsers,
  type OpenPage,
  startTestBrowser,
} from '../support/browsers/browser-page.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { insertExampleProducts } from '../support/database/example-products.ts'
import { eventually } from '../support/eventually.ts'
import { type Fault, startHttpRelay } from '../support/servers/http-relay.ts'
import { startLocalServer } from '../support/servers/local-server.ts'
import { testService } from '../support/service/test-service.ts'

t.setTimeout(600_000)

const service = await testService(t, {
  config: { ANONYMOUS_SCOPES: ['search:read', 'stats:read'], WEB_PARTS: ['home', 'dashboard'] },
})
await insertExampleProducts(service.db)
await service.sync()
const serviceUrl = await service.app.listen({ host: '127.0.0.1', port: 0 })

/** Starts a server for one page of another origin, with a strict policy. Returns its URL. */
async function servePage(t: Test, endpoint: string): Promise<string> {
  const recorder = readFileSync(new URL('../support/browsers/error-recorder.js', import.meta.url))
  const origin = await startLocalServer(t, ({ url }, response) => {
    if (url !== '/') return void response.setHeader('content-type', 'text/javascript').end(recorder)
    const policy = [
      "default-src 'none'",
      'img-src data:',
      `script-src 'self' ${serviceUrl}`,
      `connect-src ${endpoint}`,
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ].join('; ')
    response
      .setHeader('content-type', 'text/html; charset=utf-8')
      .setHeader('content-security-policy', policy)
      .end(html)
  })
  const key = await createApiKey(service.db, {
    kind: 'publishable',
    name: origin,
    scopes: ['search:read'],
    origins: [origin],
    unlimited: true,
  })
  const html = `<!doctype html><html lang="es"><head><title>Pedidos</title>
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <link rel="icon" href="data:,">
    <script src="/error-recorder.js"></script>
    <script type="module" src="${serviceUrl}/web/palette.js"></script></head>
    <main><h1>Pedidos</h1>
    <product-palette endpoint="${endpoint}" api-key="${key}"><button>Buscar</button>
    </product-palette></main></html>`
  return origin
}

/** Opens a page with a palette that reaches the service through a relay. */
async function openPalette(t: Test, openPage: OpenPage, { touch = false } = {}) {
  const relay = await startHttpRelay(t, serviceUrl)
  const origin = await servePage(t, relay.url)
  const page = await openPage(t, { origins: [origin, relay.url, serviceUrl], touch })
  await page.goto(origin)
  const isDefined = () => customElements.get('product-palette') !== undefined
  await waitUntil(() => page.evaluate(isDefined))
  await page.evaluate(() => {
    const chosen: string[] = []
    Object.assign(window, { chosen })
    addEventListener('product-select', (event) => {
      const { hit, stay } = (event as CustomEvent).detail
      chosen.push(stay ? `${hit.name} +` : hit.name)
    })
  })
  return { page, relay }
}

/** Throws an error if the condition does not become true. */
async function waitUntil(isTrue: () => Promise<boolean>, what = String(isTrue)): Promise<void> {
  if (!(await eventually(isTrue, Boolean))) throw new Error(`It never became true: ${what}`)
}

type State = {
  isOpen: boolean
  active: string | null
  names: string[]
  status: string
  /** The list does not answer what is typed. */
  isDimmed: boolean
  isBusy: boolean
  /** The input refers to the active option. */
  hasDescendant: boolean
  typed: string
  chosen: string[]
}

/** Returns what the palette shows, and the names of the products chosen so far. */
const readState = (page: BrowserPage): Promise<State> =>
  page.evaluate(() => {
    const palette = document.querySelector('product-palette')
    const root = palette?.shadowRoot
    const texts = (selector: string) =>
      [...(root?.querySelectorAll(selector) ?? [])].map(({ textContent }) => textContent ?? '')
    const input = root?.querySelector('input')
    return {
      isOpen: palette?.isOpen ?? false,
      active: texts('[aria-selected=true] [part=name]')[0] ?? null,
      names: texts('[part=name]'),
      status: texts('[part~=status]')[0] ?? '',
      isDimmed: root?.querySelector('[part=list][aria-disabled=true]') !== null,
      isBusy: root?.querySelector('[data-busy]') !== null,
      hasDescendant: input?.hasAttribute('aria-activedescendant') ?? false,
      typed: input?.value ?? '',
      chosen: (window as unknown as { chosen: string[] }).chosen,
    }
  })

const waitForState = (page: BrowserPage, check: (state: State) => boolean) =>
  eventually(() => readState(page), check)
const waitForActive = async (page: BrowserPage, name: string) =>
  (await waitForState(page, ({ active, isBusy }) => active === name && !isBusy)).active

/** Returns the centre of the first visible element, inside or outside the palette. */
const locate = (page: BrowserPage, selector: string) =>
  page.evaluate((selector) => {
    const root = document.querySelector('product-palette')?.shadowRoot
    const found = [
      ...(root?.querySelectorAll(selector) ?? []),
      ...document.querySelectorAll(selector),
    ].find((element) => element.getClientRects().length > 0)
    if (!found) throw new Error(`Nothing visible matches ${selector}.`)
    const { left, top, width, height } = found.getBoundingClientRect()
    return { x: left + width / 2, y: top + height / 2 }
  }, selector)

async function click(page: BrowserPage, selector: string): Promise<void> {
  const { x, y } = await locate(page, selector)
  await page.click(x, y)
}

async function openAndType(page: BrowserPage, text: string): Promise<void> {
  await page.press('Control+k')
  await waitForState(page, ({ isOpen, isBusy }) => isOpen && !isBusy)
  await page.typeText(text)
}

const wrench = 'Llave ajustable 250 mm'
const hammer = 'Martillo de bola 300 g'

/** Ways in which the service may fail after the first results. */
const faults: Record<string, Fault> = {
  'is refused by the rate limit': { status: 429, headers: { 'retry-after': '60' } },
  'fails with 503': { status: 503 },
  'has no connection': 'refuse',
  'answers something else': { status: 200, body: '{}' },
}

async function testFault(t: Test, openPage: OpenPage, fault: Fault): Promise<void> {
  const { page, relay } = await openPalette(t, openPage)
  await openAndType(page, 'llave')
  t.equal(await waitForActive(page, wrench), wrench)
  relay.fail(fault)
  await page.typeText(' martillo')
  const failed = await waitForState(page, ({ isDimmed, isBusy }) => isDimmed && !isBusy)
  t.ok(failed.names.includes(wrench), 'the old results stay')
  t.match(failed, { isDimmed: true, active: null, hasDescendant: false })
  await page.press('Enter')
  await page.press('Control+Enter')
  await page.press('ArrowDown')
  await page.press('Enter')
  await click(page, '[part~=option]')
  const refused = await waitForState(page, ({ status }) => /Nada elegido/.test(status))
  t.match(refused.status, /Nada elegido: la lista aún no es de «llave martillo»/)
  t.match(refused, { chosen: [], isOpen: true })
  t.same(refused.chosen, [])
  relay.recover()
  for (const _ of ' martillo') await page.press('Backspace')
  t.equal(await waitForActive(page, wrench), wrench)
  await page.press('Enter')
  t.same((await waitForState(page, ({ chosen }) => chosen.length > 0)).chosen, [wrench])
}

/** While the palette waits for `Retry-After`, Enter must not choose many seconds later. */
async function testEnterDuringPause(t: Test, openPage: OpenPage): Promise<void> {
  const { page, relay } = await openPalette(t, openPage)
  await openAndType(page, 'llave')
  t.equal(await waitForActive(page, wrench), wrench)
  relay.fail({ status: 429, headers: { 'retry-after': '4' } }, '/api/search')
  await page.typeText('s')
  await waitForState(page, ({ isDimmed, status }) => isDimmed && /Demasiadas/.test(status))
  relay.recover()
  await page.typeText(' ajustable')
  await page.press('Enter')
  const refused = await waitForState(page, ({ status }) => /Nada elegido/.test(status))
  t.match(refused.status, /Nada elegido/)
  t.equal(await waitForActive(page, wrench), wrench, 'the search continues')
  t.match(await readState(page), { isOpen: true })
  t.same((await readState(page)).chosen, [])
}

async function testSlowResponse(t: Test, openPage: OpenPage): Promise<void> {
  const { page, relay } = await openPalette(t, openPage)
  await openAndType(page, 'llave')
  t.equal(await waitForActive(page, wrench), wrench)
  relay.fail('hold', '/api/search')
  for (const _ of 'llave') await page.press('Backspace')
  await page.typeText('martillo')
  const waiting = await waitForState(
    page,
    ({ isDimmed, typed }) => isDimmed && typed === 'martillo',
  )
  t.match(waiting, { isDimmed: true, active: null, isBusy: true })
  await click(page, '[part~=option]')
  t.same((await readState(page)).chosen, [], 'a click on an old result chooses nothing')
  await page.press('ArrowDown')
  await page.press('Enter')
  t.match((await readState(page)).status, /Nada elegido/, 'the second result is not known yet')
  relay.recover()
  await waitForState(page, ({ names, isBusy }) => names[0] === hammer && !isBusy)
  await page.press('Enter')
  t.match(await readState(page), { active: null, isOpen: true }, 'nobody has seen this list')
  await page.press('ArrowDown')
  t.equal(await waitForActive(page, hammer), hammer)
  await page.press('Enter')
  t.same((await waitForState(page, ({ chosen }) => chosen.length > 0)).chosen, [hammer])
  t.same(await page.readErrors(), [])
}

async function testEnterBeforeResponse(t: Test, openPage: OpenPage): Promise<void> {
  const { page, relay } = await openPalette(t, openPage)
  await openAndType(page, '')
  relay.fail('hold', '/api/search')
  await page.typeText('martillo')
  await page.press('Enter')
  t.same((await readState(page)).chosen, [])
  relay.recover()
  t.same((await waitForState(page, ({ chosen }) => chosen.length > 0)).chosen, [hammer])
  t.equal((await readState(page)).isOpen, false)
}

async function testKeyboard(t: Test, openPage: OpenPage): Promise<void> {
  const { page } = await openPalette(t, openPage)
  await page.evaluate(() => document.querySelector('button')?.focus())
  await openAndType(page, 'de bola')
  const isAnswer = ({ names, isBusy }: State) =>
    !isBusy && names.length >= 3 && names.slice(0, 3).every((name) => name.includes('de bola'))
  const { names } = await waitForState(page, isAnswer)
  await page.press('Control+c')
  const copied = await waitForState(page, ({ status }) => /^Copiado: /.test(status))
  t.match(copied, { status: /^Copiado: [\w-]+$/, isOpen: true, typed: 'de bola' })
  const pressAndFindIndex = async (key: string) => {
    await page.press(key)
    return names.indexOf((await readState(page)).active ?? '')
  }
  t.equal(await pressAndFindIndex('ArrowDown'), 1)
  t.equal(await pressAndFindIndex('End'), names.length - 1)
  t.equal(await pressAndFindIndex('ArrowDown'), 0, 'from the last to the first')
  t.equal(await pressAndFindIndex('ArrowUp'), names.length - 1)
  t.equal(await pressAndFindIndex('Home'), 0)
  t.equal(await pressAndFindIndex('PageDown'), Math.min(5, names.length - 1))
  t.equal(await pressAndFindIndex('PageUp'), 0)
  t.match(await readState(page), { hasDescendant: true, isOpen: true })
  await page.press('Control+Enter')
  t.match(await readState(page), { isOpen: true, chosen: [`${names[0]} +`] })
  await page.press('ArrowDown')
  await page.press('Enter')
  t.match(await readState(page), { isOpen: false, chosen: [`${names[0]} +`, names[1]] })
  const focused = () => page.evaluate(() => document.activeElement?.localName)
  t.equal(await focused(), 'button', 'the focus returns')
  await page.press('Control+k')
  await waitForState(page, ({ isOpen }) => isOpen)
  await page.press('Escape')
  t.equal((await readState(page)).isOpen, false)
  t.equal(await focused(), 'button')
  t.same(await page.readErrors(), [])
}

/** No protocol controls an input method, so the page sends the events that one causes. */
async function testInputMethod(t: Test, openPage: OpenPage): Promise<void> {
  const { page } = await openPalette(t, openPage)
  await openAndType(page, 'llave')
  t.equal(await waitForActive(page, wrench), wrench)
  await page.evaluate(() => {
    const input = document.querySelector('product-palette')?.shadowRoot?.querySelector('input')
    // WebKit closes a dialog also for an Escape that a page sends, unless it is prevented.
    for (const key of ['Enter', 'ArrowDown', 'Escape']) {
      for (const signs of [{ isComposing: true }, { keyCode: 229 }]) {
        const options = { key, bubbles: true, composed: true, cancelable: true, ...signs }
        const event = new KeyboardEvent('keydown', options)
        // WebKit ignores a given key code.
        if (event.isComposing || event.keyCode === 229) input?.dispatchEvent(event)
      }
    }
  })
  t.match(await readState(page), { isOpen: true, active: wrench })
  t.same((await readState(page)).chosen, [])
}

async function testTouch(t: Test, openPage: OpenPage): Promise<void> {
  const { page } = await openPalette(t, openPage, { touch: true })
  const tap = async (selector: string) => {
    const { x, y } = await locate(page, selector)
    await page.tap(x, y)
  }
  await tap('button')
  await waitForState(page, ({ isOpen, isBusy }) => isOpen && !isBusy)
  await page.typeText('llave')
  t.equal(await waitForActive(page, wrench), wrench)
  const canHover = await page.evaluate(() => matchMedia('(hover: hover)').matches)
  if (!canHover) {
    await tap('[part=star]')
    const readStar = () =>
      page.evaluate(() => {
        const root = document.querySelector('product-palette')?.shadowRoot
        return root?.querySelector('[part=star]')?.textContent
      })
    t.equal(await eventually(readStar, (star) => star === '★'), '★', 'the star marks a favourite')
    t.match(await readState(page), { isOpen: true, chosen: [] })
    await tap('[part=add]')
    t.match(await waitForState(page, ({ chosen }) => chosen.length > 0), {
      chosen: [`${wrench} +`],
      isOpen: true,
    })
  }
  await tap('[part~=option]')
  t.match(await waitForState(page, ({ isOpen }) => !isOpen), { isOpen: false })
  t.equal((await readState(page)).chosen.at(-1), wrench)
  t.same(await page.readErrors(), [])
}

await addQuote(service.db, 'P-1')
const quotePath = `/quote/share/${await createQuoteLink(service.db, { number: 'P-1' })}`

/** The pages and an element that shows that their script has run, or that they are complete. */
const pages = {
  '/': 'body.ready',
  '/docs': '.opblock',
  '/dashboard': '#metrics > *',
  [quotePath]: 'footer',
}

async function testPages(t: Test, openPage: OpenPage): Promise<void> {
  const relay = await startHttpRelay(t, serviceUrl)
  for (const [path, selector] of Object.entries(pages)) {
    const page = await openPage(t, { origins: [relay.url] })
    await page.goto(relay.url + path)
    const isReady = () =>
      page.evaluate((selector) => document.querySelector(selector) !== null, selector)
    t.ok(await eventually(isReady, Boolean), `${path} is ready`)
    t.same(await page.readErrors(), [], path)
  }
}

for (const name of findTestBrowsers()) {
  await t.test(`in ${name}`, async (t) => {
    const openPage = await startTestBrowser(t, name)
    for (const [problem, fault] of Object.entries(faults)) {
      await t.test(`chooses no product of an older query when the search ${problem}`, (t) =>
        testFault(t, openPage, fault),
      )
    }
    await t.test('Enter while the rate limit pauses the search chooses nothing', (t) =>
      testEnterDuringPause(t, openPage),
    )
    await t.test('a slow response: old results become inactive, and Enter waits', (t) =>
      testSlowResponse(t, openPage),
    )
    await t.test('Enter before the response chooses its first result', (t) =>
      testEnterBeforeResponse(t, openPage),
    )
    await t.test('is operated by keyboard alone', (t) => testKeyboard(t, openPage))
    await t.test('ignores the keys of an input method', (t) => testInputMethod(t, openPage))
    await t.test('a touch screen opens it, chooses and goes on', (t) => testTouch(t, openPage))
    await t.test('the pages load without errors', (t) => testPages(t, openPage))
  })
}
