// What the figures should be: a plain computation of its own, in whole minor units of BigInt, and random quotes to try it on.
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'

type Amount = { amount: string; currency: string }
export type Stats = {
  period: { from: string; to: string; timeZone: string; date: string }
  quotes: {
    total: number
    byStatus: Record<string, number>
    acceptance: { ofSent: string | null; ofDecided: string | null }
  }
  revenue: {
    total: Amount
    average: Amount | null
    byCurrency: (Amount & { quotes: number })[]
    unconverted: (Amount & { quotes: number })[]
  }
  byCountry: { country: string | null; quotes: number; accepted: number; revenue: Amount }[]
  byMonth: { month: string; partial: boolean; quotes: number; accepted: number; revenue: Amount }[]
  comparison:
    | null
    | (Pick<Stats, 'period' | 'quotes' | 'revenue'> & { change: Record<string, string | null> })
}
export type Quote = {
  number: string
  status: 'draft' | 'sent' | 'accepted' | 'rejected' | 'expired' | 'superseded'
  country: string | null
  currency: string
  rate: string | null
  issued_on: string
  valid_until: string | null
  decided_on: string | null
  net: string
}

/** Quotes over thirteen months, in currencies of 0, 2 and 3 digits, with sums far past 2^53. */
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
      'superseded',
    ) as fc.Arbitrary<Quote['status']>,
    country: fc.constantFrom(null, 'ES', 'FR', 'US'),
    currency: fc.constantFrom('EUR', 'EUR', 'USD', 'JPY', 'KWD'),
    units: fc.bigInt({ min: 0n, max: 10n ** 17n }),
    rate: fc.option(fc.integer({ min: 1, max: 99_999 })),
    issued: fc.integer({ min: 0, max: 400 }),
    valid: fc.option(fc.integer({ min: 0, max: 60 })),
    decided: fc.option(fc.integer({ min: 0, max: 60 })),
  })
  .map((draw): Omit<Quote, 'number'> => {
    const digits = { EUR: 2, USD: 2, JPY: 0, KWD: 3 }[draw.currency] ?? 0
    const decidable = draw.status === 'accepted' || draw.status === 'rejected'
    return {
      status: draw.status,
      country: draw.country,
      currency: draw.currency,
      rate:
        draw.currency === 'EUR' ? '1' : draw.rate === null ? null : decimal(BigInt(draw.rate), 4),
      issued_on: dayAfter('2025-11-01', draw.issued),
      valid_until: draw.valid === null ? null : dayAfter('2025-11-01', draw.issued + draw.valid),
      decided_on:
        draw.decided === null || !decidable
          ? null
          : dayAfter('2025-11-01', draw.issued + draw.decided),
      net: decimal(draw.units, digits),
    }
  })
export const arbitraryQuery = fc.record({
  date: fc.constantFrom('issued' as const, 'accepted' as const),
  country: fc.constantFrom(undefined, undefined, 'ES', 'unknown'),
  bounds: fc.option(fc.tuple(fc.integer({ min: 0, max: 420 }), fc.integer({ min: 0, max: 420 }))),
  compare: fc.constantFrom(
    undefined,
    undefined,
    'previous_period' as const,
    'previous_year' as const,
  ),
})
/** `bounds`: what `from` and `to` say, null without them. */
export type Question = {
  today: string
  date: string
  country: string | undefined
  bounds: [string, string] | null
  compare?: 'previous_period' | 'previous_year' | undefined
}

/** Throws unless every figure is what it should be over `all`. */
export function compare(got: Stats, all: Quote[], question: Question): void {
  const wanted = expectedStats(all, question)
  for (const part of [
    'period',
    'quotes',
    'revenue',
    'byCountry',
    'byMonth',
    'comparison',
  ] as const) {
    if (!isDeepStrictEqual(normal(got)[part], wanted[part]))
      throw new Error(
        `${part}: got ${JSON.stringify(got[part])}, wanted ${JSON.stringify(wanted[part])}`,
      )
  }
}

export const isExpected = (got: Stats, all: Quote[], question: Question): boolean =>
  isDeepStrictEqual(normal(got), expectedStats(all, question))

