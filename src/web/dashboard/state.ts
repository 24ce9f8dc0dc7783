// What the dashboard shows, and what changes it: the address, responses and the visitor. Every
// change replaces the state and renders the page at once.
import {
  addressOf,
  type Filters,
  periodOf,
  readFilters,
  selectInterval,
  statsQueryOf,
} from './filters.ts'
import { countryName, formats, page, texts } from './page.ts'
import { type Period, todayIn } from './periods.ts'
import {
  type Breakdown,
  breakdownIntervalMs,
  closedSection,
  download,
  getBreakdown,
  getJson,
  readSessionKey,
  type SearchReport,
  type Section,
  SectionLoader,
  type Stats,
  searchReportIntervalMs,
  writeSessionKey,
} from './requests.ts'
import { needsKey, type StatsError, StatsPolling, type StatsResponse } from './stats-polling.ts'

/** Columns that the tables by country and by interval show together on a narrow screen. */
export type ColumnGroup = 'revenue' | 'outcomes' | 'acceptance' | 'days'

export type State = {
  /** The filters of the address. Their statistics may still be loading. */
  filters: Filters
  /** The query of the filters for /api/stats. */
  query: string
  /** The last statistics, with the filters and the query to which they belong. */
  shown: { stats: Stats; filters: Filters; query: string } | null
  /** Whether `shown` must not be seen: it is of other filters, or the key no longer allows it. */
  isHidden: boolean
  isLoading: boolean
  /** At what time `shown` was current: see StatsResponse. null hides it. */
  age: Pick<StatsResponse, 'asOf' | 'currentAt' | 'isStale'> | null
  error: StatsError | null
  hasKey: boolean
  /** `requested`: the visitor has opened the form although the statistics are shown. */
  keyForm: 'closed' | 'needed' | 'requested'
  /** Why the entered key was rejected. */
  keyProblem: string | null
  /** What screen readers say about new statistics. */
  announcement: string
  /** The codes of the countries that can be selected. */
  countries: ReadonlySet<string>
  breakdown: Section<Breakdown>
  searches: Section<SearchReport>
  /** The tables of which all rows are shown. */
  expanded: ReadonlySet<string>
  columns: Record<'country' | 'timeline', ColumnGroup>
  /** Whether the timeline is a table instead of charts. */
  showsTable: boolean
  /** The interval whose details are shown. */
  pointed: string | null
  /** In CSS pixels; 0 until it is measured. */
  chartWidth: number
  isPrinting: boolean
}

/** The language in the address, which links within the page must keep. */
const lang = new URLSearchParams(location.search).get('lang')
/** Their links select a part of what is shown, which is then at the top. */
const selectingParts = '#trail, #timeline-table, #timeline-details, #countries, #currencies'

let state: State = {
  filters: readFilters(location.search),
  query: '',
  shown: null,
  isHidden: false,
  isLoading: true,
  age: null,
  error: null,
  hasKey: readSessionKey() !== null,
  keyForm: 'closed',
  keyProblem: null,
  announcement: '',
  countries: new Set(),
  breakdown: closedSection,
  searches: closedSection,
  expanded: new Set(),
  columns: { country: 'revenue', timeline: 'revenue' },
  showsTable: false,
  pointed: null,
  chartWidth: 0,
  isPrinting: false,
}
let render: (state: State) => void = () => {}
/** Whether the next statistics belong to a new query, so that screen readers announce them. */
let isNewQuery = true
/** Where the focus returns when the form for the key closes. */
let beforeKeyForm: { button: Element | null; summary: HTMLElement | null } | null = null

const polling = new StatsPolling({ onResponse: handleResponse, onError: handleError })
const breakdown = new SectionLoader<Breakdown>({
  intervalMs: breakdownIntervalMs,
  load: getBreakdown,
  onChange: (change) => update({ breakdown: { ...state.breakdown, ...change } }),
})
const searches = new SectionLoader<SearchReport>({
  intervalMs: searchReportIntervalMs,
  load: () => getJson('dashboard/searches'),
  onChange: (change) => update({ searches: { ...state.searches, ...change } }),
})

/** `onChange` renders the page synchronously. */
export function start(onChange: (state: State) => void): void {
  render = onChange
  document.addEventListener('click', followFilterLink)
  addEventListener('popstate', load)
  addEventListener('beforeprint', () => update({ isPrinting: true }))
  addEventListener('afterprint', () => update({ isPrinting: false }))
  load()
}

