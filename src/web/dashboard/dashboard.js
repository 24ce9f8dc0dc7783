// The dashboard: what is looked at stands in the address, the figures come from /api/stats, and whatever hinders them is said plainly.
import { countriesTable, currenciesTable, statusesTable } from './breakdowns.js'
import { byId, element, fillIn, replace } from './elements.js'
import { followFigures } from './figures.js'
import { addressOf, daysNamed, daysOf, isDay, neighbour, questionOf, readFilters, todayIn } from './filters.js'
import { freshness } from './freshness.js'
import { monthsPanel, yearsAreDrawn } from './months.js'
import { readPage } from './page.js'
import { sessionKey } from './session-key.js'
import { showSummary } from './summary.js'
import { troubleNotice } from './trouble.js'

/** @typedef {import('./figures.js').Stats} Stats */
/** @typedef {import('./filters.js').Filters} Filters */

const page = readPage()
const { words, formats } = page
const lang = new URLSearchParams(location.search).get('lang')
const main = byId('figures', HTMLElement)
const controls = {
  from: byId('from', HTMLInputElement),
  to: byId('to', HTMLInputElement),
  country: byId('country', HTMLSelectElement),
  date: byId('date', HTMLSelectElement),
  compare: byId('compare', HTMLSelectElement),
}
const csv = byId('csv', HTMLAnchorElement)
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

const age = freshness(page)
const trouble = troubleNotice({ page, retry: () => figures.retry(), keyGiven })
const months = monthsPanel({ page, choose: (name) => go(daysChosen(name)), addressOfStretch: (name) => address(daysChosen(name)) })
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
    const isEmpty = isAsked || found.kind === 'key' || found.kind === 'badKey' || found.kind === 'scope'
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
function go(change) {
  const next = address(change)
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
  const days = daysOf(filters, today)
  for (const link of document.querySelectorAll('a[data-span]')) {
    const span = /** @type {import('./filters.js').Span} */ (link.getAttribute('data-span'))
    link.setAttribute('href', address({ span, by: '' }))
    if (span === filters.span) link.setAttribute('aria-current', 'true')
    else link.removeAttribute('aria-current')
  }
  showDays(days)
  if (![...controls.country.options].some(({ value }) => value === filters.country)) addCountry(filters.country)
  controls.country.value = filters.country
  controls.date.value = filters.date
  controls.compare.value = filters.compare
  const file = new URLSearchParams(questionOf(filters, today))
  file.set('format', 'csv')
  file.set('locale', page.language)
  csv.href = `api/stats?${file}`
  csv.download = fileName(days)
  const other = page.language === 'es' ? 'en' : 'es'
  byId('language', HTMLAnchorElement).href = addressOf(filters, other)
  forget.hidden = sessionKey.read() === null
}

/** @param {{ from: string, to: string }} days */
function showDays({ from, to }) {
  // Whoever is writing a date is left alone.
  if (document.activeElement !== controls.from) controls.from.value = isDay(from) ? from : ''
  if (document.activeElement !== controls.to) controls.to.value = isDay(to) ? to : ''
}

/** @param {{ from: string, to: string }} days */
const fileName = ({ from, to }) => `${['stats', from, to, filters.country].filter((part) => part !== '').join('-')}.csv`

/** @param {Stats} stats */
function show(stats) {
  shown = stats
  shownFor = asked
  const today = todayIn(page.timeZone)
  main.hidden = false
  showDays(stats.period)
  csv.download = fileName(stats.period)
  for (const [id, direction] of /** @type {const} */ ([
    ['before', -1],
    ['after', 1],
  ])) {
    const next = filters.span === 'all' ? null : neighbour(filters.span, stats.period, direction, today)
    const button = byId(id, HTMLButtonElement)
    button.disabled = next === null
    button.onclick = () => next && go({ span: 'custom', ...next })
  }
  const text = titleOf(stats)
  byId('period', HTMLElement).textContent = text
  byId('against', HTMLElement).textContent = stats.comparison
    ? fillIn(words.against, { period: formats.period(stats.comparison.period.from, stats.comparison.period.to) })
    : ''
  document.title = `${text} · ${page.title}`
  showSummary(byId('summary', HTMLElement), stats, page)
  showGrains(stats)
  months.show(stats, filters.by)
  const addressOfCountry = (/** @type {string} */ country) => address({ country })
  const showAll = () => {
    isAllCountries = true
    show(stats)
    byId('countries', HTMLElement).querySelectorAll('a')[12]?.focus()
  }
  const options = { isWhole: isAllCountries, country: filters.country, addressOfCountry, showAll }
  replace(byId('countries', HTMLElement), ...countriesTable(stats, page, options))
  replace(byId('statuses', HTMLElement), ...statusesTable(stats, page))
  replace(byId('currencies', HTMLElement), ...currenciesTable(stats, page))
  byId('nothing', HTMLElement).hidden = stats.quotes.total > 0
  for (const { country } of stats.byCountry) addCountry(country ?? 'unknown')
  controls.country.value = filters.country
  if (isAsked) byId('said', HTMLElement).textContent = fillIn(words.said, { period: text, ...spoken(stats) })
  isAsked = false
}

