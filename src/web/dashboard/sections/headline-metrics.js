// Shows the metrics at the top: money by outcome, counts, acceptance, days to decision and the
// average amount, with their previous values.
import { createElement, formatText, replaceChildren } from '../../browser/elements.js'
import { ratio, subtract } from '../data/decimal-arithmetic.js'
import { createAcceptanceTable } from './acceptance-table.js'
import { createChange } from './change.js'

/** @import { Child } from '../../browser/elements.js' */
/** @import { Stats } from '../data/stats-polling.js' */
/** @import { PageData } from '../page-data.js' */
/**
 * @typedef {object} Metric
 * @property {string} name
 * @property {string} label
 * @property {'revenue' | 'open' | 'lost' | 'acceptance' | 'days'} [definition] explains the label
 * @property {'won' | 'open' | 'lost'} [outcome] the part of the bar
 * @property {Child} value
 * @property {(string | null)[]} [notes]
 * @property {Child} [change]
 * @property {string | null} [previousValue] null without a comparison
 */

const noValue = '–'

/**
 * Replaces the content of the card. By acceptance date only accepted quotes count, so open and lost
 * amounts and acceptance are left out: they would be zero and 100 %.
 * @param {Element} card
 * @param {Stats} stats
 * @param {PageData} page
 */
export function showHeadlineMetrics(card, stats, page) {
  /** @param {string} name @param {Metric[]} metrics */
  const createList = (name, ...metrics) =>
    createElement('dl', { class: name }, ...metrics.map((metric) => createMetric(metric, page)))
  const revenue = revenueMetric(stats, page)
  const counts = countMetrics(stats, page)
  const days = daysMetric(stats, page)
  const average = averageMetric(stats, page)
  if (stats.period.date === 'accepted')
    return replaceChildren(card, createList('accepted-only', revenue, ...counts, days, average))
  const acceptance = acceptanceMetric(stats, page)
  replaceChildren(
    card,
    createOutcomeBar(stats.quotes.money),
    createList('money', revenue, openMetric(stats, page), lostMetric(stats, page)),
    createList('counts', ...counts, acceptance, days, average),
  )
}

/**
 * Creates a bar that is divided like the value of the sent quotes. Hidden from screen readers: the
 * metrics contain the amounts.
 * @param {Stats['quotes']['money']} money
 */
function createOutcomeBar({ won, open, lost }) {
  const amounts = { won: Number(won.amount), open: Number(open.amount), lost: Number(lost.amount) }
  const total = amounts.won + amounts.open + amounts.lost
  const parts = Object.entries(amounts).map(([outcome, amount]) => {
    if (amount === 0) return null
    const part = createElement('span', { class: `key ${outcome}` })
    part.style.inlineSize = `${(amount / total) * 100}%`
    return part
  })
  return createElement('div', { class: 'outcome-bar', 'aria-hidden': 'true' }, ...parts)
}

/** @param {Stats} stats @param {PageData} page @returns {Metric} */
function revenueMetric({ revenue, comparison }, { texts, formats }) {
  const unconverted = revenue.unconverted.reduce((total, { quotes }) => total + quotes, 0)
  const unconvertedText = formats.choosePlural(unconverted, texts.withoutRate)
  return {
    name: 'revenue',
    label: texts.revenue,
    definition: 'revenue',
    outcome: 'won',
    value: formats.money(revenue.total),
    notes: [
      unconverted === 0
        ? texts.netOfAccepted
        : formatText(unconvertedText, { count: formats.count(unconverted) }),
    ],
    change: formatChange(comparison?.change.revenue, formats),
    previousValue: comparison && formats.money(comparison.revenue.total),
  }
}

/**
 * Quotes of an earlier period are open no longer, so open amounts are not compared.
 * @param {Stats} stats
 * @param {PageData} page
 * @returns {Metric}
 */
function openMetric({ quotes }, { texts, formats }) {
  return {
    name: 'open',
    label: texts.open,
    definition: 'open',
    outcome: 'open',
    value: formats.money(quotes.money.open),
    notes: [formatText(texts.sentAndValid, { count: formats.count(quotes.byStatus.sent) })],
  }
}

