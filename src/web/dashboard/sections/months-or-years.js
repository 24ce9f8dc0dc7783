// Decides whether the timeline shows months or years, and whether the visitor can choose.

/** @import { Stats } from '../data/stats-polling.js' */

/** Longer periods are shown by years, unless the visitor asks for months. */
const maxMonths = 36
/** In longer periods the visitor can choose between months and years. */
const maxMonthsWithoutChoice = 12

/**
 * Returns whether the timeline shows years instead of months.
 * @param {Stats} stats
 * @param {string} by
 */
export function showsYears({ byMonth }, by) {
  return by === 'year' || (by !== 'month' && byMonth.length > maxMonths)
}

/**
 * Returns whether the visitor can choose between months and years.
 * @param {Pick<Stats, 'byMonth'>} stats
 */
export function offersChoice({ byMonth }) {
  return byMonth.length > maxMonthsWithoutChoice
}
