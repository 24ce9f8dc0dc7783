// <product-palette> in a real browser, in pages of another origin under a strict policy, on the real service.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CDPSession, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { exampleProducts } from '../../scripts/demo/example-rows.ts'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { findAccessibilityViolations, openPage, startBrowser } from '../support/browser.ts'
import { eventually, testService } from '../support/test-service.ts'

const extra = [
  { sku: 'XSS-1', name: 'Tubo <img src=x onerror=alert(1)> &amp; "codo"' },
  { sku: 'EMO-1', name: '😀 Ñandú de peluche' },
]

const service = await testService(t, { config: { ANONYMOUS_SCOPES: [] } })
const { db, app } = service
await db
  .insertInto('products')
  .values([
    ...exampleProducts().map(
      ({ sku, name, description, category, brand, unit, price, currency }) => {
        return {
          sku,
          name,
          description: description || null,
          category,
          brand: brand || null,
          unit,
          price,
          currency,
        }
      },
    ),
    ...extra,
  ])
  .execute()
await service.sync()
const serviceUrl = await app.listen({ host: '127.0.0.1', port: 0 })
/** Every request that reaches the service, as its server saw it. */
const arrived: { method: string; path: string; query: URLSearchParams; at: number }[] = []
app.server.on('request', ({ method = '', url = '' }) => {
  const { pathname, searchParams } = new URL(url, serviceUrl)
  arrived.push({ method, path: pathname, query: searchParams, at: Date.now() })
})
const searches = () =>
  arrived.filter(({ path }) => path === '/api/search').map(({ query }) => query.get('q'))

