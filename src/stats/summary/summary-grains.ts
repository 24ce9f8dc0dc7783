// Decides which rows of the summary are read for a period: those of years, months and single days.
// At each end, days or months are added or subtracted, whichever is shorter: 3–31 March are
// March without 1–2 March.
import { addDays, countDays, countDaysIncluded, getMonthBounds } from '../../company/calendar.ts'
import type { FigureGrain, ValidityGrain } from '../../database/table-types.ts'
import type { StatsRequest } from '../schema.ts'

export type DateRange = { from: string; to: string }
/** The rows of one grain that begin on these days. Rows with sign -1 are subtracted. */
export type GrainRange<Grain = FigureGrain> = DateRange & { grain: Grain; sign: 1 | -1 }

/**
 * The rows of current_validity that begin on these days and whose quotes are valid until a day of
 * `validUntil`. In rows of the grain `month_by_month`, that day is the last one of its month.
 */
export type ValidityRange = GrainRange<ValidityGrain> & { validUntil: DateRange }

/**
 * Returns the added ranges and the subtracted ones. A sign without ranges is left out. A query for
 * each sign costs less than finding the sign of each row.
 */
export function groupBySign<Range extends { sign: 1 | -1 }>(ranges: Range[]) {
  return ([1, -1] as const)
    .map((sign) => ({ sign, ranges: ranges.filter((range) => range.sign === sign) }))
    .filter(({ ranges }) => ranges.length > 0)
}

/** The range of a request. An end that it leaves open is the end of the calendar. */
export const rangeOf = ({ from, to }: Pick<StatsRequest, 'from' | 'to'>): DateRange => ({
  from: from ?? '0001-01-01',
  to: to ?? '9999-12-31',
})

/**
 * Returns the rows of years, months and days that cover the range. Some are subtracted. The second
 * split ignores the sign of a range of months. That is safe, because splitRange never subtracts
 * ranges of the big grain.
 */
export function coverWithYears(range: DateRange): GrainRange[] {
  return splitRange(range, monthBoundsOf, 'day', 'month').flatMap((part) =>
    part.grain === 'month' ? splitRange(part, yearBoundsOf, 'month', 'year') : [part],
  )
}

/**
 * Returns the rows of months and days that cover the range. Some are subtracted. Rows over all
 * countries are fewer, but they cannot be filtered by country.
 */
export function coverWithMonths(
  range: DateRange,
  { overAllCountries }: { overAllCountries: boolean },
): GrainRange[] {
  return overAllCountries
    ? splitRange(range, monthBoundsOf, 'day_total', 'month_total')
    : splitRange(range, monthBoundsOf, 'day', 'month')
}

/** Returns the rows of single days that cover the range. */
export function coverWithDays(
  range: DateRange,
  { overAllCountries }: { overAllCountries: boolean },
): GrainRange[] {
  return [{ grain: overAllCountries ? 'day_total' : 'day', sign: 1, ...range }]
}

/**
 * Returns the rows of single days of quotes that were issued in the range and are valid on `day`.
 */
export function coverValidityWithDays(range: DateRange, day: string): ValidityRange[] {
  return [{ grain: 'day', sign: 1, ...range, validUntil: { from: day, to: 'infinity' } }]
}

/**
 * Returns the rows of quotes that were issued in the range and are valid on `day`. Their last valid
 * day is in a later month, or in the month of `day` from `day` on. For that month, either the days
 * from `day` on are added, or the days before `day` are subtracted from the month, whichever are
 * fewer. `sign: -1` is right, because splitRange never subtracts whole months.
 */
