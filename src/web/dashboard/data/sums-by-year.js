// Adds the months of each year. Sums are exact, and rates are those of the sums.
import { ratio, sum } from './decimal-arithmetic.js'

/** @import { Stats } from './stats-polling.js' */
/** @typedef {Omit<Stats['byMonth'][number], 'month' | 'partial'>} Group */
/** @typedef {Group & { name: string, isPartial: boolean }} Interval a day, a month or a year */

/** The days of several months have no common median. */
const noDays = { quotes: 0, mean: null, median: null }

/** @param {Interval[]} months @param {{ from: string, to: string }} period @returns {Interval[]} */
export function groupByYear(months, { from, to }) {
  const monthsByYear = Map.groupBy(months, ({ name }) => name.slice(0, 4))
  return [...monthsByYear].map(([year, months]) => ({
    name: year,
    isPartial:
      months.some(({ isPartial }) => isPartial) || `${year}-01-01` < from || `${year}-12-31` > to,
    ...addMonths(months),
  }))
}

/** @param {Interval[]} months @returns {Group} */
function addMonths(months) {
  const currency = months[0]?.revenue.currency ?? ''
  /** @param {(month: Interval) => number} countOf */
  const count = (countOf) => months.reduce((total, month) => total + countOf(month), 0)
  /** @param {(month: Interval) => { amount: string }} amountOf */
  const amount = (amountOf) => sum(months.map((month) => amountOf(month).amount))
  const byStatus = {
    draft: count((month) => month.byStatus.draft),
    sent: count((month) => month.byStatus.sent),
    accepted: count((month) => month.byStatus.accepted),
    rejected: count((month) => month.byStatus.rejected),
    expired: count((month) => month.byStatus.expired),
  }
  const open = amount(({ money }) => money.open)
  const won = amount(({ money }) => money.won)
  const lost = amount(({ money }) => money.lost)
  return {
    quotes: count(({ quotes }) => quotes),
    accepted: byStatus.accepted,
    revenue: { amount: won, currency },
    byStatus,
    money: {
      open: { amount: open, currency },
      won: { amount: won, currency },
      lost: { amount: lost, currency },
    },
    acceptance: acceptanceOf(byStatus, { open, won, lost }),
    daysToDecision: noDays,
  }
}

/**
 * @param {Group['byStatus']} byStatus
 * @param {{ open: string, won: string, lost: string }} amounts
 * @returns {Group['acceptance']}
 */
function acceptanceOf({ sent, accepted, rejected, expired }, { open, won, lost }) {
  const decided = accepted + rejected + expired
  const part = String(accepted)
  return {
    ofSent: ratio(part, String(sent + decided)),
    ofDecided: ratio(part, String(decided)),
    ofSentValue: ratio(won, sum([open, won, lost])),
    ofDecidedValue: ratio(won, sum([won, lost])),
  }
}
