// Decides whether the timeline shows days, months or years, and which of them the visitor can
// choose.
import { countDays, isDay } from '../../filters/preset-and-adjacent-periods.js'

/** @import { Stats } from '../../data/stats-polling.js' */
/** @import { Period } from '../../filters/preset-and-adjacent-periods.js' */
/** @typedef {'day' | 'month' | 'year'} IntervalKind */

/** Longer periods are shown by years, unless the visitor asks for months. */
const maxMonths = 36
/** In longer periods the visitor can choose years. */
const maxMonthsWithoutYears = 12
/** The service lists the days of periods of at most this length. */
const maxDays = 92

/**
 * Returns whether to request the days of a period: if it lies within one month, unless the visitor
 * asks for months or years, and of a quarter if the visitor asks for days.
 * @param {Period} period
 * @param {string} by the visitor's choice, '' for none
 */
export function needsDays({ from, to }, by) {
  if (!offersDays({ from, to })) return false
  return by === 'day' || (by === '' && from.slice(0, 7) === to.slice(0, 7))
}

/**
 * Returns what the timeline shows of a response.
 * @param {Stats} stats
 * @param {string} by the visitor's choice, '' for none
 * @returns {IntervalKind}
 */
export function chooseInterval({ byDay, byMonth }, by) {
  if (byDay) return 'day'
  return by === 'year' || (by !== 'month' && needsYears(byMonth.length)) ? 'year' : 'month'
}

/**
 * Returns what the visitor can choose. A single item is no choice.
 * @param {Pick<Stats, 'period' | 'byMonth'>} stats
 * @returns {IntervalKind[]}
 */
export function offeredIntervals({ period, byMonth }) {
  /** @type {(IntervalKind | false)[]} */
  const kinds = [
    offersDays(period) && 'day',
    byMonth.length > 1 && 'month',
    byMonth.length > maxMonthsWithoutYears && 'year',
  ]
  return kinds.filter((kind) => kind !== false)
}

/** @param {Period} period */
function offersDays({ from, to }) {
  return isDay(from) && isDay(to) && from <= to && countDays({ from, to }) <= maxDays
}

/** Returns whether months are so many that the timeline shows years. @param {number} months */
export const needsYears = (months) => months > maxMonths
