// The period that a request covers, and the default of an end that the request leaves open.
import type { Kysely } from 'kysely'
import { getMonthBounds } from '../company/calendar.ts'
import type { Company } from '../company/company-file.ts'
import type { Tables } from '../database/table-types.ts'
import type { DatedRequest, Period } from './schema.ts'
import { rangeOf } from './summary/summary-grains.ts'
import { queryDateRange } from './summary/summary-query.ts'

/**
 * Returns the period of a request. An open end becomes the day of the first or last matching quote,
 * or today if no quote matches. If that day lies beyond the given end, the open end equals the
 * given one. `months` are those that have quotes, in order.
 */
export async function resolvePeriod(
  db: Kysely<Tables>,
  company: Company,
  request: DatedRequest,
  months: { month: string }[],
): Promise<Period> {
  const { first, last } = await readDateRange(db, request, months)
  const from = request.from ?? earlier(first ?? request.today, request.to)
  const to = request.to ?? later(last ?? request.today, request.from)
  return { from, to, timeZone: company.timeZone, date: request.date }
}

/** Looks for the first and the last day with quotes, but only if an end is open. */
async function readDateRange(
  db: Kysely<Tables>,
  request: DatedRequest,
  months: { month: string }[],
): Promise<{ first: string | null; last: string | null }> {
  const [firstMonth, lastMonth] = [months.at(0)?.month, months.at(-1)?.month]
  const hasBothEnds = request.from !== undefined && request.to !== undefined
  if (hasBothEnds || !firstMonth || !lastMonth) return { first: null, last: null }
  const { from, to } = rangeOf(request)
  const ranges = [...new Set([firstMonth, lastMonth])].map(getMonthBounds).map((month) => ({
    from: later(month.first, from),
    to: earlier(month.last, to),
  }))
  return queryDateRange(db, request, ranges).executeTakeFirstOrThrow()
}

const earlier = (day: string, other = day): string => (day < other ? day : other)
const later = (day: string, other = day): string => (day > other ? day : other)