/** @param {Stats} stats @param {PageData} page @returns {Metric} */
function lostMetric({ quotes, comparison }, { texts, formats }) {
  const { byStatus, money } = quotes
  const count = formats.count(byStatus.rejected + byStatus.expired)
  const before = comparison?.quotes.money.lost
  const change = before && ratio(subtract(money.lost.amount, before.amount), before.amount)
  return {
    name: 'lost',
    label: texts.lost,
    definition: 'lost',
    outcome: 'lost',
    value: formats.money(money.lost),
    notes: [formatText(texts.rejectedAndExpired, { count })],
    change: change ? createChange(formats.change(change), { isBetterLower: true }) : null,
    previousValue: before ? formats.money(before) : null,
  }
}

/** @param {Stats} stats @param {PageData} page @returns {Metric[]} */
function countMetrics({ quotes, comparison }, { texts, formats }) {
  return [
    {
      name: 'quotes',
      label: texts.quotes,
      value: formats.count(quotes.total),
      change: formatChange(comparison?.change.quotes, formats),
      previousValue: comparison && formats.count(comparison.quotes.total),
    },
    {
      name: 'accepted',
      label: texts.accepted,
      value: formats.count(quotes.byStatus.accepted),
      change: formatChange(comparison?.change.accepted, formats),
      previousValue: comparison && formats.count(comparison.quotes.byStatus.accepted),
    },
  ]
}

/** @param {Stats} stats @param {PageData} page @returns {Metric} */
function acceptanceMetric(stats, page) {
  return {
    name: 'acceptance',
    label: page.texts.acceptance,
    definition: 'acceptance',
    value: createAcceptanceTable(stats, page),
  }
}

/** @param {Stats} stats @param {PageData} page @returns {Metric} */
function daysMetric({ quotes, comparison }, { texts, formats }) {
  const { quotes: count, mean, median } = quotes.daysToDecision
  return {
    name: 'days',
    label: texts.daysToDecision,
    definition: 'days',
    value: formats.days(median),
    notes: [
      mean === null ? null : formatText(texts.medianAndMean, { mean: formats.days(mean) }),
      formatText(texts.decidedOnKnownDay, { count: formats.count(count) }),
    ],
    previousValue: comparison && formats.days(comparison.quotes.daysToDecision.median),
  }
}

/** @param {Stats} stats @param {PageData} page @returns {Metric} */
function averageMetric({ revenue, comparison }, { texts, formats }) {
  /** @param {Stats['revenue']['average']} average */
  const format = (average) => (average === null ? noValue : formats.money(average))
  return {
    name: 'average',
    label: texts.average,
    value: format(revenue.average),
    notes: [texts.perAccepted],
    previousValue: comparison && format(comparison.revenue.average),
  }
}

/** @param {string | null | undefined} ratio @param {PageData['formats']} formats */
function formatChange(ratio, formats) {
  return ratio ? createChange(formats.change(ratio)) : null
}

/** @param {Metric} metric @param {PageData} page */
function createMetric(metric, { texts }) {
  const { name, value, notes = [], change = null, previousValue = null } = metric
  return createElement(
    'div',
    { class: 'metric', 'data-metric': name },
    createElement('dt', {}, ...createLabel(metric)),
    createElement('dd', { class: typeof value === 'string' ? 'value' : 'values' }, value),
    previousValue !== null &&
      createElement(
        'dd',
        { class: 'previous-value' },
        change,
        change && ' ',
        formatText(texts.previousValue, { value: previousValue }),
      ),
    ...notes.map((note) => note !== null && createElement('dd', { class: 'note' }, note)),
  )
}

/**
 * Returns the label. If it has a definition, it is a button that shows it.
 * @param {Metric} metric
 * @returns {Child[]}
 */
function createLabel({ label, definition, outcome }) {
  const key = outcome
    ? createElement('span', { class: `key ${outcome}`, 'aria-hidden': 'true' })
    : null
  if (!definition) return [key, label]
  const id = `definition-${definition}`
  const button = createElement(
    'button',
    {
      type: 'button',
      class: 'term',
      'data-key': id,
      popovertarget: id,
      'aria-describedby': id,
    },
    label,
  )
  return [key, button]
}
