// Random quotes and random queries of statistics.
import fc from 'fast-check'
import type { Line, Quote } from '../quote-builder.ts'
import { dayAfter, formatDecimal } from '../reference-stats.ts'

export const firstDay = '2025-11-01'

/** Mostly a few days. The summary counts more than 1,000 days as 1,000. */
const daysToDecision = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 12 }) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 60 }) },
  { weight: 1, arbitrary: fc.constantFrom(999, 1_000, 1_001, 3_000) },
)

/** The customers of random quotes. */
export const customerIds = ['1', '2', '10']

/** Returns and deductions are negative. */
const lineNet = fc
  .tuple(fc.constantFrom('', '', '-'), fc.bigInt({ min: 0n, max: 10n ** 12n }))
  .map(([sign, units]) => `${sign}${formatDecimal(units, 4)}`)

export const arbitraryLines: fc.Arbitrary<Line[]> = fc.array(
  fc.record({ sku: fc.constantFrom(null, '', 'A', 'a', 'B-1', 'Ñ'), net: lineNet }),
  { maxLength: 3 },
)

/** Days after `firstDay`, in the years from 2023 to 2029. */
const distantDay = fc.integer({ min: -1_000, max: 1_500 })

/**
 * Quotes over thirteen months, some of other years, in currencies of 0, 2 and 3 digits. Sums far
 * exceed 2^53.
 */
export const arbitraryQuote = fc
  .record({
    status: fc.constantFrom(
      'draft',
      'sent',
      'sent',
      'accepted',
      'accepted',
      'accepted',
      'rejected',
      'expired',
      'withdrawn',
      'superseded',
    ) as fc.Arbitrary<Quote['status']>,
    country: fc.constantFrom(null, 'ES', 'FR', 'US'),
    currency: fc.constantFrom('EUR', 'EUR', 'USD', 'JPY', 'KWD'),
    units: fc.bigInt({ min: 0n, max: 10n ** 17n }),
    rate: fc.option(fc.integer({ min: 1, max: 99_999 })),
    issued: fc.oneof(
      { weight: 7, arbitrary: fc.integer({ min: 0, max: 400 }) },
      { weight: 1, arbitrary: distantDay },
    ),
    valid: fc.option(fc.integer({ min: 0, max: 60 })),
    decided: fc.option(daysToDecision),
    customer: fc.constantFrom(null, ...customerIds),
    lines: arbitraryLines,
  })
  .map(({ status, country, currency, units, rate, issued, valid, decided, ...rest }): NewQuote => {
    const digits = { EUR: 2, USD: 2, JPY: 0, KWD: 3 }[currency] ?? 0
    const isDecided = status === 'accepted' || status === 'rejected'
    return {
      status,
      country,
      currency,
      rate: currency === 'EUR' ? '1' : rate === null ? null : formatDecimal(BigInt(rate), 4),
      issued_on: dayAfter(firstDay, issued),
      valid_until: valid === null ? null : dayAfter(firstDay, issued + valid),
      decided_on: decided === null || !isDecided ? null : dayAfter(firstDay, issued + decided),
      net: formatDecimal(units, digits),
      customer_id: rest.customer,
      lines: rest.lines,
    }
  })

type NewQuote = Omit<Quote, 'number'>

/** `days` are the ends of the period as days after `firstDay`, in order; null for open ends. */
export type RandomQuery = {
  date: 'issued' | 'accepted'
  country: string | undefined
  currency: string | undefined
  days: [number, number] | null
  compare: 'previous_period' | 'previous_year' | undefined
  by: 'day' | 'customer' | 'product' | undefined
}

const day = fc.integer({ min: 0, max: 420 })
const anyDays = fc.tuple(day, day)
const manyYears = fc.tuple(distantDay, distantDay)
/** The days at which the months begin, and the day after the last month. */
const monthStarts = Array.from({ length: 421 }, (_, index) => index).filter((index) =>
  dayAfter(firstDay, index).endsWith('-01'),
)
const monthStart = fc.constantFrom(...monthStarts)
const wholeMonths = fc
  .tuple(monthStart, monthStart)
  .filter(([a, b]) => a !== b)
  .map(([a, b]): [number, number] => (a < b ? [a, b - 1] : [b, a - 1]))
/** From the first of a month to any day, as in a month that is running. */
const monthToDate = fc.tuple(monthStart, day)

export const arbitraryQuery: fc.Arbitrary<RandomQuery> = fc.record({
  date: fc.constantFrom('issued' as const, 'accepted' as const),
  country: fc.constantFrom(undefined, undefined, 'ES', 'unknown'),
  currency: fc.constantFrom(undefined, undefined, 'EUR', 'USD', 'JPY'),
  days: fc.option(
    fc
      .oneof(anyDays, wholeMonths, monthToDate, manyYears)
      .map(([a, b]): [number, number] => (a < b ? [a, b] : [b, a])),
  ),
  compare: fc.constantFrom(
    undefined,
    undefined,
    'previous_period' as const,
    'previous_year' as const,
  ),
  by: fc.constantFrom(undefined, 'day' as const, 'customer' as const, 'product' as const),
})
