// The page /: the three things at work on the data of the service, and code to copy.
import { drawColumns } from '../dashboard/chart.js'
import { byId, element, fillIn } from '../dashboard/elements.js'
import { formats } from '../dashboard/format.js'
import '../palette/palette.js'

/** @import { SharedQuote } from '../../quotes/schema.ts' */
/** @import { Stats } from '../../stats/schema.ts' */
/** @import { ProductSelectEvent } from '../palette/palette.d.ts' */
/** @import { HomeWords } from './home-texts.ts' */

const { language, words } = /** @type {{ language: 'es' | 'en', words: HomeWords }} */ (
  JSON.parse(byId('page', HTMLElement).textContent ?? '')
)
const { money, amount, count, percent, compact, month, shortMonth, day } = formats(language)

/**
 * @param {string} path
 * @returns {Promise<{ status: number, body: unknown }>} status 0 where nobody answers
 */
async function get(path) {
  try {
    const response = await fetch(path, { headers: { accept: 'application/json' } })
    return { status: response.status, body: await response.json() }
  } catch {
    return { status: 0, body: null }
  }
}

async function showStats() {
  const all = await get('api/stats')
  const state = byId('stats-state', HTMLElement)
  byId('stats', HTMLElement).removeAttribute('aria-busy')
  if (all.status !== 200) {
    state.textContent =
      all.status === 401 || all.status === 403 ? words.stats.needsKey : words.stats.unavailable
    return
  }
  const year = yearOf(/** @type {Stats} */ (all.body))
  const period = `from=${year}-01-01&to=${year}-12-31`
  const { status, body } = await get(`api/stats?${period}`)
  if (status !== 200) {
    state.textContent = words.stats.unavailable
    return
  }
  const stats = /** @type {Stats} */ (body)
  const { currency } = stats.revenue.total
  state.hidden = true
  const figures = byId('stats-figures', HTMLElement)
  figures.hidden = false
  figures.replaceChildren(
    figure(fillIn(words.stats.revenueIn, { year, currency }), amount(stats.revenue.total)),
    figure(words.stats.quotes, count(stats.quotes.total)),
    figure(words.stats.acceptance, percent(stats.quotes.acceptance.ofDecided)),
  )
  const drawing = /** @type {SVGSVGElement} */ (
    /** @type {unknown} */ (document.getElementById('stats-drawing'))
  )
  drawing.setAttribute('aria-label', fillIn(words.stats.drawing, { year, currency }))
  const draw = () =>
    drawColumns(drawing, {
      columns: stats.byMonth.map(({ month, partial, revenue }) => ({
        name: month,
        label: shortMonth(month),
        group: '',
        isPartial: partial,
        parts: [Number(revenue.amount)],
      })),
      parts: ['revenue'],
      height: 150,
      width: byId('stats', HTMLElement).clientWidth,
      axis: compact,
      isDense: false,
    })
  new ResizeObserver(draw).observe(byId('stats', HTMLElement))
  const { period: days, quotes, revenue } = stats
  const code = document.querySelector('[aria-labelledby="stats-title"] figure:has(.copy) code')
  if (code) code.textContent = (code.textContent ?? '').replace(/\d{4}(?=-\d\d-\d\d)/g, year)
  showAnswer('stats-answer', {
    period: { from: days.from, to: days.to },
    quotes: { total: quotes.total, acceptance: quotes.acceptance },
    revenue: { total: revenue.total, average: revenue.average },
  })
  byId('stats-table', HTMLElement).replaceChildren(
    element(
      'table',
      {},
      element('caption', {}, fillIn(words.stats.revenueIn, { year, currency })),
      element(
        'thead',
        {},
        element(
          'tr',
          {},
          element('th', { scope: 'col' }, words.stats.month),
          element('th', { scope: 'col' }, words.stats.revenue),
        ),
      ),
      element(
        'tbody',
        {},
        ...stats.byMonth.map((one) =>
          element(
            'tr',
            {},
            element('th', { scope: 'row' }, month(one.month)),
            element('td', {}, money(one.revenue)),
          ),
        ),
      ),
    ),
  )
  const open = document.getElementById('open-dashboard')
  if (open instanceof HTMLAnchorElement) {
    const lang = new URLSearchParams(location.search).get('lang')
    open.href = `dashboard?${period}${lang ? `&lang=${lang}` : ''}`
    open.textContent = fillIn(words.stats.open, { year })
  }
}

