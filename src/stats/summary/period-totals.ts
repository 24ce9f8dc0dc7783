// The totals of a period: over all its quotes, by country, by month and by currency.
import type { Kysely } from 'kysely'
import type { Company } from '../../company/company-file.ts'
import { requireCurrencyDigits } from '../../company/currencies.ts'
import type { Tables } from '../../database/table-types.ts'
import type { DatedRequest, Stats } from '../schema.ts'
import type { DateRange } from './summary-grains.ts'
import { type GroupRow, queryDays, queryTotals, type SummaryLevel } from './summary-query.ts'

/**
 * Totals over one group of quotes: those of a period, a country, a month or a day. Each field has
 * the name and the value of a member of the response. Only `daysToDecision.days` and `histogram`
 * are not in the response, which has their mean and median instead.
 *
 * Amounts are the net in the base currency, as decimal text with its digits. They lack the quotes
 * that have no rate.
 */
export type GroupTotals = {
  /** `sent` are the sent quotes that are still valid. The other sent quotes are in `expired`. */
  byStatus: Stats['quotes']['byStatus']
  /**
   * `open` is the net of `byStatus.sent`, and `lost` that of rejected and expired quotes. `won` is
   * the net of accepted quotes, which the response also calls `revenue`.
   */
  money: { open: string; won: string; lost: string }
  /**
   * `quotes` are the accepted and rejected quotes whose day of decision is known. Unlike in
   * `acceptance.ofDecided` of the response, expired quotes do not count. `days` is the sum of the
   * days from issue to decision. `histogram` is the number of quotes by these days, packed into one
   * number as days-to-decision.ts explains.
   */
  daysToDecision: { quotes: number; days: number; histogram: string }
}

/** Totals over a period. */
export type PeriodTotals = {
  total: GroupTotals
  /** The number of accepted quotes whose amounts are part of `total.money.won`. */
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
    byStatus: { draft: 0, sent: 0, accepted: 0, rejected: 0, expired: 0 },
    money: { open: zero, won: zero, lost: zero },
    daysToDecision: { quotes: 0, days: 0, histogram: '0' },
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
  request: DatedRequest,
  { range, byCountryAndMonth }: { range: DateRange; byCountryAndMonth: boolean },
): Promise<PeriodTotals> {
  const baseDigits = requireCurrencyDigits(company.baseCurrency)
  const rows = await queryTotals(db, request, range, { baseDigits, byCountryAndMonth }).execute()
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
  request: DatedRequest,
  range: DateRange,
): Promise<(GroupTotals & { day: string })[]> {
  const baseDigits = requireCurrencyDigits(company.baseCurrency)
  const rows = await queryDays(db, request, range, baseDigits).execute()
  return rows.map((row) => ({ day: row.day, ...toGroupTotals(row) }))
}

/** Converts the counts, which are decimal text, to numbers. */
function toGroupTotals(row: GroupRow): GroupTotals {
  return {
    byStatus: {
      draft: Number(row.draft),
      sent: Number(row.sent),
      accepted: Number(row.accepted),
      rejected: Number(row.rejected),
      expired: Number(row.expired),
    },
    money: { open: row.open_net, won: row.won_net, lost: row.lost_net },
    daysToDecision: {
      quotes: Number(row.decided),
      days: Number(row.decision_days),
      histogram: row.decision_histogram,
    },
  }
}

/** Returns a list of one amount, or an empty list if there is no quote. */
function moneyOfQuotes(amount: string | null, currency: string | null, quotes: string) {
  return amount !== null && currency !== null && Number(quotes) > 0
    ? [{ amount, currency, quotes: Number(quotes) }]
    : []
}
