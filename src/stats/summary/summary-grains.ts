// Decides which grain of the summary covers which part of a period: months or single days.
import { addDays, getMonthBounds } from '../../company/calendar.ts'
import type { StatsRequest } from '../schema.ts'

export type DateRange = { from: string; to: string }
export type Grain = 'day' | 'day_total' | 'month' | 'month_total' | 'year'
/** A part of a range that the rows of one grain cover exactly. */
export type GrainRange = DateRange & { grain: Grain }

/** The range of a request. An end that it leaves open is the end of the calendar. */
export const rangeOf = ({ from, to }: Pick<StatsRequest, 'from' | 'to'>): DateRange => ({
  from: from ?? '0001-01-01',
  to: to ?? '9999-12-31',
})

/** Splits a range into whole years, the months around them, and the days around those. */
export function splitIntoYears(range: DateRange): GrainRange[] {
  return split(range, monthOf, 'day', 'month').flatMap((part) =>
    part.grain === 'month' ? split(part, yearOf, 'month', 'year') : [part],
  )
}

/**
 * Splits a range into whole months and the days around them. Rows over all countries are few, but
 * they cannot be filtered by country.
 */
export function splitIntoMonths(range: DateRange, { ofAllCountries = false }): GrainRange[] {
  return ofAllCountries
    ? split(range, monthOf, 'day_total', 'month_total')
    : split(range, monthOf, 'day', 'month')
}

type Bounds = { first: string; last: string }

/**
 * Splits a range into whole units and the parts of units before and after them. Computes no day
 * outside the range: beyond the year 9999 there are no valid days.
 */
function split(
  { from, to }: DateRange,
  unitOf: (day: string) => Bounds,
  partGrain: Grain,
  grain: Grain,
): GrainRange[] {
  const [firstUnit, lastUnit] = [unitOf(from), unitOf(to)]
  const isWhole = from === firstUnit.first && to === lastUnit.last
  if (firstUnit.first === lastUnit.first && !isWhole) return [{ grain: partGrain, from, to }]
  const parts: GrainRange[] = []
  const wholeFrom = from === firstUnit.first ? from : addDays(firstUnit.last, 1)
  const wholeTo = to === lastUnit.last ? to : addDays(lastUnit.first, -1)
  if (from < wholeFrom) parts.push({ grain: partGrain, from, to: addDays(wholeFrom, -1) })
  if (wholeFrom <= wholeTo) parts.push({ grain, from: wholeFrom, to: wholeTo })
  if (to > wholeTo) parts.push({ grain: partGrain, from: addDays(wholeTo, 1), to })
  return parts
}

const monthOf = (day: string): Bounds => getMonthBounds(day.slice(0, 7))
const yearOf = (day: string): Bounds => ({
  first: `${day.slice(0, 4)}-01-01`,
  last: `${day.slice(0, 4)}-12-31`,
})
