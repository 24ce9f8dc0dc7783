// Computes the expected statistics independently of the service, with BigInt minor units. Only the
// comparison period is that of the service: the examples of comparison-period.test.ts define it.
import { isDeepStrictEqual } from 'node:util'
import { chooseComparisonPeriod } from '../../src/stats/comparison-period.ts'
import { customerName, type Quote } from './quote-builder.ts'

type Amount = { amount: string; currency: string }
type AmountOfQuotes = Amount & { quotes: number }
type Outcomes = {
  byStatus: Record<string, number>
  money: { open: Amount; won: Amount; lost: Amount; withdrawn: Amount }
  acceptance: {
    ofSent: string | null
    ofDecided: string | null
    ofSentValue: string | null
    ofDecidedValue: string | null
  }
  daysToDecision: { quotes: number; mean: string | null; median: string | null }
}
type Group = { quotes: number; accepted: number; revenue: Amount } & Outcomes

/** A customer or product with its totals, and the number of those in the rest. */
type Breakdown = { rows: Record<string, unknown>[]; rest: Record<string, unknown> | null }

export type ExpectedStats = {
  period: { from: string; to: string; timeZone: string; date: string }
  quotes: { total: number } & Outcomes
  revenue: {
    total: Amount
    average: Amount | null
    byCurrency: AmountOfQuotes[]
    unconverted: AmountOfQuotes[]
  }
  byCountry: ({ country: string | null } & Group)[]
  byMonth: ({ month: string; partial: boolean } & Group)[]
  byDay?: ({ day: string; partial: boolean } & Group)[]
  byCustomer?: Breakdown
  byProduct?: Breakdown
  comparison:
    | null
    | (Pick<ExpectedStats, 'period' | 'quotes' | 'revenue'> & {
        change: Record<string, string | null>
      })
}

/** `bounds` are the parameters `from` and `to`; null if the request has neither. */
export type ExpectedQuery = {
  today: string
  date: 'issued' | 'accepted'
  country: string | undefined
  currency?: string | undefined
  bounds: readonly [string, string] | null
  compare?: 'previous_period' | 'previous_year' | undefined
  by?: 'day' | 'customer' | 'product' | undefined
}

/** Throws unless every part of `actual` equals the expected statistics of `quotes`. */
export function assertExpectedStats(
  actual: ExpectedStats,
  quotes: Quote[],
  query: ExpectedQuery,
): void {
  const expected = expectedStats(quotes, query)
  const sorted = sortCurrencies(actual)
  const parts = [
    'period',
    'quotes',
    'revenue',
    'byCountry',
    'byMonth',
    'byDay',
    'byCustomer',
    'byProduct',
    'comparison',
  ] as const
  for (const part of parts) {
    if (isDeepStrictEqual(sorted[part], expected[part])) continue
    const [is, shouldBe] = [JSON.stringify(actual[part]), JSON.stringify(expected[part])]
    throw new Error(`${part}: is ${is}, expected ${shouldBe}`)
  }
}

export const isExpected = (actual: ExpectedStats, quotes: Quote[], query: ExpectedQuery): boolean =>
  isDeepStrictEqual(sortCurrencies(actual), expectedStats(quotes, query))

/** The contract does not define the order of currencies. */
function sortCurrencies(stats: ExpectedStats): ExpectedStats {
  const byCode = (amounts: AmountOfQuotes[]) =>
    amounts.toSorted((a, b) => (a.currency < b.currency ? -1 : 1))
  const sortRevenue = (revenue: ExpectedStats['revenue']) => ({
    ...revenue,
    byCurrency: byCode(revenue.byCurrency),
    unconverted: byCode(revenue.unconverted),
  })
  const { comparison } = stats
  return {
    ...stats,
    revenue: sortRevenue(stats.revenue),
    comparison: comparison && { ...comparison, revenue: sortRevenue(comparison.revenue) },
  }
}

