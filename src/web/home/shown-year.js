// Decides which year's statistics the page / shows.

/** @import { Stats } from '../../stats/schema.ts' */

/**
 * Returns the last year that has at least a tenth as many quotes as the year with the most. The
 * current year may have just begun.
 * @param {Stats} stats
 */
export function lastTypicalYear({ byMonth }) {
  /** @type {Map<string, number>} */
  const quotesByYear = new Map()
  for (const { month, quotes } of byMonth) {
    const year = month.slice(0, 4)
    quotesByYear.set(year, (quotesByYear.get(year) ?? 0) + quotes)
  }
  const mostQuotes = Math.max(...quotesByYear.values())
  const last = [...quotesByYear].findLast(([, quotes]) => quotes * 10 >= mostQuotes)
  return last?.[0] ?? String(new Date().getFullYear())
}
