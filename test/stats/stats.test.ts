// GET /api/stats: its figures, the periods that it chooses, and the parameters that it refuses.
import t from 'tap'
import { countryCodes } from '../../src/company/countries.ts'
import type { Stats } from '../../src/stats/schema.ts'
import { insertQuotes } from './insert-quotes.ts'
import { buildQuote } from './quote-builder.ts'
import { assertExpectedStats, type ExpectedQuery } from './reference-stats.ts'
import { queryString, statsService, today } from './stats-service.ts'

const sent = { status: 'sent', decided_on: null } as const
const inDinars = { currency: 'KWD', rate: null, net: '12.345', issued_on: '2024-05-31' }
const quotes = [
  buildQuote('1', {}),
  buildQuote('2', { currency: 'USD', rate: '0.925', net: '10.05', country: null }),
  buildQuote('3', { currency: 'JPY', rate: null, net: '5000' }),
  buildQuote('4', { ...sent, valid_until: '2026-11-20' }),
  buildQuote('5', { ...sent, valid_until: today }),
  buildQuote('6', { status: 'rejected', decided_on: '2026-03-20', net: '7.00', country: 'FR' }),
  buildQuote('7', { status: 'withdrawn', decided_on: null, net: '20.00', country: 'FR' }),
  buildQuote('8', { status: 'superseded', net: '1000.00' }),
  buildQuote('9', { status: 'draft', decided_on: null, issued_on: '2026-11-05' }),
  buildQuote('10', { issued_on: '2025-03-12', decided_on: '2025-03-12', net: '150.00' }),
  // Without a rate or a day of decision, and one without a value.
  buildQuote('11', { ...inDinars, decided_on: null }),
  buildQuote('12', { ...inDinars, status: 'rejected', decided_on: null }),
  buildQuote('13', { ...inDinars, ...sent }),
  buildQuote('14', { net: '0.00', issued_on: '2024-06-01', decided_on: null }),
]
const service = await statsService(t)
await insertQuotes(service.db, quotes)
const get = (query: string) => service.app.inject(`/api/stats${query}`)

/** The response to one request, computed by hand, as CSV without empty cells at the end. */
const csv = `
dimension,key,quotes,accepted,revenue,currency,draft,sent,rejected,expired,withdrawn,open,lost,\
withdrawnNet,ofSent,ofDecided,ofSentValue,ofDecidedValue,meanDays,medianDays
asOf,(now)
total,2026-03-05/2026-04-30,7,3,109.30,EUR,0,1,1,1,1,100.00,107.00,20.00,\
0.5000,0.6000,0.3456,0.5053,19.8,23.0
status,draft,0
status,sent,1
status,accepted,3
status,rejected,1
status,expired,1
status,withdrawn,1
acceptance,ofSent,,0.5000,,,,,,,,,,,0.5000
acceptance,ofDecided,,0.6000,,,,,,,,,,,,0.6000
acceptance,ofSentValue,,,,,,,,,,,,,,,0.3456
acceptance,ofDecidedValue,,,,,,,,,,,,,,,,0.5053
money,open,,,,EUR,,,,,,100.00
money,won,,,109.30,EUR
money,lost,,,,EUR,,,,,,,107.00
money,withdrawn,,,,EUR,,,,,,,,20.00
daysToDecision,quotes,4
daysToDecision,mean,,,,,,,,,,,,,,,,,19.8
daysToDecision,median,,,,,,,,,,,,,,,,,,23.0
average,,,,54.65,EUR
currency,EUR,,1,100.00,EUR
currency,USD,,1,10.05,USD
currency,JPY,,1,5000,JPY
unconverted,JPY,,1,5000,JPY
country,ES,4,2,100.00,EUR,0,1,0,1,0,100.00,100.00,0.00,0.5000,0.6667,0.3333,0.5000,23.0,23.0
country,unknown,1,1,9.30,EUR,0,0,0,0,0,0.00,0.00,0.00,1.0000,1.0000,1.0000,1.0000,23.0,23.0
country,FR,2,0,0.00,EUR,0,0,1,0,1,0.00,7.00,20.00,0.0000,0.0000,0.0000,0.0000,10.0,10.0
month,2026-03,7,3,109.30,EUR,0,1,1,1,1,100.00,107.00,20.00,0.5000,0.6000,0.3456,0.5053,19.8,23.0
month,2026-04,0,0,0.00,EUR,0,0,0,0,0,0.00,0.00,0.00
comparison total,2025-03-05/2025-04-30,1,1,150.00,EUR,0,0,0,0,0,0.00,0.00,0.00,\
1.0000,1.0000,1.0000,1.0000,0.0,0.0
comparison status,draft,0
comparison status,sent,0
comparison status,accepted,1
comparison status,rejected,0
comparison status,expired,0
comparison status,withdrawn,0
comparison acceptance,ofSent,,1.0000,,,,,,,,,,,1.0000
comparison acceptance,ofDecided,,1.0000,,,,,,,,,,,,1.0000
comparison acceptance,ofSentValue,,,,,,,,,,,,,,,1.0000
comparison acceptance,ofDecidedValue,,,,,,,,,,,,,,,,1.0000
comparison money,open,,,,EUR,,,,,,0.00
comparison money,won,,,150.00,EUR
comparison money,lost,,,,EUR,,,,,,,0.00
comparison money,withdrawn,,,,EUR,,,,,,,,0.00
comparison daysToDecision,quotes,1
comparison daysToDecision,mean,,,,,,,,,,,,,,,,,0.0
comparison daysToDecision,median,,,,,,,,,,,,,,,,,,0.0
comparison average,,,,150.00,EUR
comparison currency,EUR,,1,150.00,EUR
change,,6.0000,2.0000,-0.2713
`

