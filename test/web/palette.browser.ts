// <product-palette> in a real browser, in pages of other origins with a strict policy, on the real
// service.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CDPSession, Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { createApiKey, revokeApiKey } from '../../src/auth/api-keys.ts'
import type { ProductPalette } from '../../src/web/palette/palette.d.ts'
import { requestTimeoutMs } from '../../src/web/palette/search-requests.js'
import { findAccessibilityViolations, openPage, startBrowser } from '../support/browser.ts'
import { insertExampleProducts } from '../support/database/example-products.ts'
import { eventually } from '../support/eventually.ts'
import { idOf } from '../support/key-parts.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { testService } from '../support/service/test-service.ts'

t.setTimeout(600_000)
// Most of the time is spent waiting. Each test has its own page and its own origin.
t.jobs = 3
lengthenTimeouts(t)

const markupProduct = { sku: 'XSS-1', name: 'Tubo <img src=x onerror=alert(1)> &amp; "codo"' }
/** As long as names of parts are. */
const longProduct = {
  sku: 'KR-4711-220-XL',
  name: 'Kugelrollenlager zweireihig mit kegeliger Bohrung, Messingkäfig, Schmiernut und drei Bohrungen im Außenring, 22320-E1-K-T41A-C3, Durchmesser 215 mm',
}
const emojiProduct = { sku: 'EMO-1', name: '😀 Ñandú de peluche' }
/** Changed by the test of recent products, and by no other. */
const changingProduct = {
  sku: 'REM-1',
  name: 'Remachadora manual',
  price: '16.20',
  currency: 'EUR',
}

const wrench = 'Llave ajustable 250 mm'
const hammer = 'Martillo de bola 300 g'

const service = await testService(t, { config: { ANONYMOUS_SCOPES: [] } })
const { db, app } = service
await insertExampleProducts(db, { isWhole: true })
await db.insertInto('products').values([markupProduct, emojiProduct, longProduct]).execute()
await db.insertInto('products').values(changingProduct).execute()
await service.sync()
const serviceUrl = await app.listen({ host: '127.0.0.1', port: 0 })

type ArrivedRequest = {
  method: string
  path: string
  query: URLSearchParams
  origin: string
  at: number
  /** `at` is a moment before the response is sent. */
  response?: { status: number; at: number }
}
/** Every request that the service has received. */
const arrived: ArrivedRequest[] = []
app.server.on('request', ({ method = '', url = '', headers }, response) => {
  const { pathname, searchParams } = new URL(url, serviceUrl)
  const { origin = '' } = headers
  const request: ArrivedRequest = {
    method,
    path: pathname,
    query: searchParams,
    origin,
    at: performance.now(),
  }
  arrived.push(request)
  const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => typeof response
  response.writeHead = ((...args: unknown[]) => {
    request.response = { status: Number(args[0]), at: performance.now() }
    return writeHead(...args)
  }) as typeof response.writeHead
})

/**
 * Returns the policy of an embedding page. It allows only what the palette needs, and the page's
 * own inline script. Text cannot become markup.
 */
