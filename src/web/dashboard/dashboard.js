// The script of the dashboard: reads the filters from the address, loads the statistics from
// /api/stats, and shows them or the reason why they are not available.
import { elementById, formatText, replaceChildren } from '../browser/elements.js'
import { CsvDownload } from './data/csv-download.js'
import { readSessionKey, writeSessionKey } from './data/session-key.js'
import { needsKey, StatsPolling } from './data/stats-polling.js'
import { addressOf, readFilters, selectInterval, statsQueryOf } from './filters/filter-address.js'
import { FilterBar, markCurrentLink } from './filters/filter-bar.js'
import { periodOf, todayIn } from './filters/preset-and-adjacent-periods.js'
import { readPageData } from './page-data.js'
import { ColumnChoice } from './sections/column-choice.js'
import { createCountriesTable, maxCountriesAtFirst } from './sections/countries-table.js'
import { createCurrenciesTable } from './sections/currencies-table.js'
import { DataAge } from './sections/data-age.js'
import { ErrorNotice } from './sections/error-notice.js'
import { showHeadlineMetrics } from './sections/headline-metrics.js'
import { BreakdownSection } from './sections/on-demand/breakdown-section.js'
import { SearchesSection } from './sections/on-demand/searches-section.js'
import { createStatusesTable } from './sections/statuses-table.js'
import { columnGroupsOf } from './sections/table-columns.js'
import { showTrail } from './sections/timeline/drill-down-trail.js'
import { Timeline } from './sections/timeline/timeline.js'
import { chooseInterval, offeredIntervals } from './sections/timeline/timeline-intervals.js'

/** @import { Stats, StatsError, StatsResponse } from './data/stats-polling.js' */
/** @import { Filters } from './filters/filter-address.js' */

const page = readPageData()
const { texts, formats } = page
/** The language in the address, which links within the page must keep. */
const lang = new URLSearchParams(location.search).get('lang')
const container = elementById('statistics', HTMLElement)
/** Their links select a part of what is shown, which is then at the top. */
const selectingTables = '#trail, #timeline-table, #timeline-details, #countries, #currencies'
const forgetKeyButton = elementById('forget-key', HTMLButtonElement)

let filters = readFilters(location.search)
/** @type {Stats | null} */
let shownStats = null
let requestedQuery = ''
let shownQuery = ''
let showsAllCountries = false
/** Whether the next statistics belong to a new query, so that screen readers announce them. */
let isNewQuery = true

const filterBar = new FilterBar({
  page,
  onChange: changeFilters,
  addressWith,
  shownPeriod: () => (shownQuery === requestedQuery ? shownStats?.period : undefined),
})
const csvDownload = new CsvDownload({
  language: page.language,
  onFailure: (error) => polling.fail(error),
})
const dataAge = new DataAge(page)
const errorNotice = new ErrorNotice({
  page,
  onRetry: () => polling.retry(),
  onKeyEntered: useKey,
})
const timeline = new Timeline({
  page,
  onSelect: (name) => changeFilters(changeToInterval(name)),
  addressOfInterval: (name) => addressWith(changeToInterval(name)),
})
const countryColumns = new ColumnChoice(elementById('country-columns', HTMLElement), page)
const onKeyRequested = () => errorNotice.askForKey()
const breakdown = new BreakdownSection({ page, onKeyRequested })
const searches = new SearchesSection({ page, onKeyRequested })
const polling = new StatsPolling({ onResponse: handleResponse, onError: handleError })

forgetKeyButton.addEventListener('click', forgetKey)
document.addEventListener('click', followFilterLink)
addEventListener('popstate', load)
elementById('print', HTMLButtonElement).addEventListener('click', () => print())
load()

/* --- Filters and address --- */

/** @param {Partial<Filters>} change */
function addressWith(change) {
  return addressOf({ ...filters, ...change }, lang)
}

/** @param {Partial<Filters>} change */
function changeFilters(change) {
  goTo(addressWith(change))
}

/** Returns the filters for a day, month or year. @param {string} name */
function changeToInterval(name) {
  const period = shownStats?.period ?? periodOf(filters, todayIn(page.timeZone))
  return selectInterval(filters, period, name)
}

/** @param {string} address */
function goTo(address) {
  if (address === addressOf(filters, lang)) return
  history.pushState(null, '', address)
  load()
}

/**
 * Changes the filters without reloading the page, unless the link opens in a new tab or leads to
 * another language.
 */
function followFilterLink(/** @type {MouseEvent} */ event) {
  const link = event.target instanceof Element ? event.target.closest('a') : null
  const href = link?.getAttribute('href')
  if (!link || !href?.startsWith('?') || link.hreflang !== '') return
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  const isDrillDown = link.closest(selectingTables)
  goTo(href)
  // The link may have disappeared, and the answer to it is at the top.
  if (isDrillDown) elementById('period', HTMLElement).focus()
}

/* --- Loading --- */

/** Shows the filters of the address and loads their statistics. */
function load() {
  filters = readFilters(location.search)
  showsAllCountries = false
  showFilters()
  const query = statsQueryOf(filters, todayIn(page.timeZone))
  const isShown = query === shownQuery && query === requestedQuery && !container.hidden
  if (isShown && shownStats) return showStats(shownStats)
  requestedQuery = query
  isNewQuery = true
  container.setAttribute('aria-busy', 'true')
  polling.load(query)
}

