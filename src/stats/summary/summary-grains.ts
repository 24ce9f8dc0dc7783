// Decides which rows of the summary are read for a period: those of years, months and single days.
// At each end, days or months are added or subtracted, whichever is shorter.
import { addDays, countDays, countDaysIncluded, getMonthBounds } from '../../company/calendar.ts'
import type { FigureGrain } from '../../database/table-types.ts'
import type { StatsRequest } from '../schema.ts'

export type DateRange = { from: string; to: string }
/** The rows of one grain that begin on these days. Rows with sign -1 are subtracted. */
export type GrainRange<Grain = FigureGrain> = DateRange & { grain: Grain; sign: 1 | -1 }

/** The range of a request. An end that it leaves open is the end of the calendar. */
export const rangeOf = ({ from, to }: Pick<StatsRequest, 'from' | 'to'>): DateRange => ({
  from: from ?? '0001-01-01',
  to: to ?? '9999-12-31',
})

/** Returns the rows of years, months and days that cover the range. Some are subtracted. */
export function coverWithYears(range: DateRange): GrainRange[] {
  const { whole: months, rest: days } = splitRange(range, monthBoundsOf, 'day')
  if (!months) return days
  const { whole: years, rest } = splitRange(months, yearBoundsOf, 'month')
  return [...addedRows('year', years), ...rest, ...days]
}

/**
 * Returns the rows of months and days that cover the range. Some are subtracted. Rows over all
 * countries are fewer, but they cannot be filtered by country.
 */
export function coverWithMonths(
  range: DateRange,
  { overAllCountries }: { overAllCountries: boolean },
): GrainRange[] {
  const { whole, rest } = splitRange(range, monthBoundsOf, overAllCountries ? 'day_total' : 'day')
  return [...addedRows(overAllCountries ? 'month_total' : 'month', whole), ...rest]
}

/** Returns the rows of single days that cover the range. */
export function coverWithDays(
  range: DateRange,
  { overAllCountries }: { overAllCountries: boolean },
): GrainRange[] {
  return [{ grain: overAllCountries ? 'day_total' : 'day', sign: 1, ...range }]
}

type Bounds = { first: string; last: string }

/** The parts of a range: the days of whole units, which are added, and rows of a smaller grain. */
type Split<Grain> = { whole: DateRange | null; rest: GrainRange<Grain>[] }

/**
 * Splits a range into whole units, such as months, and rows of `grain`, such as days, at both ends.
 * At each end, there are two ways: to add the rows inside the range, or to take the whole unit and
 * subtract the rows outside the range. The shorter way is taken, measured in days. Computes no day
 * outside the calendar.
 */
function splitRange<Grain extends FigureGrain>(
  { from, to }: DateRange,
  boundsOf: (day: string) => Bounds,
  grain: Grain,
): Split<Grain> {
  const [firstUnit, lastUnit] = [boundsOf(from), boundsOf(to)]
  if (firstUnit.first === lastUnit.first) return splitWithinUnit({ from, to }, firstUnit, grain)
  const addsRowsAtStart =
    countDaysIncluded(from, firstUnit.last) <= countDays(firstUnit.first, from)
  const addsRowsAtEnd = countDaysIncluded(lastUnit.first, to) <= countDays(to, lastUnit.last)
  const whole = {
    from: addsRowsAtStart ? addDays(firstUnit.last, 1) : firstUnit.first,
    to: addsRowsAtEnd ? addDays(lastUnit.first, -1) : lastUnit.last,
  }
  return {
    whole: whole.from <= whole.to ? whole : null,
    rest: [
      ...(addsRowsAtStart
        ? addedRows(grain, { from, to: firstUnit.last })
        : subtractedBefore(firstUnit, from, grain)),
      ...(addsRowsAtEnd
        ? addedRows(grain, { from: lastUnit.first, to })
        : subtractedAfter(lastUnit, to, grain)),
    ],
  }
}

/** Splits a range that lies within one unit. */
function splitWithinUnit<Grain extends FigureGrain>(
  range: DateRange,
  unit: Bounds,
  grain: Grain,
): Split<Grain> {
  const { from, to } = range
  const isMostOfUnit = 2 * countDaysIncluded(from, to) > countDaysIncluded(unit.first, unit.last)
  if (!isMostOfUnit) return { whole: null, rest: addedRows(grain, range) }
  return {
    whole: { from: unit.first, to: unit.last },
    rest: [...subtractedBefore(unit, from, grain), ...subtractedAfter(unit, to, grain)],
  }
}

/** Returns the rows of the range, or none without a range. */
function addedRows<Grain extends FigureGrain>(
  grain: Grain,
  range: DateRange | null,
): GrainRange<Grain>[] {
  return range ? [{ grain, sign: 1, ...range }] : []
}

/** Returns the rows of a unit before `day`, to be subtracted. */
function subtractedBefore<Grain>(unit: Bounds, day: string, grain: Grain): GrainRange<Grain>[] {
  return day === unit.first ? [] : [{ grain, sign: -1, from: unit.first, to: addDays(day, -1) }]
}

/** Returns the rows of a unit after `day`, to be subtracted. */
function subtractedAfter<Grain>(unit: Bounds, day: string, grain: Grain): GrainRange<Grain>[] {
  return day === unit.last ? [] : [{ grain, sign: -1, from: addDays(day, 1), to: unit.last }]
}

const monthBoundsOf = (day: string): Bounds => getMonthBounds(day.slice(0, 7))
const yearBoundsOf = (day: string): Bounds => ({
  first: `${day.slice(0, 4)}-01-01`,
  last: `${day.slice(0, 4)}-12-31`,
})