export function expectedStats(quotes: Quote[], query: ExpectedQuery): ExpectedStats {
  const { today, date, bounds, compare } = query
  const dayOf = (quote: Quote) =>
    date === 'accepted' ? (quote.decided_on ?? quote.issued_on) : quote.issued_on
  const counted = quotes.filter((quote) => isCounted(quote, query))
  const days = counted.map(dayOf).sort()
  const from = bounds?.[0] ?? days[0] ?? today
  const to = bounds?.[1] ?? days.at(-1) ?? today
  const quotesWithin = (first: string, last: string) =>
    counted.filter((quote) => dayOf(quote) >= first && dayOf(quote) <= last)
  const periodOf = (first: string, last: string) => ({
    from: first,
    to: last,
    timeZone: 'Europe/Madrid',
    date,
  })
  const current = quotesWithin(from, to)
  const compareWith = (period: ReturnType<typeof periodOf>) => {
    const previous = quotesWithin(period.from, period.to)
    return {
      period,
      ...toCountsAndRevenue(previous, today),
      change: computeChange(current, previous),
    }
  }
  return {
    period: periodOf(from, to),
    ...toCountsAndRevenue(current, today),
    byCountry: groupByCountry(current, today),
    byMonth: monthsOf(from, to).map((month) => ({
      month,
      partial: `${month}-01` < from || lastDayOf(month) > to || lastDayOf(month) >= today,
      ...groupOf(
        current.filter((quote) => dayOf(quote).startsWith(month)),
        today,
      ),
    })),
    ...(query.by === 'day' && {
      byDay: Array.from({ length: daysBetween(from, to) + 1 }, (_, index) => {
        const day = dayAfter(from, index)
        const ofDay = current.filter((quote) => dayOf(quote) === day)
        return { day, partial: day >= today, ...groupOf(ofDay, today) }
      }),
    }),
    ...(query.by === 'customer' && { byCustomer: groupByCustomer(current) }),
    ...(query.by === 'product' && { byProduct: groupByProduct(current) }),
    comparison: compare
      ? compareWith(chooseComparisonPeriod(periodOf(from, to), compare, today))
      : null,
  }
}

const isAccepted = ({ status }: Quote) => status === 'accepted'

function isCounted(quote: Quote, { date, country, currency }: ExpectedQuery): boolean {
  if (quote.status === 'superseded') return false
  if (date === 'accepted' && !isAccepted(quote)) return false
  if (currency !== undefined && quote.currency !== currency) return false
  if (country === undefined) return true
  return country === 'unknown' ? quote.country === null : quote.country === country
}

function groupOf(quotes: Quote[], today: string): Group {
  const accepted = quotes.filter(isAccepted)
  return {
    quotes: quotes.length,
    accepted: accepted.length,
    revenue: revenueOf(accepted),
    ...toOutcomes(quotes, today),
  }
}

function groupByCountry(quotes: Quote[], today: string): ExpectedStats['byCountry'] {
  const units = ({ revenue }: Group) => BigInt(revenue.amount.replace('.', ''))
  return [...new Set(quotes.map(({ country }) => country))]
    .map((country) => ({
      country,
      ...groupOf(
        quotes.filter((quote) => quote.country === country),
        today,
      ),
    }))
    .sort((a, b) => Number(units(b) - units(a)) || compareCountries(a.country, b.country))
}

const listed = 50

function groupByCustomer(quotes: Quote[]): Breakdown {
  const totalsOf = (group: Quote[]) => {
    const accepted = group.filter(isAccepted)
    return {
      quotes: group.length,
      accepted: accepted.length,
      revenue: revenueOf(accepted),
      unconverted: accepted.filter((quote) => baseCents(quote) === null).length,
    }
  }
  const groups = Map.groupBy(quotes, ({ customer_id }) => customer_id ?? null)
  const sorted = [...groups]
    .map(([id, group]) => ({
      id,
      group,
      row: { customer: id === null ? null : { id, name: customerName(id) }, ...totalsOf(group) },
    }))
    .sort(
      (a, b) =>
        Number(sumOf(b.group.filter(isAccepted)) - sumOf(a.group.filter(isAccepted))) ||
        Number(a.id ?? 0) - Number(b.id ?? 0),
    )
  const others = sorted.slice(listed)
  return {
    rows: sorted.slice(0, listed).map(({ row }) => row),
    rest:
      others.length === 0
        ? null
        : { customers: others.length, ...totalsOf(others.flatMap(({ group }) => group)) },
  }
}

/** Decimals of the exact product of a net and a rate. */
const lineDigits = 8