export function update(change: Partial<State>): void {
  const focused = document.activeElement
  state = { ...state, ...change }
  render(state)
  // A row that has moved has lost the focus.
  if (focused instanceof HTMLElement && focused.isConnected && document.activeElement !== focused)
    focused.focus()
}

const focusOn = (id: string) => document.getElementById(id)?.focus()

/* --- Filters and address --- */

const today = () => todayIn(page.timeZone)

export const addressWith = (change: Partial<Filters>): string =>
  addressOf({ ...state.filters, ...change }, lang)

export const addressInLanguage = (language: string): string => addressOf(state.filters, language)

/** The period of the statistics, or the requested one while they are loading. */
export function currentPeriod({ shown, filters, query }: State): Period {
  return shown?.query === query ? shown.stats.period : periodOf(filters, today())
}

/** The filters for a day, a month or a year. */
export function changeToInterval(name: string): Partial<Filters> {
  const period = state.shown?.stats.period ?? periodOf(state.filters, today())
  return selectInterval(state.filters, period, name)
}

export function changeFilters(change: Partial<Filters>): void {
  goTo(addressWith(change))
}

function goTo(address: string): void {
  if (address === addressWith({})) return
  history.pushState(null, '', address)
  load()
}

/**
 * Changes the filters without reloading the page, unless the link opens in a new tab or leads to
 * another language.
 */
function followFilterLink(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest('a') : null
  const href = link?.getAttribute('href')
  if (!link || !href?.startsWith('?') || link.hreflang !== '') return
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  const isDrillDown = link.closest(selectingParts)
  goTo(href)
  // The link may have disappeared, and the answer to it is at the top.
  if (isDrillDown) focusOn('period')
}

/** Adds all countries to those that can be selected, once. A failure is tried again. */
export async function loadCountries(): Promise<void> {
  if (hasAllCountries) return
  hasAllCountries = true
  const { data } = await getJson<Stats>('api/stats')
  hasAllCountries = data !== undefined
  if (data) update({ countries: withCountriesOf(data) })
}
let hasAllCountries = false

const withCountriesOf = ({ byCountry }: Stats) =>
  new Set([...state.countries, ...byCountry.map(({ country }) => country ?? 'unknown')])

/* --- Statistics --- */

/** Shows the filters of the address and loads their statistics. */
function load(): void {
  const filters = readFilters(location.search)
  const query = statsQueryOf(filters, today())
  const { shown, isHidden } = state
  const isShown = shown !== null && query === shown.query && query === state.query && !isHidden
  const expanded = new Set([...state.expanded].filter((table) => table !== 'countries'))
  const countries = new Set(state.countries)
  if (filters.country !== '') countries.add(filters.country)
  if (!isShown) isNewQuery = true
  update({
    filters,
    query,
    countries,
    expanded,
    ...(isShown ? { shown: { ...shown, filters } } : { isLoading: true }),
  })
  if (!isShown) polling.load(query)
}

export const retry = (): void => polling.retry()

function handleResponse({ stats, isNew, ...age }: StatsResponse): void {
  const { filters, query } = state
  if (isNew || isNewQuery || state.isHidden) {
    const shown = { stats, filters, query }
    const announcement = isNewQuery ? announce(shown) : state.announcement
    isNewQuery = false
    document.title = `${titleOf(shown)} · ${page.title}`
    update({ shown, isHidden: false, announcement, countries: withCountriesOf(stats) })
  }
  update({ age, error: null, isLoading: false })
  closeUnneededKeyForm(beforeKeyForm?.summary ?? document.getElementById('period'))
  refreshSections()
  // After midnight the filters can mean another period.
  if (statsQueryOf(filters, today()) !== query) load()
}

function handleError(error: StatsError): void {
  const { kind } = error
  const isKeyNeeded = needsKey(kind)
  if (kind === 'keyInvalid') writeSessionKey(null)
  // Hides statistics of other filters, and those that the visitor may no longer see.
  const isHidden = isNewQuery || isKeyNeeded
  const age = isHidden || !state.age ? null : { ...state.age, isStale: true }
  update({ error, isHidden, age, isLoading: false, hasKey: readSessionKey() !== null })
  if (!isKeyNeeded) {
    closeUnneededKeyForm(document.getElementById('retry'))
    return
  }
  clearSections()
  const keyProblem = kind === 'keyMissing' ? null : texts.errors[kind as keyof typeof texts.errors]
  update({ keyForm: 'needed', keyProblem })
  focusOn('key')
}

