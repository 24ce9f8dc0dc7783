// Computes the expected statistics independently of the service, with BigInt minor units. Only the
// comparison period is that of the service: the examples of comparison-period.test.ts define it.
import { isDeepStrictEqual } from 'node:util'
import { chooseComparisonPeriod } from '../../src/stats/comparison-period.ts'
import type { StatsWithoutAsOf } from '../../src/stats/schema.ts'
import { customerName, type Quote } from './quote-builder.ts'

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
  actual: StatsWithoutAsOf,
  quotes: Quote[],
  query: ExpectedQuery,
): void {
  const [is, expected] = [sortCurrencies(actual), expectedStats(quotes, query)]
  const parts = Object.keys({ ...is, ...expected }) as (keyof StatsWithoutAsOf)[]
  for (const part of parts)
    if (!isDeepStrictEqual(is[part], expected[part]))
      throw new Error(
        `${part}: is ${JSON.stringify(is[part])}, expected ${JSON.stringify(expected[part])}`,
      )
}

export const isExpected = (
  actual: StatsWithoutAsOf,
  quotes: Quote[],
  query: ExpectedQuery,
): boolean => isDeepStrictEqual(sortCurrencies(actual), expectedStats(quotes, query))

/** The contract does not define the order of currencies. The moment of an answer is left out. */
function sortCurrencies(stats: StatsWithoutAsOf & { asOf?: string }): StatsWithoutAsOf {
  const sortRevenue = <Part extends Pick<StatsWithoutAsOf, 'revenue'>>(part: Part): Part => {
    const { byCurrency, unconverted, ...revenue } = part.revenue
    const sort = (amounts: typeof byCurrency) =>
      amounts.toSorted((a, b) => (a.currency < b.currency ? -1 : 1))
    const sorted = { byCurrency: sort(byCurrency), unconverted: sort(unconverted) }
    return { ...part, revenue: { ...revenue, ...sorted } }
  }
  const { asOf: _, comparison, ...others } = stats
  return sortRevenue({ ...others, comparison: comparison && sortRevenue(comparison) })
}

export function expectedStats(quotes: Quote[], query: ExpectedQuery): StatsWithoutAsOf {
  const { today, date, bounds, compare, by } = query
  const dayOf = (quote: Quote) =>
    date === 'accepted' ? (quote.decided_on ?? quote.issued_on) : quote.issued_on
  const counted = quotes.filter((quote) => isCounted(quote, query))
  const days = counted.map(dayOf).sort()
  const from = bounds?.[0] ?? days[0] ?? today
  const to = bounds?.[1] ?? days.at(-1) ?? today
  const within = (first: string, last: string) =>
    counted.filter((quote) => dayOf(quote) >= first && dayOf(quote) <= last)
  const period = { from, to, timeZone: 'Europe/Madrid', date }
  const earlier = compare ? chooseComparisonPeriod(period, compare, today) : null
  const [current, previous] = [within(from, to), earlier ? within(earlier.from, earlier.to) : []]
  const change = (measure: (quotes: Quote[]) => bigint) =>
    ratio(measure(current) - measure(previous), measure(previous), 4)
  return {
    period,
    ...totalsOf(current, today),
    byCountry: [...Map.groupBy(current, ({ country }) => country)]
      .map(([country, group]) => ({ country, ...groupOf(group, today) }))
      .sort((a, b) => byRevenue(a, b) || byCode(a.country, b.country)),
    byMonth: listMonths(from, to).map((month) => ({
      month,
      partial: `${month}-01` < from || lastDayOf(month) > to || lastDayOf(month) >= today,
      ...groupOf(
        current.filter((quote) => dayOf(quote).startsWith(month)),
        today,
      ),
    })),
    ...(by === 'day' && {
      byDay: Array.from({ length: daysBetween(from, to) + 1 }, (_, index) => {
        const day = dayAfter(from, index)
        return { day, partial: day >= today, ...groupOf(within(day, day), today) }
      }),
    }),
    ...(by === 'customer' && { byCustomer: groupByCustomer(current) }),
    ...(by === 'product' && { byProduct: groupByProduct(current) }),
    comparison: earlier && {
      period: earlier,
      ...totalsOf(previous, today),
      change: {
        quotes: change(count),
        accepted: change((group) => count(group.filter(isAccepted))),
        revenue: change((group) => sumOf(group.filter(isAccepted))),
      },
    },
  }
}

