// The period that a request covers, and the default of an end that the request leaves open.
import type { Kysely } from 'kysely'
import type { Company } from '../company/company.ts'
import type { Tables } from '../database/table-types.ts'
import type { TotalsSource } from './period-totals.ts'
import type { Period, StatsRequest } from './schema.ts'

/**
 * Returns the period of a request. An open end defaults to the day of the first or last matching
 * quote, to today if no quote matches, and to the given end if the default lies beyond it.
 */
export async function resolvePeriod(
  db: Kysely<Tables>,
  company: Company,
  request: StatsRequest,
  source: TotalsSource,
): Promise<Period> {
  const hasBothEnds = request.from !== undefined && request.to !== undefined
  const { first, last } = hasBothEnds
    ? { first: null, last: null }
    : await source.readDateRange(db, request)
  const from = request.from ?? earlier(first ?? request.today, request.to)
  const to = request.to ?? later(last ?? request.today, request.from)
  return { from, to, timeZone: company.timeZone, date: request.date }
}

const earlier = (day: string, other = day): string => (day < other ? day : other)
const later = (day: string, other = day): string => (day > other ? day : other)