type AcceptedLine = { sku: string; units: bigint | null }

function groupByProduct(quotes: Quote[]): Breakdown {
  const lines = quotes.filter(isAccepted).flatMap((quote): AcceptedLine[] =>
    (quote.lines ?? []).map(({ sku, net }) => ({
      sku: sku ?? '',
      units: baseUnits({ ...quote, net }, lineDigits),
    })),
  )
  const amountOf = (group: AcceptedLine[]) => {
    const units = group.reduce((sum, line) => sum + (line.units ?? 0n), 0n)
    return ratio(units, 10n ** BigInt(lineDigits), 2) ?? ''
  }
  const centsOf = (group: AcceptedLine[]) => BigInt(amountOf(group).replace('.', ''))
  const totalsOf = (group: AcceptedLine[]) => ({
    lines: group.length,
    revenue: { amount: amountOf(group), currency: 'EUR' },
    unconverted: group.filter(({ units }) => units === null).length,
  })
  const sorted = [...Map.groupBy(lines, ({ sku }) => sku)].sort(
    ([a, linesOfA], [b, linesOfB]) =>
      Number(centsOf(linesOfB) - centsOf(linesOfA)) || (a < b ? -1 : 1),
  )
  const others = sorted.slice(listed)
  return {
    rows: sorted.slice(0, listed).map(([sku, group]) => ({
      product: sku === '' ? null : { sku, name: null },
      ...totalsOf(group),
    })),
    rest:
      others.length === 0
        ? null
        : { products: others.length, ...totalsOf(others.flatMap(([, group]) => group)) },
  }
}

/** Sorts by code; an unknown country is last. */
const compareCountries = (a: string | null, b: string | null): number =>
  a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -1 : 1

function computeChange(current: Quote[], previous: Quote[]) {
  const change = (measure: (quotes: Quote[]) => bigint) =>
    ratio(measure(current) - measure(previous), measure(previous), 4)
  return {
    quotes: change((quotes) => BigInt(quotes.length)),
    accepted: change((quotes) => BigInt(quotes.filter(isAccepted).length)),
    revenue: change((quotes) => sumOf(quotes.filter(isAccepted))),
  }
}

function toCountsAndRevenue(
  quotes: Quote[],
  today: string,
): Pick<ExpectedStats, 'quotes' | 'revenue'> {
  const accepted = quotes.filter(isAccepted)
  const converted = accepted.filter((quote) => baseCents(quote) !== null)
  const average = ratio(sumOf(accepted), 100n * BigInt(converted.length), 2)
  return {
    quotes: { total: quotes.length, ...toOutcomes(quotes, today) },
    revenue: {
      total: revenueOf(accepted),
      average: average === null ? null : { amount: average, currency: 'EUR' },
      byCurrency: sumByCurrency(accepted),
      unconverted: sumByCurrency(accepted.filter((quote) => baseCents(quote) === null)),
    },
  }
}

function toOutcomes(quotes: Quote[], today: string): Outcomes {
  const isLapsed = (quote: Quote) =>
    quote.status === 'sent' && quote.valid_until !== null && quote.valid_until < today
  const withStatus = (...statuses: string[]) =>
    quotes.filter((quote) => statuses.includes(isLapsed(quote) ? 'expired' : quote.status))
  const open = withStatus('sent')
  const won = withStatus('accepted')
  const lost = withStatus('rejected', 'expired')
  const withdrawn = withStatus('withdrawn')
  const count = (group: Quote[]) => BigInt(group.length)
  const rate = (measure: (group: Quote[]) => bigint, ...groups: Quote[][]) =>
    ratio(
      measure(won),
      groups.reduce((sum, group) => sum + measure(group), 0n),
      4,
    )
  return {
    byStatus: {
      draft: withStatus('draft').length,
      sent: open.length,
      accepted: won.length,
      rejected: withStatus('rejected').length,
      expired: withStatus('expired').length,
      withdrawn: withdrawn.length,
    },
    money: {
      open: revenueOf(open),
      won: revenueOf(won),
      lost: revenueOf(lost),
      withdrawn: revenueOf(withdrawn),
    },
    acceptance: {
      ofSent: rate(count, open, won, lost),
      ofDecided: rate(count, won, lost),
      ofSentValue: rate(sumOf, open, won, lost),
      ofDecidedValue: rate(sumOf, won, lost),
    },
    daysToDecision: daysToDecisionOf(quotes),
  }
}

