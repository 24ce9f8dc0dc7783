// The dashboard: what is looked at stands in the address, the figures come from /api/stats, and whatever hinders them is said plainly.
import { countriesTable, currenciesTable, statusesTable } from './breakdowns.js'
import { showChoices } from './choices.js'
import { countryChoice } from './country-choice.js'
import { csvLink } from './csv-link.js'
import { dayFields } from './day-fields.js'
import { byId, fillIn, replace } from './elements.js'
import { followFigures } from './figures.js'
import {
  addressOf,
  daysNamed,
  daysOf,
  isDay,
  neighbour,
  questionOf,
  readFilters,
  todayIn,
} from './filters.js'
import { freshness } from './freshness.js'
import { monthsPanel, yearsAreDrawn } from './months.js'
import { readPage } from './page.js'
import { sessionKey } from './session-key.js'
import { showSummary } from './summary.js'
import { troubleNotice } from './trouble.js'

/** @typedef {import('./figures.js').Stats} Stats */
/** @typedef {import('./filters.js').Filters} Filters */
/** @typedef {import('./filters.js').Span} Span */

const page = readPage()
const { words, formats } = page
const lang = new URLSearchParams(location.search).get('lang')
const main = byId('figures', HTMLElement)
const forget = byId('forget', HTMLButtonElement)

let filters = readFilters(location.search)
/** @type {Stats | null} */
let shown = null
/** What was asked last, and what the figures that are shown were asked with. */
let asked = ''
let shownFor = ''
let isAllCountries = false
/** Whether the next figures are those of a new question, which a screen reader is told. */
let isAsked = true

const countries = countryChoice({ page, choose: (country) => go({ country }) })
const days = dayFields({
  choose: (chosen) => go({ span: 'custom', ...chosen, by: '' }),
  lookedAt: () => shown?.period ?? daysOf(filters, todayIn(page.timeZone)),
})
const csv = csvLink({ language: page.language, failed: () => figures.retry() })
const age = freshness(page)
const trouble = troubleNotice({ page, retry: () => figures.retry(), keyGiven })
const months = monthsPanel({
  page,
  choose: (name) => go(daysChosen(name)),
  addressOfStretch: (name) => address(daysChosen(name)),
})
const figures = followFigures({
  address: 'api/stats',
  key: sessionKey.read,
  answered(answer) {
    trouble.clear()
    age.show(answer)
    if (answer.isNew || isAsked || main.hidden) show(answer.stats)
    main.removeAttribute('aria-busy')
    // A page that is left open overnight goes on with the new day.
    if (questionOf(filters, todayIn(page.timeZone)) !== asked) look()
  },
  failed(found) {
    if (found.kind === 'badKey') sessionKey.write(null)
    forget.hidden = sessionKey.read() === null
    // Figures of another question must not stand under these filters.
    const isEmpty =
      isAsked || found.kind === 'key' || found.kind === 'badKey' || found.kind === 'scope'
    main.hidden = isEmpty
    age.fail(isEmpty)
    main.removeAttribute('aria-busy')
    trouble.show(found)
  },
})

/** @param {Partial<Filters>} change */
const address = (change) => addressOf({ ...filters, ...change }, lang)

/**
 * @param {string} name
 * @returns {Partial<Filters>}
 */
const daysChosen = (name) => ({ span: 'custom', ...daysNamed(name), by: '' })

/** @param {Partial<Filters>} change */
const go = (change) => goTo(address(change))

/** @param {string} next */
function goTo(next) {
  if (next === addressOf(filters, lang)) return
  history.pushState(null, '', next)
  look()
}

/** Shows and asks what the address says. */
function look() {
  filters = readFilters(location.search)
  isAllCountries = false
  showFilters()
  const question = questionOf(filters, todayIn(page.timeZone))
  if (question === shownFor && question === asked && shown && !main.hidden) return show(shown)
  asked = question
  isAsked = true
  main.setAttribute('aria-busy', 'true')
  figures.ask(question)
}