/** The order of currencies is nobody's promise. */
function normal(stats: Stats): Stats {
  const sorted = (list: Stats['revenue']['byCurrency']) =>
    list.toSorted((a, b) => (a.currency < b.currency ? -1 : 1))
  const sort = (revenue: Stats['revenue']) => ({
    ...revenue,
    byCurrency: sorted(revenue.byCurrency),
    unconverted: sorted(revenue.unconverted),
  })
  const { comparison } = stats
  return {
    ...stats,
    revenue: sort(stats.revenue),
    comparison: comparison && { ...comparison, revenue: sort(comparison.revenue) },
  }
}

/** The whole answer, computed plainly. */
export function expectedStats(
  all: Quote[],
  { today, date, country, bounds, compare }: Question,
): Stats {
  const dayOf = (quote: Quote) =>
    date === 'accepted' ? (quote.decided_on ?? quote.issued_on) : quote.issued_on
  const counted = all.filter(
    (quote) =>
      quote.status !== 'superseded' &&
      (date !== 'accepted' || quote.status === 'accepted') &&
      (country === undefined ||
        (country === 'unknown' ? quote.country === null : quote.country === country)),
  )
  const days = counted.map(dayOf).sort()
  const from = bounds?.[0] ?? days[0] ?? today
  const to = bounds?.[1] ?? days.at(-1) ?? today
  const within = (first: string, last: string) =>
    counted.filter((quote) => dayOf(quote) >= first && dayOf(quote) <= last)
  const period = (first: string, last: string) => ({
    from: first,
    to: last,
    timeZone: 'Europe/Madrid',
    date,
  })
  const now = within(from, to)
  const [first, last] = compare ? before(from, to, compare) : ['', '']
  const earlier = within(first, last)
  const isAccepted = ({ status }: Quote) => status === 'accepted'
  const group = (quotes: Quote[]) => ({
    quotes: quotes.length,
    accepted: quotes.filter(isAccepted).length,
    revenue: inBase(quotes.filter(isAccepted)),
  })
  const change = (count: (quotes: Quote[]) => bigint) =>
    ratio(count(now) - count(earlier), count(earlier), 4)
  return {
    period: period(from, to),
    ...headOf(now, today),
    byCountry: [...new Set(now.map((quote) => quote.country))]
      .map((code) => ({ country: code, ...group(now.filter((quote) => quote.country === code)) }))
      .sort(
        (a, b) =>
          Number(
            BigInt(b.revenue.amount.replace('.', '')) - BigInt(a.revenue.amount.replace('.', '')),
          ) || order(a.country, b.country),
      ),
    byMonth: months(from, to).map((month) => {
      const isCut = `${month}-01` < from || lastDay(month) > to || lastDay(month) >= today
      return {
        month,
        partial: isCut,
        ...group(now.filter((quote) => dayOf(quote).startsWith(month))),
      }
    }),
    comparison: compare
      ? {
          period: period(first, last),
          ...headOf(earlier, today),
          change: {
            quotes: change((quotes) => BigInt(quotes.length)),
            accepted: change((quotes) => BigInt(quotes.filter(isAccepted).length)),
            revenue: change((quotes) => sumOf(quotes.filter(isAccepted))),
          },
        }
      : null,
  }
}

function headOf(quotes: Quote[], today: string): Pick<Stats, 'quotes' | 'revenue'> {
  const isLapsed = (quote: Quote) =>
    quote.status === 'sent' && quote.valid_until !== null && quote.valid_until < today
  const countOf = (status: string) =>
    quotes.filter((quote) => (isLapsed(quote) ? 'expired' : quote.status) === status).length
  const [draft, sent, rejected, expired] = [
    countOf('draft'),
    countOf('sent'),
    countOf('rejected'),
    countOf('expired'),
  ]
  const accepted = quotes.filter(({ status }) => status === 'accepted')
  const converted = accepted.filter((quote) => baseCents(quote) !== null)
  const share = (all: number) => ratio(BigInt(accepted.length), BigInt(all), 4)
  const average = ratio(sumOf(accepted), 100n * BigInt(converted.length), 2)
  return {
    quotes: {
      total: quotes.length,
      byStatus: { draft, sent, accepted: accepted.length, rejected, expired },
      acceptance: {
        ofSent: share(sent + accepted.length + rejected + expired),
        ofDecided: share(accepted.length + rejected + expired),
      },
    },
    revenue: {
      total: inBase(accepted),
      average: average === null ? null : { amount: average, currency: 'EUR' },
      byCurrency: byCurrency(accepted),
      unconverted: byCurrency(accepted.filter((quote) => baseCents(quote) === null)),
    },
  }
}