/**
 * The last year that has something to show: a tenth of the quotes of the fullest.
 * @param {Stats} stats
 */
function yearOf({ byMonth }) {
  /** @type {Map<string, number>} */
  const years = new Map()
  for (const { month, quotes } of byMonth)
    years.set(month.slice(0, 4), (years.get(month.slice(0, 4)) ?? 0) + quotes)
  const fullest = Math.max(...years.values())
  return (
    [...years].findLast(([, quotes]) => quotes * 10 >= fullest)?.[0] ??
    String(new Date().getFullYear())
  )
}

async function showQuote() {
  const place = document.getElementById('quote')
  if (!place) return
  const { status, body } = await get(`${place.dataset.path}?format=json`)
  if (status !== 200) {
    byId('quote-state', HTMLElement).textContent = words.quote.unavailable
    return
  }
  const quote = /** @type {SharedQuote} */ (body)
  const { number, issuedOn, buyer, totals, validUntil, lines } = quote.document
  showAnswer('quote-answer', {
    status: quote.status,
    document: { number, issuedOn, validUntil, totals: { net: totals.net, gross: totals.gross } },
  })
  place.replaceChildren(
    figure(words.quote.total, money(totals.gross)),
    ...(buyer.name ? [figure(words.quote.buyer, buyer.name)] : []),
    ...(validUntil ? [figure(words.quote.validUntil, day(validUntil))] : []),
    figure(number, fillIn(words.quote.lines, { count: count(lines.length) })),
  )
  byId('open-quote', HTMLAnchorElement).textContent = fillIn(words.quote.open, { number })
}

/**
 * The beginning of an answer as a program gets it.
 * @param {string} id
 * @param {object} answer
 */
function showAnswer(id, answer) {
  const text = JSON.stringify(answer, null, 2)
    .replace(/\{\s+("[^{}]*")\s+\}/g, (_all, inside) => `{ ${inside.replace(/\s+/g, ' ')} }`)
    .replace(/\n\}$/, ',\n  …\n}')
  const place = byId(id, HTMLElement)
  place.textContent = text
  place.closest('figure')?.removeAttribute('hidden')
}

/**
 * @param {string} label
 * @param {string} value
 */
function figure(label, value) {
  return element('div', {}, element('dt', {}, label), element('dd', {}, value))
}

document.addEventListener('product-select', (event) => {
  const { name, sku, price } = /** @type {ProductSelectEvent} */ (event).detail.hit
  byId('chosen', HTMLElement).textContent = fillIn(words.search.chosen, {
    name,
    sku,
    price: price ? money(price) : words.search.withoutPrice,
  })
})

document.addEventListener('click', async (event) => {
  const button = event.target instanceof Element ? event.target.closest('.copy') : null
  const code = button?.closest('figure')?.querySelector('code')
  if (!(button instanceof HTMLButtonElement) || !code) return
  await copy(code)
  byId('said', HTMLElement).textContent = words.copied
  button.textContent = words.copied
  setTimeout(() => {
    button.textContent = words.copy
    byId('said', HTMLElement).textContent = ''
  }, 2_000)
})

/**
 * Without https a page has no clipboard: then the text is selected, and copied as by hand.
 * @param {Element} code
 */
async function copy(code) {
  try {
    await navigator.clipboard.writeText(code.textContent ?? '')
  } catch {
    getSelection()?.selectAllChildren(code)
    document.execCommand('copy')
  }
}

await Promise.all([showStats(), showQuote()])
document.body.classList.add('ready')
