// Measures the palette in a real browser: from a key press to the painted results.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parse } from 'csv-parse/sync'
import type { Page } from 'playwright-core'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { loadStaticFile } from '../../src/web/static-files.ts'
import { startBrowser } from '../../test/support/browser.ts'
import { readExampleProducts } from '../demo/load-data.ts'
import { listRetailProducts, readInvoiceLines } from '../demo/online-retail.ts'
import type { Product } from './data/catalogues.ts'
import {
  type Bench,
  type BenchService,
  createService,
  median,
  quantile,
  startApi,
} from './harness.ts'

// The names begin differently, so that no prefix is typed twice.
const productNames = [
  'jumbo bag red',
  'white hanging heart',
  'regency cakestand',
  'lunch bag',
  'taladro percutor',
  'set of 3 cake tins',
  'party bunting',
  'knitted union flag',
  'alarm clock bakelike',
  'martillo de bola',
  'victorian glass',
  'doormat',
]

/**
 * Serves the products of the demo, opens a page of another origin, and types product names. No
 * prefix is typed twice, so neither the palette nor the API answers from a cache.
 */
export async function measure(bench: Bench): Promise<void> {
  const products = (await demoProducts()).slice(0, bench.size(10_000, 300))
  const service = await createService(bench, 'palette', products)
  const { url } = await startApi(bench, 'palette', service)
  const page = await openPalette({ teardown: bench.atEnd }, service, url)
  const firstResultMs = await page.evaluate(openAndMeasure)
  const times = await typeNames(page, bench.size(100, 10))
  bench.report({
    what: 'from a key press to the painted results, p95',
    value: quantile(times, 0.95),
    unit: 'ms',
    bar: { atMost: 50 },
    detail: `p50 ${median(times).toFixed(1)} ms, slowest ${Math.max(...times).toFixed(1)} ms`,
  })
  bench.report({
    what: 'from the start of the navigation to the first results',
    value: firstResultMs,
    unit: 'ms',
    bar: { atMost: 1_000 },
  })
  bench.report({
    what: 'palette.js, gzipped',
    value: (await loadStaticFile('palette.js').encode('gzip')).length / 1_000,
    unit: 'kB',
    bar: { atMost: 12.3 },
  })
}

/** Returns the ms from each key press to the painted results. */
async function typeNames(page: Page, maxKeystrokes: number): Promise<number[]> {
  const times: number[] = []
  for (const name of productNames) {
    await page.locator('[part=input]').fill('')
    await page.locator('[part=heading]').first().waitFor()
    for (const key of name) {
      if (times.length >= maxKeystrokes) return times
      // A trailing space starts no search.
      if (key === ' ') {
        await page.keyboard.press('Space')
        continue
      }
      await page.keyboard.press(key)
      await page.waitForFunction(
        (count) => (window as unknown as Measured).paintedAfterMs.length > count,
        times.length,
      )
      const ms = await page.evaluate(
        () => (window as unknown as Measured).paintedAfterMs.at(-1) ?? Number.NaN,
      )
      times.push(ms)
    }
  }
  return times
}

type Measured = { paintedAfterMs: number[] }

/**
 * Runs in the page: opens the palette and returns the milliseconds from the start of the
 * navigation to the frame with the first results. From then on `paintedAfterMs` gets the time from
 * each key press to the frame with its results.
 */
function openAndMeasure(): Promise<number> {
  return new Promise((resolve) => {
    const paintedAfterMs: number[] = []
    Object.assign(window, { paintedAfterMs })
    let pressedAt: number | null = 0
    const palette = document.querySelector('product-palette')
    const list = palette?.shadowRoot?.querySelector('[part=list]')
    addEventListener('keydown', (event) => (pressedAt = event.timeStamp), { capture: true })
    const observer = new MutationObserver(() => {
      // Opening shows the recent products, but there are none: the first rows are the response.
      if (pressedAt === null || !list?.querySelector('[role=option]')) return
      const startedAt = pressedAt
      pressedAt = null
      // A task after the next frame: by then it is painted.
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = () => {
          const ms = performance.now() - startedAt
          if (startedAt === 0) resolve(ms)
          else paintedAfterMs.push(ms)
        }
        port2.postMessage(null)
      })
    })
    if (list) observer.observe(list, { childList: true })
    palette?.show()
  })
}

type Teardown = { teardown(fn: () => unknown): void }

/** Opens a page of another origin that contains only the palette, which is loaded and closed. */
async function openPalette(t: Teardown, { db }: BenchService, apiUrl: string) {
  let html = ''
  const host = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end(html),
  )
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  t.teardown(() => host.close())
  const origin = `http://127.0.0.1:${(host.address() as AddressInfo).port}`
  const key = await createApiKey(db, {
    kind: 'publishable',
    name: 'bench',
    scopes: ['search:read'],
    origins: [origin],
    unlimited: true,
  })
  html = `<!doctype html><html lang="en"><title>Palette</title>
    <product-palette endpoint="${apiUrl}" key="${key}"></product-palette>
    <script type="module" src="${apiUrl}/web/palette.js"></script></html>`
  const browser = await startBrowser(t)
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  await page.goto(origin)
  await page.waitForFunction(() => customElements.get('product-palette'))
  return page
}

async function demoProducts(): Promise<Product[]> {
  const rows: Record<string, string>[] = [
    ...(parse(readExampleProducts(), { columns: true }) as Record<string, string>[]),
    ...listRetailProducts(await readInvoiceLines()),
  ]
  return rows.map(
    ({ sku = '', name = '', description, category, brand, unit, price, currency }) => ({
      sku,
      name,
      description: description || null,
      category: category || null,
      brand: brand || null,
      unit: unit || 'C62',
      price: price || null,
      currency: (price && currency) || null,
    }),
  )
}