/** The contract counts more than 1,000 days as 1,000 in the median. */
const maxDaysInMedian = 1_000

function daysToDecisionOf(quotes: Quote[]): Outcomes['daysToDecision'] {
  const days = quotes
    .filter(({ status, decided_on }) => decided_on !== null && status !== 'superseded')
    .map(({ issued_on, decided_on }) => daysBetween(issued_on, decided_on ?? ''))
    .sort((a, b) => a - b)
  const total = days.reduce((sum, day) => sum + day, 0)
  const middle = days
    .slice(Math.floor((days.length - 1) / 2), Math.floor(days.length / 2) + 1)
    .map((day) => Math.min(day, maxDaysInMedian))
  return {
    quotes: days.length,
    mean: ratio(BigInt(total), BigInt(days.length), 1),
    median:
      days.length === 0
        ? null
        : (middle.reduce((sum, day) => sum + day, 0) / middle.length).toFixed(1),
  }
}

function sumByCurrency(quotes: Quote[]): AmountOfQuotes[] {
  return [...new Set(quotes.map(({ currency }) => currency))].sort().map((currency) => {
    const inCurrency = quotes.filter((quote) => quote.currency === currency)
    const units = inCurrency.reduce((sum, { net }) => sum + BigInt(net.replace('.', '')), 0n)
    const digits = inCurrency[0]?.net.split('.')[1]?.length ?? 0
    return { amount: formatDecimal(units, digits), currency, quotes: inCurrency.length }
  })
}

const sumOf = (quotes: Quote[]): bigint =>
  quotes.reduce((sum, quote) => sum + (baseCents(quote) ?? 0n), 0n)
const revenueOf = (quotes: Quote[]): Amount => ({
  amount: formatDecimal(sumOf(quotes), 2),
  currency: 'EUR',
})

function monthsOf(from: string, to: string): string[] {
  const months: string[] = []
  for (
    let month = from.slice(0, 7);
    month <= to.slice(0, 7);
    month = dayAfter(lastDayOf(month), 1).slice(0, 7)
  )
    months.push(month)
  return months
}

const lastDayOf = (month: string): string =>
  dayAfter(`${dayAfter(`${month}-01`, 31).slice(0, 7)}-01`, -1)

/** The quotient with `digits` decimals, halves away from zero; null if the divisor is zero. */
function ratio(dividend: bigint, divisor: bigint, digits: number): string | null {
  if (divisor === 0n) return null
  const absolute = dividend < 0n ? -dividend : dividend
  const units = (2n * absolute * 10n ** BigInt(digits) + divisor) / (2n * divisor)
  return `${dividend < 0n && units > 0n ? '-' : ''}${formatDecimal(units, digits)}`
}

/** Cents of the base currency, rounded half up for each quote; null without an exchange rate. */
function baseCents({ currency, rate, net }: Quote): bigint | null {
  const units = BigInt(net.replace('.', ''))
  if (currency === 'EUR') return units
  if (rate === null) return null
  const decimals = (net.split('.')[1]?.length ?? 0) + (rate.split('.')[1]?.length ?? 0)
  const product = units * BigInt(rate.replace('.', ''))
  if (decimals <= 2) return product * 10n ** BigInt(2 - decimals)
  const divisor = 10n ** BigInt(decimals - 2)
  return (product + divisor / 2n) / divisor
}

/** An amount in the base currency in units of 10^-digits, not rounded; null without a rate. */
function baseUnits({ currency, rate, net }: Quote, digits: number): bigint | null {
  if (currency !== 'EUR' && rate === null) return null
  const factor = currency === 'EUR' ? '1' : (rate ?? '1')
  const decimals = (net.split('.')[1]?.length ?? 0) + (factor.split('.')[1]?.length ?? 0)
  const product = BigInt(net.replace('.', '')) * BigInt(factor.replace('.', ''))
  return product * 10n ** BigInt(digits - decimals)
}

export function formatDecimal(units: bigint, digits: number): string {
  const text = units.toString().padStart(digits + 1, '0')
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`
}

const daysBetween = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 86_400_000

export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10)
}
