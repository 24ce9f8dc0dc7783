// The OpenAPI description of GET /api/stats.
import { type Operation, queryParameters } from '../api-docs/endpoint-description.ts'
import { commonProblems, problemResponses } from '../api-docs/problem-responses.ts'
import { withHeaders } from '../api-docs/response-headers.ts'
import { statsPath } from '../http/endpoint-paths.ts'
import { notAcceptableDetail, Period, Stats, StatsQuery, unavailableDetail } from './schema.ts'
import { formatCsv } from './stats-csv.ts'

const description = `
Statistics over quotes for dashboards and ERPs: counts and money by status, acceptance rates,
revenue and days to decision, by country and by month. Amounts are exact to the cent. The counts
and amounts by country, month, day and customer add up to the total.

* Revenue is the net (before tax) of accepted quotes in the base currency. Each quote is converted
  at its own exchange rate and rounded half up before the amounts are added. Quotes without a rate
  are not part of any base amount; \`revenue.unconverted\` lists them.
* \`money\` is the net in the base currency by outcome: \`open\` of sent quotes that are still valid
  today, \`won\` of accepted quotes (the same as revenue), \`lost\` of rejected and expired quotes.
* \`acceptance\` is the share of quotes that were accepted: of all except drafts (\`ofSent\`), and
  of those that are no longer open (\`ofDecided\`). \`ofSentValue\` and \`ofDecidedValue\` are the
  same by value.
* \`daysToDecision\` is the mean and the median number of days from issue to decision, over the
  accepted and rejected quotes whose day of decision is known. By issue date, the newest months
  contain only quotes that were decided quickly.
* Days are local days of the company (\`period.timeZone\`). Both ends of a period are included.
  A sent quote counts as expired from the day after its last valid day.
* \`country\` and \`currency\` filter: every number covers only those quotes. With \`currency=USD\`,
  \`revenue.total\` is the revenue of the quotes in USD, converted to the base currency.
* \`by=customer\` groups all quotes by customer. \`by=product\` groups the lines of accepted quotes
  by SKU. The net of the lines is converted at the rate of the quote and rounded for each
  product, so the sum of all products may differ from the revenue by cents.
* A committed change is visible within two seconds. The statistics contain every change that was
  committed before \`asOf\`, which advances while nothing changes.
* Poll with \`If-None-Match\`: a 304 is cheap. The \`ETag\` is weak, because it does not depend on
  \`asOf\`. After a 304, the statistics you have are current as of \`Date\` minus \`Age\`.
* \`text/csv\` has the same statistics in long form. Rows of the period, of countries, months and
  days fill every column; \`revenue\` is the amount won. Other rows fill only the columns that apply
  to them. \`locale=es\` has semicolons and decimal commas.
* In CSV, \`by\` adds rows with the dimension \`day\`, \`customer\` or \`product\`. Customers and
  products also add three columns (\`name\`, \`lines\`, \`unconverted\`), and their rest is a row
  with the dimension \`otherCustomers\` or \`otherProducts\`, whose key is how many there are.
`.trim()

const eur = (amount: string) => ({ amount, currency: 'EUR' })

const exampleStats: Stats = {
  asOf: '2026-02-28T16:42:07Z',
  period: { from: '2026-01-01', to: '2026-02-28', timeZone: 'Europe/Madrid', date: 'issued' },
  quotes: {
    total: 130,
    byStatus: { draft: 2, sent: 12, accepted: 78, rejected: 24, expired: 14 },
    money: { open: eur('31200.00'), won: eur('153273.40'), lost: eur('61480.50') },
    acceptance: {
      ofSent: '0.6094',
      ofDecided: '0.6724',
      ofSentValue: '0.6232',
      ofDecidedValue: '0.7137',
    },
    daysToDecision: { quotes: 102, mean: '8.4', median: '6.0' },
  },
  revenue: {
    total: eur('153273.40'),
    average: eur('1990.56'),
    byCurrency: [
      { amount: '140000.00', currency: 'EUR', quotes: 70 },
      { amount: '15300.00', currency: 'USD', quotes: 7 },
      { amount: '5000', currency: 'JPY', quotes: 1 },
    ],
    unconverted: [{ amount: '5000', currency: 'JPY', quotes: 1 }],
  },
  byCountry: [
    {
      country: 'ES',
      quotes: 110,
      accepted: 70,
      revenue: eur('140000.00'),
      byStatus: { draft: 2, sent: 9, accepted: 70, rejected: 18, expired: 11 },
      money: { open: eur('26000.00'), won: eur('140000.00'), lost: eur('43200.50') },
      acceptance: {
        ofSent: '0.6481',
        ofDecided: '0.7071',
        ofSentValue: '0.6692',
        ofDecidedValue: '0.7642',
      },
      daysToDecision: { quotes: 88, mean: '7.9', median: '6.0' },
    },
    {
      country: null,
      quotes: 20,
      accepted: 8,
      revenue: eur('13273.40'),
      byStatus: { draft: 0, sent: 3, accepted: 8, rejected: 6, expired: 3 },
      money: { open: eur('5200.00'), won: eur('13273.40'), lost: eur('18280.00') },
      acceptance: {
        ofSent: '0.4000',
        ofDecided: '0.4706',
        ofSentValue: '0.3611',
        ofDecidedValue: '0.4207',
      },
      daysToDecision: { quotes: 14, mean: '11.6', median: '9.5' },
    },
  ],
  byMonth: [
    {
      month: '2026-01',
      partial: false,
      quotes: 70,
      accepted: 44,
      revenue: eur('80000.00'),
      byStatus: { draft: 0, sent: 3, accepted: 44, rejected: 15, expired: 8 },
      money: { open: eur('6200.00'), won: eur('80000.00'), lost: eur('36480.50') },
      acceptance: {
        ofSent: '0.6286',
        ofDecided: '0.6567',
        ofSentValue: '0.6521',
        ofDecidedValue: '0.6868',
      },
      daysToDecision: { quotes: 59, mean: '9.0', median: '7.0' },
    },
    {
      month: '2026-02',
      partial: true,
      quotes: 60,
      accepted: 34,
      revenue: eur('73273.40'),
      byStatus: { draft: 2, sent: 9, accepted: 34, rejected: 9, expired: 6 },
      money: { open: eur('25000.00'), won: eur('73273.40'), lost: eur('25000.00') },
      acceptance: {
        ofSent: '0.5862',
        ofDecided: '0.6939',
        ofSentValue: '0.5944',
        ofDecidedValue: '0.7456',
      },
      daysToDecision: { quotes: 43, mean: '7.6', median: '5.0' },
    },
  ],
  comparison: null,
}