/** The period, the country and the currency of the statistics. */
export function titleOf({ stats, filters }: NonNullable<State['shown']>): string {
  const { from, to } = stats.period
  const country = filters.country && countryName(filters.country)
  return [formats.period(from, to), country, filters.currency].filter(Boolean).join(' · ')
}

function announce(shown: NonNullable<State['shown']>): string {
  const { quotes, revenue } = shown.stats
  return formats.fill(texts.announcement, {
    period: titleOf(shown),
    quotes: formats.count(quotes.total),
    revenue: formats.money(revenue.total),
  })
}

/** Downloads the CSV file of a link, if the request needs a key. */
export async function downloadCsv(event: MouseEvent & { currentTarget: HTMLAnchorElement }) {
  // A link cannot send a key in a header.
  if (readSessionKey() === null) return
  event.preventDefault()
  const link = event.currentTarget
  const failure = await download(link.href, link.download)
  if (failure) polling.fail(failure)
}

/** The address of the CSV file of the current filters, and its name. */
export function csvFile(state: State): { href: string; fileName: string } {
  const { country, currency } = state.filters
  const { from, to } = currentPeriod(state)
  const parameters = new URLSearchParams(statsQueryOf(state.filters, today()))
  parameters.set('format', 'csv')
  parameters.set('locale', page.language)
  const parts = ['stats', from, to, country, currency].filter((part) => part !== '')
  return { href: `api/stats?${parameters}`, fileName: `${parts.join('-')}.csv` }
}

/* --- Sections that need the scope stats:detail --- */

export function toggleSection(name: 'breakdown' | 'searches', isOpen: boolean): void {
  if (name === 'breakdown') update({ breakdown: { ...state.breakdown, isOpen } })
  else update({ searches: { ...state.searches, isOpen } })
  refreshSections()
}

function refreshSections(): void {
  const { shown } = state
  if (state.breakdown.isOpen && shown) void breakdown.refresh(shown.query, shown.stats)
  // The report depends on no statistics, so it is loaded again after its interval.
  if (state.searches.isOpen) void searches.refresh('', Symbol('report'))
}

/** Names do not stay in the page without the key that may see them, not even hidden. */
function clearSections(): void {
  breakdown.clear()
  searches.clear()
}

/** Shows all rows of a table, and moves the focus from the button to the first row that appears. */
export function expand(table: string): void {
  update({ expanded: new Set([...state.expanded, table]) })
  const row = document.querySelector(`[data-first-hidden="${table}"]`)
  if (row instanceof HTMLElement) row.focus()
}

/* --- Key --- */

export function useKey(key: string): void {
  writeSessionKey(key)
  clearSections()
  update({ hasKey: true, keyForm: 'needed' })
  polling.retry()
}

export function forgetKey(): void {
  writeSessionKey(null)
  isNewQuery = true
  clearSections()
  update({ hasKey: false, shown: null, isHidden: true })
  polling.retry()
}

/** Opens the form, although the statistics are shown. */
export function askForKey(): void {
  const button = document.activeElement
  const summary = button?.closest('details')?.querySelector('summary') ?? null
  beforeKeyForm = { button, summary }
  update({ keyForm: 'requested', keyProblem: null })
  focusOn('key')
}

/** Closes the form that the visitor has opened. */
export function cancelKeyForm(): void {
  if (state.keyForm !== 'requested') return
  update({ keyForm: 'closed' })
  if (beforeKeyForm?.button instanceof HTMLElement) beforeKeyForm.button.focus()
}

/**
 * Closes the form, unless the visitor has opened it and may be typing. If the focus was in it, it
 * would be lost with the form, so another element gets it.
 */
function closeUnneededKeyForm(nextFocus: HTMLElement | null): void {
  if (state.keyForm === 'requested') return
  const hadFocus = document.activeElement?.closest('#key-form')
  update({ keyForm: 'closed' })
  if (hadFocus) nextFocus?.focus()
  beforeKeyForm = null
}