const isAccepted = ({ status }: Quote) => status === 'accepted'

function isCounted(quote: Quote, { date, country, currency }: ExpectedQuery): boolean {
  if (quote.status === 'superseded') return false
  if (date === 'accepted' && !isAccepted(quote)) return false
  if (currency !== undefined && quote.currency !== currency) return false
  return country === undefined || (quote.country ?? 'unknown') === country
}

/** What the response says about each country, month and day. */
function groupOf(quotes: Quote[], today: string) {
  const isLapsed = ({ status, valid_until }: Quote) =>
    status === 'sent' && valid_until !== null && valid_until < today
  const groups = Map.groupBy(quotes, (quote) => (isLapsed(quote) ? 'expired' : quote.status))
  const of = (status: Quote['status']) => groups.get(status) ?? []
  const byOutcome = {
    open: of('sent'),
    won: of('accepted'),
    lost: [...of('rejected'), ...of('expired')],
    withdrawn: of('withdrawn'),
  }
  const { open, won, lost, withdrawn } = byOutcome
  const rate = (measure: (group: Quote[]) => bigint, of: Quote[]) =>
    ratio(measure(won), measure(of), 4)
  return {
    quotes: quotes.length,
    accepted: won.length,
    revenue: revenueOf(won),
    byStatus: {
      draft: of('draft').length,
      sent: open.length,
      accepted: won.length,
      rejected: of('rejected').length,
      expired: of('expired').length,
      withdrawn: withdrawn.length,
    },
    money: {
      open: revenueOf(open),
      won: revenueOf(won),
      lost: revenueOf(lost),
      withdrawn: revenueOf(withdrawn),
    },
    acceptance: {
      ofSent: rate(count, [...open, ...won, ...lost]),
      ofDecided: rate(count, [...won, ...lost]),
      ofSentValue: rate(sumOf, [...open, ...won, ...lost]),
      ofDecidedValue: rate(sumOf, [...won, ...lost]),
    },
    daysToDecision: daysToDecisionOf(quotes),
  }
}

function totalsOf(all: Quote[], today: string): Pick<StatsWithoutAsOf, 'quotes' | 'revenue'> {
  const { quotes, accepted: _, revenue, ...outcomes } = groupOf(all, today)
  const accepted = all.filter(isAccepted)
  const unconverted = accepted.filter((quote) => baseCents(quote) === null)
  const average = ratio(sumOf(accepted), 100n * (count(accepted) - count(unconverted)), 2)
  return {
    quotes: { total: quotes, ...outcomes },
    revenue: {
      total: revenue,
      average: average === null ? null : { amount: average, currency: 'EUR' },
      byCurrency: sumByCurrency(accepted),
      unconverted: sumByCurrency(unconverted),
    },
  }
}

type Row = { revenue: { amount: string; currency: string } }
const byRevenue = (a: Row, b: Row) =>
  Number(minorUnits(b.revenue.amount) - minorUnits(a.revenue.amount))
/** Sorts by code; an unknown country is last. */
const byCode = (a: string | null, b: string | null) =>
  a === b ? 0 : b === null || (a !== null && a < b) ? -1 : 1

const maxListed = 50

function groupByCustomer(quotes: Quote[]): NonNullable<StatsWithoutAsOf['byCustomer']> {
  const totalsOf = (group: Quote[]) => {
    const accepted = group.filter(isAccepted)
    return {
      quotes: group.length,
      accepted: accepted.length,
      revenue: revenueOf(accepted),
      unconverted: accepted.filter((quote) => baseCents(quote) === null).length,
    }
  }
  const sorted = [...Map.groupBy(quotes, ({ customer_id }) => customer_id ?? null)]
    .map(([id, group]) => ({ id, group, ...totalsOf(group) }))
    .sort((a, b) => byRevenue(a, b) || Number(a.id ?? 0) - Number(b.id ?? 0))
  const others = sorted.slice(maxListed).map(({ group }) => group)
  return {
    rows: sorted.slice(0, maxListed).map(({ id, group: _, ...totals }) => ({
      customer: id === null ? null : { id, name: customerName(id) },
      ...totals,
    })),
    rest: others.length === 0 ? null : { customers: others.length, ...totalsOf(others.flat()) },
  }
}

