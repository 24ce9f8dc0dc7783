// Finds the actions of the page that match what is typed, and copies SKUs.

/** @import { PaletteAction } from './palette.d.ts' */
/** @import { ResultGroup } from './results/result-list.js' */

/**
 * Returns the actions whose label or keywords contain the query, in their groups. Case and accents
 * do not matter.
 * @param {PaletteAction[]} actions
 * @param {string} query
 * @returns {ResultGroup[]}
 */
export function groupActions(actions, query) {
  const typed = simplify(query)
  const found = actions.filter(({ label, keywords = '' }) =>
    simplify(`${label} ${keywords}`).includes(typed),
  )
  const headings = new Set(found.map(({ group = '' }) => group))
  return [...headings].map((heading) => ({
    heading,
    choices: found.filter(({ group = '' }) => group === heading).map((action) => ({ action })),
  }))
}

/** @param {string} text */
function simplify(text) {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
}

/**
 * Copies a text to the clipboard. Returns whether it was copied.
 * @param {string} text
 * @param {HTMLInputElement} input has the focus
 */
export async function copyText(text, input) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Pages without https have no clipboard, but they may copy what is selected.
    const write = (/** @type {ClipboardEvent} */ event) => {
      event.clipboardData?.setData('text/plain', text)
      event.preventDefault()
    }
    input.select()
    addEventListener('copy', write, { capture: true, once: true })
    const isCopied = document.execCommand('copy')
    removeEventListener('copy', write, true)
    input.setSelectionRange(input.value.length, input.value.length)
    return isCopied
  }
}
