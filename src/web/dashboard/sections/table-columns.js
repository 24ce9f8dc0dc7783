// The columns of the tables by country and by month or year, and which of them a table has.

/** @import { Stats } from '../data/stats-polling.js' */
/** @import { PageData } from '../page-data.js' */
/** @typedef {'revenue' | 'outcomes' | 'acceptance' | 'days'} ColumnGroup */
/** @typedef {Omit<Stats['byCountry'][number], 'country' | 'byStatus'>} Group */
/**
 * @typedef {object} Column
 * @property {ColumnGroup} group
 * @property {string} heading
 * @property {boolean} [isFirst] whether a heading above the columns begins here
 * @property {string} [unit] shown if the heading above the column is not
 * @property {string} [definition]
 * @property {(group: Group) => string} format
 */

/**
 * By acceptance date only accepted quotes count, so nothing is open or lost. The days of several
 * months have no common median, so a table by year has no days.
 * @param {Stats['period']} period
 * @param {{ isByYear?: boolean }} [options]
 * @returns {ColumnGroup[]}
 */
export function columnGroupsOf({ date }, { isByYear = false } = {}) {
  /** @type {ColumnGroup[]} */
  const groups = date === 'accepted' ? ['revenue'] : ['revenue', 'outcomes', 'acceptance']
  return isByYear ? groups : [...groups, 'days']
}

/**
 * Returns all columns from left to right.
 * @param {string} currency
 * @param {PageData} page
 * @returns {Column[]}
 */
export function columnsOf(currency, { texts, formats }) {
  const { definitions } = texts
  return [
    {
      group: 'revenue',
      heading: texts.quotes,
      format: ({ quotes }) => formats.count(quotes),
    },
    {
      group: 'revenue',
      heading: texts.accepted,
      format: ({ accepted }) => formats.count(accepted),
    },
    {
      group: 'revenue',
      heading: texts.revenue,
      isFirst: true,
      unit: `(${currency})`,
      definition: definitions.revenue,
      format: ({ revenue }) => formats.amount(revenue),
    },
    {
      group: 'outcomes',
      heading: texts.open,
      unit: `(${currency})`,
      definition: definitions.open,
      format: ({ money }) => formats.amount(money.open),
    },
    {
      group: 'outcomes',
      heading: texts.lost,
      unit: `(${currency})`,
      definition: definitions.lost,
      format: ({ money }) => formats.amount(money.lost),
    },
    {
      group: 'acceptance',
      heading: texts.byNumber,
      isFirst: true,
      unit: `(${texts.ofDecided})`,
      format: ({ acceptance }) => formats.percent(acceptance.ofDecided),
    },
    {
      group: 'acceptance',
      heading: texts.byValue,
      unit: `(${texts.ofDecided})`,
      format: ({ acceptance }) => formats.percent(acceptance.ofDecidedValue),
    },
    {
      group: 'days',
      heading: texts.median,
      isFirst: true,
      format: ({ daysToDecision }) => formats.days(daysToDecision.median),
    },
    {
      group: 'days',
      heading: texts.mean,
      format: ({ daysToDecision }) => formats.days(daysToDecision.mean),
    },
  ]
}