function byCurrency(quotes: Quote[]): (Amount & { quotes: number })[] {
  return [...new Set(quotes.map(({ currency }) => currency))].sort().map((currency) => {
    const own = quotes.filter((quote) => quote.currency === currency)
    const units = own.reduce((sum, { net }) => sum + BigInt(net.replace('.', '')), 0n)
    return {
      amount: decimal(units, own[0]?.net.split('.')[1]?.length ?? 0),
      currency,
      quotes: own.length,
    }
  })
}

const sumOf = (quotes: Quote[]): bigint =>
  quotes.reduce((sum, quote) => sum + (baseCents(quote) ?? 0n), 0n)
const inBase = (quotes: Quote[]): Amount => ({ amount: decimal(sumOf(quotes), 2), currency: 'EUR' })

/** Codes in their order, what is unknown last. */
const order = (a: string | null, b: string | null): number =>
  a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -1 : 1

/** The bounds of the period that one is compared with. */
function before(
  from: string,
  to: string,
  compare: 'previous_period' | 'previous_year',
): [string, string] {
  const length = (Date.parse(to) - Date.parse(from)) / 86_400_000 + 1
  if (compare === 'previous_period') return [dayAfter(from, -length), dayAfter(from, -1)]
  const yearBefore = (day: string) =>
    `${Number(day.slice(0, 4)) - 1}${day.endsWith('-02-29') ? '-02-28' : day.slice(4)}`
  return [yearBefore(from), yearBefore(to)]
}

function months(from: string, to: string): string[] {
  const all: string[] = []
  for (
    let month = from.slice(0, 7);
    month <= to.slice(0, 7);
    month = dayAfter(lastDay(month), 1).slice(0, 7)
  )
    all.push(month)
  return all
}

const lastDay = (month: string): string =>
  dayAfter(`${dayAfter(`${month}-01`, 31).slice(0, 7)}-01`, -1)

/** A quotient with so many decimals, halves away from zero; null by nothing. */
function ratio(dividend: bigint, divisor: bigint, digits: number): string | null {
  if (divisor === 0n) return null
  const size = dividend < 0n ? -dividend : dividend
  const units = (2n * size * 10n ** BigInt(digits) + divisor) / (2n * divisor)
  return `${dividend < 0n && units > 0n ? '-' : ''}${decimal(units, digits)}`
}

/** Cents of the base currency, rounded half up for each quote on its own; null without a rate. */
function baseCents({ currency, rate, net }: Quote): bigint | null {
  const digits = net.split('.')[1]?.length ?? 0
  const units = BigInt(net.replace('.', ''))
  if (currency === 'EUR') return units
  if (rate === null) return null
  const decimals = digits + (rate.split('.')[1]?.length ?? 0)
  const scaled = units * BigInt(rate.replace('.', ''))
  if (decimals <= 2) return scaled * 10n ** BigInt(2 - decimals)
  const drop = 10n ** BigInt(decimals - 2)
  return (scaled + drop / 2n) / drop
}

export function decimal(units: bigint, digits: number): string {
  const text = units.toString().padStart(digits + 1, '0')
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`
}

export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10)
}

/** An accepted quote of 100 EUR, but for `more`. */
export const quote = (number: string, more: Partial<Quote>): Quote => ({
  number,
  status: 'accepted',
  country: 'ES',
  currency: 'EUR',
  rate: '1',
  issued_on: '2026-03-10',
  valid_until: null,
  decided_on: '2026-04-02',
  net: '100.00',
  ...more,
})
