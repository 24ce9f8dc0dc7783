// The script of the page /: shows how live responses begin, and copies code samples. The palette is
// a separate script.
import { listenToCopyButtons } from '../../pages/copy-buttons.js'
import { fetchWithTimeout } from '../browser/fetch-with-timeout.js'
import { createFormats } from '../browser/number-and-date-formats.js'

/** @import { LinkedQuote } from '../../quotes/schema.ts' */
/** @import { Stats } from '../../stats/schema.ts' */
/** @import { ProductSelectEvent } from '../palette/palette.d.ts' */
/** @import { HomeTexts } from '../../texts/en.ts' */

const { locale, texts } = /** @type {{ locale: string, texts: HomeTexts }} */ (
  JSON.parse(document.getElementById('page')?.textContent ?? '')
)
const formats = createFormats(locale)

document.addEventListener('product-select', showChosenProduct)
listenToCopyButtons(texts)
await Promise.all([
  showResponse('stats-response', (/** @type {Stats} */ { asOf, period, quotes, revenue }) => ({
    asOf,
    period: { from: period.from, to: period.to },
    quotes: { total: quotes.total, acceptance: quotes.acceptance },
    revenue: { total: revenue.total, average: revenue.average },
  })),
  showResponse('quote-response', (/** @type {LinkedQuote} */ { status, document }) => {
    const { number, issuedOn, validUntil, buyer, totals } = document
    return {
      status,
      document: {
        number,
        issuedOn,
        validUntil,
        buyer: { name: buyer.name },
        totals: { net: totals.net, gross: totals.gross },
      },
    }
  }),
])
document.body.classList.add('ready')

/**
 * Requests what an element names, and shows the first fields of the response as JSON, followed by
 * an ellipsis.
 * @param {string} id
 * @param {(body: any) => object} chooseFields
 */
async function showResponse(id, chooseFields) {
  const code = document.getElementById(id)
  if (!code) return
  const { path = '', unavailable = '' } = code.dataset
  const { status, body } = await getJson(path)
  const needsKey = status === 401 || status === 403
  if (status !== 200) code.textContent = needsKey ? texts.stats.needsKey : unavailable
  else
    code.textContent = JSON.stringify(chooseFields(body), null, 2)
      // Puts each object that contains no other object on one line.
      .replace(/\{\s+("[^{}]*")\s+\}/g, (_all, fields) => `{ ${fields.replace(/\s+/g, ' ')} }`)
      // Inserts the ellipsis before the last brace.
      .replace(/\n\}$/, ',\n  …\n}')
  code.parentElement?.removeAttribute('aria-busy')
}

/** @param {Event} event */
function showChosenProduct(event) {
  const { name, sku, price } = /** @type {ProductSelectEvent} */ (event).detail.hit
  const shownPrice = price ? formats.money(price) : texts.search.noPrice
  const text = formats.fill(texts.search.chosen, { name, sku, price: shownPrice })
  document.getElementById('chosen')?.replaceChildren(text)
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