// The page of somebody's internal tool: nothing but what the palette needs is allowed, and no text becomes markup.
const policy = [
  "default-src 'none'",
  `script-src ${serviceUrl}`,
  `connect-src ${serviceUrl}`,
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')
const documents = new Map<string, string>()
const tool = createServer(({ url = '' }, response) => {
  response
    .setHeader('content-type', 'text/html; charset=utf-8')
    .setHeader('content-security-policy', policy)
  response.end(documents.get(url))
})
await new Promise<void>((done) => tool.listen(0, '127.0.0.1', done))
t.teardown(() => tool.close())
const toolUrl = `http://tool.example.test:${(tool.address() as AddressInfo).port}`
const key = await createApiKey(db, {
  kind: 'publishable',
  name: 'tool',
  scopes: ['search:read'],
  origins: [toolUrl],
  unlimited: true,
})
const browser = await startBrowser(t)

type Options = Partial<Parameters<typeof openPage>[2]> & {
  html?: { lang?: string; dir?: string }
  expected?: (text: string) => boolean
  init?: () => void
}

/** Opens a page whose main part is `body`, with the palette's script. */
async function open(
  t: Test,
  body: string,
  { html = {}, expected, init, ...options }: Options = {},
) {
  const path = `/${documents.size}`
  const attributes = Object.entries({ lang: 'es', ...html }).map(
    ([name, value]) => `${name}="${value}"`,
  )
  documents.set(
    path,
    `<!doctype html><html ${attributes.join(' ')}><meta name="viewport" content="width=device-width, initial-scale=1"><title>Pedidos</title>
    <main><h1>Pedidos</h1>${body}</main><script type="module" src="${serviceUrl}/web/palette.js"></script></html>`,
  )
  const watched = await openPage(
    t,
    browser,
    { origins: [toolUrl, serviceUrl], ...options },
    expected,
  )
  const { page, context } = watched
  await context.addInitScript(() => {
    const heard: unknown[] = []
    Object.assign(window, { heard })
    for (const type of ['product-select', 'product-palette-open', 'product-palette-close']) {
      addEventListener(type, (event) => heard.push({ type, detail: (event as CustomEvent).detail }))
    }
  })
  if (init) await context.addInitScript(init)
  await page.goto(`${toolUrl}${path}`)
  await page.waitForFunction(() => customElements.get('product-palette'))
  arrived.length = 0
  return watched
}

const plain = `<product-palette endpoint="${serviceUrl}" key="${key}"></product-palette>`
const active = '[part~=active]:visible'
const names = (page: Page) => page.locator('[part=name]').allTextContents()
const type = (page: Page, text: string) => page.keyboard.type(text)
const status = (page: Page) => page.locator('[part~=status]').textContent()
const activeName = async (page: Page) =>
  (await page.locator(`${active} [part=name]`).allTextContents())[0]
const isOpen = (page: Page) =>
  page.evaluate(() => document.querySelector('product-palette')?.isOpen)
type Heard = {
  type: string
  detail: { hit: { sku: string; name: string; price: unknown }; query: string; stay: boolean }
}
const chosen = (page: Page) =>
  page.evaluate(() =>
    (window as unknown as { heard: Heard[] }).heard
      .filter(({ type }) => type === 'product-select')
      .map(({ detail }) => detail),
  )
/** The active option, once it is this one and no answer is awaited any more: what a prefix found goes away when the whole word is answered. */
const until = async (page: Page, name: string) => {
  const last = await eventually(
    async () => ({
      isSettled: (await page.locator('[data-busy]').count()) === 0,
      name: await activeName(page),
    }),
    (seen) => seen.isSettled && seen.name === name,
  )
  return last.isSettled ? last.name : 'still busy'
}
const refusals = (text: string) => /the server responded with a status of (401|403|429)/.test(text)
const unreachable = (text: string) => /net::ERR_|CORS policy/.test(text)

/** Opens the palette and types. */
async function search(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+k')
  await page.locator('[part~=option]:visible').first().waitFor()
  await type(page, text)
}

t.test(
  'a tag and a key are all it takes in a page of another origin, and no leave is asked for first',
  async (t) => {
    const { page, pageErrors } = await open(t, `<p>Un pedido</p>${plain}`)
    await search(page, 'martillo')
    t.equal(await until(page, 'Martillo de bola 300 g'), 'Martillo de bola 300 g')
    t.same(await names(page), ['Martillo de bola 300 g', 'Martillo de bola 500 g'])
    t.equal(await status(page), '2 resultados')
    t.match(
      await page.locator('[part~=option]').first().innerText(),
      /AB-742-X · Herramientas\s+12,50\s€/,
    )
    t.same(await page.locator('[part=mark]').allTextContents(), ['Martillo', 'Martillo'])
    t.ok(arrived.length > 1)
    t.same(
      [...new Set(arrived.map(({ method, path }) => `${method} ${path}`))],
      ['GET /api/search'],
      'no OPTIONS, nothing else',
    )
    t.ok(arrived.every(({ query }) => query.get('key') === key))
    t.same(pageErrors, [])
  },
)

t.test('the keyboard', async (t) => {
  const { page, pageErrors } = await open(
    t,
    `<label>Notas <input id="notes"></label><div contenteditable="true" aria-label="Texto" role="textbox"></div>${plain}`,
  )

  t.test('opens it, walks through the list, chooses, and the focus goes back', async (t) => {
    await page.focus('#notes')
    await search(page, 'de bola')
    await eventually(
      async () =>
        searches().at(-1) === 'de bola' && (await page.locator('[data-busy]').count()) === 0,
      (isAnswered) => isAnswered,
    )
    const all = await names(page)
    t.ok(all.length >= 3)
    const walk = async (pressed: string) => {
      await page.keyboard.press(pressed)
      return all.indexOf((await activeName(page)) ?? '')
    }
    t.equal(await walk('ArrowDown'), 1)
    t.equal(await walk('End'), all.length - 1)
    t.equal(await walk('ArrowDown'), 0, 'from the last to the first')
    t.equal(await walk('ArrowUp'), all.length - 1)
    t.equal(await walk('Home'), 0)
    t.equal(await walk('PageDown'), Math.min(5, all.length - 1))
    t.equal(await walk('Home'), 0)
    t.equal(await walk('ArrowDown'), 1)
    t.equal(
      await page.locator('[role=combobox][part=input]').getAttribute('aria-activedescendant'),
      await page.locator(active).getAttribute('id'),
    )
    t.equal(await page.locator('[aria-selected=true]').count(), 1)
    await page.keyboard.press('Enter')
    t.equal(await isOpen(page), false)
    t.same(
      (await chosen(page)).map(({ hit, query, stay }) => [hit.name, query, stay]),
      [[all[1], 'de bola', false]],
    )
    t.equal(await page.evaluate(() => document.activeElement?.id), 'notes')

    await page.keyboard.press('Control+k')
    await page.keyboard.press('Escape')
    t.equal(await isOpen(page), false)
    t.equal(await page.evaluate(() => document.activeElement?.id), 'notes', 'also after Esc')
  })

  t.test('chooses several with Ctrl+Enter', async (t) => {
    await search(page, 'llave')
    await until(page, 'Llave ajustable 250 mm')
    await page.keyboard.press('Control+Enter')
    t.match(await page.locator(active).getAttribute('part'), /chosen/)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Control+Enter')
    t.equal(await isOpen(page), true)
    const picked = await chosen(page)
    t.same(
      picked.slice(1).map(({ hit, stay }) => [hit.sku, stay]),
      [
        ['LLA-AJ-250', true],
        ['LLA-13-COMB', true],
      ],
    )
    await page.keyboard.press('Control+k')
    t.equal(await isOpen(page), false, 'the same key closes it')
  })

  t.test('leaves Home and End to the text while there is some way to go in it', async (t) => {
    await search(page, 'llave')
    await until(page, 'Llave ajustable 250 mm')
    await page.keyboard.press('Home')
    await type(page, 'x')
    t.equal(await page.locator('[part=input]').inputValue(), 'xllave')
    await page.keyboard.press('Escape')
  })

  t.test(
    'chooses what was typed when Enter comes before the answer, and what was pointed at when that was asked for',
    async (t) => {
      await page.route('**/api/search?q=taladro*', async (route) => {
        await new Promise((resolve) => setTimeout(resolve, 300))
        await route.continue()
      })
      await search(page, 'taladro')
      await page.keyboard.press('Enter')
      t.equal(
        (
          await eventually(
            () => chosen(page),
            (all) => all.length === 4,
          )
        ).at(-1)?.hit.name,
        'Taladro percutor a batería 18 V',
      )
      t.equal(
        await eventually(
          () => isOpen(page),
          (open) => open === false,
        ),
        false,
      )
      await page.unrouteAll()
    },
  )

  t.test('an editable that handles Ctrl+K keeps it', async (t) => {
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
    t.equal(await isOpen(page), true, 'and others do not')
    await page.keyboard.press('Escape')
  })

  t.test('another key, or none', async (t) => {
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
      'a letter is a letter where people write',
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
  t.same(pageErrors, [])
})

t.test('the pointer chooses, a click beside it closes, and a button in it opens', async (t) => {
  const { page, pageErrors } = await open(t, plain.replace('></', '><button>Buscar</button></'))
  await page.click('text=Buscar')
  await type(page, 'llave')
  await until(page, 'Llave ajustable 250 mm')
  await page.hover('[part~=option] >> nth=1')
  t.equal(await activeName(page), 'Llave combinada 13 mm')
  await page.click('[part~=option] >> nth=1')
  t.same(
    (await chosen(page)).map(({ hit }) => hit.sku),
    ['LLA-13-COMB'],
  )
  t.equal(await isOpen(page), false)
  await page.click('text=Buscar')
  await page.mouse.click(5, 5)
  t.equal(await isOpen(page), false)
  t.equal(await page.evaluate(() => document.activeElement?.textContent), 'Buscar')
  await page.click('text=Buscar')
  await page.click('[part=close]')
  t.equal(await isOpen(page), false)
  t.same(pageErrors, [])
})

t.test('dead keys and input methods', async (t) => {
  const { page, context, pageErrors } = await open(t, plain)
  const browserOf: CDPSession = await context.newCDPSession(page)
  const compose = (text: string) =>
    browserOf.send('Input.imeSetComposition', {
      text,
      selectionStart: text.length,
      selectionEnd: text.length,
    })
  const commit = (text: string) => browserOf.send('Input.insertText', { text })
  await search(page, 'cami')
  await until(page, 'Camión de juguete de madera')
  const before = searches().length
  await compose('´')
  t.equal(await page.locator('[part=input]').inputValue(), 'cami´')
  t.equal(await activeName(page), 'Camión de juguete de madera')
  await commit('ó')
  t.equal(
    await eventually(
      async () => searches().at(-1),
      (query) => query === 'camió',
    ),
    'camió',
  )
  t.equal(searches().length, before + 1, 'nobody looks for an accent')
  await type(page, 'n')
  await until(page, 'Camión de juguete de madera')
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
  t.equal(await until(page, 'Muñeca de trapo 30 cm'), 'Muñeca de trapo 30 cm')

  // An input method on a phone composes every word: results come meanwhile, but its Enter, arrows and Esc are its own.
  await page.locator('[part=input]').fill('')
  await compose('lla')
  await compose('llave')
  t.equal(await until(page, 'Llave ajustable 250 mm'), 'Llave ajustable 250 mm')
  for (const [key, code] of [
    ['Enter', 13],
    ['ArrowDown', 40],
    ['Escape', 27],
  ] as const) {
    await page.evaluate(
      ({ key, keyCode }) => {
        const input = document.querySelector('product-palette')?.shadowRoot?.querySelector('input')
        input?.dispatchEvent(
          new KeyboardEvent('keydown', {
            key,
            keyCode,
            isComposing: true,
            bubbles: true,
            composed: true,
            cancelable: true,
          }),
        )
        input?.dispatchEvent(
          new KeyboardEvent('keydown', {
            key,
            keyCode: 229,
            bubbles: true,
            composed: true,
            cancelable: true,
          }),
        )
      },
      { key, keyCode: code },
    )
  }
  t.same(
    [await isOpen(page), await activeName(page), await chosen(page)],
    [true, 'Llave ajustable 250 mm', []],
  )
  await commit('llave')
  await page.keyboard.press('Enter')
  t.same(
    (await chosen(page)).map(({ hit }) => hit.sku),
    ['LLA-AJ-250'],
  )
  t.same(pageErrors, [])
})

t.test('answers that come late', async (t) => {
  /** What was ever on the screen: names of the active option, and messages. */
  const watch = (page: Page) =>
    page.evaluate(() => {
      const seen: string[] = []
      Object.assign(window, { seen })
      const root = document.querySelector('product-palette')?.shadowRoot
      const look = () => {
        const text =
          root?.querySelector('[part=message]:not([hidden])') ??
          root?.querySelector('[part~=active] [part=name]')
        if (text?.textContent && seen.at(-1) !== text.textContent) seen.push(text.textContent)
      }
      if (root)
        new MutationObserver(look).observe(root, {
          subtree: true,
          childList: true,
          attributes: true,
          characterData: true,
        })
    })
  const seen = (page: Page) => page.evaluate(() => (window as unknown as { seen: string[] }).seen)
  /** Answers a query late; `given` resolves when the page has the answer. */
  async function delay(page: Page, query: string, ms: number): Promise<{ given: Promise<void> }> {
    const { promise: given, resolve } = Promise.withResolvers<void>()
    await page.route(`**/api/search?q=${query}&*`, async (route) => {
      const response = await route.fetch()
      await new Promise((resolve) => setTimeout(resolve, ms))
      await route.fulfill({ response }).catch(() => undefined)
      await page
        .evaluate(
          () =>
            new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
        )
        .catch(() => undefined)
      resolve()
    })
    return { given }
  }

  t.test('are dropped, and what was there stays until the right one is there', async (t) => {
    // A page whose fetch cannot be cancelled: the late answers do arrive.
    const { page, pageErrors } = await open(t, plain, {
      init: () => {
        const { fetch } = window
        window.fetch = (url) => fetch(url)
      },
    })
    await search(page, 'cable')
    await until(page, 'Cable H07V-K 2,5 mm², azul')
    await page.locator('[part=input]').fill('')
    await page.locator('[part=heading]').first().waitFor()
    await watch(page)
    const start = await activeName(page)
    const last = await delay(page, 'mart', 900)
    await delay(page, 'martill', 400)
    await delay(page, 'm', 50)
    for (const letter of 'martill') await type(page, letter)
    const [first, ...others] = await eventually(
      () => seen(page),
      (all) => all.includes('Martillo de bola 300 g'),
    )
    t.ok(![first, ...others].includes('Cable H07V-K 2,5 mm², azul') && start)
    await last.given
    t.same(
      await names(page),
      ['Martillo de bola 300 g', 'Martillo de bola 500 g'],
      'the answer to "mart", which came last, changed nothing',
    )
    t.equal(
      (await seen(page)).filter((text) => /Nada/.test(text)).length,
      0,
      'no flash of nothing found',
    )
    t.same(pageErrors, [])
  })

  t.test(
    'are cancelled where they can be, and prefixes seen a moment ago cost no request',
    async (t) => {
      const { page, context, pageErrors } = await open(t, plain, {
        expected: (text) => /ERR_ABORTED|ERR_FAILED/.test(text),
      })
      const cancelled: string[] = []
      page.on('requestfailed', (request) =>
        cancelled.push(new URL(request.url()).searchParams.get('q') ?? ''),
      )
      await delay(page, 'lla', 2_000)
      await search(page, 'lla')
      await eventually(
        async () => searches(),
        (all) => all.includes('lla'),
      )
      await type(page, 've')
      t.equal(await until(page, 'Llave ajustable 250 mm'), 'Llave ajustable 250 mm')
      t.ok(cancelled.includes('lla'))
      const before = arrived.length
      await page.keyboard.press('Backspace')
      await page.keyboard.type('e')
      t.equal(await until(page, 'Llave ajustable 250 mm'), 'Llave ajustable 250 mm')
      t.ok(arrived.length - before <= 1, 'at most one for what was cancelled before it was there')
      t.same(pageErrors, [])
      await context.close()
    },
  )

  t.test('nothing found is said when it is so', async (t) => {
    const { page, pageErrors } = await open(t, plain)
    await search(page, 'qqqzzzxxx')
    t.match(
      await eventually(
        () => page.locator('[part=message]').innerText(),
        (text) => text.includes('qqqzzzxxx'),
      ),
      /Nada para «qqqzzzxxx»/,
    )
    t.equal(await page.locator('[part=input]').getAttribute('aria-expanded'), 'false')
    t.match(
      await eventually(
        () => page.locator('[role=status]').innerText(),
        (text) => text.includes('qqqzzzxxx'),
      ),
      /Nada para/,
    )
    t.same(await findAccessibilityViolations(page), [])
    t.same(pageErrors, [])
  })
})

t.test('troubles are said plainly, and the last results stay', async (t) => {
  t.test('offline, and on again by itself', async (t) => {
    const { page, context, pageErrors } = await open(t, plain, { expected: unreachable })
    await search(page, 'llave')
    await until(page, 'Llave ajustable 250 mm')
    await context.setOffline(true)
    await type(page, 's')
    t.match(
      await eventually(
        () => status(page),
        (text) => /Sin/.test(text ?? ''),
      ),
      /^Sin conexión/,
    )
    t.match(
      await eventually(
        () => page.locator('[role=status]').innerText(),
        (text) => /Sin/.test(text),
      ),
      /^Sin conexión/,
    )
    t.equal(await activeName(page), 'Llave ajustable 250 mm')
    t.same(await findAccessibilityViolations(page), [])
    await context.setOffline(false)
    t.match(
      await eventually(
        () => status(page),
        (text) => /resultados/.test(text ?? ''),
      ),
      /2 resultados/,
    )
    t.same(pageErrors, [])
  })

  t.test('too many searches: it waits as long as it is told, and asks once then', async (t) => {
    const few = await createApiKey(db, {
      kind: 'publishable',
      name: 'few',
      scopes: ['search:read'],
      origins: [toolUrl],
      limitFactor: 0.00004,
    })
    const { page, pageErrors } = await open(t, plain.replace(key, few), { expected: refusals })
    let refusedAt = 0
    let waitMs = 0
    page.on('response', (response) => {
      if (response.status() !== 429) return
      refusedAt = Date.now()
      waitMs = Number(response.headers()['retry-after']) * 1000
    })
    await search(page, '')
    for (const letter of 'martillo') await type(page, letter)
    t.match(
      await eventually(
        () => status(page),
        (text) => /Demasiadas/.test(text ?? ''),
      ),
      /^Demasiadas búsquedas\. Sigo en 1 s\.$/,
    )
    t.ok((await names(page)).length > 0)
    t.equal(await until(page, 'Martillo de bola 300 g'), 'Martillo de bola 300 g')
    t.ok(waitMs >= 1000)
    const next = await eventually(
      async () => arrived.find(({ at }) => at > refusedAt),
      (request) => request !== undefined,
    )
    t.ok(
      next && next.at - refusedAt >= waitMs - 30,
      `${next && next.at - refusedAt} ms after the refusal`,
    )
    const asked = next?.query.get('q') ?? ''
    t.ok(asked !== '' && 'martillo'.startsWith(asked), `"${asked}": as far as it was typed by then`)
    t.same(pageErrors, [])
  })

  t.test(
    'no access: an unknown key, and one of another page; typing on asks no more',
    async (t) => {
      const other = await createApiKey(db, {
        kind: 'publishable',
        name: 'other',
        scopes: ['search:read'],
        origins: ['https://other.example'],
      })
      for (const [wrong, message] of [
        [`${key.slice(0, -6)}AAAAAA`, /^Sin acceso: la clave falta o no es válida/],
        [other, /^Sin acceso: esta clave no permite buscar aquí/],
      ] as const) {
        const { page, context, pageErrors } = await open(t, plain.replace(key, wrong), {
          expected: refusals,
        })
        await page.keyboard.press('Control+k')
        t.match(
          await eventually(
            () => page.locator('[part=message]').innerText(),
            (text) => text !== '',
          ),
          message,
        )
        await type(page, 'martillo')
        t.match(await status(page), message)
        t.equal(arrived.length, 1)
        t.same(await findAccessibilityViolations(page), [])
        t.same(pageErrors, [])
        await context.close()
      }
    },
  )

  t.test('a service that cannot be reached, and one that is not there for a moment', async (t) => {
    const { page, pageErrors } = await open(t, plain, {
      expected: (text) => unreachable(text) || /status of 503/.test(text),
    })
    await page.route('**/api/search?*', (route) => route.abort('connectionrefused'))
    await page.keyboard.press('Control+k')
    t.match(
      await eventually(
        () => page.locator('[part=message]').innerText(),
        (text) => text !== '',
      ),
      /No se llega al buscador/,
    )
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
    await type(page, 'll')
    t.match(
      await eventually(
        () => status(page),
        (text) => /no responde/.test(text ?? ''),
      ),
      /El buscador no responde/,
    )
    await page.unrouteAll()
    t.equal(await until(page, 'Llave ajustable 250 mm'), 'Llave ajustable 250 mm')
    t.same(pageErrors, [])
  })

  t.test('degraded: answered, and marked', async (t) => {
    const { page, pageErrors } = await open(t, plain)
    await page.route('**/api/search?q=llave*', async (route) => {
      const response = await route.fetch()
      const answer = await response.json()
      await route.fulfill({
        response,
        json: { ...answer, meta: { ...answer.meta, source: 'database', degraded: true } },
      })
    })
    await search(page, 'llave')
    t.match(
      await eventually(
        () => status(page),
        (text) => /reserva/.test(text ?? ''),
      ),
      /2 resultados · Búsqueda de reserva/,
    )
    t.same(await findAccessibilityViolations(page), [])
    t.same(pageErrors, [])
  })
})

t.test('at the empty query stand the products chosen before and the most quoted', async (t) => {
  const { page, pageErrors } = await open(t, plain)
  const headings = () => page.locator('[part=heading]').allTextContents()
  await page.keyboard.press('Control+k')
  t.same(await eventually(headings, (all) => all.length > 0), ['Más presupuestados'])
  await type(page, 'llave')
  await until(page, 'Llave ajustable 250 mm')
  await page.keyboard.press('Enter')
  await search(page, '')
  t.same(await eventually(headings, (all) => all.length > 1), ['Recientes', 'Más presupuestados'])
  t.equal(await activeName(page), 'Llave ajustable 250 mm')
  t.same(await findAccessibilityViolations(page), [])

  await db.updateTable('products').set({ price: '99.90' }).where('sku', '=', 'LLA-AJ-250').execute()
  await service.sync()
  await page.reload()
  await page.waitForFunction(() => customElements.get('product-palette'))
  await search(page, '')
  await page.keyboard.press('Enter')
  const [hit] = await eventually(
    () => chosen(page),
    (all) => all.length > 0,
  )
  t.match(
    hit,
    { hit: { sku: 'LLA-AJ-250', price: { amount: '99.90', currency: 'EUR' } } },
    'as it is in the catalogue now',
  )

  await db.updateTable('products').set({ active: false }).where('sku', '=', 'LLA-AJ-250').execute()
  await service.sync()
  await page.reload()
  await page.waitForFunction(() => customElements.get('product-palette'))
  await search(page, '')
  await page.keyboard.press('Enter')
  t.match(
    await eventually(
      () => status(page),
      (text) => text !== '',
    ),
    /«Llave ajustable 250 mm» ya no está en el catálogo/,
  )
  t.same(
    [await isOpen(page), await chosen(page), await headings()],
    [true, [], ['Más presupuestados']],
  )
  await db
    .updateTable('products')
    .set({ active: true, price: '16.20' })
    .where('sku', '=', 'LLA-AJ-250')
    .execute()
  await service.sync()
  t.same(pageErrors, [])
})

t.test('a browser that stores nothing does no harm', async (t) => {
  const { page, pageErrors } = await open(t, plain, {
    init: () =>
      Object.defineProperty(window, 'localStorage', {
        get: () => {
          throw new DOMException('denied', 'SecurityError')
        },
      }),
  })
  await search(page, 'llave')
  await until(page, 'Llave ajustable 250 mm')
  await page.keyboard.press('Enter')
  t.equal((await chosen(page)).length, 1)
  t.same(pageErrors, [])
})

t.test(
  'what is in the catalogue is shown as text, marked where it was found, emoji and ñ included',
  async (t) => {
    const { page, pageErrors } = await open(t, plain)
    await search(page, 'tubo codo')
    t.equal(await until(page, extra[0]?.name ?? ''), extra[0]?.name)
    t.equal(await page.locator('product-palette img').count(), 0)
    await page.locator('[part=input]').fill('ñandú')
    await until(page, extra[1]?.name ?? '')
    t.same(await page.locator('[part=mark]').allTextContents(), ['Ñandú'])
    t.same(pageErrors, [])
  },
)

t.test('mounted on an input of the page', async (t) => {
  const inForm = `<form action="/sent"><label for="product">Producto</label><input id="product"><button>Enviar</button>${plain.replace('key=', 'for="product" key=')}</form>`
  const { page, pageErrors } = await open(t, inForm)
  await page.click('#product')
  await type(page, 'llave')
  await until(page, 'Llave ajustable 250 mm')
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
    'the input refers to what stands in its own tree',
  )
  t.same(await findAccessibilityViolations(page), [])
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  t.same(
    (await chosen(page)).map(({ hit }) => hit.sku),
    ['LLA-13-COMB'],
  )
  t.same([await page.inputValue('#product'), await isOpen(page)], ['Llave combinada 13 mm', false])
  t.notMatch(page.url(), /sent/, 'Enter chooses and sends nothing')

  await page.keyboard.press('ArrowDown')
  t.equal(await isOpen(page), true)
  await page.keyboard.press('Escape')
  t.same([await isOpen(page), await page.inputValue('#product')], [false, 'Llave combinada 13 mm'])
  await page.keyboard.press('Control+k')
  t.equal(await isOpen(page), true)
  await page.focus('button')
  t.equal(await isOpen(page), false, 'it closes when the focus leaves')
  t.same(pageErrors, [])

  t.test('also inside a shadow tree', async (t) => {
    const { page, pageErrors } = await open(t, '<div id="host"></div>')
    await page.evaluate(
      ({ serviceUrl, key }) => {
        const root = document.querySelector('#host')?.attachShadow({ mode: 'open' })
        const make = (name: string, attributes: Record<string, string>) => {
          const element = document.createElement(name)
          for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
          return element
        }
        root?.append(
          make('input', { id: 'product', 'aria-label': 'Producto' }),
          make('product-palette', { endpoint: serviceUrl, key, for: 'product', hotkey: 'off' }),
        )
        root?.append(make('product-palette', { endpoint: serviceUrl, key }))
      },
      { serviceUrl, key },
    )
    await page.click('#product')
    await type(page, 'llave')
    await until(page, 'Llave ajustable 250 mm')
    t.same(await findAccessibilityViolations(page), [])
    await page.keyboard.press('Enter')
    await page.evaluate(() =>
      (document.querySelector('#host')?.shadowRoot?.activeElement as HTMLElement | null)?.blur(),
    )
    await search(page, 'martillo')
    await until(page, 'Martillo de bola 300 g')
    await page.keyboard.press('Enter')
    t.same(
      (await chosen(page)).map(({ hit }) => hit.sku),
      ['LLA-AJ-250', 'AB-742-X'],
      'events leave the tree',
    )
    t.same(pageErrors, [])
  })
})

t.test(
  'speaks Spanish and English: its own attribute first, then what it stands in, then the document',
  async (t) => {
    const { page, pageErrors } = await open(t, `<div>${plain}</div>`)
    for (const [document, around, own, placeholder] of [
      ['es-MX', '', '', 'Buscar productos'],
      ['en', '', '', 'Search products'],
      ['de', '', '', 'Search products'],
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
        [document, around, own],
      )
      await page.keyboard.press('Control+k')
      t.equal(await page.getByRole('combobox').getAttribute('placeholder'), placeholder)
      await page.keyboard.press('Escape')
    }
    t.same(pageErrors, [])
  },
)

t.test('fits: a phone, twice the size, right to left, in every colour scheme', async (t) => {
  const cases: [string, Options][] = [
    ['a phone', { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true }],
    ['1280 × 720 at 200 %', { viewport: { width: 640, height: 360 }, deviceScaleFactor: 2 }],
    ['at 400 %', { viewport: { width: 320, height: 180 }, deviceScaleFactor: 4 }],
    ['wide', { viewport: { width: 1440, height: 900 } }],
    ['right to left', { viewport: { width: 1440, height: 900 }, html: { dir: 'rtl', lang: 'ar' } }],
  ]
  for (const [name, options] of cases) {
    const { page, context, pageErrors } = await open(
      t,
      plain.replace('key=', 'theme="auto" key='),
      {
        ...options,
        colorScheme: name === 'a phone' ? 'dark' : 'light',
      },
    )
    await search(page, 'ca')
    await until(page, 'Cable H07V-K 2,5 mm², azul')
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
    t.same(pageErrors, [], name)
    await context.close()
  }
})

t.test('keeps still and visible as the system asks', async (t) => {
  const still = await open(t, plain, { reducedMotion: 'reduce' })
  await search(still.page, 'llave')
  t.equal(
    await still.page
      .locator('[part=panel]')
      .evaluate((panel) => getComputedStyle(panel).animationName),
    'none',
  )
  await still.context.close()

  const { page, pageErrors } = await open(t, plain, { forcedColors: 'active' })
  await search(page, 'llave')
  await until(page, 'Llave ajustable 250 mm')
  const colours = await page
    .locator('[part~=option]')
    .evaluateAll((options) => options.map((option) => getComputedStyle(option).backgroundColor))
  t.not(colours[0], colours[1], 'the active option is told apart by the colours of the system')
  t.match(
    await page
      .locator('[part=mark]')
      .first()
      .evaluate((mark) => getComputedStyle(mark).textDecorationLine),
    'underline',
  )
  t.same(pageErrors, [])
})

t.test('is themed by custom properties and parts', async (t) => {
  const { page } = await open(t, plain)
  await page.evaluate(() => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(
      'product-palette { --product-palette-surface: rgb(1, 2, 3); --product-palette-width: 500px } product-palette::part(input) { color: rgb(4, 5, 6) }',
    )
    document.adoptedStyleSheets = [sheet]
  })
  await search(page, 'llave')
  const style = (part: string) =>
    page.locator(`[part=${part}]`).evaluate((element) => {
      const { backgroundColor, width, color } = getComputedStyle(element)
      return { backgroundColor, width, color }
    })
  t.match(await style('panel'), { backgroundColor: 'rgb(1, 2, 3)', width: '500px' })
  t.match(await style('input'), { color: 'rgb(4, 5, 6)' })
})
