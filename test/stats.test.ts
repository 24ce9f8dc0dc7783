// GET /api/stats against a plain computation of its own, and how it is cached.
import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { type TestService, testService } from './helper.ts'

type Amount = { amount: string; currency: string }
type Stats = {
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
type Quote = {
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

const today = '2026-11-21'
const clock = () => new Date(`${today}T10:00:00Z`)

async function stats({ app }: Pick<TestService, 'app'>, query = ''): Promise<Stats> {
  const response = await app.inject(`/api/stats${query}`)
  if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${response.body}`)
  return response.json<Stats>()
}

const insert = (service: TestService, quotes: Quote[]) =>
  service.db
    .insertInto('quotes')
    .values(quotes.map((quote) => ({ ...quote, tax: '0', gross: quote.net })))
    .execute()

t.test('figures equal a plain computation over random quotes, and every breakdown adds up', async (t) => {
  // Each run comes a minute after the last, so that none is answered from what an earlier one left in the cache.
  let minutes = 0
  const service = await testService(t, { clock: () => new Date(Date.parse(`${today}T08:00:00Z`) + minutes * 60_000) })
  const arbitraryQuote = fc
    .record({
      status: fc.constantFrom('draft', 'sent', 'accepted', 'accepted', 'accepted', 'rejected', 'expired', 'superseded') as fc.Arbitrary<
        Quote['status']
      >,
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
  const queries = fc.record({
    date: fc.constantFrom('issued', 'accepted'),
    country: fc.constantFrom(undefined, undefined, 'ES', 'unknown'),
    bounds: fc.option(fc.tuple(fc.integer({ min: 0, max: 420 }), fc.integer({ min: 0, max: 420 }))),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(arbitraryQuote, { maxLength: 40 }), queries, async (drawn, query) => {
      minutes += 1
      await sql`truncate quotes cascade`.execute(service.db)
      const quotes = drawn.map((quote, index) => ({ ...quote, number: `Q${index}` }))
      if (quotes.length > 0) await insert(service, quotes)
      const bounds = query.bounds && [...query.bounds].sort((a, b) => a - b).map((days) => dayAfter('2025-11-01', days))
      const parameters = new URLSearchParams({ date: query.date })
      if (query.country) parameters.set('country', query.country)
      if (bounds) {
        parameters.set('from', bounds[0] ?? '')
        parameters.set('to', bounds[1] ?? '')
      }
      compare(await stats(service, `?${parameters}`), quotes, query.date, query.country, bounds as [string, string] | null)
    }),
    { numRuns: 150 },
  )
  t.ok(minutes >= 150)
})

/** What the figures should be, in whole minor units of BigInt: no SQL, no floats. */
function compare(got: Stats, all: Quote[], date: string, country: string | undefined, bounds: [string, string] | null): void {
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

function decimal(units: bigint, digits: number): string {
  const text = units.toString().padStart(digits + 1, '0')
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`
}

function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10)
}