/** Decimals of the exact product of a net and a rate. */
const lineDigits = 8

type AcceptedLine = { sku: string; units: bigint | null }

function groupByProduct(quotes: Quote[]): NonNullable<StatsWithoutAsOf['byProduct']> {
  const lines = quotes.filter(isAccepted).flatMap((quote): AcceptedLine[] =>
    (quote.lines ?? []).map(({ sku, net }) => ({
      sku: sku ?? '',
      units: baseUnits({ ...quote, net }, lineDigits),
    })),
  )
  const totalsOf = (group: AcceptedLine[]) => {
    const units = group.reduce((sum, line) => sum + (line.units ?? 0n), 0n)
    const amount = ratio(units, 10n ** BigInt(lineDigits), 2) ?? ''
    return {
      lines: group.length,
      revenue: { amount, currency: 'EUR' },
      unconverted: group.filter(({ units }) => units === null).length,
    }
  }
  const sorted = [...Map.groupBy(lines, ({ sku }) => sku)]
    .map(([sku, group]) => ({ sku, group, ...totalsOf(group) }))
    .sort((a, b) => byRevenue(a, b) || byCode(a.sku, b.sku))
  const others = sorted.slice(maxListed).map(({ group }) => group)
  return {
    rows: sorted.slice(0, maxListed).map(({ sku, group: _, ...totals }) => ({
      product: sku === '' ? null : { sku, name: null },
      ...totals,
    })),
    rest: others.length === 0 ? null : { products: others.length, ...totalsOf(others.flat()) },
  }
}

/** The contract counts more than 1,000 days as 1,000 in the median. */
const maxDaysInMedian = 1_000

function daysToDecisionOf(quotes: Quote[]) {
  const days = quotes
    .flatMap(({ issued_on, decided_on }) =>
      decided_on ? [daysBetween(issued_on, decided_on)] : [],
    )
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

function sumByCurrency(quotes: Quote[]) {
  return [...Map.groupBy(quotes, ({ currency }) => currency)]
    .map(([currency, group]) => {
      const units = group.reduce((sum, { net }) => sum + minorUnits(net), 0n)
      const amount = formatDecimal(units, digitsOf(group[0]?.net ?? ''))
      return { amount, currency, quotes: group.length }
    })
    .sort((a, b) => byCode(a.currency, b.currency))
}

const count = (quotes: Quote[]): bigint => BigInt(quotes.length)
const sumOf = (quotes: Quote[]): bigint =>
  quotes.reduce((sum, quote) => sum + (baseCents(quote) ?? 0n), 0n)
const revenueOf = (quotes: Quote[]) => ({
  amount: formatDecimal(sumOf(quotes), 2),
  currency: 'EUR',
})

function listMonths(from: string, to: string): string[] {
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
function baseCents(quote: Quote): bigint | null {
  const units = baseUnits(quote, lineDigits)
  if (units === null) return null
  return BigInt(ratio(units, 10n ** BigInt(lineDigits - 2), 0) ?? '')
}

/** An amount in the base currency in units of 10^-digits, not rounded; null without a rate. */
function baseUnits({ currency, rate, net }: Quote, digits: number): bigint | null {
  const factor = currency === 'EUR' ? '1' : rate
  if (factor === null) return null
  const product = minorUnits(net) * minorUnits(factor)
  return product * 10n ** BigInt(digits - digitsOf(net) - digitsOf(factor))
}

const minorUnits = (decimal: string) => BigInt(decimal.replace('.', ''))
const digitsOf = (decimal: string) => decimal.split('.')[1]?.length ?? 0

export function formatDecimal(units: bigint, digits: number): string {
  const text = units.toString().padStart(digits + 1, '0')
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`
}

const daysBetween = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 86_400_000

export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10)
}
