// GET /api/stats: the response, the parameters, the default period and the comparison period.
import t from 'tap'
import type { Stats } from '../../src/stats/schema.ts'
import { insertQuotes } from './insert-quotes.ts'
import { buildQuote } from './quote-builder.ts'
import { statsService } from './stats-service.ts'

const today = '2026-11-21'
const clock = () => new Date(`${today}T10:00:00Z`)

/** The service of all tests that only read. */
const service = await statsService(t, { clock })
await insertQuotes(service.db, [
  buildQuote('1', {}),
  buildQuote('2', { currency: 'USD', rate: '0.925', net: '10.05', country: null }),
  buildQuote('3', { currency: 'JPY', rate: null, net: '5000' }),
  buildQuote('4', { status: 'sent', decided_on: null, valid_until: '2026-11-20' }),
  buildQuote('5', { status: 'sent', decided_on: null, valid_until: '2026-11-21' }),
  buildQuote('6', { status: 'rejected', decided_on: '2026-03-20', net: '7.00', country: 'FR' }),
  buildQuote('7', { status: 'draft', decided_on: null, issued_on: '2026-11-05' }),
  buildQuote('8', { status: 'superseded', net: '1000.00' }),
  buildQuote('9', { issued_on: '2025-03-12', decided_on: '2025-03-12', net: '50.00' }),
])

