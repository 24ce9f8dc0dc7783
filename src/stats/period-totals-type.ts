// The totals of one period: over all its quotes, by country, by month and by currency.
import { getCurrencyDigits } from '../company/currencies.ts'
import type { Stats } from './schema.ts'

/**
 * Totals over one group of quotes: those of a period, of a country, or of a month. Amounts are
 * decimals in the base currency with its digits. They leave out quotes without a rate.
 */
export type GroupTotals = {
  draft: number
  /** Sent quotes that are still valid. */
  sent: number
  accepted: number
  rejected: number
  /** Includes sent quotes whose validity is over. */
  expired: number
  /** The net of `sent`, of `accepted`, and of `rejected` and `expired`. */
  open: string
  won: string
  lost: string
  /** Accepted and rejected quotes whose day of decision is known. */
  decided: number
  /** The sum of the days from issue to decision of `decided`. */
  decisionDays: number
  /** How many of `decided` were decided after how many days: see decision-days.ts. */
  decisionHistogram: string
}

/** Totals over a period. */
export type PeriodTotals = {
  total: GroupTotals
  /** The number of accepted quotes whose amounts are part of `total.won`. */
  convertedQuotes: number
  byCurrency: Stats['revenue']['byCurrency']
  unconverted: Stats['revenue']['unconverted']
  /** By revenue, then by code; an unknown country is the last of those with equal revenue. */
  byCountry: (GroupTotals & { country: string | null })[]
  /** In order, without months that have no quotes. */
  byMonth: (GroupTotals & { month: string })[]
}

/** The totals of a group without quotes. */
export function emptyGroupTotals(baseCurrency: string): GroupTotals {
  const zero = zeroAmount(baseCurrency)
  return {
    draft: 0,
    sent: 0,
    accepted: 0,
    rejected: 0,
    expired: 0,
    open: zero,
    won: zero,
    lost: zero,
    decided: 0,
    decisionDays: 0,
    decisionHistogram: '0',
  }
}

/** Zero with the minor digits of the currency: `0.00` for EUR, `0` for JPY. */
function zeroAmount(currency: string): string {
  const digits = getCurrencyDigits(currency) ?? 0
  return digits === 0 ? '0' : `0.${'0'.repeat(digits)}`
}
