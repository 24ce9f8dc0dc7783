// The filters of the dashboard. They stand in the address of the page, so that they can be
// bookmarked and shared, and become the query for /api/stats.
import { addMonths, isDay, needsDays, type Period, periodOfInterval } from './periods.ts'

const presets = ['month', 'year', '12m', 'all'] as const
export type Preset = (typeof presets)[number] | 'custom'

/** Values from the address are kept unchanged: the service validates them. */
export type Filters = {
  /** `custom` has a fixed period; the others depend on the current day. */
  preset: Preset
  from: string
  to: string
  /** '' means all. */
  country: string
  /** '' means all. */
  currency: string
  /** `issued` or `accepted` */
  date: string
  /** '' means no comparison. */
  compare: string
  /** `day`, `month` or `year`; '' chooses by the length of the period. */
  by: string
  /**
   * The period in which the visitor selected this one: the name of a preset, or two days; '' for
   * none.
   */
  within: string
}

/** The last twelve months, the current one included. */
const defaultPreset = '12m'
/** Quotes count on the day of their issue. */
const defaultDate = 'issued'
/** Separates the two days of `within`. */
const daysSeparator = '..'

/** Reads the filters from the query of the address. */
export function readFilters(search: string): Filters {
  const parameters = new URLSearchParams(search)
  const read = (name: string) => parameters.get(name) ?? ''
  const preset = presets.find((name) => name === read('period')) ?? defaultPreset
  return {
    preset: parameters.has('from') || parameters.has('to') ? 'custom' : preset,
    from: read('from'),
    to: read('to'),
    country: read('country'),
    currency: read('currency'),
    date: read('date') || defaultDate,
    compare: read('compare'),
    by: read('by'),
    within: originPeriod(read('within')) ? read('within') : '',
  }
}

/** Returns the query of the address, without default values. */
export function addressOf(filters: Filters, lang: string | null): string {
  const { preset, from, to, country, currency, date, compare, by, within } = filters
  const isCustom = preset === 'custom'
  return `?${withoutEmpty({
    from: isCustom ? from : '',
    to: isCustom ? to : '',
    period: isCustom || preset === defaultPreset ? '' : preset,
    country,
    currency,
    date: date === defaultDate ? '' : date,
    compare,
    by,
    within: isCustom ? within : '',
    lang: lang ?? '',
  })}`
}

/** Returns the query for /api/stats. */
export function statsQueryOf(filters: Filters, today: string): string {
  const { date, country, currency, compare, by } = filters
  const period = periodOf(filters, today)
  return withoutEmpty({
    ...period,
    date: date === defaultDate ? '' : date,
    country,
    currency,
    compare,
    by: needsDays(period, by) ? 'day' : '',
  })
}

export function periodOf({ preset, from, to }: Filters, today: string): Period {
  if (preset === 'month') return { from: `${today.slice(0, 7)}-01`, to: today }
  if (preset === 'year') return { from: `${today.slice(0, 4)}-01-01`, to: today }
  if (preset === '12m') return { from: `${addMonths(today.slice(0, 7), -11)}-01`, to: today }
  return preset === 'custom' ? { from, to } : { from: '', to: '' }
}

/** Returns the filters of the period in which the visitor selected another one, or null. */
export function originPeriod(within: string): Pick<Filters, 'preset' | 'from' | 'to'> | null {
  const preset = presets.find((name) => name === within)
  if (preset) return { preset, from: '', to: '' }
  const [from = '', to = '', ...rest] = within.split(daysSeparator)
  return isDay(from) && isDay(to) && rest.length === 0 ? { preset: 'custom', from, to } : null
}

/**
 * Returns the change to a year, a month or a day of the shown period. It keeps the period from
 * which the visitor started.
 */
export function selectInterval(
  { preset, within }: Filters,
  { from, to }: Period,
  name: string,
): Partial<Filters> {
  const period = periodOfInterval(name)
  const isShown = period.from === from && period.to === to
  const origin = preset === 'custom' ? [from, to].join(daysSeparator) : preset
  return { preset: 'custom', ...period, by: '', within: within || (isShown ? '' : origin) }
}

function withoutEmpty(parameters: Record<string, string>): string {
  const entries = Object.entries(parameters).filter(([, value]) => value !== '')
  return new URLSearchParams(entries).toString()
}
