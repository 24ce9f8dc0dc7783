// Decides which grain of the summary covers which part of a period: months or single days.
import { addDays, getMonthBounds } from '../../company/calendar.ts'
import type { Period, StatsRequest } from '../schema.ts'

export type DateRange = Pick<Period, 'from' | 'to'>
export type GrainRange = DateRange & { grain: 'day' | 'month' }

/**
 * Extends an end that the request leaves open to the end of its month. No quote lies beyond an open
 * end, so the totals stay the same, and a whole month has fewer rows than its days.
 */
export function extendOpenEnds(request: StatsRequest, { from, to }: Period): DateRange {
  return {
    from: request.from === undefined ? firstOfMonth(from) : from,
    to: request.to === undefined ? lastOfMonth(to) : to,
  }
}

/**
 * Splits a range into whole months and the days of partial months before and after them. Computes
 * no day outside the range: beyond the year 9999 there are no valid days.
 */
export function splitIntoGrains({ from, to }: DateRange): GrainRange[] {
  const startsWithMonth = from === firstOfMonth(from)
  const endsWithMonth = to === lastOfMonth(to)
  const isWithinOneMonth = monthOf(from) === monthOf(to)
  if (isWithinOneMonth && !(startsWithMonth && endsWithMonth)) return [{ grain: 'day', from, to }]

  const firstWholeDay = startsWithMonth ? from : addDays(lastOfMonth(from), 1)
  const lastWholeDay = endsWithMonth ? to : addDays(firstOfMonth(to), -1)
  const ranges: GrainRange[] = []
  if (!startsWithMonth) ranges.push({ grain: 'day', from, to: addDays(firstWholeDay, -1) })
  if (firstWholeDay <= lastWholeDay)
    ranges.push({ grain: 'month', from: firstWholeDay, to: lastWholeDay })
  if (!endsWithMonth) ranges.push({ grain: 'day', from: addDays(lastWholeDay, 1), to })
  return ranges
}

export const lastOfMonth = (day: string) => getMonthBounds(monthOf(day)).last

const firstOfMonth = (day: string) => getMonthBounds(monthOf(day)).first
const monthOf = (day: string) => day.slice(0, 7)