/** @param {StatsResponse} response */
function handleResponse(response) {
  dataAge.show(response)
  if (response.isNew || isNewQuery || container.hidden) showStats(response.stats)
  errorNotice.clear()
  container.removeAttribute('aria-busy')
  void searches.refresh()
  void breakdown.refresh({ query: requestedQuery, stats: response.stats })
  // After midnight the filters can mean another period.
  if (statsQueryOf(filters, todayIn(page.timeZone)) !== requestedQuery) load()
}

/** @param {StatsError} error */
function handleError(error) {
  const { kind } = error
  if (kind === 'keyInvalid') writeSessionKey(null)
  updateForgetKeyButton()
  // Hides statistics of other filters, and those that the visitor may no longer see.
  container.hidden = isNewQuery || needsKey(kind)
  if (needsKey(kind)) clearDetails()
  if (container.hidden) dataAge.hide()
  else dataAge.markStale()
  container.removeAttribute('aria-busy')
  errorNotice.show(error)
}

/* --- Showing --- */

function showFilters() {
  filterBar.showFilters(filters)
  const countryName = (/** @type {string} */ code) => filterBar.countryName(code)
  showTrail(filters, page, { addressWith, countryName })
  const today = todayIn(page.timeZone)
  csvDownload.setQuery(statsQueryOf(filters, today))
  csvDownload.setFileName(periodOf(filters, today), filters)
  for (const link of elementById('languages', HTMLElement).querySelectorAll('a'))
    link.href = addressOf(filters, link.hreflang)
  updateForgetKeyButton()
}

/** @param {Stats} stats */
function showStats(stats) {
  shownStats = stats
  shownQuery = requestedQuery
  container.hidden = false
  filterBar.showStats(stats)
  csvDownload.setFileName(stats.period, filters)
  const title = showTitle(stats)
  showHeadlineMetrics(elementById('metrics', HTMLElement), stats, page)
  showTimeline(stats)
  showCountries(stats)
  replaceChildren(elementById('statuses', HTMLElement), ...createStatusesTable(stats, page))
  showCurrencies(stats)
  elementById('no-quotes', HTMLElement).hidden = stats.quotes.total > 0
  if (isNewQuery) announce(title, stats)
  isNewQuery = false
}

/**
 * Shows the period and the selected country and currency in the heading and in the document title.
 * Returns the heading.
 * @param {Stats} stats
 */
function showTitle({ period, comparison }) {
  const country = filters.country && filterBar.countryName(filters.country)
  const parts = [formats.period(period.from, period.to), country, filters.currency]
  const title = parts.filter(Boolean).join(' · ')
  elementById('period', HTMLElement).textContent = title
  const notes = [
    comparison &&
      formatText(texts.comparedWith, {
        period: formats.period(comparison.period.from, comparison.period.to),
      }),
    period.date === 'accepted' && texts.acceptedOnlyNote,
  ]
  elementById('comparison', HTMLElement).textContent = notes.filter(Boolean).join(' · ')
  document.title = `${title} · ${page.title}`
  return title
}

/** @param {Stats} stats */
function showTimeline(stats) {
  const offered = /** @type {string[]} */ (offeredIntervals(stats))
  const choice = elementById('interval-choice', HTMLElement)
  choice.hidden = offered.length < 2
  for (const link of choice.querySelectorAll('a'))
    link.hidden = !offered.includes(link.dataset.by ?? '')
  const interval = chooseInterval(stats, filters.by)
  markCurrentLink('data-by', interval, (by) => addressWith({ by }))
  timeline.show(stats, filters.by)
}

/** @param {Stats} stats */
function showCountries(stats) {
  const parent = elementById('countries', HTMLElement)
  const table = createCountriesTable(stats, page, {
    showsAll: showsAllCountries,
    selectedCountry: filters.country,
    addressOfCountry: (country) => addressWith({ country }),
    onShowAll() {
      showsAllCountries = true
      showStats(stats)
      parent.querySelectorAll('a')[maxCountriesAtFirst]?.focus()
    },
  })
  replaceChildren(parent, ...table)
  countryColumns.show(columnGroupsOf(stats.period))
}

/** @param {Stats} stats */
function showCurrencies(stats) {
  const table = createCurrenciesTable(stats, page, {
    selectedCurrency: filters.currency,
    addressOfCurrency: (currency) => addressWith({ currency }),
  })
  replaceChildren(elementById('currencies', HTMLElement), ...table)
}

/** @param {string} title @param {Stats} stats */
function announce(title, { quotes, revenue }) {
  elementById('announcement', HTMLElement).textContent = formatText(texts.announcement, {
    period: title,
    quotes: formats.count(quotes.total),
    revenue: formats.money(revenue.total),
  })
}

/* --- Key --- */

/** @param {string} key */
function useKey(key) {
  writeSessionKey(key)
  forgetKeyButton.hidden = false
  polling.retry()
}

function forgetKey() {
  writeSessionKey(null)
  forgetKeyButton.hidden = true
  shownStats = null
  isNewQuery = true
  container.hidden = true
  clearDetails()
  polling.retry()
}

/** Names do not stay in the page without the key that may see them, not even hidden. */
function clearDetails() {
  breakdown.clear()
  searches.clear()
}

function updateForgetKeyButton() {
  forgetKeyButton.hidden = readSessionKey() === null
}