async function readStats(query = ''): Promise<Stats> {
  const response = await service.app.inject(`/api/stats${query}`)
  if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${response.body}`)
  return response.json<Stats>()
}

const eur = (amount: string) => ({ amount, currency: 'EUR' })

/** What a period, a country and a month have in common. What is left out is zero or null. */
function outcomes({
  byStatus = {},
  money = {},
  rates = {},
  days = { quotes: 0, mean: null, median: null },
}: {
  byStatus?: Partial<Record<Status, number>>
  money?: Partial<Record<'open' | 'won' | 'lost' | 'withdrawn', string>>
  rates?: Partial<Rates>
  days?: { quotes: number; mean: string | null; median: string | null }
}) {
  const { open = '0.00', won = '0.00', lost = '0.00', withdrawn = '0.00' } = money
  return {
    byStatus: {
      draft: 0,
      sent: 0,
      accepted: 0,
      rejected: 0,
      expired: 0,
      withdrawn: 0,
      ...byStatus,
    },
    money: { open: eur(open), won: eur(won), lost: eur(lost), withdrawn: eur(withdrawn) },
    acceptance: {
      ofSent: null,
      ofDecided: null,
      ofSentValue: null,
      ofDecidedValue: null,
      ...rates,
    },
    daysToDecision: days,
  }
}
type Status = 'draft' | 'sent' | 'accepted' | 'rejected' | 'expired' | 'withdrawn'
type Rates = Record<'ofSent' | 'ofDecided' | 'ofSentValue' | 'ofDecidedValue', string>
const noOutcomes = outcomes({})

const wholePeriod = '?from=2026-03-05&to=2026-11-30&compare=previous_year'
/** The rates of the whole period, and of March. */
const rates = {
  ofSent: '0.5000',
  ofDecided: '0.6000',
  ofSentValue: '0.3456',
  ofDecidedValue: '0.5053',
}

t.test('the response has the documented members, with the totals of the period', async (t) => {
  const body = await readStats(wholePeriod)
  t.same(Object.keys(body), [
    ...['asOf', 'period', 'quotes', 'revenue', 'byCountry', 'byMonth', 'comparison'],
  ])
  const { asOf, period, quotes, revenue } = body
  t.match(asOf, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  t.same(
    { period, quotes, revenue },
    {
      period: { from: '2026-03-05', to: '2026-11-30', timeZone: 'Europe/Madrid', date: 'issued' },
      quotes: {
        total: 7,
        ...outcomes({
          byStatus: { draft: 1, sent: 1, accepted: 3, rejected: 1, expired: 1 },
          money: { open: '100.00', won: '109.30', lost: '107.00' },
          rates,
          days: { quotes: 4, mean: '19.8', median: '23.0' },
        }),
      },
      revenue: {
        total: eur('109.30'),
        average: eur('54.65'),
        byCurrency: [
          { amount: '100.00', currency: 'EUR', quotes: 1 },
          { amount: '10.05', currency: 'USD', quotes: 1 },
          { amount: '5000', currency: 'JPY', quotes: 1 },
        ],
        unconverted: [{ amount: '5000', currency: 'JPY', quotes: 1 }],
      },
    },
  )
})

t.test('countries are in the order of revenue, and months without quotes are listed', async (t) => {
  const { byCountry, byMonth } = await readStats(wholePeriod)
  t.same(
    { byCountry, byMonth },
    {
      byCountry: [
        {
          country: 'ES',
          quotes: 5,
          accepted: 2,
          revenue: eur('100.00'),
          ...outcomes({
            byStatus: { draft: 1, sent: 1, accepted: 2, expired: 1 },
            money: { open: '100.00', won: '100.00', lost: '100.00' },
            rates: {
              ofSent: '0.5000',
              ofDecided: '0.6667',
              ofSentValue: '0.3333',
              ofDecidedValue: '0.5000',
            },
            days: { quotes: 2, mean: '23.0', median: '23.0' },
          }),
        },
        {
          country: null,
          quotes: 1,
          accepted: 1,
          revenue: eur('9.30'),
          ...outcomes({
            byStatus: { accepted: 1 },
            money: { won: '9.30' },
            rates: {
              ofSent: '1.0000',
              ofDecided: '1.0000',
              ofSentValue: '1.0000',
              ofDecidedValue: '1.0000',
            },
            days: { quotes: 1, mean: '23.0', median: '23.0' },
          }),
        },
        {
          country: 'FR',
          quotes: 1,
          accepted: 0,
          revenue: eur('0.00'),
          ...outcomes({
            byStatus: { rejected: 1 },
            money: { lost: '7.00' },
            rates: {
              ofSent: '0.0000',
              ofDecided: '0.0000',
              ofSentValue: '0.0000',
              ofDecidedValue: '0.0000',
            },
            days: { quotes: 1, mean: '10.0', median: '10.0' },
          }),
        },
      ],
      byMonth: [
        {
          month: '2026-03',
          partial: true,
          quotes: 6,
          accepted: 3,
          revenue: eur('109.30'),
          ...outcomes({
            byStatus: { sent: 1, accepted: 3, rejected: 1, expired: 1 },
            money: { open: '100.00', won: '109.30', lost: '107.00' },
            rates,
            days: { quotes: 4, mean: '19.8', median: '23.0' },
          }),
        },
        ...['04', '05', '06', '07', '08', '09', '10'].map((month) => ({
          month: `2026-${month}`,
          partial: false,
          quotes: 0,
          accepted: 0,
          revenue: eur('0.00'),
          ...noOutcomes,
        })),
        {
          month: '2026-11',
          partial: true,
          quotes: 1,
          accepted: 0,
          revenue: eur('0.00'),
          ...noOutcomes,
          byStatus: { ...noOutcomes.byStatus, draft: 1 },
        },
      ],
    },
  )
})

t.test('the comparison has the totals of its period and the relative change', async (t) => {
  const { comparison } = await readStats(wholePeriod)
  t.same(comparison, {
    period: { from: '2025-03-05', to: '2025-11-21', timeZone: 'Europe/Madrid', date: 'issued' },
    quotes: {
      total: 1,
      ...outcomes({
        byStatus: { accepted: 1 },
        money: { won: '50.00' },
        rates: {
          ofSent: '1.0000',
          ofDecided: '1.0000',
          ofSentValue: '1.0000',
          ofDecidedValue: '1.0000',
        },
        days: { quotes: 1, mean: '0.0', median: '0.0' },
      }),
    },
    revenue: {
      total: eur('50.00'),
      average: eur('50.00'),
      byCurrency: [{ amount: '50.00', currency: 'EUR', quotes: 1 }],
      unconverted: [],
    },
    change: { quotes: '6.0000', accepted: '2.0000', revenue: '1.1860' },
  })
})

t.test('date=accepted counts accepted quotes on their decision date', async (t) => {
  const { quotes, byMonth } = await readStats('?date=accepted&from=2026-04-01&to=2026-04-30')
  const expected = outcomes({
    byStatus: { accepted: 3 },
    money: { won: '109.30' },
    rates: {
      ofSent: '1.0000',
      ofDecided: '1.0000',
      ofSentValue: '1.0000',
      ofDecidedValue: '1.0000',
    },
    days: { quotes: 3, mean: '23.0', median: '23.0' },
  })
  t.same(quotes, { total: 3, ...expected })
  t.same(byMonth, [
    {
      month: '2026-04',
      partial: false,
      quotes: 3,
      accepted: 3,
      revenue: eur('109.30'),
      ...expected,
    },
  ])
})

t.test(
  'quotes without a rate or a decision day are left out, and rates are null if the divisor is zero',
  async (t) => {
    const { db, app } = await statsService(t, { clock })
    const inKwd = { currency: 'KWD', rate: null, net: '12.345' }
    await insertQuotes(db, [
      buildQuote('1', { ...inKwd, decided_on: null }),
      buildQuote('2', { ...inKwd, status: 'rejected', decided_on: null }),
      buildQuote('3', { ...inKwd, status: 'sent', decided_on: null }),
      buildQuote('4', { net: '0.00', decided_on: null }),
    ])
    const { quotes, byMonth } = (await app.inject('/api/stats')).json<Stats>()
    const expected = outcomes({
      byStatus: { sent: 1, accepted: 2, rejected: 1 },
      rates: { ofSent: '0.5000', ofDecided: '0.6667' },
    })
    t.same(quotes, { total: 4, ...expected })
    t.match(byMonth, [expected])
  },
)

t.test(
  'currency=USD covers only quotes in USD, even for amounts in the base currency',
  async (t) => {
    const { quotes, revenue, byCountry, byMonth, comparison } = await readStats(
      '?currency=USD&from=2026-03-01&to=2026-03-31&compare=previous_year',
    )
    const converted = { amount: '9.30', currency: 'EUR' }
    t.equal(quotes.total, 1)
    t.same(revenue, {
      total: converted,
      average: converted,
      byCurrency: [{ amount: '10.05', currency: 'USD', quotes: 1 }],
      unconverted: [],
    })
    t.equal(byCountry.length, 1)
    t.match(byCountry, [{ country: null, quotes: 1, accepted: 1, revenue: converted }])
    t.equal(byMonth.length, 1)
    t.match(byMonth, [
      { month: '2026-03', partial: false, quotes: 1, accepted: 1, revenue: converted },
    ])
    t.equal(comparison?.quotes.total, 0, 'the quote of 2025 is in EUR')
    const japanese = await readStats('?currency=JPY')
    t.same(japanese.period.from, '2026-03-10', 'the default period covers the same quotes')
    t.same(japanese.revenue.unconverted, [{ amount: '5000', currency: 'JPY', quotes: 1 }])
    const both = await readStats('?currency=EUR&country=FR')
    t.equal(both.quotes.total, 1)
    const csv = await service.app.inject('/api/stats?currency=USD&format=csv')
    t.match(csv.body, 'total,2026-03-10/2026-03-10,1,1,9.30,EUR,')
  },
)

t.test('the default period is from the first to the last quote', async (t) => {
  const { period } = await readStats()
  t.same([period.from, period.to], ['2025-03-12', '2026-11-05'])
})

t.test('the comparison states its period, and null for a change from zero', async (t) => {
  const { comparison } = await readStats('?from=2026-03-01&to=2026-03-31&compare=previous_period')
  t.same(
    [comparison?.period.from, comparison?.period.to, comparison?.change.quotes],
    ['2026-02-01', '2026-02-28', null],
  )
})

t.test('a period can begin in the year 1000 and end in the year 9999', async (t) => {
  const first = await readStats('?from=1000-01-01&to=1000-01-31&compare=previous_year')
  t.same(first.comparison?.period.from, '0999-01-01')
  t.same((await readStats('?from=9999-12-31')).byMonth.length, 1)
  const last = await readStats('?from=9999-12-01&to=9999-12-31&compare=previous_period')
  t.same(last.byMonth.length, 1)
})

t.test(
  'without from and to the response has fewer than 900,000 bytes for any dates of quotes',
  async (t) => {
    const service = await statsService(t, { clock })
    await insertQuotes(service.db, [
      buildQuote('1', {
        issued_on: '1970-01-01',
        status: 'sent',
        decided_on: null,
        valid_until: '9999-12-31',
      }),
      buildQuote('2', { issued_on: '2099-12-31', decided_on: null, net: '123456789.12' }),
    ])
    const { body } = await service.app.inject('/api/stats')
    t.equal((JSON.parse(body) as Stats).byMonth.length, 130 * 12)
    t.ok(body.length < 900_000, `${body.length} bytes`)
  },
)

t.test('an invalid parameter is named', async (t) => {
  for (const [query, parameter] of [
    ['from=2026-02-30', 'from'],
    ['to=2026-13-01', 'to'],
    ['from=yesterday', 'from'],
    ['from=2026-1-1', 'from'],
    ['from=2026-02-01&to=2026-01-01', 'from'],
    ['from=1800-01-01&to=2026-01-01', 'from'],
    ['from=1000-01-01&compare=previous_period', 'from'],
    ['from=0001-01-01&to=9999-12-31', 'from'],
    ['from=1000-01-01&to=9999-12-31', 'from'],
    ['to=9999-12-31', 'to'],
    ['date=sent', 'date'],
    ['compare=last_year', 'compare'],
    ['country=es', 'country'],
    ['country=ESP', 'country'],
    ['by=day', 'by'],
    ['by=day&from=2026-01-01', 'by'],
    ['by=day&from=2026-01-01&to=2026-04-03', 'by'],
    ['form=2026-01-01', 'form'],
    ['from=2026-01-01&from=2026-01-02', 'from'],
  ] as const) {
    const response = await service.app.inject(`/api/stats?${query}`)
    t.equal(response.statusCode, 400, query)
    t.match(response.json(), { code: 'invalid_parameter', errors: [{ parameter }] }, query)
  }
  const { errors } = (await service.app.inject('/api/stats?by=day')).json()
  t.match(errors, [{ detail: 'day needs both from and to, which may cover at most 92 days' }])
})

t.test('by=day lists every day of the period, in JSON and CSV, without a key', async (t) => {
  const stats = await readStats('?from=2026-11-20&to=2026-11-22&by=day')
  t.same(
    stats.byDay?.map(({ day, partial, quotes }) => [day, partial, quotes]),
    [
      ['2026-11-20', false, 0],
      ['2026-11-21', true, 0],
      ['2026-11-22', true, 0],
    ],
  )
  const march = await readStats('?from=2026-03-01&to=2026-05-31&by=day')
  t.equal(march.byDay?.length, 92)
  const { day, partial, ...busiest } = march.byDay?.[9] ?? {}
  const { month: _, partial: __, ...month } = march.byMonth[0] ?? {}
  t.same([day, partial, busiest], ['2026-03-10', false, month], 'the only day with quotes')
  t.notOk('byDay' in (await readStats('?from=2026-03-01&to=2026-05-31')))
  const csv = await service.app.inject(
    '/api/stats?from=2026-03-09&to=2026-03-10&by=day&country=FR&format=csv',
  )
  t.match(csv.body, /\r\nday,2026-03-09,0,0,0\.00,EUR,/)
  t.match(csv.body, /\r\nday,2026-03-10,1,0,0\.00,EUR,0,0,1,/)
})

t.test('a period without quotes has zeros for every month', async (t) => {
  const { quotes, byMonth } = await readStats('?from=2020-01-01&to=2020-02-29')
  t.equal(quotes.total, 0)
  t.same(
    byMonth.map(({ month, revenue }) => [month, revenue.amount]),
    [
      ['2020-01', '0.00'],
      ['2020-02', '0.00'],
    ],
  )
})

t.test('a response has an ETag, age and cache status, and 304 repeats no body', async (t) => {
  const service = await statsService(t)
  const first = await service.app.inject('/api/stats')
  t.equal(first.headers['cache-control'], 'private, no-cache')
  t.equal(first.headers['cache-status'], 'stats; fwd=miss')
  t.match(String(first.headers.etag), /^W\/"[\w-]+"$/)
  t.match(String(first.headers.age), /^\d+$/)
  const second = await service.app.inject({
    url: '/api/stats',
    headers: { 'if-none-match': `"other", ${first.headers.etag}` },
  })
  t.equal(second.statusCode, 304)
  t.equal(second.body, '')
  t.equal(second.headers.etag, first.headers.etag)
  const strong = String(first.headers.etag).replace('W/', '')
  for (const tag of [strong, `${strong}, "other"`, '*']) {
    const { statusCode } = await service.app.inject({
      url: '/api/stats',
      headers: { 'if-none-match': tag },
    })
    t.equal(statusCode, 304, tag)
  }
})
