// Decides which rows of the summary are read for a period: those of years, months and single days.
import { addDays, countDays, getMonthBounds } from '../../company/calendar.ts'
import type { StatsRequest } from '../schema.ts'

export type DateRange = { from: string; to: string }
export type Grain = 'day' | 'day_total' | 'month' | 'month_total' | 'year' | 'year_total'
/**
 * A range of rows of one grain. Rows with sign -1 are subtracted: subtracting three days from a
 * month reads fewer rows than adding its other days.
 */
export type GrainRange = DateRange & { grain: Grain; sign: 1 | -1 }

/** A range of rows of sent quotes by their last valid day, or by the last day of that month. */
export type ValidityRange = {
  grain: 'day' | 'month' | 'month_by_month'
  sign: 1 | -1
  from: string
  to: string
  validUntil: DateRange
}

/** The range of a request. An end that it leaves open is the end of the calendar. */
export const rangeOf = ({ from, to }: Pick<StatsRequest, 'from' | 'to'>): DateRange => ({
  from: from ?? '0001-01-01',
  to: to ?? '9999-12-31',
})

/** Returns the rows of years, months and days that together are the range. */
export function splitIntoYears(range: DateRange): GrainRange[] {
  return split(range, monthOf, 'day', 'month').flatMap((part) =>
    part.grain === 'month' ? split(part, yearOf, 'month', 'year') : [part],
  )
}

/**
 * Returns the rows of months and days that together are the range. Rows over all countries are
 * few, but they cannot be filtered by country.
 */
export function splitIntoMonths(range: DateRange, { ofAllCountries = false }): GrainRange[] {
  return ofAllCountries
    ? split(range, monthOf, 'day_total', 'month_total')
    : split(range, monthOf, 'day', 'month')
}

/** Returns the rows of single days that together are the range. */
export function splitIntoDays(range: DateRange, { ofAllCountries = false }): GrainRange[] {
  return [{ grain: ofAllCountries ? 'day_total' : 'day', sign: 1, ...range }]
}

/** Returns the rows of single days of quotes that are valid on `day`, or later. */
export function splitValidityIntoDays(range: DateRange, day: string): ValidityRange[] {
  return [{ grain: 'day', sign: 1, ...range, validUntil: { from: day, to: 'infinity' } }]
}

/**
 * Returns the rows of quotes that were issued in the range and are valid on `day`, or later: those
 * of later months, and either the rest of this month or this month without the days before `day`,
 * whichever are fewer.
 */
export function splitByValidity(range: DateRange, day: string): ValidityRange[] {
  const month = monthOf(day)
  const isSecondHalf = countDays(month.first, day) > countDays(day, month.last)
  return splitIntoMonths(range, { ofAllCountries: false }).flatMap(
    ({ grain, sign, from, to }): ValidityRange[] => {
      if (grain === 'day')
        return [{ grain, sign, from, to, validUntil: { from: day, to: 'infinity' } }]
      const months = { grain: 'month_by_month', sign, from, to } as const
      const days = { grain: 'month', from, to } as const
      if (isSecondHalf)
        return [
          { ...months, validUntil: { from: addDays(month.last, 1), to: 'infinity' } },
          { ...days, sign, validUntil: { from: day, to: month.last } },
        ]
      return [
        { ...months, validUntil: { from: month.last, to: 'infinity' } },
        { ...days, sign: -1, validUntil: { from: month.first, to: addDays(day, -1) } },
      ]
    },
  )
}

type Bounds = { first: string; last: string }

/**
 * Splits a range into whole units and parts of the first and the last one. Of these two, either the
 * part inside the range is added, or the part outside subtracted from the whole unit: the shorter
 * one. Computes no day outside the calendar.
 */
function split(
  { from, to }: DateRange,
  unitOf: (day: string) => Bounds,
  partGrain: Grain,
  grain: Grain,
): GrainRange[] {
  const [firstUnit, lastUnit] = [unitOf(from), unitOf(to)]
  if (firstUnit.first === lastUnit.first) {
    const isMostOfUnit = 2 * lengthOf(from, to) > lengthOf(firstUnit.first, firstUnit.last)
    if (!isMostOfUnit) return [{ grain: partGrain, sign: 1, from, to }]
    return [
      { grain, sign: 1, from: firstUnit.first, to: firstUnit.last },
      ...withoutDaysBefore(firstUnit, from, partGrain),
      ...withoutDaysAfter(firstUnit, to, partGrain),
    ]
  }
  const addsEndOfFirst = lengthOf(from, firstUnit.last) <= countDays(firstUnit.first, from)
  const addsStartOfLast = lengthOf(lastUnit.first, to) <= countDays(to, lastUnit.last)
  const wholeFrom = addsEndOfFirst ? addDays(firstUnit.last, 1) : firstUnit.first
  const wholeTo = addsStartOfLast ? addDays(lastUnit.first, -1) : lastUnit.last
  return [
    ...(addsEndOfFirst
      ? [{ grain: partGrain, sign: 1 as const, from, to: firstUnit.last }]
      : withoutDaysBefore(firstUnit, from, partGrain)),
    ...(wholeFrom <= wholeTo ? [{ grain, sign: 1 as const, from: wholeFrom, to: wholeTo }] : []),
    ...(addsStartOfLast
      ? [{ grain: partGrain, sign: 1 as const, from: lastUnit.first, to }]
      : withoutDaysAfter(lastUnit, to, partGrain)),
  ]
}

/** The number of days from `first` to `last`, both included. */
const lengthOf = (first: string, last: string) => countDays(first, last) + 1

function withoutDaysBefore(unit: Bounds, day: string, grain: Grain): GrainRange[] {
  return day === unit.first ? [] : [{ grain, sign: -1, from: unit.first, to: addDays(day, -1) }]
}

function withoutDaysAfter(unit: Bounds, day: string, grain: Grain): GrainRange[] {
  return day === unit.last ? [] : [{ grain, sign: -1, from: addDays(day, 1), to: unit.last }]
}

const monthOf = (day: string): Bounds => getMonthBounds(day.slice(0, 7))
const yearOf = (day: string): Bounds => ({
  first: `${day.slice(0, 4)}-01-01`,
  last: `${day.slice(0, 4)}-12-31`,
})