/** @param {Stats} stats */
function spoken({ quotes, revenue }) {
  return { quotes: formats.count(quotes.total), revenue: formats.money(revenue.total) }
}

/** @param {Stats} stats */
function titleOf({ period }) {
  const where = filters.country === '' ? '' : ` · ${nameOfCountry(filters.country)}`
  return `${formats.period(period.from, period.to)}${where}`
}

/** By months or by years, where both make sense. */
function showGrains(/** @type {Stats} */ stats) {
  byId('grains', HTMLElement).hidden = stats.byMonth.length <= 12
  const chosen = yearsAreDrawn(stats, filters.by) ? 'year' : 'month'
  for (const link of document.querySelectorAll('a[data-by]')) {
    const by = link.getAttribute('data-by') ?? ''
    link.setAttribute('href', address({ by }))
    if (by === chosen) link.setAttribute('aria-current', 'true')
    else link.removeAttribute('aria-current')
  }
}

/** @param {string} code */
const nameOfCountry = (code) => (code === 'unknown' ? words.unknownCountry : /^[A-Z]{2}$/.test(code) ? formats.country(code) : code)

/**
 * Puts a country where its name belongs, once.
 * @param {string} code
 */
function addCountry(code) {
  const { options } = controls.country
  if (code === '' || [...options].some(({ value }) => value === code)) return
  const name = nameOfCountry(code)
  const next = [...options].find(({ value, text }) => value !== '' && text.localeCompare(name, page.language) > 0)
  controls.country.add(element('option', { value: code }, name), next ?? null)
}

/** Every country there is, from an answer without a period; a page that looks at one month shows only that month's. */
async function findCountries() {
  const key = sessionKey.read()
  const headers = key === null ? {} : { authorization: `Bearer ${key}` }
  const response = await fetch('api/stats', { headers, credentials: 'same-origin' }).catch(() => null)
  if (!response?.ok) return
  const { byCountry } = /** @type {Stats} */ (await response.json())
  for (const { country } of byCountry) addCountry(country ?? 'unknown')
  controls.country.value = filters.country
}
controls.country.addEventListener('focus', findCountries, { once: true })
controls.country.addEventListener('pointerenter', findCountries, { once: true })

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

for (const name of /** @type {const} */ (['country', 'date', 'compare'])) {
  controls[name].addEventListener('change', () => go({ [name]: controls[name].value }))
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let writing
for (const name of /** @type {const} */ (['from', 'to'])) {
  const input = controls[name]
  // A year that is being written passes through 0002, 0020 and 0202.
  const take = () => {
    clearTimeout(writing)
    const { from, to } = { from: controls.from.value, to: controls.to.value }
    if (input.value < '1000' || (from !== '' && to !== '' && from > to && document.activeElement === input)) return
    go({ span: 'custom', from, to, by: '' })
  }
  input.addEventListener('change', () => {
    clearTimeout(writing)
    writing = setTimeout(take, 500)
  })
  input.addEventListener('blur', () => {
    const days = shown?.period ?? daysOf(filters, todayIn(page.timeZone))
    if (input.value !== days[name] && input.value >= '1000') take()
  })
}

// Links to other filters change the page in place; opened in a new tab they work as they stand.
document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a') : null
  const href = link?.getAttribute('href')
  if (!link || !href?.startsWith('?') || link.id === 'language') return
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  if (href === addressOf(filters, lang)) return
  history.pushState(null, '', href)
  look()
})
addEventListener('popstate', look)

csv.addEventListener('click', async (event) => {
  const key = sessionKey.read()
  if (key === null) return
  // A link cannot carry a key.
  event.preventDefault()
  const response = await fetch(csv.href, { headers: { authorization: `Bearer ${key}` } }).catch(() => null)
  if (!response?.ok) return figures.retry()
  const url = URL.createObjectURL(await response.blob())
  element('a', { href: url, download: csv.download }).click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
})
byId('print', HTMLButtonElement).addEventListener('click', () => print())

look()
