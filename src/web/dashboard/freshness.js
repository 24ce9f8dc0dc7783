// How old the figures are, told every second.
import { byId, fillIn } from './elements.js'

/** @param {import('./page.js').Page} page */
export function freshness({ words, formats }) {
  const place = byId('freshness', HTMLElement)
  const text = byId('age', HTMLElement)
  /** @type {{ computedAt: number, isStale: boolean } | null} */
  let last = null

  function tell() {
    if (!last) return
    const age = formats.ago(Math.max(0, Math.floor((performance.now() - last.computedAt) / 1_000)))
    const shown = last.isStale
      ? fillIn(words.staleSince, { age })
      : fillIn(words.freshSince, { age })
    if (text.textContent !== shown) text.textContent = shown
    place.dataset.state = last.isStale ? 'stale' : 'fresh'
  }
  setInterval(tell, 1_000)

  return {
    /** @param {{ computedAt: number, isStale: boolean }} answer */
    show(answer) {
      last = { ...answer }
      place.hidden = false
      tell()
    },
    /**
     * The figures stay as they are, and get older.
     * @param {boolean} isEmpty whether none are shown any more
     */
    fail(isEmpty) {
      if (isEmpty) last = null
      else if (last) last.isStale = true
      place.hidden = last === null
      tell()
    },
  }
}
