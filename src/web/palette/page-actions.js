// Finds the actions of the page that match what is typed.

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