const exampleDay: NonNullable<Stats['byDay']>[number] = {
  day: '2026-02-27',
  partial: false,
  quotes: 3,
  accepted: 1,
  revenue: eur('1990.00'),
  byStatus: { draft: 0, sent: 1, accepted: 1, rejected: 1, expired: 0 },
  money: { open: eur('640.00'), won: eur('1990.00'), lost: eur('85.20') },
  acceptance: {
    ofSent: '0.3333',
    ofDecided: '0.5000',
    ofSentValue: '0.7329',
    ofDecidedValue: '0.9589',
  },
  daysToDecision: { quotes: 2, mean: '0.5', median: '0.5' },
}

const byCustomer: Stats['byCustomer'] = {
  rows: [
    {
      customer: { id: '17', name: 'Ferretería Ruiz S.L.' },
      quotes: 12,
      accepted: 9,
      revenue: eur('48210.00'),
      unconverted: 0,
    },
    { customer: null, quotes: 4, accepted: 1, revenue: eur('310.50'), unconverted: 0 },
  ],
  rest: { customers: 31, quotes: 114, accepted: 68, revenue: eur('104752.90'), unconverted: 1 },
}

const byProduct: Stats['byProduct'] = {
  rows: [
    {
      product: { sku: 'GR-15-CR', name: 'Grifo monomando cromado 15 cm' },
      lines: 41,
      revenue: eur('30161.52'),
      unconverted: 0,
    },
    { product: { sku: 'A-7', name: null }, lines: 3, revenue: eur('12.01'), unconverted: 1 },
  ],
  rest: { products: 212, lines: 388, revenue: eur('123099.87'), unconverted: 0 },
}

const exampleCsv = formatCsv(exampleStats, 'en')

const cacheHeaders = withHeaders('etag', 'age', 'cache-status', 'vary')

export const statsOperation: Operation = {
  path: statsPath,
  id: 'readStats',
  summary: 'Statistics over quotes: counts, money, acceptance and days, by country and by month',
  description,
  scope: 'stats:read',
  publishable: false,
  parameters: [
    ...queryParameters(StatsQuery, {
      from: '2026-01-01',
      to: '2026-02-28',
      country: 'ES',
      currency: 'EUR',
      compare: 'previous_year',
      by: 'customer',
    }),
    {
      name: 'If-None-Match',
      in: 'header',
      description:
        'The ETag of an earlier response. The status is 304 if nothing has changed but `asOf`.',
      required: false,
      schema: { type: 'string' },
      example: 'W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"',
    },
  ],
  responses: {
    200: {
      description: 'The statistics',
      headers: { ...cacheHeaders, ...withHeaders('content-disposition') },
      content: {
        'application/json': {
          schema: Stats,
          examples: {
            stats: { summary: 'Two months', value: exampleStats },
            byDay: {
              summary: 'By day, shortened to one',
              value: { ...exampleStats, byDay: [exampleDay] },
            },
            byCustomer: { summary: 'By customer', value: { ...exampleStats, byCustomer } },
            byProduct: { summary: 'By product', value: { ...exampleStats, byProduct } },
          },
        },
        'text/csv': {
          schema: { type: 'string' },
          examples: {
            csv: { summary: 'The same statistics in long form', value: exampleCsv },
          },
        },
      },
    },
    304: {
      description: 'Nothing but `asOf` has changed since the response with that ETag',
      headers: cacheHeaders,
    },
    ...problemResponses({
      ...commonProblems('stats:read', 'search:read'),
      invalid_parameter: {
        detail: 'from: 2026-03-01 is after to (2026-01-31)',
        errors: [{ parameter: 'from', detail: '2026-03-01 is after to (2026-01-31)' }],
      },
      not_acceptable: notAcceptableDetail,
      unavailable: unavailableDetail,
    }),
  },
  schemas: { Stats, Period },
  exampleRequests: [
    { path: '/api/stats', description: 'all statistics' },
    {
      path: '/api/stats?compare=previous_year',
      description: 'the same, compared with the previous year',
    },
    { path: '/api/stats?format=csv', description: 'the same as CSV for a spreadsheet' },
  ],
}