function showFilters() {
  const today = todayIn(page.timeZone)
  const lookedAt = daysOf(filters, today)
  showChoices('data-span', filters.span, (span) =>
    address({ span: /** @type {Span} */ (span), by: '' }),
  )
  days.show(lookedAt)
  // Whoever presses again before there is an answer goes on from here.
  if (isDay(lookedAt.from) && isDay(lookedAt.to)) showNeighbours(lookedAt)
  countries.show(filters.country)
  byId('date', HTMLSelectElement).value = filters.date
  byId('compare', HTMLSelectElement).value = filters.compare
  csv.lead(questionOf(filters, today))
  csv.name(lookedAt, filters.country)
  byId('language', HTMLAnchorElement).href = addressOf(
    filters,
    page.language === 'es' ? 'en' : 'es',
  )
  forget.hidden = sessionKey.read() === null
}

/** @param {Stats} stats */
function show(stats) {
  shown = stats
  shownFor = asked
  main.hidden = false
  days.show(stats.period)
  csv.name(stats.period, filters.country)
  showNeighbours(stats.period)
  const title = showTitle(stats)
  showSummary(byId('summary', HTMLElement), stats, page)
  // By months or by years, where both make sense.
  byId('grains', HTMLElement).hidden = stats.byMonth.length <= 12
  showChoices('data-by', yearsAreDrawn(stats, filters.by) ? 'year' : 'month', (by) =>
    address({ by }),
  )
  months.show(stats, filters.by)
  showCountries(stats)
  replace(byId('statuses', HTMLElement), ...statusesTable(stats, page))
  replace(byId('currencies', HTMLElement), ...currenciesTable(stats, page))
  byId('nothing', HTMLElement).hidden = stats.quotes.total > 0
  countries.addThoseOf(stats)
  if (isAsked)
    byId('said', HTMLElement).textContent = fillIn(words.said, { period: title, ...spoken(stats) })
  isAsked = false
}

/**
 * The buttons to the days before and after.
 * @param {{ from: string, to: string }} period
 */
function showNeighbours(period) {
  const today = todayIn(page.timeZone)
  for (const [id, direction] of /** @type {const} */ ([
    ['before', -1],
    ['after', 1],
  ])) {
    const next = filters.span === 'all' ? null : neighbour(filters.span, period, direction, today)
    const button = byId(id, HTMLButtonElement)
    button.disabled = next === null
    button.onclick = () => next && go({ span: 'custom', ...next })
  }
}

/** What is looked at, in words, as heading and as title. */
function showTitle(/** @type {Stats} */ { period, comparison }) {
  const where = filters.country === '' ? '' : ` · ${countries.nameOf(filters.country)}`
  const title = `${formats.period(period.from, period.to)}${where}`
  byId('period', HTMLElement).textContent = title
  byId('against', HTMLElement).textContent = comparison
    ? fillIn(words.against, {
        period: formats.period(comparison.period.from, comparison.period.to),
      })
    : ''
  document.title = `${title} · ${page.title}`
  return title
}

/** @param {Stats} stats */
function showCountries(stats) {
  const place = byId('countries', HTMLElement)
  const showAll = () => {
    isAllCountries = true
    show(stats)
    place.querySelectorAll('a')[12]?.focus()
  }
  const addressOfCountry = (/** @type {string} */ country) => address({ country })
  replace(
    place,
    ...countriesTable(stats, page, {
      isWhole: isAllCountries,
      country: filters.country,
      addressOfCountry,
      showAll,
    }),
  )
}

/** @param {Stats} stats */
function spoken({ quotes, revenue }) {
  return { quotes: formats.count(quotes.total), revenue: formats.money(revenue.total) }
}

/** @param {string} key */
function keyGiven(key) {
  sessionKey.write(key)
  forget.hidden = false
  figures.retry()
}

forget.addEventListener('click', () => {
  sessionKey.write(null)
  forget.hidden = true
  shown = null
  isAsked = true
  main.hidden = true
  figures.retry()
})

for (const name of /** @type {const} */ (['date', 'compare'])) {
  const control = byId(name, HTMLSelectElement)
  control.addEventListener('change', () => go({ [name]: control.value }))
}

// Links to other filters change the page in place; opened in a new tab they work as they stand.
document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a') : null
  const href = link?.getAttribute('href')
  if (!link || !href?.startsWith('?') || link.id === 'language') return
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  goTo(href)
})
addEventListener('popstate', look)
byId('print', HTMLButtonElement).addEventListener('click', () => print())

look()