t.test('the figures of a period and of its comparison are those computed by hand', async (t) => {
  const query = '?from=2026-03-05&to=2026-04-30&compare=previous_year&format=csv'
  const [header = '', ...rows] = (await get(query)).body.trimEnd().split('\r\n')
  const commas = header.replace(/[^,]/g, '').length
  const expected = csv
    .trim()
    .split('\n')
    .map((row) => row + ','.repeat(commas - row.replace(/[^,]/g, '').length))
  t.same([header, ...rows.map((row) => row.replace(/^(asOf,)[^,]*/, '$1(now)'))], expected)
})

t.test('every figure in JSON equals that of the reference', async (t) => {
  const march = ['2026-03-01', '2026-03-31'] as const
  const mostOfTheYear = ['2026-03-05', '2026-11-30'] as const
  for (const query of [
    {},
    { date: 'accepted' },
    { bounds: mostOfTheYear, compare: 'previous_year' },
    { bounds: mostOfTheYear, compare: 'previous_period' },
    { bounds: march, compare: 'previous_period' },
    { bounds: ['2024-01-01', '2024-12-31'] },
    { bounds: ['2020-01-01', '2020-02-29'] },
    { bounds: ['1000-01-01', '1000-01-31'], compare: 'previous_year' },
    { bounds: ['2026-03-01', '2026-05-31'], by: 'day' },
    { bounds: ['2026-11-20', '2026-11-22'], by: 'day' },
    { bounds: ['2026-04-01', '2026-04-30'], by: 'day', date: 'accepted' },
    { bounds: march, currency: 'USD', compare: 'previous_year' },
    { currency: 'JPY' },
    { currency: 'KWD', country: 'ES' },
    { currency: 'EUR', country: 'FR' },
    { country: 'unknown' },
    { country: 'PT', compare: 'previous_year' },
  ] as const satisfies Partial<ExpectedQuery>[]) {
    const stats = (await get(queryString(query))).json<Stats>()
    assertExpectedStats(stats, quotes, {
      ...{ today, date: 'issued', country: undefined, bounds: null },
      ...query,
    })
    t.match(stats.asOf, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, queryString(query))
  }
})

t.test('days are also rows of CSV', async (t) => {
  const { body } = await get('?from=2026-03-09&to=2026-03-10&by=day&country=FR&format=csv')
  t.match(body, /\r\nday,2026-03-09,0,0,0\.00,EUR,/)
  t.match(body, /\r\nday,2026-03-10,2,0,0\.00,EUR,0,0,1,/)
})

