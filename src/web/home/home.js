// The script of the page /: shows the statistics of a year and a quote, and copies code samples.
// The palette is a separate script.
import { listenToCopyButtons } from '../../pages/copy-buttons.js'
import { createElement, elementById, formatText } from '../browser/elements.js'
import { fetchWithTimeout } from '../browser/fetch-with-timeout.js'
import { createFormats } from '../browser/number-and-date-formats.js'
import { showResponseSample } from './response-sample.js'
import { lastTypicalYear } from './shown-year.js'
import { createMetric, showYear } from './year-statistics.js'

/** @import { LinkedQuote } from '../../quotes/schema.ts' */
/** @import { Stats } from '../../stats/schema.ts' */
/** @import { ProductSelectEvent } from '../palette/palette.d.ts' */
/** @import { HomeTexts } from './home-texts-es.ts' */

const { locale, texts } = /** @type {{ locale: string, texts: HomeTexts }} */ (
  JSON.parse(elementById('page', HTMLElement).textContent ?? '')
)
const formats = createFormats(locale)
/** How many lines of the quote the page shows. */
const maxShownLines = 5

document.addEventListener('product-select', showChosenProduct)
listenToCopyButtons(texts)
await Promise.all([showStats(), showQuote()])
document.body.classList.add('ready')

async function showStats() {
  const container = elementById('stats', HTMLElement)
  const state = elementById('stats-state', HTMLElement)
  const { status, body } = await getJson('api/stats')
  container.removeAttribute('aria-busy')
  if (status !== 200) {
    const needsKey = status === 401 || status === 403
    state.textContent = needsKey ? texts.stats.needsKey : texts.stats.unavailable
    return
  }
  const year = lastTypicalYear(/** @type {Stats} */ (body))
  const period = `from=${year}-01-01&to=${year}-12-31`
  const yearResponse = await getJson(`api/stats?${period}`)
  if (yearResponse.status !== 200) {
    state.textContent = texts.stats.unavailable
    return
  }
  state.hidden = true
  showYear(year, /** @type {Stats} */ (yearResponse.body), { texts, formats })
  showYearInCodeSample(year)
  linkToDashboard(year, period)
}

/** @param {string} year */
function showYearInCodeSample(year) {
  // Matches the year of dates: YYYY-MM-DD.
  const code = document.querySelector('[aria-labelledby="stats-title"] figure:has(.copy) code')
  if (code) code.textContent = (code.textContent ?? '').replace(/\d{4}(?=-\d\d-\d\d)/g, year)
}

/** @param {string} year @param {string} period */
function linkToDashboard(year, period) {
  const link = document.getElementById('open-dashboard')
  if (!(link instanceof HTMLAnchorElement)) return
  const lang = new URLSearchParams(location.search).get('lang')
  link.href = `dashboard?${period}${lang ? `&lang=${lang}` : ''}`
  link.textContent = formatText(texts.stats.open, { year })
}

async function showQuote() {
  const list = document.getElementById('quote')
  if (!list) return
  const { status, body } = await getJson(`${list.dataset.path}?format=json`)
  if (status !== 200) {
    elementById('quote-state', HTMLElement).textContent = texts.quote.unavailable
    return
  }
  const quote = /** @type {LinkedQuote} */ (body)
  const { number, issuedOn, buyer, totals, validUntil, lines } = quote.document
  showResponseSample('quote-response', {
    status: quote.status,
    document: { number, issuedOn, validUntil, totals: { net: totals.net, gross: totals.gross } },
  })
  const lineCount = formatText(formats.choosePlural(lines.length, texts.quote.lines), {
    count: formats.count(lines.length),
  })
  list.replaceChildren(
    createMetric(texts.quote.total, formats.money(totals.gross)),
    ...(buyer.name ? [createMetric(texts.quote.buyer, buyer.name)] : []),
    ...(validUntil ? [createMetric(texts.quote.validUntil, formats.day(validUntil))] : []),
    createMetric(number, lineCount),
  )
  elementById('quote-lines', HTMLElement).replaceChildren(
    createTableOfLines(lines.slice(0, maxShownLines)),
  )
  const link = elementById('open-quote', HTMLAnchorElement)
  link.textContent = formatText(texts.quote.open, { number })
}

/** @param {LinkedQuote['document']['lines']} lines */
function createTableOfLines(lines) {
  const { firstLines, description, amount } = texts.quote
  const headings = [description, amount].map((text) => createElement('th', { scope: 'col' }, text))
  const rows = lines.map((line) =>
    createElement(
      'tr',
      {},
      createElement('td', {}, createElement('bdi', {}, line.description)),
      createElement('td', {}, formats.money(line.net)),
    ),
  )
  return createElement(
    'table',
    {},
    createElement('caption', { class: 'hidden' }, firstLines),
    createElement('thead', {}, createElement('tr', {}, ...headings)),
    createElement('tbody', {}, ...rows),
  )
}

/** @param {Event} event */
function showChosenProduct(event) {
  const { name, sku, price } = /** @type {ProductSelectEvent} */ (event).detail.hit
  elementById('chosen', HTMLElement).textContent = formatText(texts.search.chosen, {
    name,
    sku,
    price: price ? formats.money(price) : texts.search.noPrice,
  })
}

/**
 * @param {string} path
 * @returns {Promise<{ status: number, body: unknown }>} status 0 if there is no JSON response
 */
async function getJson(path) {
  try {
    const response = await fetchWithTimeout(path, { headers: { accept: 'application/json' } })
    return { status: response.status, body: await response.json() }
  } catch {
    // The browser logs network errors.
    return { status: 0, body: null }
  }
}
