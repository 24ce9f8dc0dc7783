// The figures of the head: revenue, quotes, accepted, acceptance, average; each with what it was before.
import { subtract } from './decimal.js'
import { element, fillIn, replace } from './elements.js'

/** @typedef {import('./figures.js').Stats} Stats */
/** @typedef {import('./page.js').Page} Page */
/** @typedef {{ name: string, label: string, value: string, note: string | null, change: string | null, before: string | null }} Figure */

/**
 * @param {Element} place
 * @param {Stats} stats
 * @param {Page} page
 */
export function showSummary(place, stats, page) {
  replace(place, ...figuresOf(stats, page).map((figure) => cell(figure, page)))
}

/**
 * @param {Stats} stats
 * @param {Page} page
 * @returns {Figure[]}
 */
function figuresOf({ quotes, revenue, comparison }, { words, formats }) {
  const { money, count, percent, points } = formats
  const left = revenue.unconverted.reduce((total, { quotes }) => total + quotes, 0)
  const change = comparison?.change
  const { sent, accepted, rejected, expired } = quotes.byStatus
  const { ofSent, ofDecided } = quotes.acceptance
  const before = comparison?.quotes.acceptance
  /**
   * @param {string | null} now
   * @param {string | null | undefined} earlier
   */
  const difference = (now, earlier) =>
    now === null || !earlier
      ? null
      : fillIn(words.points, { points: points(subtract(now, earlier)) })
  return [
    {
      name: 'revenue',
      label: words.revenue,
      value: money(revenue.total),
      note:
        left === 0
          ? words.net
          : fillIn(left === 1 ? words.withoutRateOne : words.withoutRate, { count: count(left) }),
      change: change?.revenue ?? null,
      before: comparison && money(comparison.revenue.total),
    },
    {
      name: 'quotes',
      label: words.quotes,
      value: count(quotes.total),
      note: null,
      change: change?.quotes ?? null,
      before: comparison && count(comparison.quotes.total),
    },
    {
      name: 'accepted',
      label: words.accepted,
      value: count(accepted),
      note: null,
      change: change?.accepted ?? null,
      before: comparison && count(comparison.quotes.byStatus.accepted),
    },
    {
      name: 'of-sent',
      label: words.acceptanceOfSent,
      value: percent(ofSent),
      note: fillIn(words.outOf, {
        part: count(accepted),
        whole: count(sent + accepted + rejected + expired),
      }),
      change: difference(ofSent, before?.ofSent),
      before: comparison && percent(comparison.quotes.acceptance.ofSent),
    },
    {
      name: 'of-decided',
      label: words.acceptanceOfDecided,
      value: percent(ofDecided),
      note: fillIn(words.outOf, {
        part: count(accepted),
        whole: count(accepted + rejected + expired),
      }),
      change: difference(ofDecided, before?.ofDecided),
      before: comparison && percent(comparison.quotes.acceptance.ofDecided),
    },
    {
      name: 'average',
      label: words.average,
      value: revenue.average === null ? '–' : money(revenue.average),
      note: words.perAccepted,
      change: null,
      before:
        comparison &&
        (comparison.revenue.average === null ? '–' : money(comparison.revenue.average)),
    },
  ]
}

/**
 * @param {Figure} figure
 * @param {Page} page
 */
function cell({ name, label, value, note, change, before }, { words, formats }) {
  // Ratios of the service are told as percentages; differences of percentages come told.
  const isRatio = change !== null && /^-?\d+\.\d{4}$/.test(change)
  const text = change === null ? null : isRatio ? formats.change(change) : change
  const isDown = text !== null && /^[-−]/.test(text)
  const isUp = text?.startsWith('+')
  return element(
    'div',
    { class: 'figure', 'data-figure': name },
    element('dt', {}, label),
    element('dd', { class: 'value' }, value),
    before !== null &&
      element(
        'dd',
        { class: 'before' },
        text !== null &&
          element('span', { class: isUp ? 'change up' : isDown ? 'change down' : 'change' }, text),
        text !== null && ' ',
        fillIn(words.before, { value: before }),
      ),
    note !== null && element('dd', { class: 'note' }, note),
  )
}
