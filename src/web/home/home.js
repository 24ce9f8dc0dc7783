// The script of the page /: shows live responses, and copies code samples. The palette is a separate
// script.
import { listenToCopyButtons } from '../../pages/copy-buttons.js'
import { fetchWithTimeout } from '../browser/fetch-with-timeout.ts'
import { createFormats } from '../browser/number-and-date-formats.ts'

/** @import { HomeTexts } from '../../texts/en.ts' */
/** @import { ProductSelectEvent } from '../palette/palette.d.ts' */

const { locale, texts } = /** @type {{ locale: string, texts: HomeTexts }} */ (
  JSON.parse(document.getElementById('page')?.textContent ?? '')
)
const formats = createFormats(locale)

document.addEventListener('product-select', showChosenProduct)
listenToCopyButtons(texts)
await Promise.all([...document.querySelectorAll('code')].map(showResponse))
document.body.classList.add('ready')

/** Shows the response to the request that an element names. @param {HTMLElement} code */
async function showResponse(code) {
  const { path, unavailable = '' } = code.dataset
  if (!path) return
  try {
    const response = await fetchWithTimeout(path, { headers: { accept: 'application/json' } })
    const needsKey = response.status === 401 || response.status === 403
    if (response.ok) code.textContent = JSON.stringify(await response.json(), null, 2)
    else code.textContent = needsKey ? texts.stats.needsKey : unavailable
  } catch {
    // The browser logs network errors.
    code.textContent = unavailable
  }
  code.parentElement?.removeAttribute('aria-busy')
}

/** @param {Event} event */
function showChosenProduct(event) {
  const { name, sku, price } = /** @type {ProductSelectEvent} */ (event).detail.hit
  const shownPrice = price ? formats.money(price) : texts.search.noPrice
  const text = formats.fill(texts.search.chosen, { name, sku, price: shownPrice })
  document.getElementById('chosen')?.replaceChildren(text)
}
