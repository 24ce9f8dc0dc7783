// Countries, statuses and currencies: tables with a bar in each row.
import { element, fillIn } from './elements.js'

/** @typedef {import('./figures.js').Stats} Stats */
/** @typedef {import('./page.js').Page} Page */
/** @typedef {import('./elements.js').Child} Child */

const shownFirst = 12

/**
 * @param {Stats} stats
 * @param {Page} page
 * @param {{ isWhole: boolean, country: string, addressOfCountry: (code: string) => string, showAll: () => void }} options
 * @returns {Child[]}
 */
export function countriesTable(
  { byCountry, revenue: { total } },
  page,
  { isWhole, country, addressOfCountry, showAll },
) {
  const { words, formats } = page
  const longest = Math.max(...byCountry.map(({ revenue }) => Math.abs(Number(revenue.amount))), 0)
  const rows = byCountry.map(({ country: code, quotes, accepted, revenue }, index) => {
    const key = code ?? 'unknown'
    const isChosen = country === key
    return element(
      'tr',
      { 'data-name': key, class: isWhole || index < shownFirst ? null : 'more' },
      element(
        'th',
        { scope: 'row' },
        element(
          'a',
          {
            href: addressOfCountry(isChosen ? '' : key),
            'data-key': key,
            'aria-current': isChosen && 'true',
          },
          code === null ? words.unknownCountry : formats.country(code),
        ),
        bar(Number(revenue.amount), longest, 'revenue'),
      ),
      element('td', {}, formats.count(quotes)),
      element('td', {}, formats.count(accepted)),
      element('td', {}, formats.amount(revenue)),
    )
  })
  const rest = byCountry.length - shownFirst
  const more = element(
    'button',
    { type: 'button', class: 'quiet more-button', 'data-key': 'more' },
    fillIn(words.showAll, { count: formats.count(byCountry.length) }),
  )
  more.addEventListener('click', showAll)
  return [
    table(
      words.byCountry,
      [
        words.country,
        words.quotes,
        words.accepted,
        fillIn(words.revenueIn, { currency: total.currency }),
      ],
      rows,
    ),
    rows.length === 0 && element('p', { class: 'nothing' }, words.nothing),
    !isWhole && rest > 0 && more,
  ]
}

/**
 * @param {Stats} stats
 * @param {Page} page
 * @returns {Child[]}
 */
export function statusesTable({ quotes, period }, { words, formats }) {
  const { draft, sent, accepted, rejected, expired } = quotes.byStatus
  const all = Object.entries({ accepted, sent, rejected, expired, draft })
  const longest = Math.max(...all.map(([, count]) => count))
  const rows = all.map(([status, count]) =>
    element(
      'tr',
      { 'data-name': status },
      element(
        'th',
        { scope: 'row' },
        words.status[/** @type {keyof typeof words.status} */ (status)],
        bar(count, longest, status),
      ),
      element('td', {}, formats.count(count)),
      element('td', {}, quotes.total === 0 ? '–' : formats.percent(String(count / quotes.total))),
    ),
  )
  return [
    table(words.byStatus, [words.statusHeading, words.quotes, words.share], rows),
    element(
      'p',
      { class: 'note' },
      period.date === 'accepted' ? words.acceptedOnly : words.acceptanceMeans,
    ),
  ]
}

/**
 * @param {Stats} stats
 * @param {Page} page
 * @returns {Child[]}
 */
export function currenciesTable({ revenue, quotes }, { words, formats }) {
  const without = new Map(revenue.unconverted.map((money) => [money.currency, money]))
  const rows = revenue.byCurrency.flatMap((money) => {
    const left = without.get(money.currency)
    const row = element(
      'tr',
      { 'data-name': money.currency },
      element(
        'th',
        { scope: 'row' },
        element('span', { class: 'code' }, money.currency),
        bar(money.quotes, quotes.byStatus.accepted, 'revenue'),
      ),
      element('td', {}, formats.count(money.quotes)),
      element('td', {}, formats.money(money)),
    )
    if (!left) return [row]
    const part = element(
      'tr',
      { class: 'part', 'data-name': `${money.currency} unconverted` },
      element('th', { scope: 'row' }, words.ofWhichUnconverted),
      element('td', {}, formats.count(left.quotes)),
      element('td', {}, formats.money(left)),
    )
    return [row, part]
  })
  return [
    table(words.byCurrency, [words.currency, words.accepted, words.amount], rows),
    rows.length === 0 && element('p', { class: 'nothing' }, words.nothing),
    element(
      'p',
      { class: 'note' },
      fillIn(words.currenciesMean, { currency: revenue.total.currency }),
    ),
  ]
}

/**
 * @param {string} caption
 * @param {string[]} headings
 * @param {Child[]} rows
 */
function table(caption, headings, rows) {
  return element(
    'table',
    {},
    element('caption', { class: 'hidden' }, caption),
    element(
      'thead',
      {},
      element('tr', {}, ...headings.map((text) => element('th', { scope: 'col' }, text))),
    ),
    element('tbody', {}, ...rows),
  )
}

/**
 * As long as its share of the longest; the number stands beside it.
 * @param {number} value
 * @param {number} longest
 * @param {string} name
 */
function bar(value, longest, name) {
  const made = element('span', { class: `meter ${name}`, 'aria-hidden': 'true' })
  made.style.inlineSize = `${longest > 0 ? Math.max(0, (value / longest) * 100) : 0}%`
  return made
}
