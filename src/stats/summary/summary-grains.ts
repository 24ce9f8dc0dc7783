// Decides which rows of the summary are read for a period: those of years, months and single days.
import type { StatsRequest } from '../schema.ts'

export type DateRange = { from: string; to: string }
/** The rows of one grain that begin on these days. Rows with sign -1 are subtracted. */
export type GrainRange<Grain extends string = string> = DateRange & { grain: Grain; sign: 1 | -1 }

/** The range of a request. An end that it leaves open is the end of the calendar. */
export const rangeOf = ({ from, to }: Pick<StatsRequest, 'from' | 'to'>): DateRange => ({
  from: from ?? '0001-01-01',
  to: to ?? '9999-12-31',
})

/**
 * Returns the rows that cover the range. `grains` are those that may be used, the longest first and
 * the days last. At each end, rows of a smaller grain are added or subtracted, whichever are fewer.
 */
export function coverRange<Grain extends string>(
  { from, to }: DateRange,
  grains: readonly Grain[],
): GrainRange<Grain>[] {
  return cover(toNumber(from), toNumber(to) + 1, grains)
}

/** Covers the days from the number `from` to the one before `to`. They are subtracted if `to` is smaller. */
function cover<Grain extends string>(
  from: number,
  to: number,
  [grain, ...smaller]: readonly Grain[],
): GrainRange<Grain>[] {
  if (grain === undefined || from === to) return []
  if (smaller.length === 0)
    return from < to
      ? [{ grain, sign: 1, from: toDay(from), to: toDay(to - 1) }]
      : [{ grain, sign: -1, from: toDay(to), to: toDay(from - 1) }]
  const [start, end] = [nearestBoundary(from, grain), nearestBoundary(to, grain)]
  const restDays = Math.abs(start - from) + Math.abs(to - end)
  if (Math.abs(to - from) <= restDays) return cover(from, to, smaller)
  return [...cover(start, end, [grain]), ...cover(from, start, smaller), ...cover(end, to, smaller)]
}

const dayMs = 86_400_000
/** Returns the number of a day on a scale that goes on after the last day of the calendar. */
const toNumber = (day: string) => Date.parse(day) / dayMs
const toDay = (number: number) => new Date(number * dayMs).toISOString().slice(0, 10)

/** Returns the number of the nearest first day of a year or month. */
function nearestBoundary(number: number, grain: string): number {
  const first = new Date(number * dayMs)
  const isYear = grain.startsWith('year')
  first.setUTCMonth(isYear ? 0 : first.getUTCMonth(), 1)
  const next = new Date(first)
  next.setUTCMonth(first.getUTCMonth() + (isYear ? 12 : 1))
  const [before, after] = [first.getTime() / dayMs, next.getTime() / dayMs]
  return number - before <= after - number ? before : after
}