function createPolicy(document: string): string {
  const inlineScript = /<script type="module">(.*?)<\/script>/s.exec(document)?.[1] ?? ''
  const hash = createHash('sha256').update(inlineScript).digest('base64')
  return [
    "default-src 'none'",
    `script-src ${serviceUrl}${inlineScript && ` 'sha256-${hash}'`}`,
    `connect-src ${serviceUrl}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
}
/** The embedding pages by host. */
const documents = new Map<string, string>()
const embeddingServer = createServer(({ headers }, response) => {
  const document = documents.get(headers.host ?? '') ?? ''
  response
    .setHeader('content-type', 'text/html; charset=utf-8')
    .setHeader('content-security-policy', createPolicy(document))
  response.end(document)
})
await new Promise<void>((resolve) => embeddingServer.listen(0, '127.0.0.1', resolve))
t.teardown(() => embeddingServer.close())
const { port } = embeddingServer.address() as AddressInfo
const hosts = Array.from({ length: 80 }, (_, index) => `tool-${index}.example.test:${port}`)
const origins = hosts.map((host) => `http://${host}`)
const key = await createApiKey(db, {
  kind: 'publishable',
  name: 'tools',
  scopes: ['search:read'],
  origins,
  unlimited: true,
})
const browser = await startBrowser(t)

type Options = Omit<Partial<Parameters<typeof openPage>[2]>, 'origins'> & {
  html?: { lang?: string; dir?: string }
  isExpectedError?: (message: string) => boolean
  initScript?: () => void
  /** Host and port of the page. By default one that the key is bound to. */
  host?: string | undefined
}

/** Opens a page of its own origin with `body` and the script of the palette. */
async function openEmbeddingPage(
  t: Test,
  body: string,
  {
    html = {},
    isExpectedError,
    initScript,
    host = hosts[documents.size],
    ...options
  }: Options = {},
) {
  if (!host) throw new Error('The key is bound to fewer origins than there are pages.')
  const origin = `http://${host}`
  const attributes = Object.entries({ lang: 'es', ...html }).map(
    ([name, value]) => `${name}="${value}"`,
  )
  documents.set(
    host,
    `<!doctype html><html ${attributes.join(' ')}>
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Pedidos</title>
    <main><h1>Pedidos</h1>${body}</main>
    <script type="module" src="${serviceUrl}/web/palette.js"></script></html>`,
  )
  const watched = await openPage(
    t,
    browser,
    { origins: [origin, serviceUrl], ...options },
    isExpectedError,
  )
  const { page, context } = watched
  await context.addInitScript(() => {
    const paletteEvents: unknown[] = []
    Object.assign(window, { paletteEvents })
    for (const type of ['product-select', 'product-palette-open', 'product-palette-close']) {
      addEventListener(type, (event) =>
        paletteEvents.push({ type, detail: (event as CustomEvent).detail }),
      )
    }
  })
  if (initScript) await context.addInitScript(initScript)
  await page.goto(origin)
  await page.waitForFunction(() => customElements.get('product-palette'))
  await waitForFrame(page)
  const firstIndex = arrived.length
  /** The requests of this page that the service has received since the page was loaded. */
  const requests = () => arrived.slice(firstIndex).filter((request) => request.origin === origin)
  /** The queries that this page has searched for. */
  const queries = () =>
    requests()
      .filter(({ path }) => path === '/api/search')
      .map(({ query }) => query.get('q'))
  return { ...watched, requests, queries }
}

/** Chromium ignores key presses until a page has painted its first frame. */
const waitForFrame = (page: Page) =>
  page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  )

const paletteTag = `<product-palette endpoint="${serviceUrl}" api-key="${key}"></product-palette>`
const activeOption = '[part~=active]:visible'
const readNames = (page: Page) => page.locator('[part=name]').allTextContents()
const typeText = (page: Page, text: string) => page.keyboard.type(text)
const readStatus = (page: Page) => page.locator('[part~=status]').textContent()
const readActiveName = async (page: Page) =>
  (await page.locator(`${activeOption} [part=name]`).allTextContents())[0]
const isOpen = (page: Page) =>
  page.evaluate(() => document.querySelector('product-palette')?.isOpen)
const isBusy = async (page: Page) => (await page.locator('[data-busy]').count()) > 0

type PaletteEvent = {
  type: string
  detail: { hit: { sku: string; name: string; price: unknown }; query: string; stay: boolean }
}
/** Returns the details of the product-select events so far. */
const readChosen = (page: Page) =>
  page.evaluate(() =>
    (window as unknown as { paletteEvents: PaletteEvent[] }).paletteEvents
      .filter(({ type }) => type === 'product-select')
      .map(({ detail }) => detail),
  )

/**
 * Waits until this product is active and no response is pending: the results of a prefix can
 * disappear again. Throws if that does not happen.
 */
async function waitForActive(page: Page, name: string): Promise<void> {
  const last = await eventually(
    async () => ({ isBusy: await isBusy(page), name: await readActiveName(page) }),
    (current) => !current.isBusy && current.name === name,
  )
  if (last.isBusy || last.name !== name)
    throw new Error(`Active is ${last.isBusy ? 'still busy' : last.name}, not ${name}.`)
}
/** Reads again and again until the check holds. Returns what was read last. */
const until = <Result>(
  page: Page,
  read: (page: Page) => Promise<Result>,
  check: (result: Result) => boolean,
) => eventually(() => read(page), check)
/** Waits until something has this value. */
async function becomes<Value>(t: Test, read: () => Promise<Value>, value: Value): Promise<void> {
  t.equal(await eventually(read, (current) => current === value), value)
}
/** Waits until a part of the palette shows a text that matches. */
async function shows(t: Test, page: Page, part: string, text: RegExp): Promise<void> {
  const read = () => page.locator(`[part~=${part}]`).innerText()
  t.match(await eventually(read, (shown) => text.test(shown)), text)
}
/** Opens the palette, types, and waits until this product is active. */
async function search(page: Page, text: string, name: string): Promise<void> {
  await openAndType(page, text)
  await waitForActive(page, name)
}
const waitForChosen = (page: Page) => until(page, readChosen, (all) => all.length > 0)
const readSkus = async (page: Page) => (await readChosen(page)).map(({ hit }) => hit.sku)
const readHeadings = (page: Page) => page.locator('[part=heading]').allTextContents()
async function reload(page: Page): Promise<void> {
  await page.reload()
  await page.waitForFunction(() => customElements.get('product-palette'))
  await waitForFrame(page)
}
const isRejection = (message: string) =>
  /the server responded with a status of (401|403|429)/.test(message)
const isNetworkError = (message: string) => /net::ERR_|CORS policy/.test(message)

/** Opens the palette and types. */
async function openAndType(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+k')
  await page.locator('[part~=option]:visible').first().waitFor()
  await typeText(page, text)
}

// Runs alone, because it expects results of the search engine, which may be late on a busy machine.
await t.test(
  'works in a page of another origin with one tag and a key, and sends no preflight requests',
  async (t) => {
    const { page, requests } = await openEmbeddingPage(t, `<p>Un pedido</p>${paletteTag}`)
    await search(page, 'martillo', hammer)
    t.same(await readNames(page), ['Martillo de bola 300 g', 'Martillo de bola 500 g'])
    t.equal(await readStatus(page), '2 resultados')
    t.match(
      await page.locator('[part~=option]').first().innerText(),
      /AB-742-X · Herramientas\s+12,50\s€/,
    )
    t.same(await page.locator('[part=mark]').allTextContents(), ['Martillo', 'Martillo'])
    t.ok(requests().length > 1)
    t.same(
      [...new Set(requests().map(({ method, path }) => `${method} ${path}`))].filter(
        (line) => line !== 'GET /web/palette-texts-es.js',
      ),
      ['GET /api/search'],
      'no OPTIONS and no other request but for the texts',
    )
    t.ok(requests().every(({ query }) => query.get('key') === key))
  },
)

t.test('leaves keys to the text, to the page and to the browser', async (t) => {
  const { page } = await openEmbeddingPage(
    t,
    `<label>Notas <input id="notes"></label>
    <div contenteditable="true" aria-label="Texto" role="textbox"></div>${paletteTag}`,
  )

  await t.test('Home and End move the cursor before they move in the list', async (t) => {
    await search(page, 'llave', wrench)
    await page.keyboard.press('Home')
    await typeText(page, 'x')
    t.equal(await page.locator('[part=input]').inputValue(), 'xllave')
    await page.keyboard.press('Escape')
  })

  await t.test('an editable element that handles Ctrl+K keeps it', async (t) => {
    await page.evaluate(() => {
      document.querySelector('[contenteditable]')?.addEventListener('keydown', (event) => {
        if ((event as KeyboardEvent).ctrlKey && (event as KeyboardEvent).key === 'k')
          event.preventDefault()
      })
    })
    await page.focus('[contenteditable]')
    await page.keyboard.press('Control+k')
    t.equal(await isOpen(page), false)
    await page.focus('#notes')
    await page.keyboard.press('Control+k')
    t.equal(await isOpen(page), true, 'other elements do not keep it')
    await page.keyboard.press('Control+k')
    t.equal(await isOpen(page), false, 'the hotkey closes it')
  })

  await t.test('a hotkey that is held down does nothing else', async (t) => {
    await page.evaluate(() => {
      const handled: boolean[] = []
      Object.assign(window, { handled })
      const record = (event: Event) => setTimeout(() => handled.push(event.defaultPrevented))
      addEventListener('keydown', record, { capture: true })
    })
    await page.focus('#notes')
    await page.keyboard.down('Control')
    for (let presses = 0; presses < 3; presses += 1) await page.keyboard.down('k')
    await page.keyboard.up('k')
    await page.keyboard.up('Control')
    const readHandled = () =>
      page.evaluate(() => (window as unknown as { handled: boolean[] }).handled)
    t.same(
      await eventually(readHandled, ({ length }) => length === 4),
      [false, true, true, true],
      'the browser gets only Ctrl',
    )
    t.equal(await isOpen(page), true, 'it opens and does not close again')
    await page.keyboard.press('Escape')
  })

  await t.test('the hotkey can be changed and switched off', async (t) => {
    const set = (hotkey: string) =>
      page.evaluate(
        (hotkey) => document.querySelector('product-palette')?.setAttribute('hotkey', hotkey),
        hotkey,
      )
    await set('/')
    await page.focus('#notes')
    await page.keyboard.press('/')
    t.same(
      [await isOpen(page), await page.inputValue('#notes')],
      [false, '/'],
      'a hotkey without a modifier is text in a text field',
    )
    await page.evaluate(() => (document.activeElement as HTMLElement).blur())
    await page.keyboard.press('/')
    t.equal(await isOpen(page), true)
    t.equal(await page.locator('[part=input]').inputValue(), '')
    await page.keyboard.press('Escape')
    await set('ctrl+shift+p')
    await page.keyboard.press('Control+k')
    t.equal(await isOpen(page), false)
    await page.keyboard.press('Control+Shift+P')
    t.equal(await isOpen(page), true)
    await page.keyboard.press('Escape')
    await set('off')
    for (const pressed of ['Control+k', 'o', 'f']) await page.keyboard.press(pressed)
    t.equal(await isOpen(page), false)
  })
})

t.test(
  'a click chooses, a click outside closes, and a button inside the element opens',
  async (t) => {
    const { page } = await openEmbeddingPage(
      t,
      paletteTag.replace('></', '><button>Buscar</button></'),
    )
    await page.click('text=Buscar')
    await typeText(page, 'llave')
    await waitForActive(page, wrench)
    await page.hover('[part~=option] >> nth=1')
    t.equal(await readActiveName(page), 'Llave combinada 13 mm')
    await page.click('[part~=option] >> nth=1')
    t.same(await readSkus(page), ['LLA-13-COMB'])
    t.equal(await isOpen(page), false)
    await page.click('text=Buscar')
    await page.mouse.click(5, 5)
    t.equal(await isOpen(page), false)
    t.equal(await page.evaluate(() => document.activeElement?.textContent), 'Buscar')
    await page.click('text=Buscar')
    await page.click('[part=close]')
    t.equal(await isOpen(page), false)
  },
)

t.test('supports dead keys and input methods', async (t) => {
  const { page, context, queries } = await openEmbeddingPage(t, paletteTag)
  const session: CDPSession = await context.newCDPSession(page)
  const compose = (text: string) =>
    session.send('Input.imeSetComposition', {
      text,
      selectionStart: text.length,
      selectionEnd: text.length,
    })
  const commit = (text: string) => session.send('Input.insertText', { text })
  await search(page, 'cami', 'Camión de juguete de madera')
  await compose('´')
  t.equal(await page.locator('[part=input]').inputValue(), 'cami´')
  // The list is dimmed a moment later, because it does not answer what is typed.
  t.equal((await readNames(page))[0], 'Camión de juguete de madera')
  await commit('ó')
  await becomes(t, async () => queries().at(-1), 'camió')
  t.notOk(
    queries().some((query) => query?.includes('´')),
    'a pending accent starts no search',
  )
  await typeText(page, 'n')
  await waitForActive(page, 'Camión de juguete de madera')
  t.same(
    await eventually(
      () => page.locator('[part=mark]').allTextContents(),
      ([mark]) => mark === 'Camión',
    ),
    ['Camión'],
  )

  await page.locator('[part=input]').fill('mu')
  await compose('~')
  await commit('ñ')
  await waitForActive(page, 'Muñeca de trapo 30 cm')

  // Input methods of phones compose every word. Results appear meanwhile.
  await page.locator('[part=input]').fill('')
  await compose('lla')
  await compose('llave')
  await waitForActive(page, wrench)
  await commit('llave')
  await page.keyboard.press('Enter')
  t.same(await readSkus(page), ['LLA-AJ-250'])
})

/** Records every text that the first of these selectors with a match has shown. */
const recordTexts = (page: Page, selectors: string[]) =>
  page.evaluate((selectors) => {
    const texts: string[] = []
    Object.assign(window, { texts })
    const root = document.querySelector('product-palette')?.shadowRoot
    const record = () => {
      const shown = selectors.map((selector) => root?.querySelector(selector)).find(Boolean)
      if (shown?.textContent && texts.at(-1) !== shown.textContent) texts.push(shown.textContent)
    }
    if (root)
      new MutationObserver(record).observe(root, {
        subtree: true,
        childList: true,
        attributes: true,
        characterData: true,
      })
  }, selectors)
const recordedTexts = (page: Page) =>
  page.evaluate(() => (window as unknown as { texts: string[] }).texts)
/** Delays the response to a query. `delivered` resolves when the page has received it. */
async function delayResponse(
  page: Page,
  query: string,
  ms: number,
): Promise<{ delivered: Promise<void> }> {
  const { promise: delivered, resolve } = Promise.withResolvers<void>()
  await page.route(`**/api/search?q=${query}&*`, async (route) => {
    const response = await route.fetch()
    await new Promise((resolve) => setTimeout(resolve, ms))
    // Both fail if the page has cancelled the request or was closed meanwhile.
    await route.fulfill({ response }).catch(() => undefined)
    await waitForFrame(page).catch(() => undefined)
    resolve()
  })
  return { delivered }
}

t.test('drops late responses and keeps the old results until the right response', async (t) => {
  // Removes the abort signal from requests, so that the late responses do arrive.
  const { page } = await openEmbeddingPage(t, paletteTag, {
    initScript: () => {
      const { fetch } = window
      window.fetch = (url) => fetch(url)
    },
  })
  await search(page, 'cable', 'Cable H07V-K 2,5 mm², azul')
  await page.locator('[part=input]').fill('')
  await page.locator('[part=heading]').first().waitFor()
  await recordTexts(page, ['[part=message]:not([hidden])', '[part~=active] [part=name]'])
  const firstName = await readActiveName(page)
  const lateResponse = await delayResponse(page, 'mart', 900)
  await delayResponse(page, 'martill', 400)
  await delayResponse(page, 'm', 50)
  for (const letter of 'martill') await typeText(page, letter)
  const shownTexts = await until(page, recordedTexts, (all) =>
    all.includes('Martillo de bola 300 g'),
  )
  t.ok(!shownTexts.includes('Cable H07V-K 2,5 mm², azul'))
  t.ok(firstName)
  await lateResponse.delivered
  t.same(
    await readNames(page),
    ['Martillo de bola 300 g', 'Martillo de bola 500 g'],
    'the response to "mart", which arrived last, changed nothing',
  )
  t.equal(
    (await recordedTexts(page)).filter((text) => /Nada/.test(text)).length,
    0,
    '"nothing found" never appeared',
  )
})

t.test('cancels outdated requests, and answers recent prefixes from its cache', async (t) => {
  const { page, context, requests, queries } = await openEmbeddingPage(t, paletteTag, {
    isExpectedError: (text) => /ERR_ABORTED|ERR_FAILED/.test(text),
  })
  const cancelled: string[] = []
  page.on('requestfailed', (request) =>
    cancelled.push(new URL(request.url()).searchParams.get('q') ?? ''),
  )
  await delayResponse(page, 'lla', 2_000)
  await openAndType(page, 'lla')
  await eventually(
    async () => queries(),
    (all) => all.includes('lla'),
  )
  await typeText(page, 've')
  await waitForActive(page, wrench)
  t.ok(cancelled.includes('lla'))
  const before = requests().length
  await page.keyboard.press('Backspace')
  await page.keyboard.type('e')
  await waitForActive(page, wrench)
  t.ok(requests().length - before <= 1, 'at most one, for the query that was cancelled')
  await context.close()
})

t.test('says that nothing was found', async (t) => {
  const { page } = await openEmbeddingPage(t, paletteTag)
  await openAndType(page, 'qqqzzzxxx')
  await shows(t, page, 'message', /Nada para «qqqzzzxxx»/)
  t.equal(await page.locator('[part=input]').getAttribute('aria-expanded'), 'false')
  await shows(t, page, 'live', /Nada para/)
  t.same(await findAccessibilityViolations(page), [])
})

t.test('waits for Retry-After when the rate limit is exceeded, then searches once', async (t) => {
  const limitedKey = await createApiKey(db, {
    kind: 'publishable',
    name: 'limited',
    scopes: ['search:read'],
    origins,
    limitFactor: 0.00002,
  })
  const { page, requests } = await openEmbeddingPage(t, paletteTag.replace(key, limitedKey), {
    isExpectedError: isRejection,
  })
  let waitMs = 0
  page.on('response', (response) => {
    if (response.status() !== 429) return
    waitMs = Number(response.headers()['retry-after']) * 1000
  })
  await openAndType(page, '')
  // The message is shown for a second, which may pass between two polls of a slow machine.
  await recordTexts(page, ['[part~=status]'])
  for (const letter of 'martillo') await typeText(page, letter)
  const shownTexts = await until(page, recordedTexts, (texts) =>
    texts.some((text) => /Demasiadas/.test(text)),
  )
  t.ok(shownTexts.includes('Demasiadas búsquedas. Sigo en 1 s.'), shownTexts.join(' | '))
  t.ok((await readNames(page)).length > 0)
  await waitForActive(page, hammer)
  t.ok(waitMs >= 1000)
  const [rejected, next] = await eventually(
    async () => {
      const all = requests()
      const index = all.findLastIndex(({ response }) => response?.status === 429)
      return [all[index], all[index + 1]]
    },
    ([, next]) => next !== undefined,
  )
  // Both times are of the service. The clock of the page is another one.
  const waitedMs = Number(next?.at) - Number(rejected?.response?.at)
  t.ok(waitedMs >= waitMs - 10, `${waitedMs} ms after the 429`)
  const searchedQuery = next?.query.get('q') ?? ''
  t.ok(
    searchedQuery !== '' && 'martillo'.startsWith(searchedQuery),
    `"${searchedQuery}" is what was typed by then`,
  )
})

t.test(
  'says that a key is unknown or belongs to another page, and sends no more requests',
  async (t) => {
    const other = await createApiKey(db, {
      kind: 'publishable',
      name: 'other',
      scopes: ['search:read'],
      origins: ['https://other.example'],
    })
    for (const [rejectedKey, message] of [
      [`${key.slice(0, -6)}AAAAAA`, /^Sin acceso: la clave falta o no es válida/],
      [other, /^Sin acceso: esta clave no permite buscar aquí/],
    ] as const) {
      const { page, context, requests } = await openEmbeddingPage(
        t,
        paletteTag.replace(key, rejectedKey),
        {
          isExpectedError: isRejection,
        },
      )
      await page.keyboard.press('Control+k')
      await shows(t, page, 'message', message)
      await typeText(page, 'martillo')
      t.match(await readStatus(page), message)
      t.equal(await isBusy(page), false, 'the palette does not look busy')
      t.equal(requests().length, 1)
      t.same(await findAccessibilityViolations(page), [])
      await context.close()
    }
  },
)

t.test('shows no products any more once its key was revoked', async (t) => {
  const ownKey = await createApiKey(db, {
    kind: 'publishable',
    name: 'revoked',
    scopes: ['search:read'],
    origins,
  })
  const { page } = await openEmbeddingPage(t, paletteTag.replace(key, ownKey), {
    isExpectedError: isRejection,
  })
  const options = page.locator('[role=option]')
  await page.keyboard.press('Control+k')
  await typeText(page, 'martillo')
  await options.first().waitFor()
  await revokeApiKey(db, idOf(ownKey))
  await eventually(
    async () => {
      // Each query is another one, because responses are cached.
      await typeText(page, 'x')
      return page.locator('[part=message]').innerText()
    },
    (text) => text.startsWith('Sin acceso'),
  )
  t.equal(await options.count(), 0)
  for (let n = 0; n < 20; n += 1) await page.keyboard.press('Backspace')
  await page.keyboard.press('Control+A')
  await typeText(page, 'martillo')
  t.equal(await options.count(), 0, 'also not for a query that was answered before')
  t.match(await page.locator('[part=message]').innerText(), /^Sin acceso/)
})

t.test('says that the service is unreachable or unavailable, and retries', async (t) => {
  const { page } = await openEmbeddingPage(t, paletteTag, {
    isExpectedError: (text) => isNetworkError(text) || /status of 503/.test(text),
  })
  await page.route(`${serviceUrl}/**`, (route) => route.abort('connectionrefused'))
  await page.keyboard.press('Control+k')
  await shows(t, page, 'message', /No se llega al buscador/)
  await page.unrouteAll()
  await page.route('**/api/search?*', (route) =>
    route.fulfill({
      status: 503,
      headers: {
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'retry-after',
        'retry-after': '1',
      },
    }),
  )
  await typeText(page, 'll')
  await shows(t, page, 'status', /El buscador no responde/)
  await page.unrouteAll()
  // On a busy machine the fallback answers, which has another order.
  await until(page, readStatus, (text) => /resultado/.test(text ?? ''))
  t.match(await readStatus(page), /^\d.* resultados?/)
  t.ok((await readNames(page)).includes('Llave ajustable 250 mm'))
})

t.test('ends a request without a response, also the one that looks for the service', async (t) => {
  const { page } = await openEmbeddingPage(t, paletteTag, {
    isExpectedError: isNetworkError,
  })
  await page.clock.install()
  await page.route('**/api/search?*', (route) => route.abort('connectionrefused'))
  // A service without a response.
  await page.route('**/web/palette.js', () => undefined)
  const asked = page.waitForRequest((request) => request.method() === 'HEAD')
  await page.keyboard.press('Control+k')
  await asked
  t.equal(await isBusy(page), true)
  await page.clock.runFor(requestTimeoutMs)
  await shows(t, page, 'message', /No se llega al buscador/)
})

t.test('a search that the service does not accept is not repeated', async (t) => {
  const tag = paletteTag.replace('<product-palette', '<product-palette limit="60"')
  const { page, pageErrors, requests } = await openEmbeddingPage(t, tag, {
    isExpectedError: (text) => /status of 400/.test(text),
  })
  await page.clock.install()
  await search(page, 'llave', wrench)
  t.equal(requests()[0]?.query.get('limit'), '50', 'the maximum of the service')
  await page.evaluate(() => {
    addEventListener('product-palette-search', (event) => {
      ;(event as CustomEvent).detail.parameters.set('colour', 'red')
    })
  })
  await typeText(page, 's')
  const message = /La búsqueda no es válida/
  await shows(t, page, 'message', message)
  const { length } = requests()
  await page.clock.runFor(60_000)
  await waitForFrame(page)
  t.equal(requests().length, length)
  t.match(pageErrors.splice(0), [/<product-palette> on http:\S+: 400 .*colour/])
})

t.test('a favourite chosen while offline is chosen when the connection is back', async (t) => {
  const { page, context } = await openEmbeddingPage(t, paletteTag, {
    isExpectedError: isNetworkError,
  })
  await search(page, 'llave', wrench)
  await page.keyboard.press('Shift+Enter')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Shift+Enter')
  await page.locator('[part=input]').fill('')
  await page.locator('[part=heading]', { hasText: 'Favoritos' }).waitFor()
  const chooseOffline = async () => {
    await context.setOffline(true)
    await page.keyboard.press('Control+Enter')
    await until(page, readStatus, (text) => /^Sin conexión/.test(text ?? ''))
    t.match(await readStatus(page), /^Sin conexión/)
  }
  const waitForNoStatus = async () => {
    await context.setOffline(false)
    const status = await until(page, readStatus, (text) => text === '')
    t.equal(status, '', 'the message disappears')
  }
  await chooseOffline()
  const active = await readActiveName(page)
  await waitForNoStatus()
  const chosen = await waitForChosen(page)
  t.same(
    chosen.map(({ hit }) => hit.name),
    [active],
  )
  await page.keyboard.press('ArrowDown')
  await chooseOffline()
  await page.keyboard.press('ArrowDown')
  await waitForNoStatus()
  t.equal((await readChosen(page)).length, 1, 'nothing is chosen if the user has moved on')
})

t.test('says once that no key allows the page, and sends no secret key', async (t) => {
  const secretKey = await createApiKey(db, {
    kind: 'secret',
    name: 'ERP',
    scopes: ['search:read'],
  })
  const unknownHost = `unknown.example.test:${port}`
  for (const { tag, message, log, host, searches } of [
    {
      tag: paletteTag.replace(key, secretKey),
      message: /^Sin acceso: la clave falta o no es válida/,
      log: /this key is secret/,
      searches: 0,
    },
    {
      tag: paletteTag.replace(/ api-key="[^"]*"/, ''),
      message: /^Sin acceso: la clave falta o no es válida/,
      log: /set the attribute api-key/,
      searches: 0,
    },
    {
      tag: paletteTag,
      message: /^Sin acceso: esta clave no permite buscar aquí/,
      log: new RegExp(`on http://${unknownHost}: no publishable key allows pages of this origin`),
      host: unknownHost,
      searches: 2,
    },
  ]) {
    const { page, context, pageErrors, requests } = await openEmbeddingPage(t, tag, {
      isExpectedError: isNetworkError,
      host,
    })
    const countSearches = () => requests().filter(({ method }) => method === 'GET').length
    await page.keyboard.press('Control+k')
    await shows(t, page, 'message', message)
    t.equal(countSearches(), searches)
    await typeText(page, 'martillo')
    t.match(await readStatus(page), message)
    t.equal(countSearches(), searches, 'no further request')
    t.notOk(arrived.some(({ query }) => query.get('key') === secretKey))
    t.equal(await isBusy(page), false)
    t.same(await findAccessibilityViolations(page), [])
    t.match(pageErrors, [log], 'the developer of the page is told')
    t.equal(pageErrors.splice(0).length, 1, 'and only once')
    await context.close()
  }
})

t.test('shows more results by keyboard, and marks the first new one', async (t) => {
  const { page, queries } = await openEmbeddingPage(
    t,
    paletteTag.replace('api-key', 'limit="1" api-key'),
  )
  await openAndType(page, 'llave')
  // While a failed search waits for its repetition, the palette shows the results of "l".
  const before = await until(page, readNames, (names) => names[1] === 'Mostrar 1 más')
  t.match(before, [/^Llave/, 'Mostrar 1 más'])
  t.equal(before.length, 2)
  await page.keyboard.press('ArrowUp')
  t.match(await readActiveName(page), /^Mostrar/)
  await page.keyboard.press('Enter')
  const after = await until(
    page,
    readNames,
    (names) => !names.some((name) => name.startsWith('Mostrar')),
  )
  t.equal(after.length, 2)
  t.equal(after[0], before[0])
  t.equal(await readActiveName(page), after[1])
  t.same(await readChosen(page), [], 'the option is no product')
  t.equal(await isOpen(page), true)
  t.equal(queries().at(-1), 'llave')
  t.same(await findAccessibilityViolations(page), [])
})

t.test('the page changes searches and results', async (t) => {
  const { page, requests } = await openEmbeddingPage(t, paletteTag)
  await page.evaluate(() => {
    const palette = document.querySelector('product-palette')
    palette?.addEventListener('product-palette-search', ({ detail }) => {
      if (detail.query === 'martillo') detail.parameters.set('category', 'Herramientas')
    })
    palette?.addEventListener('product-palette-results', ({ detail }) => {
      detail.hits = detail.hits.filter(({ name }) => !name.includes('300'))
    })
  })
  await search(page, 'martillo', 'Martillo de bola 500 g')
  t.same(await readNames(page), ['Martillo de bola 500 g'])
  const sent = requests().findLast(({ query }) => query.get('q') === 'martillo')
  t.equal(sent?.query.get('category'), 'Herramientas')
  t.equal(sent?.query.get('key'), key, 'listeners do not see the key, but it is sent')
})

t.test('shows products by the template of the page, and its text is no markup', async (t) => {
  const { page } = await openEmbeddingPage(t, paletteTag)
  await page.evaluate(() => {
    const palette = document.querySelector('product-palette') as ProductPalette
    palette.renderOption = (hit, highlight) => {
      if (hit.sku === 'XSS-1') return `<b>${hit.name}</b>`
      if (hit.sku === 'LLA-AJ-250') return null as unknown as string
      const row = document.createElement('span')
      row.append(`${hit.sku}: `, highlight('name'))
      return row
    }
  })
  await openAndType(page, 'martillo')
  const row = page.locator('[part~=option]', { hasText: 'AB-742-X: Martillo de bola 300 g' })
  t.same(
    await eventually(
      () => row.locator('[part=mark]').allTextContents(),
      (marks) => marks[0] === 'Martillo',
    ),
    ['Martillo'],
  )
  await page.locator('[part=input]').fill('tubo codo')
  const text = page.locator('[part~=option]', { hasText: '<b>Tubo <img' })
  await text.waitFor()
  t.equal(await page.locator('product-palette b, product-palette img').count(), 0)
  await page.locator('[part=input]').fill('llave ajustable')
  await page.locator('[part~=option] [part=price]').first().waitFor()
  t.equal(await readActiveName(page), wrench, 'without a template it is as usual')
})

t.test('chooses nothing when the template or a listener of the page fails', async (t) => {
  const { page } = await openEmbeddingPage(t, paletteTag, {
    isExpectedError: (text) => /cannot draw|properties of null/.test(text),
  })
  await page.evaluate(() => {
    const palette = document.querySelector('product-palette') as ProductPalette
    palette.renderOption = ({ name, sku }) => {
      if (sku === 'XSS-1') throw new Error(`cannot draw ${sku}`)
      return name
    }
    palette.addEventListener('product-palette-results', ({ detail }) => {
      if (detail.query === 'martillo bola') Object.assign(detail, { hits: null })
    })
  })
  const status = page.locator('[part~=status]')
  for (const failing of ['tubo codo', 'martillo bola']) {
    await openAndType(page, 'llave ajustable')
    await page.locator(activeOption, { hasText: 'Llave ajustable' }).waitFor()
    await page.locator('[part=input]').fill(failing)
    await eventually(
      () => page.locator('[part=list][aria-disabled=true]').count(),
      (count) => count === 1,
    )
    await becomes(t, () => isBusy(page), false)
    await page.keyboard.press('Enter')
    t.match(
      await eventually(
        () => status.innerText(),
        (text) => text.includes('Nada elegido'),
      ),
      `Nada elegido: la lista aún no es de «${failing}»`,
    )
    t.same(await readChosen(page), [])
    await page.keyboard.press('Escape')
  }
})

t.test('keeps the properties that the page set before the script was loaded', async (t) => {
  const { page } = await openEmbeddingPage(
    t,
    `${paletteTag}<script type="module">
      Object.assign(document.querySelector('product-palette'), {
        strings: { title: 'Artículos' },
        actions: [{ id: 'new', label: 'Martillo nuevo' }],
        renderOption: ({ name }) => '» ' + name,
        __framework$1: 'its own data',
      })
    </script>`,
  )
  await openAndType(page, 'martillo')
  t.equal(await page.getByRole('dialog').getAttribute('aria-label'), 'Artículos')
  await page.locator('[part~=option]', { hasText: '» Martillo de bola 300 g' }).waitFor()
  t.equal(await page.locator('[part~=option]', { hasText: 'Martillo nuevo' }).count(), 1)
  await page.keyboard.press('Escape')
  const ownProperties = await page.evaluate(() => {
    const palette = document.querySelector('product-palette') as ProductPalette
    palette.strings = { title: 'Catálogo' }
    palette.actions = []
    return Object.entries(palette)
  })
  t.same(ownProperties, [['__framework$1', 'its own data']], 'nothing hides the accessors')
  await openAndType(page, 'martillo')
  t.equal(await page.getByRole('dialog').getAttribute('aria-label'), 'Catálogo')
  await page.locator('[part~=option]', { hasText: '» Martillo de bola 300 g' }).waitFor()
  t.equal(await page.locator('[part~=option]', { hasText: 'Martillo nuevo' }).count(), 0)
})

t.test('offers the actions of the page in their groups', async (t) => {
  const { page } = await openEmbeddingPage(t, paletteTag)
  await page.evaluate(() => {
    const palette = document.querySelector('product-palette') as ProductPalette
    palette.actions = [
      { id: 'new', label: 'Crear presupuesto', group: 'Acciones', keywords: 'nuevo oferta' },
      { id: 'customers', label: 'Ir a clientes', group: 'Ir a', detail: 'Alt+C' },
    ]
    palette.addEventListener('product-palette-action', ({ detail }) =>
      Object.assign(window, { chosenAction: detail }),
    )
  })
  await page.keyboard.press('Control+k')
  const headings = await until(page, readHeadings, (texts) => texts.includes('Ir a'))
  t.same(headings.slice(-2), ['Acciones', 'Ir a'])
  t.same(await findAccessibilityViolations(page), [])
  await typeText(page, 'OFERTÁ')
  await waitForActive(page, 'Crear presupuesto')
  await page.keyboard.press('Enter')
  t.match(
    await page.evaluate(() => (window as unknown as { chosenAction: unknown }).chosenAction),
    { action: { id: 'new' }, query: 'OFERTÁ' },
  )
  t.equal(await isOpen(page), false)
  t.same(await readChosen(page), [])
})

t.test('a touch screen has a way to choose and go on, and names are whole', async (t) => {
  const { page } = await openEmbeddingPage(
    t,
    paletteTag.replace('></product', '><button>Buscar</button></product'),
    { hasTouch: true, isMobile: true, viewport: { width: 360, height: 640 } },
  )
  await page.getByRole('button', { name: 'Buscar' }).tap()
  const name = page.locator(`${activeOption} [part=name]`)
  for (const [query, text] of [
    ['kugelrollenlager', longProduct.name],
    ['cable H07V', 'Cable H07V-K 2,5 mm², azul'],
  ] as const) {
    await page.getByRole('combobox').fill(query)
    await waitForActive(page, text)
    t.ok(
      await name.evaluate((element) => element.scrollHeight <= element.clientHeight + 1),
      'the whole name is visible',
    )
  }
  // However long name and price are, + stands beside the price.
  for (let width = 320; width <= 430; width += 10) {
    await page.setViewportSize({ width, height: 640 })
    const distances = await page.locator('[part=end]').evaluateAll((ends) =>
      ends.map(({ children: [price, , add] }) => {
        const [a, b] = [price, add].map((part) => part?.getBoundingClientRect())
        return a && b && Math.round(a.top + a.bottom - b.top - b.bottom)
      }),
    )
    t.same([...new Set(distances)], [0], `${width} px`)
  }
  await page.locator('[part=add]').first().tap()
  t.same(
    (await readChosen(page)).map(({ hit, stay }) => [hit.name, stay]),
    [['Cable H07V-K 2,5 mm², azul', true]],
  )
  t.equal(await isOpen(page), true)
  t.same(await findAccessibilityViolations(page), [])
})

t.test('loads the texts of further languages', async (t) => {
  const { page, requests } = await openEmbeddingPage(t, paletteTag, {
    html: { lang: 'ca-ES' },
  })
  await search(page, 'martillo', hammer)
  await shows(t, page, 'status', /^2 resultats$/)
  t.equal(await page.locator('[part=input]').getAttribute('placeholder'), 'Cercar productes')
  t.match(await page.locator('[part=price]').first().innerText(), /^12,50\s€$/)
  t.equal(
    requests().filter(({ path }) => path === '/web/palette-texts-ca.js').length <= 1,
    true,
    'once at most',
  )
})

t.test('tells screen readers in every language what its own keys do', async (t) => {
  const { page } = await openEmbeddingPage(
    t,
    `${paletteTag}<label>Producto <input id="product"></label>
    ${paletteTag.replace('api-key=', 'for="product" favourites="off" api-key=')}`,
  )
  const described = new Set<string>()
  const readDescription = async (language: string) => {
    await page.evaluate((lang) => {
      document.documentElement.lang = lang
    }, language)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    return eventually(
      () => describe(page, page.locator('[part=input]')),
      // Until the texts of a language have been loaded, the description is that of another one.
      (description) =>
        description.startsWith(expected[language] ?? '') && !described.has(description),
    )
  }
  const expected: Record<string, string> = {
    es: 'Ctrl+Enter: elegir y seguir, Shift+Enter: favorito, Ctrl+C: copiar el código',
    en: 'Ctrl+Enter: choose and continue, Shift+Enter: favourite, Ctrl+C: copy the SKU',
    ca: 'Ctrl+Enter: triar i continuar, Shift+Enter: preferit, Ctrl+C: copiar el codi',
    de: 'Ctrl+Enter: ',
    fr: 'Ctrl+Enter: ',
    it: 'Ctrl+Enter: ',
    pt: 'Ctrl+Enter: ',
  }
  for (const [language, text] of Object.entries(expected)) {
    const description = await readDescription(language)
    t.match(description, text)
    t.match(description, / Shift\+Enter: \p{L}+/u)
    described.add(description)
  }
  t.equal(described.size, 7)
  await page.keyboard.press('Escape')
  const input = page.locator('#product')
  await input.focus()
  const description = await describe(page, input)
  t.equal(description, 'Ctrl+Enter: escolher e continuar, Ctrl+C: copiar o código', 'no favourites')
  await page.evaluate(() => document.querySelector('[for=product]')?.remove())
  t.equal(await describe(page, input), '')
})

/** Returns the description of an element that screen readers read after its name. */
async function describe(page: Page, locator: Locator): Promise<string> {
  const session = await page.context().newCDPSession(page)
  const handle = await locator.elementHandle()
  await handle?.evaluate((element) => Object.assign(window, { described: element }))
  const { result } = await session.send('Runtime.evaluate', { expression: 'described' })
  const { objectId = '' } = result
  const { nodes } = await session.send('Accessibility.getPartialAXTree', {
    objectId,
    fetchRelatives: false,
  })
  await session.detach()
  return String(nodes[0]?.description?.value ?? '')
}

t.test('takes texts of the page, and mixes no languages', async (t) => {
  const { page } = await openEmbeddingPage(t, paletteTag, { html: { lang: 'nl' } })
  await search(page, 'martillo', hammer)
  t.match(await readStatus(page), '2 results')
  t.match(await page.locator('[part=price]').first().innerText(), /^€12\.50$/)
  await page.keyboard.press('Escape')
  await page.evaluate(() => {
    const palette = document.querySelector('product-palette') as ProductPalette
    palette.strings = {
      title: 'Producten zoeken',
      count: (shown, total) => `${shown} van ${total} resultaten`,
      failures: { offline: 'Geen verbinding.' },
    }
  })
  await search(page, 'martillo', hammer)
  t.equal(await page.locator('[part=input]').getAttribute('placeholder'), 'Producten zoeken')
  t.match(await readStatus(page), '2 van 2 resultaten')
  t.match(await page.locator('[part=price]').first().innerText(), /12,50/)
})

t.test('marks degraded results, and does not say that nothing was found', async (t) => {
  const { page } = await openEmbeddingPage(t, paletteTag)
  await page.route(/q=(llave|nada)/, async (route) => {
    const response = await route.fetch()
    const answer = await response.json()
    const none = route.request().url().includes('nada') && { hits: [], total: 0 }
    const meta = { ...answer.meta, source: 'database', degraded: true }
    await route.fulfill({ response, json: { ...answer, ...none, meta } })
  })
  await openAndType(page, 'llave')
  await shows(t, page, 'status', /2 resultados · Búsqueda de reserva/)
  t.same(await findAccessibilityViolations(page), [])
  await page.locator('[part=input]').fill('nada')
  await shows(t, page, 'message', /^Búsqueda de reserva: puede faltar algo\s+Prueba/)
  t.equal(await readStatus(page), 'Búsqueda de reserva: puede faltar algo')
})

t.test('shows recent products and the most quoted ones for the empty query', async (t) => {
  const { page } = await openEmbeddingPage(t, paletteTag)
  const headings = () => readHeadings(page)
  await page.keyboard.press('Control+k')
  t.same(await eventually(headings, (all) => all.length > 0), ['Más presupuestados'])
  await typeText(page, 'remachadora')
  await waitForActive(page, 'Remachadora manual')
  await page.keyboard.press('Enter')
  await openAndType(page, '')
  t.same(await eventually(headings, (all) => all.length > 1), ['Recientes', 'Más presupuestados'])
  t.equal(await readActiveName(page), 'Remachadora manual')
  t.same(await findAccessibilityViolations(page), [])

  await db
    .updateTable('products')
    .set({ price: '99.90' })
    .where('sku', '=', changingProduct.sku)
    .execute()
  await service.sync()
  await reload(page)
  await openAndType(page, '')
  await page.keyboard.press('Enter')
  const [hit] = await waitForChosen(page)
  t.match(
    hit,
    { hit: { sku: changingProduct.sku, price: { amount: '99.90', currency: 'EUR' } } },
    'a recent product has its current price',
  )

  await db
    .updateTable('products')
    .set({ active: false })
    .where('sku', '=', changingProduct.sku)
    .execute()
  await service.sync()
  await reload(page)
  await openAndType(page, '')
  await page.keyboard.press('Enter')
  await shows(t, page, 'status', /«Remachadora manual» ya no está en el catálogo/)
  t.same(
    [await isOpen(page), await readChosen(page), await headings()],
    [true, [], ['Más presupuestados']],
  )
  await db
    .updateTable('products')
    .set({ active: true, price: '16.20' })
    .where('sku', '=', changingProduct.sku)
    .execute()
  await service.sync()
})

t.test('shows favourites first, marked by keyboard or pointer', async (t) => {
  const { page } = await openEmbeddingPage(t, paletteTag)
  const headings = () => readHeadings(page)
  const readLive = () => page.locator('[part=live]').textContent()
  // The names of the options as screen readers read them.
  const readOption = () => page.getByRole('option', { name: wrench }).ariaSnapshot()
  await search(page, 'llave', wrench)
  t.notMatch(await readOption(), /favorito/)
  await page.keyboard.press('Shift+Enter')
  await eventually(readLive, (text) => text === `Favorito: ${wrench}`)
  t.match(await readOption(), /favorito/, 'the star has a name')
  t.equal(await isOpen(page), true)
  t.equal(await page.locator(`${activeOption} [part=star]`).textContent(), '★')
  t.same(await readChosen(page), [], 'chooses nothing')
  t.same(await findAccessibilityViolations(page), [])
  await page.keyboard.press('Escape')

  await reload(page)
  await openAndType(page, '')
  t.same(await eventually(headings, (all) => all.length > 1), ['Favoritos', 'Más presupuestados'])
  t.equal(await readActiveName(page), wrench)
  t.same(await findAccessibilityViolations(page), [])
  await page.keyboard.press('Enter')
  const [chosen] = await waitForChosen(page)
  t.ok(chosen?.hit.price, 'a favourite has its current price')

  await openAndType(page, '')
  await eventually(headings, (all) => all.length > 1)
  t.same(await headings(), ['Favoritos', 'Más presupuestados'], 'shows each product once')
  await page.locator('[part~=option]:visible [part=star]').first().click()
  await eventually(readLive, (text) => text === `Ya no es favorito: ${wrench}`)
  await page.keyboard.press('Escape')
  await openAndType(page, '')
  t.same(await eventually(headings, (all) => all.length > 1), ['Recientes', 'Más presupuestados'])
})

t.test('tells the page about favourites, and stores none if they are off', async (t) => {
  const mark = async (tag: string) => {
    const { page } = await openEmbeddingPage(t, tag)
    await page.evaluate(() => {
      const marked: unknown[] = []
      Object.assign(window, { marked })
      addEventListener('product-palette-favourite', (event) => {
        const { hit, isFavourite } = (event as CustomEvent).detail
        marked.push([hit.name, isFavourite])
      })
    })
    await search(page, 'llave', wrench)
    await page.keyboard.press('Shift+Enter')
    await page.keyboard.press('Shift+Enter')
    const stars = await page.locator('[part=star]').count()
    const hints = await page.locator('[part=hints]').textContent()
    const marked = await page.evaluate(() => (window as unknown as { marked: unknown[] }).marked)
    return { marked, hasStars: stars > 0, hasHint: /favorito/.test(hints ?? '') }
  }
  t.same(await mark(paletteTag), {
    marked: [
      ['Llave ajustable 250 mm', true],
      ['Llave ajustable 250 mm', false],
    ],
    hasStars: true,
    hasHint: true,
  })
  const withoutFavourites = paletteTag.replace(
    '<product-palette',
    '<product-palette favourites="off"',
  )
  t.same(await mark(withoutFavourites), { marked: [], hasStars: false, hasHint: false })
})

t.test('marks corrections in every language, and says what was corrected', async (t) => {
  const { page } = await openEmbeddingPage(t, paletteTag)
  const expected = {
    es: '¿Querías decir esto?',
    en: 'Did you mean this?',
    ca: 'Volies dir això?',
    de: 'Meinten Sie das?',
    fr: 'Vouliez-vous dire cela\u00a0?',
    it: 'Intendevi questo?',
    pt: 'Queria dizer isto?',
  }
  for (const [language, text] of Object.entries(expected)) {
    await page.evaluate((lang) => {
      document.documentElement.lang = lang
    }, language)
    await openAndType(page, 'martilo')
    const mark = page.locator('[part~=corrected]').first()
    await becomes(t, async () => ((await mark.count()) > 0 ? mark.innerText() : ''), text)
    t.match(await readStatus(page), /^2 .* · martilo → martillo$/)
    t.same(await findAccessibilityViolations(page), [])
    await page.keyboard.press('Escape')
  }
  await search(page, 'martillo', hammer)
  t.equal(await page.locator('[part~=corrected]').count(), 0)
})

t.test('results that came before the texts of a language follow them', async (t) => {
  const { page } = await openEmbeddingPage(t, paletteTag)
  let sendTexts = () => {}
  await page.route('**/palette-texts-pt.js', async (route) => {
    await new Promise<void>((resolve) => {
      sendTexts = resolve
    })
    await route.continue()
  })
  await page.evaluate(() => {
    document.documentElement.lang = 'pt'
  })
  await openAndType(page, 'martilo')
  const mark = page.locator('[part~=corrected]').first()
  await mark.waitFor()
  t.equal(await mark.innerText(), 'Did you mean this?')
  sendTexts()
  const readMark = async () => ((await mark.count()) > 0 ? mark.innerText() : '')
  t.equal(await eventually(readMark, (text) => text.startsWith('Queria')), 'Queria dizer isto?')
})

t.test('Enter chooses no other code than the typed one, unless it is pressed again', async (t) => {
  const cases: [query: string, attributes: string, keys: string[], chosen: string | null][] = [
    ['bombilla E28', '', ['Enter'], null],
    ['bombilla E28', '', ['Enter', 'Enter'], 'Bombilla LED E27, 9 W'],
    ['bombilla E28', '', ['ArrowDown', 'Home', 'Enter'], 'Bombilla LED E27, 9 W'],
    ['bombilla E28', 'confirm="off"', ['Enter'], 'Bombilla LED E27, 9 W'],
    ['bombilla E27', '', ['Enter'], 'Bombilla LED E27, 9 W'],
    ['martilo', '', ['Enter'], 'Martillo de bola 300 g'],
  ]
  const { page } = await openEmbeddingPage(t, paletteTag)
  for (const [query, attributes, keys, chosen] of cases) {
    await page.evaluate((isOff) => {
      const palette = document.querySelector('product-palette')
      if (isOff) palette?.setAttribute('confirm', 'off')
      else palette?.removeAttribute('confirm')
    }, attributes !== '')
    const earlier = (await readChosen(page)).length
    await openAndType(page, query)
    const first = chosen ?? 'Bombilla LED E27, 9 W'
    await waitForActive(page, first)
    for (const key of keys) await page.keyboard.press(key)
    const line = `${query} ${attributes} ${keys}`
    const added = (await readChosen(page)).slice(earlier).map(({ hit }) => hit.name)
    t.same(added, chosen === null ? [] : [chosen], line)
    if (chosen === null)
      t.equal(await readStatus(page), `No es exacto: Intro otra vez elige «${first}»`, line)
    await page.keyboard.press('Escape')
  }
  // A click is a choice.
  await search(page, 'bombilla E28', 'Bombilla LED E27, 9 W')
  await page.click(activeOption)
  t.equal((await readChosen(page)).at(-1)?.hit.name, 'Bombilla LED E27, 9 W')
})

for (const [title, isSecure] of [
  ['the clipboard', true],
  ['a page without https', false],
] as const)
  t.test(`copies a SKU by keyboard and by pointer, with ${title}`, async (t) => {
    const { page } = await openEmbeddingPage(t, paletteTag)
    t.equal(await page.evaluate(() => isSecureContext), false)
    if (isSecure)
      await page.evaluate(() => {
        const clipboard = {
          writeText: async (text: string) => void Object.assign(window, { copied: text }),
        }
        Object.defineProperty(navigator, 'clipboard', { value: clipboard })
      })
    else
      await page.evaluate(() =>
        addEventListener('copy', ({ clipboardData }) =>
          Object.assign(window, { copied: clipboardData?.getData('text/plain') }),
        ),
      )
    const readCopied = () => page.evaluate(() => (window as unknown as { copied?: string }).copied)
    await search(page, 'llave', wrench)
    await page.keyboard.press('Control+c')
    t.equal(await readCopied(), 'LLA-AJ-250')
    t.equal(await readStatus(page), 'Copiado: LLA-AJ-250')
    await page.keyboard.press('ArrowDown')
    await page.locator(`${activeOption} [part=copy]`).click()
    t.equal(await readCopied(), 'LLA-13-COMB')
    t.equal(await readStatus(page), 'Copiado: LLA-13-COMB')
    t.same([await isOpen(page), await readChosen(page)], [true, []])
    t.equal(await page.inputValue('[part=input]'), 'llave')
    // Selected text is copied as everywhere.
    await page.keyboard.press('Shift+Home')
    await page.keyboard.press('Control+c')
    t.equal(await readStatus(page), 'Copiado: LLA-13-COMB')
  })

t.test('a product whose SKU has changed is found by its name', async (t) => {
  const product = { sku: 'GATO-1', name: 'Gato hidráulico 5 t' }
  await db.insertInto('products').values(product).execute()
  await service.sync()
  const { page } = await openEmbeddingPage(t, paletteTag)
  await search(page, 'gato hidraulico', product.name)
  await page.keyboard.press('Shift+Enter')
  await page.keyboard.press('Escape')
  await db.updateTable('products').set({ sku: 'ELEV-77' }).where('sku', '=', 'GATO-1').execute()
  await service.sync()
  await search(page, '', product.name)
  await page.keyboard.press('Enter')
  const [chosen] = await waitForChosen(page)
  t.equal(chosen?.hit.sku, 'ELEV-77')
})

t.test('keeps a favourite that an incomplete answer does not have', async (t) => {
  const { page } = await openEmbeddingPage(t, paletteTag)
  await search(page, 'llave', wrench)
  await page.keyboard.press('Shift+Enter')
  await page.keyboard.press('Escape')
  await page.route('**/api/search?*', async (route) => {
    const response = await route.fetch()
    const { q } = Object.fromEntries(new URL(route.request().url()).searchParams)
    const body = await response.json()
    if (q === '') return route.fulfill({ response })
    await route.fulfill({
      response,
      json: { ...body, hits: [], total: 0, meta: { source: 'database', degraded: true } },
    })
  })
  await search(page, '', wrench)
  await page.keyboard.press('Enter')
  await shows(t, page, 'status', /^Búsqueda de reserva: puede faltar algo$/)
  t.same(await readChosen(page), [])
  t.equal((await page.locator('[part=heading]').allTextContents())[0], 'Favoritos')
})

t.test('finds an input that appears later, and one that replaces it', async (t) => {
  const { page } = await openEmbeddingPage(
    t,
    `<div id="place"></div>${paletteTag.replace('api-key=', 'for="product" api-key=')}`,
    { isExpectedError: (text) => /no input has the id product/.test(text) },
  )
  await page.keyboard.press('Control+k')
  t.equal(await isOpen(page), false)
  for (const query of ['llave', 'martillo']) {
    await page.evaluate(() => {
      const input = document.createElement('input')
      input.ariaLabel = 'Producto'
      input.id = 'product'
      document.querySelector('#place')?.replaceChildren(input)
    })
    t.same(
      await page.evaluate(() => {
        const { attributes } = document.querySelector('#product') as Element
        return [...attributes].map(({ name }) => name).sort()
      }),
      ['aria-label', 'id'],
      'an input that nobody uses is as the page has made it',
    )
    await page.click('#product')
    await typeText(page, query)
    await page.locator('[part~=active] [part=mark]').first().waitFor()
    t.same(await findAccessibilityViolations(page), [])
    await page.keyboard.press('Enter')
  }
  t.same(
    (await readChosen(page)).map(({ query }) => query),
    ['llave', 'martillo'],
  )
  t.equal(await page.evaluate(() => document.querySelector('product-palette')?.innerHTML), '')
})

t.test('Escape closes the palette and not the dialog of the page around it', async (t) => {
  const { page } = await openEmbeddingPage(
    t,
    `<div role="dialog" aria-label="Línea"><input id="product" aria-label="Producto">
    ${paletteTag.replace('api-key=', 'for="product" hotkey="off" api-key=')}</div>${paletteTag}`,
  )
  await page.evaluate(() => {
    const keys: string[] = []
    Object.assign(window, { keys })
    for (const type of ['keydown', 'keyup'] as const)
      for (const capture of [true, false])
        document.addEventListener(
          type,
          ({ key }) => key === 'Escape' && keys.push(`${type} ${capture}`),
          capture,
        )
  })
  const readKeys = () => page.evaluate(() => (window as unknown as { keys: string[] }).keys)
  await page.click('#product')
  await typeText(page, 'llave')
  await waitForActive(page, wrench)
  await page.keyboard.down('Escape')
  await page.keyboard.down('Escape')
  await page.keyboard.up('Escape')
  t.equal(await page.locator('[part~=option]:visible').count(), 0)
  t.same(await readKeys(), [], 'not even while it is held down')
  await page.keyboard.press('Escape')
  t.same(
    await readKeys(),
    ['keydown true', 'keydown false', 'keyup true', 'keyup false'],
    'the next one is for the page',
  )
  await page.evaluate(() => (document.activeElement as HTMLElement).blur())
  await page.keyboard.press('Control+k')
  await page.locator('dialog[open]').waitFor()
  await page.keyboard.press('Escape')
  t.equal((await readKeys()).length, 4)
})

t.test('the page does not scroll behind the dialog, and does not move', async (t) => {
  const { page } = await openEmbeddingPage(t, `${paletteTag}<div id="long">Largo</div>`)
  await page.evaluate(() => {
    document.documentElement.style.overflow = 'auto'
    document.querySelector<HTMLElement>('#long')?.style.setProperty('block-size', '5000px')
    scrollTo(0, 400)
  })
  const measure = () => page.evaluate(() => [scrollY, document.body.clientWidth])
  const before = await measure()
  t.equal(before[0], 400)
  await page.keyboard.press('Control+k')
  await page.locator('[part~=option]:visible').first().waitFor()
  for (const [x, y] of [
    [5, 5],
    [640, 300],
  ] as const) {
    await page.mouse.move(x, y)
    await page.mouse.wheel(0, 3000)
    await waitForFrame(page)
  }
  await page.locator('[part=close]').focus()
  await page.keyboard.press('PageDown')
  await waitForFrame(page)
  t.same(await measure(), before)
  await page.keyboard.press('Escape')
  await eventually(
    () => page.evaluate(() => document.documentElement.style.cssText),
    (text) => text === 'overflow: auto;',
  )
  t.equal(await page.evaluate(() => document.documentElement.style.cssText), 'overflow: auto;')
  await page.mouse.wheel(0, 300)
  t.not(await eventually(measure, ([y]) => y !== 400), before)
})

t.test('stores no chosen product if recents are off', async (t) => {
  const storedEntries = async (tag: string) => {
    const { page } = await openEmbeddingPage(t, tag)
    await search(page, 'llave', wrench)
    await page.keyboard.press('Enter')
    t.equal((await readSkus(page)).length, 1)
    return page.evaluate(() => localStorage.length)
  }
  t.equal(await storedEntries(paletteTag), 1)
  const withoutRecents = paletteTag.replace('<product-palette', '<product-palette recents="off"')
  t.equal(await storedEntries(withoutRecents), 0)
})

t.test('works in a browser that denies storage', async (t) => {
  const { page } = await openEmbeddingPage(t, paletteTag, {
    initScript: () =>
      Object.defineProperty(window, 'localStorage', {
        get: () => {
          throw new DOMException('denied', 'SecurityError')
        },
      }),
  })
  await search(page, 'llave', wrench)
  await page.keyboard.press('Enter')
  t.equal((await readSkus(page)).length, 1)
})

t.test('shows product data as text and marks the matches, also after emoji and in ñ', async (t) => {
  const { page } = await openEmbeddingPage(t, paletteTag)
  await search(page, 'tubo codo', markupProduct.name)
  t.equal(await page.locator('product-palette img').count(), 0)
  await page.locator('[part=input]').fill('ñandú')
  await waitForActive(page, emojiProduct.name)
  t.same(await page.locator('[part=mark]').allTextContents(), ['Ñandú'])
})

t.test('works on an input of the page', async (t) => {
  const inForm = `<form action="/sent">
    <label for="product">Producto</label><input id="product"><button>Enviar</button>
    ${paletteTag.replace('api-key=', 'for="product" api-key=')}
    </form>`
  const { page } = await openEmbeddingPage(t, inForm)
  await page.click('#product')
  await typeText(page, 'llave')
  await waitForActive(page, wrench)
  const combobox = page.getByRole('combobox', { name: 'Producto' })
  t.equal(await combobox.getAttribute('aria-expanded'), 'true')
  t.equal(
    await page.evaluate(() => {
      const input = document.querySelector('#product')
      const active = document.getElementById(input?.getAttribute('aria-activedescendant') ?? '')
      const list = document.getElementById(input?.getAttribute('aria-controls') ?? '')
      return (
        list?.role === 'listbox' && list.contains(active) && active?.getAttribute('aria-selected')
      )
    }),
    'true',
    'the input refers to options in its own tree',
  )
  t.same(await findAccessibilityViolations(page), [])
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  t.same(await readSkus(page), ['LLA-13-COMB'])
  t.same([await page.inputValue('#product'), await isOpen(page)], ['Llave combinada 13 mm', false])
  t.notMatch(page.url(), /sent/, 'Enter does not submit the form')

  await page.keyboard.press('ArrowDown')
  t.equal(await isOpen(page), true)
  await page.keyboard.press('Escape')
  t.same([await isOpen(page), await page.inputValue('#product')], [false, 'Llave combinada 13 mm'])
  await page.keyboard.press('Control+k')
  t.equal(await isOpen(page), true)
  await page.focus('button')
  t.equal(await isOpen(page), false, 'closes when the input loses the focus')
})

t.test('a dialog becomes a list below an input, which a click closes', async (t) => {
  const { page } = await openEmbeddingPage(
    t,
    `<label for="product">Producto</label><input id="product">${paletteTag}`,
  )
  await page.evaluate(() =>
    document.querySelector('product-palette')?.setAttribute('for', 'product'),
  )
  await page.click('#product')
  await typeText(page, 'llave')
  await waitForActive(page, wrench)
  await page.click('[part~=option] >> nth=0')
  await waitForChosen(page)
  t.same([await page.inputValue('#product'), await isOpen(page)], ['Llave ajustable 250 mm', false])
})

t.test('works on an input in a shadow tree', async (t) => {
  const { page } = await openEmbeddingPage(t, '<div id="host"></div>')
  await page.evaluate(
    ({ serviceUrl, key }) => {
      const root = document.querySelector('#host')?.attachShadow({ mode: 'open' })
      const createElement = (name: string, attributes: Record<string, string>) => {
        const element = document.createElement(name)
        for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
        return element
      }
      root?.append(
        createElement('input', { id: 'product', 'aria-label': 'Producto' }),
        createElement('product-palette', {
          endpoint: serviceUrl,
          key,
          for: 'product',
          hotkey: 'off',
        }),
      )
      root?.append(createElement('product-palette', { endpoint: serviceUrl, key }))
    },
    { serviceUrl, key },
  )
  await page.click('#product')
  await typeText(page, 'llave')
  await waitForActive(page, wrench)
  t.same(await findAccessibilityViolations(page), [])
  await page.keyboard.press('Enter')
  await page.evaluate(() =>
    (document.querySelector('#host')?.shadowRoot?.activeElement as HTMLElement | null)?.blur(),
  )
  await search(page, 'martillo', hammer)
  await page.keyboard.press('Enter')
  t.same(await readSkus(page), ['LLA-AJ-250', 'AB-742-X'], 'events cross the shadow boundary')
})

t.test('takes the language of its attribute, its surroundings or the document', async (t) => {
  const { page } = await openEmbeddingPage(t, `<div>${paletteTag}</div>`)
  for (const [ofDocument, ofParent, ofElement, placeholder] of [
    ['es-MX', '', '', 'Buscar productos'],
    ['en', '', '', 'Search products'],
    ['nl', '', '', 'Search products'],
    ['de', '', '', 'Produkte suchen'],
    ['en', 'es', '', 'Buscar productos'],
    ['es', 'es', 'en', 'Search products'],
  ]) {
    await page.evaluate(
      (languages) => {
        const elements = [
          window.document.documentElement,
          ...window.document.querySelectorAll<HTMLElement>('div, product-palette'),
        ]
        for (const [place, element] of elements.entries()) {
          if (languages[place]) element.setAttribute('lang', languages[place])
          else element.removeAttribute('lang')
        }
      },
      [ofDocument, ofParent, ofElement],
    )
    await page.keyboard.press('Control+k')
    await becomes(t, () => page.getByRole('combobox').getAttribute('placeholder'), placeholder)
    await page.keyboard.press('Escape')
  }
})

t.test('fits a phone, 400 % zoom, right-to-left text and every colour scheme', async (t) => {
  const cases: [string, Options][] = [
    ['a phone', { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true }],
    ['1280 × 720 at 200 %', { viewport: { width: 640, height: 360 }, deviceScaleFactor: 2 }],
    ['at 400 %', { viewport: { width: 320, height: 180 }, deviceScaleFactor: 4 }],
    ['wide', { viewport: { width: 1440, height: 900 } }],
    ['right to left', { viewport: { width: 1440, height: 900 }, html: { dir: 'rtl', lang: 'ar' } }],
  ]
  for (const [name, options] of cases) {
    const { page, context } = await openEmbeddingPage(
      t,
      paletteTag.replace('api-key=', 'theme="auto" api-key='),
      {
        ...options,
        colorScheme: name === 'a phone' ? 'dark' : 'light',
      },
    )
    await search(page, 'ca', 'Cadena galvanizada 6 mm')
    await page.keyboard.press('End')
    const outside = await page.evaluate(() => {
      const root = document.querySelector('product-palette')?.shadowRoot
      return ['panel', 'input', 'active', 'close'].filter((part) => {
        const box = root?.querySelector(`[part~=${part}]`)?.getBoundingClientRect()
        return (
          !box ||
          box.width === 0 ||
          box.left < 0 ||
          box.right > innerWidth ||
          box.top < 0 ||
          box.bottom > innerHeight
        )
      })
    })
    t.same(outside, [], name)
    if (name === 'wide') {
      t.same(await findAccessibilityViolations(page), [], `${name}, light`)
      await page.emulateMedia({ colorScheme: 'dark' })
    }
    t.same(await findAccessibilityViolations(page), [], name)
    await context.close()
  }
})

t.test('respects reduced motion and forced colours', async (t) => {
  const reduced = await openEmbeddingPage(t, paletteTag, { reducedMotion: 'reduce' })
  await openAndType(reduced.page, 'llave')
  t.equal(
    await reduced.page
      .locator('[part=panel]')
      .evaluate((panel) => getComputedStyle(panel).animationName),
    'none',
  )
  await reduced.context.close()

  const { page } = await openEmbeddingPage(t, paletteTag, { forcedColors: 'active' })
  await search(page, 'llave', wrench)
  const colours = await page
    .locator('[part~=option]')
    .evaluateAll((options) => options.map((option) => getComputedStyle(option).backgroundColor))
  t.not(colours[0], colours[1], 'the active option has a system colour of its own')
  t.match(
    await page
      .locator('[part=mark]')
      .first()
      .evaluate((mark) => getComputedStyle(mark).textDecorationLine),
    'underline',
  )
})

for (const colorScheme of ['light', 'dark'] as const) {
  t.test(`every text is legible in high contrast, ${colorScheme}`, async (t) => {
    const { page } = await openEmbeddingPage(t, paletteTag, {
      forcedColors: 'active',
      colorScheme,
    })
    await search(page, 'llave', wrench)
    await page.keyboard.press('Control+Enter')
    await page.locator('[part~=chosen]').waitFor()
    const contrasts = await page.evaluate(measureContrasts)
    t.ok(contrasts.some(({ part }) => part === 'mark'))
    t.ok(contrasts.some(({ part }) => part === 'price::after'))
    t.same(
      contrasts.filter(({ ratio }) => ratio < 4.5),
      [],
    )
  })
}

/** Returns the contrast of each text of the palette by the formula of WCAG 2.2. */
function measureContrasts() {
  const root = document.querySelector('product-palette')?.shadowRoot
  const readColor = (text: string) => (text.match(/[\d.]+/g) ?? []).map(Number)
  const luminance = (color: number[]) => {
    const [red = 0, green = 0, blue = 0] = color.map((value) => {
      const share = value / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const readBackground = (element: Element | null): number[] => {
    if (!element) return [255, 255, 255]
    const color = readColor(getComputedStyle(element).backgroundColor)
    return color[3] === 0 ? readBackground(element.parentElement) : color
  }
  const measure = (element: Element, pseudo: string) => {
    const light = luminance(readColor(getComputedStyle(element, pseudo || null).color))
    const other = luminance(readBackground(element))
    const ratio = (Math.max(light, other) + 0.05) / (Math.min(light, other) + 0.05)
    return { part: `${element.getAttribute('part')}${pseudo}`, text: element.textContent, ratio }
  }
  const elements = [...(root?.querySelectorAll('[part]') ?? [])].filter(
    (element) =>
      element.checkVisibility() &&
      [...element.childNodes].some(({ nodeType, data }: Node & { data?: string }) =>
        Boolean(nodeType === Node.TEXT_NODE && data?.trim()),
      ),
  )
  return [
    ...elements.map((element) => measure(element, '')),
    ...[...(root?.querySelectorAll('[part~=chosen] [part=price]') ?? [])].map((element) =>
      measure(element, '::after'),
    ),
  ]
}

t.test('can be styled with custom properties and parts', async (t) => {
  const { page } = await openEmbeddingPage(t, paletteTag)
  await page.evaluate(() => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(
      `product-palette {
        --product-palette-surface: rgb(1, 2, 3);
        --product-palette-width: 500px
      }
      product-palette::part(input) { color: rgb(4, 5, 6) }`,
    )
    document.adoptedStyleSheets = [sheet]
  })
  await openAndType(page, 'llave')
  const style = (part: string) =>
    page.locator(`[part=${part}]`).evaluate((element) => {
      const { backgroundColor, width, color } = getComputedStyle(element)
      return { backgroundColor, width, color }
    })
  t.match(await style('panel'), { backgroundColor: 'rgb(1, 2, 3)', width: '500px' })
  t.match(await style('input'), { color: 'rgb(4, 5, 6)' })
})

t.test('the examples of docs/palette.md work as they are', async (t) => {
  const guide = readFileSync(new URL('../../docs/palette.md', import.meta.url), 'utf8')
  const example = (language: string) =>
    new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(guide)?.[1] ?? ''
  const html = example('html')
    .replace('https://quotes.example.com', serviceUrl)
    .replace('tqp_…', key)
  const { page } = await openEmbeddingPage(t, html, {
    initScript: () => {
      const lines: unknown[] = []
      Object.assign(window, { lines, addLine: (...line: unknown[]) => lines.push(line) })
    },
  })
  await page.evaluate((css) => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(css)
    document.adoptedStyleSheets = [sheet]
  }, example('css'))
  await search(page, 'llave', wrench)
  t.match(
    await page.locator(activeOption).evaluate((option) => {
      const { outlineStyle, outlineWidth } = getComputedStyle(option)
      const bar = getComputedStyle(option, '::before')
      return { outline: `${outlineStyle} ${outlineWidth}`, accent: bar.backgroundColor }
    }),
    { outline: 'solid 2px', accent: 'rgb(122, 31, 162)' },
  )
  await page.keyboard.press('Enter')
  t.match(await page.evaluate(() => (window as unknown as { lines: unknown[] }).lines), [
    ['LLA-AJ-250', { currency: 'EUR' }],
  ])
})