t.test('an open end is the day of the first or last quote, or today without any', async (t) => {
  for (const [query, from, to] of [
    ['', '2024-05-31', '2026-11-05'],
    ['?date=accepted', '2024-05-31', '2026-04-02'],
    ['?from=2026-04-01', '2026-04-01', '2026-11-05'],
    ['?to=2026-03-31', '2024-05-31', '2026-03-31'],
    ['?to=2020-01-01', '2020-01-01', '2020-01-01'],
    ['?from=9999-12-31', '9999-12-31', '9999-12-31'],
    ['?currency=JPY', '2026-03-10', '2026-03-10'],
    ['?country=PT', today, today],
    ['?from=9999-12-01&to=9999-12-31&compare=previous_period', '9999-12-01', '9999-12-31'],
  ] as const)
    t.match((await get(query)).json(), { period: { from, to, timeZone: 'Europe/Madrid' } }, query)
})

t.test('an invalid parameter is named', async (t) => {
  const day = 'day needs both from and to, which may cover at most 92 days'
  const country = (code: string) => `${code} is not an ISO 3166-1 country code.`
  const currency = (code: string) => `${code} is not an ISO 4217 currency.`
  for (const [query, parameter, detail] of [
    ['from=2026-02-30', 'from', /not an existing day/],
    ['to=2026-13-01', 'to', /not an existing day/],
    ['from=yesterday', 'from', /not an existing day/],
    ['from=2026-1-1', 'from', /not an existing day/],
    ['from=0001-01-01&to=9999-12-31', 'from', /not an existing day/],
    ['from=2026-02-01&to=2026-01-01', 'from', /later than to/],
    ['from=1700-01-01&to=2026-01-01', 'from', /more than 200 years/],
    ['from=1000-01-01&to=9999-12-31', 'from', /more than 200 years/],
    ['from=1000-01-01&compare=previous_period', 'from', /more than 200 years/],
    ['to=9999-12-31', 'to', /more than 200 years/],
    ['date=sent', 'date', 'must be one of issued, accepted'],
    ['compare=last_year', 'compare', 'must be one of previous_period, previous_year'],
    ['by=country', 'by', 'must be one of day, customer, product'],
    ['by=day', 'by', day],
    ['by=day&from=2026-01-01', 'by', day],
    ['by=day&from=2026-01-01&to=2026-04-03', 'by', day],
    ['form=2026-01-01', 'form', /./],
    ['from=2026-01-01&from=2026-01-02', 'from', /./],
    ['format=xml', 'format', 'must be one of json, csv'],
    ['locale=nl', 'locale', /must be one of/],
    ['country=es', 'country', 'must be written like ES or unknown'],
    ['country=ESP', 'country', 'must be written like ES or unknown'],
    ['country=UK', 'country', `${country('UK')} Did you mean GB?`],
    ['country=EL', 'country', `${country('EL')} Did you mean GR?`],
    ['country=XX', 'country', country('XX')],
    ['currency=eur', 'currency', 'must be written like EUR'],
    ['currency=RMB', 'currency', `${currency('RMB')} Did you mean CNY?`],
    ['currency=ESP', 'currency', `${currency('ESP')} Did you mean EUR?`],
    ['currency=XAU', 'currency', currency('XAU')],
  ] as const) {
    const response = await get(`?${query}`)
    const expected = { status: 400, code: 'invalid_parameter', errors: [{ parameter, detail }] }
    t.match(response.json(), expected, query)
  }
})

t.test('every country of the database is accepted', async (t) => {
  const rows = await service.db.selectFrom('countries').select('code').execute()
  t.same([...countryCodes], rows.map(({ code }) => code).toSorted())
  for (const code of ['GB', 'GR']) t.equal((await get(`?country=${code}`)).statusCode, 200, code)
})

t.test('a response has fewer than 900,000 bytes for any dates of quotes', async (t) => {
  await insertQuotes(service.db, [
    buildQuote('15', { ...sent, issued_on: '1970-01-01', valid_until: '9999-12-31' }),
    buildQuote('16', { issued_on: '2099-12-31', decided_on: null, net: '123456789.12' }),
  ])
  const other = await statsService(t, { database: service })
  const { body } = await other.app.inject('/api/stats')
  t.equal((JSON.parse(body) as Stats).byMonth.length, 130 * 12)
  t.ok(body.length < 900_000, `${body.length} bytes`)
})
