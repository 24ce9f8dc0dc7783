// What the figures should be: a plain computation of its own, in whole minor units of BigInt, and random quotes to try it on.
import fc from 'fast-check'

type Amount = { amount: string; currency: string }
export type Stats = {
  period: { from: string; to: string; timeZone: string; date: string }
  quotes: { total: number; byStatus: Record<string, number>; acceptance: { ofSent: string | null; ofDecided: string | null } }
  revenue: {
    total: Amount
    average: Amount | null
    byCurrency: (Amount & { quotes: number })[]
    unconverted: (Amount & { quotes: number })[]
  }
  byCountry: { country: string | null; quotes: number; accepted: number; revenue: Amount }[]
  byMonth: { month: string; partial: boolean; quotes: number; accepted: number; revenue: Amount }[]
  comparison: null | (Pick<Stats, 'period' | 'quotes' | 'revenue'> & { change: Record<string, string | null> })
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
      rate: draw.currency === 'EUR' ? '1' : draw.rate === null ? null : decimal(BigInt(draw.rate), 4),
      issued_on: dayAfter('2025-11-01', draw.issued),
      valid_until: draw.valid === null ? null : dayAfter('2025-11-01', draw.issued + draw.valid),
      decided_on: draw.decided === null || !decidable ? null : dayAfter('2025-11-01', draw.issued + draw.decided),
      net: decimal(draw.units, digits),
    }
  })
export const arbitraryQuery = fc.record({
  date: fc.constantFrom('issued' as const, 'accepted' as const),
  country: fc.constantFrom(undefined, undefined, 'ES', 'unknown'),
  bounds: fc.option(fc.tuple(fc.integer({ min: 0, max: 420 }), fc.integer({ min: 0, max: 420 }))),
})
export type Question = { today: string; date: string; country: string | undefined; bounds: [string, string] | null }

/** Throws unless every figure is what it should be over `all`, and every breakdown adds up. */
export function compare(got: Stats, all: Quote[], { today, date, country, bounds }: Question): void {
  const dayOf = (quote: Quote) => (date === 'accepted' ? (quote.decided_on ?? quote.issued_on) : quote.issued_on)
  const counted = all.filter(
    (quote) =>
      quote.status !== 'superseded' &&
      (date !== 'accepted' || quote.status === 'accepted') &&
      (country === undefined || (country === 'unknown' ? quote.country === null : quote.country === country)),
  )
  const days = counted.map(dayOf).sort()
  const from = bounds?.[0] ?? days[0] ?? today
  const to = bounds?.[1] ?? days.at(-1) ?? today
  const within = counted.filter((quote) => dayOf(quote) >= from && dayOf(quote) <= to)
  const statusOf = (quote: Quote) =>
    quote.status === 'sent' && quote.valid_until !== null && quote.valid_until < today ? 'expired' : quote.status
  const accepted = within.filter((quote) => quote.status === 'accepted')
  const revenue = (quotes: Quote[]) =>
    decimal(
      quotes.reduce((sum, quote) => sum + (baseCents(quote) ?? 0n), 0n),
      2,
    )

  equal(got.period, { from, to, timeZone: 'Europe/Madrid', date }, 'period')
  equal(got.quotes.total, within.length, 'total')
  for (const status of ['draft', 'sent', 'accepted', 'rejected', 'expired']) {
    equal(got.quotes.byStatus[status], within.filter((quote) => statusOf(quote) === status).length, status)
  }
  equal(got.revenue.total, { amount: revenue(accepted), currency: 'EUR' }, 'revenue')
  const converted = accepted.filter((quote) => baseCents(quote) !== null)
  equal(got.revenue.average?.amount ?? null, converted.length === 0 ? null : averageOf(converted), 'average')
  for (const [list, quotes] of [
    [got.revenue.byCurrency, accepted],
    [got.revenue.unconverted, accepted.filter((quote) => baseCents(quote) === null)],
  ] as const) {
    const currencies = [...new Set(quotes.map((quote) => quote.currency))].sort()
    equal(list.map((entry) => entry.currency).sort(), currencies, 'currencies')
    for (const entry of list) {
      const own = quotes.filter((quote) => quote.currency === entry.currency)
      const digits = own[0]?.net.split('.')[1]?.length ?? 0
      equal(
        entry.amount,
        decimal(
          own.reduce((sum, quote) => sum + BigInt(quote.net.replace('.', '')), 0n),
          digits,
        ),
        entry.currency,
      )
      equal(entry.quotes, own.length, entry.currency)
    }
  }
  for (const entry of got.byCountry) {
    const own = within.filter((quote) => quote.country === entry.country)
    const ownAccepted = own.filter((quote) => quote.status === 'accepted')
    equal(
      [entry.quotes, entry.accepted, entry.revenue.amount],
      [own.length, ownAccepted.length, revenue(ownAccepted)],
      `country ${entry.country}`,
    )
  }
  for (const entry of got.byMonth) {
    const own = within.filter((quote) => dayOf(quote).startsWith(entry.month))
    const ownAccepted = own.filter((quote) => quote.status === 'accepted')
    equal(
      [entry.quotes, entry.accepted, entry.revenue.amount],
      [own.length, ownAccepted.length, revenue(ownAccepted)],
      `month ${entry.month}`,
    )
  }
  equal(
    got.byCountry.reduce((sum, entry) => sum + entry.quotes, 0),
    got.quotes.total,
    'countries add up',
  )
  equal(
    got.byMonth.reduce((sum, entry) => sum + entry.quotes, 0),
    got.quotes.total,
    'months add up',
  )
  equal(
    Object.values(got.quotes.byStatus).reduce((sum, count) => sum + count, 0),
    got.quotes.total,
    'statuses add up',
  )
  equal([got.byMonth[0]?.month, got.byMonth.at(-1)?.month], [from.slice(0, 7), to.slice(0, 7)], 'months are filled')
}

function equal(got: unknown, wanted: unknown, what: string): void {
  if (JSON.stringify(got) !== JSON.stringify(wanted))
    throw new Error(`${what}: got ${JSON.stringify(got)}, wanted ${JSON.stringify(wanted)}`)
}

/** Cents of the base currency, rounded half up for each quote on its own; null without a rate. */
function baseCents({ currency, rate, net }: Quote): bigint | null {
  const digits = net.split('.')[1]?.length ?? 0
  const units = BigInt(net.replace('.', ''))
  if (currency === 'EUR') return units
  if (rate === null) return null
  const scaled = units * BigInt(rate.replace('.', '')) // digits + 4 decimals
  const drop = 10n ** BigInt(digits + 4 - 2)
  return (scaled + drop / 2n) / drop
}

function averageOf(quotes: Quote[]): string {
  const sum = quotes.reduce((total, quote) => total + (baseCents(quote) ?? 0n), 0n)
  const count = BigInt(quotes.length)
  return decimal((2n * sum + count) / (2n * count), 2)
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