export function coverValidityWithMonths(range: DateRange, day: string): ValidityRange[] {
  const month = monthBoundsOf(day)
  const isSecondHalf = countDays(month.first, day) > countDays(day, month.last)
  return coverWithMonths(range, { overAllCountries: false }).flatMap(
    ({ grain, sign, from, to }): ValidityRange[] => {
      if (grain === 'day')
        return [{ grain, sign, from, to, validUntil: { from: day, to: 'infinity' } }]
      const byLastValidMonth = { grain: 'month_by_month', sign, from, to } as const
      const byLastValidDay = { grain: 'month', from, to } as const
      if (isSecondHalf)
        return [
          { ...byLastValidMonth, validUntil: { from: addDays(month.last, 1), to: 'infinity' } },
          { ...byLastValidDay, sign, validUntil: { from: day, to: month.last } },
        ]
      return [
        { ...byLastValidMonth, validUntil: { from: month.last, to: 'infinity' } },
        { ...byLastValidDay, sign: -1, validUntil: { from: month.first, to: addDays(day, -1) } },
      ]
    },
  )
}

type Bounds = { first: string; last: string }

/**
 * Splits a range into whole units of `bigGrain`, such as months, and rows of `smallGrain`, such as
 * days, at both ends. At each end, there are two ways: to add the small rows inside the range, or
 * to take the whole unit and subtract the small rows outside the range. The shorter way is taken,
 * measured in days. Rows of `bigGrain` are always added. Computes no day outside the calendar.
 */
function splitRange(
  { from, to }: DateRange,
  boundsOf: (day: string) => Bounds,
  smallGrain: FigureGrain,
  bigGrain: FigureGrain,
): GrainRange[] {
  const [firstUnit, lastUnit] = [boundsOf(from), boundsOf(to)]
  if (firstUnit.first === lastUnit.first)
    return splitWithinUnit({ from, to }, firstUnit, smallGrain, bigGrain)
  const addsEndOfFirst = countDaysIncluded(from, firstUnit.last) <= countDays(firstUnit.first, from)
  const addsStartOfLast = countDaysIncluded(lastUnit.first, to) <= countDays(to, lastUnit.last)
  const wholeFrom = addsEndOfFirst ? addDays(firstUnit.last, 1) : firstUnit.first
  const wholeTo = addsStartOfLast ? addDays(lastUnit.first, -1) : lastUnit.last
  return [
    ...(addsEndOfFirst
      ? [addedRows(smallGrain, from, firstUnit.last)]
      : subtractedBefore(firstUnit, from, smallGrain)),
    ...(wholeFrom <= wholeTo ? [addedRows(bigGrain, wholeFrom, wholeTo)] : []),
    ...(addsStartOfLast
      ? [addedRows(smallGrain, lastUnit.first, to)]
      : subtractedAfter(lastUnit, to, smallGrain)),
  ]
}

/** Splits a range that lies within one unit. */
function splitWithinUnit(
  { from, to }: DateRange,
  unit: Bounds,
  smallGrain: FigureGrain,
  bigGrain: FigureGrain,
): GrainRange[] {
  const isMostOfUnit = 2 * countDaysIncluded(from, to) > countDaysIncluded(unit.first, unit.last)
  if (!isMostOfUnit) return [addedRows(smallGrain, from, to)]
  return [
    addedRows(bigGrain, unit.first, unit.last),
    ...subtractedBefore(unit, from, smallGrain),
    ...subtractedAfter(unit, to, smallGrain),
  ]
}

const addedRows = (grain: FigureGrain, from: string, to: string): GrainRange => ({
  grain,
  sign: 1,
  from,
  to,
})

/** Returns the rows of a unit before `day`, to be subtracted. */
function subtractedBefore(unit: Bounds, day: string, grain: FigureGrain): GrainRange[] {
  return day === unit.first ? [] : [{ grain, sign: -1, from: unit.first, to: addDays(day, -1) }]
}

/** Returns the rows of a unit after `day`, to be subtracted. */
function subtractedAfter(unit: Bounds, day: string, grain: FigureGrain): GrainRange[] {
  return day === unit.last ? [] : [{ grain, sign: -1, from: addDays(day, 1), to: unit.last }]
}

const monthBoundsOf = (day: string): Bounds => getMonthBounds(day.slice(0, 7))
const yearBoundsOf = (day: string): Bounds => ({
  first: `${day.slice(0, 4)}-01-01`,
  last: `${day.slice(0, 4)}-12-31`,
})
