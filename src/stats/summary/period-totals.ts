// The totals of a period: over all its quotes, by country, by month and by currency.
import type { Kysely } from 'kysely'
import type { Company } from '../../company/company.ts'
import { requireCurrencyDigits } from '../../company/currencies.ts'
import type { Tables } from '../../database/table-types.ts'
import type { Stats, StatsRequest } from '../schema.ts'
import type { DateRange } from './summary-grains.ts'
import {
  type GroupRow,
  queryDays,
  queryTotals,
  queryTotalsByCurrency,
  type SummaryLevel,
} from './summary-query.ts'

/**
 * Totals over one group of quotes: those of a period, a country, a month or a day. Amounts are
 * decimal text in the base currency with its digits, without the quotes that have no rate. Names
 * without a comment are those of `byStatus` in the response.
 */
export type GroupTotals = {
  draft: number
  /** Sent quotes that are still valid. The response has them as `byStatus.sent`. */
  openQuotes: number
  accepted: number
  rejected: number
  /** Includes sent quotes whose validity is over, as `byStatus.expired` in the response. */
  expired: number
  /** The net of `openQuotes`. The response has it as `money.open`. */
  openNet: string
  /** The net of `accepted`. The response has it as `money.won` and as `revenue`. */
  wonNet: string
  /** The net of `rejected` and `expired`. The response has it as `money.lost`. */
  lostNet: string
  /**
   * Accepted and rejected quotes whose day of decision is known. The response has them as
   * `daysToDecision.quotes`.
   */
  quotesWithDecisionDay: number
  /** The sum of the days from issue to decision of `quotesWithDecisionDay`. */
  decisionDays: number
  /**
   * The numbers of `quotesWithDecisionDay` by days, packed into one number as days-to-decision.ts
   * explains.
   */
  decisionHistogram: string
}

/** Totals over a period. */
export type PeriodTotals = {
  total: GroupTotals
  /** The number of accepted quotes whose amounts are part of `total.wonNet`. */
  convertedQuotes: number
  byCurrency: Stats['revenue']['byCurrency']
  unconvertedByCurrency: Stats['revenue']['unconverted']
  /** By revenue, then by code; an unknown country is the last of those with equal revenue. */
  byCountry: (GroupTotals & { country: string | null })[]
  /** In order, without months that have no quotes. */
  byMonth: (GroupTotals & { month: string })[]
}

/** The totals of a group without quotes. */
export function createEmptyTotals(baseCurrency: string): GroupTotals {
  const zero = formatZero(baseCurrency)
  return {
    draft: 0,
    openQuotes: 0,
    accepted: 0,
    rejected: 0,
    expired: 0,
    openNet: zero,
    wonNet: zero,
    lostNet: zero,
    quotesWithDecisionDay: 0,
    decisionDays: 0,
    decisionHistogram: '0',
  }
}

/** Zero with the minor digits of the currency: `0.00` for EUR, `0` for JPY. */
function formatZero(currency: string): string {
  const digits = requireCurrencyDigits(currency)
  return digits === 0 ? '0' : `0.${'0'.repeat(digits)}`
}

/**
 * Returns the totals of a range, both ends included. Without `byCountryAndMonth`, the lists of
 * countries and of months are empty.
 */
export async function readPeriodTotals(
  db: Kysely<Tables>,
  company: Company,
  request: StatsRequest,
  { range, byCountryAndMonth }: { range: DateRange; byCountryAndMonth: boolean },
): Promise<PeriodTotals> {
  const baseDigits = requireCurrencyDigits(company.baseCurrency)
  const query = byCountryAndMonth ? queryTotals : queryTotalsByCurrency
  const rows = await query(db, request, range, baseDigits).execute()
  const rowsOf = (level: SummaryLevel) => rows.filter((row) => row.level === level)
  const [total] = rowsOf('total')
  const currencies = rowsOf('currency')
  return {
    total: total ? toGroupTotals(total) : createEmptyTotals(company.baseCurrency),
    convertedQuotes: Number(total?.accepted ?? 0) - Number(total?.unconverted ?? 0),
    byCurrency: currencies.flatMap(({ currency, ownNet, accepted }) =>
      moneyOfQuotes(ownNet, currency, accepted),
    ),
    unconvertedByCurrency: currencies
      .flatMap(({ currency, ownUnconvertedNet, unconverted }) =>
        moneyOfQuotes(ownUnconvertedNet, currency, unconverted),
      )
      .sort((a, b) => (a.currency < b.currency ? -1 : 1)),
    byCountry: rowsOf('country').map((row) => ({ country: row.country, ...toGroupTotals(row) })),
    byMonth: rowsOf('month').map((row) => ({ month: requireMonth(row), ...toGroupTotals(row) })),
  }
}

/** Returns the month of a row of the level `month`. Throws if it has none. */
function requireMonth({ month }: { month: string | null }): string {
  if (month === null) throw new Error('A row of the totals by month has no month')
  return month
}

/** Returns the totals of the days that have quotes, in order. Both ends of `range` are included. */
export async function readDayTotals(
  db: Kysely<Tables>,
  company: Company,
  request: StatsRequest,
  range: DateRange,
): Promise<(GroupTotals & { day: string })[]> {
  const baseDigits = requireCurrencyDigits(company.baseCurrency)
  const rows = await queryDays(db, request, range, baseDigits).execute()
  return rows.map((row) => ({ day: row.day, ...toGroupTotals(row) }))
}

/** Converts the counts, which are decimal text, to numbers. */
function toGroupTotals(row: GroupRow): GroupTotals {
  return {
    draft: Number(row.draft),
    openQuotes: Number(row.openQuotes),
    accepted: Number(row.accepted),
    rejected: Number(row.rejected),
    expired: Number(row.expired),
    openNet: row.openNet,
    wonNet: row.wonNet,
    lostNet: row.lostNet,
    quotesWithDecisionDay: Number(row.quotesWithDecisionDay),
    decisionDays: Number(row.decisionDays),
    decisionHistogram: row.decisionHistogram,
  }
}

/** Returns a list of one amount, or an empty list if there is no quote. */
function moneyOfQuotes(amount: string | null, currency: string | null, quotes: string) {
  return amount !== null && currency !== null && Number(quotes) > 0
    ? [{ amount, currency, quotes: Number(quotes) }]
    : []
}
