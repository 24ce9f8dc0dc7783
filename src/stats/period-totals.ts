// The totals of one period, and the interface of the two sources that they are read from.
import type { Kysely } from 'kysely'
import type { Company } from '../company/company.ts'
import { getCurrencyDigits, type Money } from '../company/money.ts'
import type { Tables } from '../database/table-types.ts'
import type { Period, Stats, StatsRequest } from './schema.ts'

/** Totals over a period. `byMonth` has no entry for a month without quotes. */
export type PeriodTotals = {
  byStatus: Stats['quotes']['byStatus']
  revenue: Money
  /** The number of accepted quotes whose amounts are part of the revenue. */
  convertedQuotes: number
  byCurrency: Stats['revenue']['byCurrency']
  unconverted: Stats['revenue']['unconverted']
  byCountry: Stats['byCountry']
  byMonth: Omit<Stats['byMonth'][number], 'partial'>[]
}

/** Reads totals either from the summary (the API) or from the quotes (verification and tests). */
export type TotalsSource = {
  /** The first and the last day on which a quote counts; null if no quote matches. */
  readDateRange(
    db: Kysely<Tables>,
    request: StatsRequest,
  ): Promise<{ first: string | null; last: string | null }>
  readTotals(
    db: Kysely<Tables>,
    company: Company,
    request: StatsRequest,
    period: Period,
  ): Promise<PeriodTotals>
}

/** Zero with the minor digits of the currency: `0.00` for EUR, `0` for JPY. */
export function zeroAmount(currency: string): string {
  const digits = getCurrencyDigits(currency) ?? 0
  return digits === 0 ? '0' : `0.${'0'.repeat(digits)}`
}