const quote = (number: string, more: Partial<Quote>): Quote => ({
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

t.test('the answer has the shape and the rules of the contract', async (t) => {
  const service = await testService(t, { clock })
  await insert(service, [
    quote('1', {}),
    quote('2', { currency: 'USD', rate: '0.925', net: '10.05', country: null }),
    quote('3', { currency: 'JPY', rate: null, net: '5000' }),
    quote('4', { status: 'sent', decided_on: null, valid_until: '2026-11-20' }),
    quote('5', { status: 'sent', decided_on: null, valid_until: '2026-11-21' }),
    quote('6', { status: 'rejected', net: '7.00', country: 'FR' }),
    quote('7', { status: 'draft', decided_on: null, issued_on: '2026-11-05' }),
    quote('8', { status: 'superseded', net: '1000.00' }),
    quote('9', { issued_on: '2025-03-12', decided_on: '2025-03-12', net: '50.00' }),
  ])
  const answer = await stats(service, '?from=2026-03-05&to=2026-11-30&compare=previous_year')
  t.same(answer, {
    period: { from: '2026-03-05', to: '2026-11-30', timeZone: 'Europe/Madrid', date: 'issued' },
    quotes: {
      total: 7,
      byStatus: { draft: 1, sent: 1, accepted: 3, rejected: 1, expired: 1 },
      acceptance: { ofSent: '0.5000', ofDecided: '0.6000' },
    },
    revenue: {
      total: { amount: '109.30', currency: 'EUR' },
      average: { amount: '54.65', currency: 'EUR' },
      byCurrency: [
        { amount: '100.00', currency: 'EUR', quotes: 1 },
        { amount: '10.05', currency: 'USD', quotes: 1 },
        { amount: '5000', currency: 'JPY', quotes: 1 },
      ],
      unconverted: [{ amount: '5000', currency: 'JPY', quotes: 1 }],
    },
    byCountry: [
      { country: 'ES', quotes: 5, accepted: 2, revenue: { amount: '100.00', currency: 'EUR' } },
      { country: null, quotes: 1, accepted: 1, revenue: { amount: '9.30', currency: 'EUR' } },
      { country: 'FR', quotes: 1, accepted: 0, revenue: { amount: '0.00', currency: 'EUR' } },
    ],
    byMonth: [
      { month: '2026-03', partial: true, quotes: 6, accepted: 3, revenue: { amount: '109.30', currency: 'EUR' } },
      ...['04', '05', '06', '07', '08', '09', '10'].map((month) => ({
        month: `2026-${month}`,
        partial: false,
        quotes: 0,
        accepted: 0,
        revenue: { amount: '0.00', currency: 'EUR' },
      })),
      { month: '2026-11', partial: true, quotes: 1, accepted: 0, revenue: { amount: '0.00', currency: 'EUR' } },
    ],
    comparison: {
      period: { from: '2025-03-05', to: '2025-11-30', timeZone: 'Europe/Madrid', date: 'issued' },
      quotes: {
        total: 1,
        byStatus: { draft: 0, sent: 0, accepted: 1, rejected: 0, expired: 0 },
        acceptance: { ofSent: '1.0000', ofDecided: '1.0000' },
      },
      revenue: {
        total: { amount: '50.00', currency: 'EUR' },
        average: { amount: '50.00', currency: 'EUR' },
        byCurrency: [{ amount: '50.00', currency: 'EUR', quotes: 1 }],
        unconverted: [],
      },
      change: { quotes: '6.0000', accepted: '2.0000', revenue: '1.1860' },
    },
  })
  const accepted = await stats(service, '?date=accepted&from=2026-04-01&to=2026-04-30')
  t.same(accepted.quotes.byStatus, { draft: 0, sent: 0, accepted: 3, rejected: 0, expired: 0 })
  t.same(accepted.byMonth, [{ month: '2026-04', partial: false, quotes: 3, accepted: 3, revenue: { amount: '109.30', currency: 'EUR' } }])
  const whole = await stats(service)
  t.same([whole.period.from, whole.period.to], ['2025-03-12', '2026-11-05'], 'from the first to the last quote')
  t.same((await stats(service, '?from=2024-02-29&to=2024-02-29&compare=previous_year')).comparison?.period.from, '2023-02-28')
  const before = (await stats(service, '?from=2026-03-01&to=2026-03-31&compare=previous_period')).comparison
  t.same([before?.period.from, before?.period.to, before?.change.quotes], ['2026-01-29', '2026-02-28', null])
})

t.test('bad parameters are told by name, and a span without data is zeros', async (t) => {
  const service = await testService(t, { clock })
  for (const [query, parameter] of [
    ['from=2026-02-30', 'from'],
    ['to=2026-13-01', 'to'],
    ['from=yesterday', 'from'],
    ['from=2026-1-1', 'from'],
    ['from=2026-02-01&to=2026-01-01', 'from'],
    ['date=sent', 'date'],
    ['compare=last_year', 'compare'],
    ['country=es', 'country'],
    ['country=ESP', 'country'],
    ['form=2026-01-01', 'form'],
    ['from=2026-01-01&from=2026-01-02', 'from'],
  ] as const) {
    const response = await service.app.inject(`/api/stats?${query}`)
    t.equal(response.statusCode, 400, query)
    t.match(response.json(), { code: 'invalid_parameter', errors: [{ parameter }] }, query)
  }
  const nothing = await stats(service, '?from=2020-01-01&to=2020-02-29')
  t.equal(nothing.quotes.total, 0)
  t.same(
    nothing.byMonth.map(({ month, revenue }) => [month, revenue.amount]),
    [
      ['2020-01', '0.00'],
      ['2020-02', '0.00'],
    ],
  )
})

t.test('an answer carries its ETag and freshness, and 304 saves sending it again', async (t) => {
  const service = await testService(t)
  const first = await service.app.inject('/api/stats')
  t.equal(first.headers['cache-control'], 'private, no-cache')
  t.equal(first.headers['cache-status'], 'stats; fwd=miss')
  t.match(String(first.headers.etag), /^"[\w-]+"$/)
  t.match(String(first.headers.age), /^\d+$/)
  const second = await service.app.inject({ url: '/api/stats', headers: { 'if-none-match': `"other", W/${first.headers.etag}` } })
  t.equal(second.statusCode, 304)
  t.equal(second.body, '')
  t.equal(second.headers.etag, first.headers.etag)
})

t.test('a committed change shows within two seconds', async (t) => {
  const service = await testService(t)
  t.equal((await stats(service)).quotes.total, 0)
  await insert(service, [quote('1', {})])
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  t.equal((await stats(service)).quotes.total, 1)
})

t.test('Redis answering rubbish, or gone, costs nothing but the cache', async (t) => {
  const service = await testService(t)
  await insert(service, [quote('1', {})])
  t.equal((await stats(service)).quotes.total, 1)
  for (const key of await service.redis.keys(`${service.config.REDIS_PREFIX}stats:*`)) await service.redis.set(key, '{"body": 1')
  t.equal((await stats(service)).quotes.total, 1)
  const without = await testService(t, { config: { REDIS_URL: 'redis://127.0.0.1:9' } })
  await insert(without, [quote('1', {})])
  t.equal((await stats(without)).quotes.total, 1)
})

t.test('PostgreSQL gone: the last figures, marked stale; with none, 503', async (t) => {
  let now = new Date('2026-11-21T10:00:00Z')
  const service = await testService(t, { clock: () => now })
  await insert(service, [quote('1', {})])
  t.equal((await stats(service)).quotes.total, 1)
  await service.db.schema.alterTable('quotes').renameTo('quotes_away').execute()
  now = new Date('2026-11-21T10:01:00Z')
  const stale = await service.app.inject('/api/stats')
  t.equal(stale.statusCode, 200)
  t.equal(stale.json<Stats>().quotes.total, 1)
  t.match(String(stale.headers['cache-status']), /fwd=stale/)
  t.equal(stale.headers.age, '60')
  const none = await service.app.inject('/api/stats?country=FR')
  t.equal(none.statusCode, 503)
  t.match(none.json(), { code: 'unavailable' })
  t.ok(Number(none.headers['retry-after']) > 0)
})
