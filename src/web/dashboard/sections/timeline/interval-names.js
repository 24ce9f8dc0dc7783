// Names days, months and years, in full for text and shortened for a chart.

/** @import { Formats } from '../../../browser/number-and-date-formats.js' */

const dayLength = 'YYYY-MM-DD'.length
const yearLength = 'YYYY'.length

/** @param {string} name a day, a month (YYYY-MM) or a year @param {Formats} formats */
export function formatInterval(name, formats) {
  return name.length === dayLength ? formats.day(name) : formats.month(name)
}

/**
 * Returns the label of a column.
 * @param {string} name a day, a month (YYYY-MM) or a year
 * @param {Formats} formats
 */
export function shortenInterval(name, formats) {
  return name.length === dayLength ? String(Number(name.slice(-2))) : formats.shortMonth(name)
}

/**
 * Returns what the labels of neighbouring columns have in common: the month of days, the year of
 * months, '' for years.
 * @param {string} name a day, a month (YYYY-MM) or a year
 * @param {Formats} formats
 */
export function groupOfInterval(name, formats) {
  if (name.length === yearLength) return ''
  return name.length === dayLength ? formats.shortMonth(name.slice(0, 7)) : name.slice(0, 4)
}
