// What integrators are told of GET /api/stats.
import { type Operation, queryParameters } from '../api-docs/endpoint-description.ts'
import { commonProblems, problemResponses } from '../api-docs/problem-responses.ts'
import { withHeaders } from '../api-docs/response-headers.ts'
import { Period, Stats, StatsQuery } from './schema.ts'

const description = `
Figures over quotes for dashboards and ERPs: counts by status, acceptance, revenue, by country and by month. Exact to the cent; every breakdown adds up
to its total.

* Revenue is the net (before tax) of accepted quotes in the base currency. Each quote is converted on its own at its rate, rounded half up, and then summed.
  Quotes without a rate are in no base figure and are listed under \`revenue.unconverted\`.
* Days are those of the company's calendar (\`period.timeZone\`), both ends included. A sent quote past its validity counts as expired.
* A committed change shows within two seconds. Poll with \`If-None-Match\`: a 304 costs next to nothing.
* \`text/csv\` has the same figures in long form, a row for each: \`dimension,key,quotes,accepted,revenue,currency\`. \`locale=es\` gives semicolons and decimal commas.
`.trim()

const eur = (amount: string) => ({ amount, currency: 'EUR' })

const figures: Stats = {
  period: { from: '2026-01-01', to: '2026-02-28', timeZone: 'Europe/Madrid', date: 'issued' },
  quotes: {
    total: 130,
    byStatus: { draft: 2, sent: 12, accepted: 78, rejected: 24, expired: 14 },
    acceptance: { ofSent: '0.6094', ofDecided: '0.6724' },
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
    { country: 'ES', quotes: 110, accepted: 70, revenue: eur('140000.00') },
    { country: null, quotes: 20, accepted: 8, revenue: eur('13273.40') },
  ],
  byMonth: [
    { month: '2026-01', partial: false, quotes: 70, accepted: 44, revenue: eur('80000.00') },
    { month: '2026-02', partial: false, quotes: 60, accepted: 34, revenue: eur('73273.40') },
  ],
  comparison: null,
}

const csv = [
  'dimension,key,quotes,accepted,revenue,currency',
  'total,2026-01-01/2026-02-28,130,78,153273.40,EUR',
  'country,ES,110,70,140000.00,EUR',
  'month,2026-01,70,44,80000.00,EUR',
  '',
].join('\r\n')

const fresh = withHeaders('etag', 'age', 'cache-status', 'vary')
const scoped = (detail: string) =>
  detail
    .replaceAll('search:read', '\n')
    .replaceAll('stats:read', 'search:read')
    .replaceAll('\n', 'stats:read')

export const statsOperation: Operation = {
  path: '/api/stats',
  id: 'readStats',
  summary: 'Figures over quotes: counts, revenue, by country, by month',
  description,
  scope: 'stats:read',
  publishable: false,
  parameters: [
    ...queryParameters(StatsQuery, {
      from: '2026-01-01',
      to: '2026-02-28',
      country: 'ES',
      compare: 'previous_year',
    }),
    {
      name: 'If-None-Match',
      in: 'header',
      description: 'The ETag of the answer that is there already: 304 when it is still the same',
      required: false,
      schema: { type: 'string' },
      example: '"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"',
    },
  ],
  responses: {
    200: {
      description: 'The figures',
      headers: { ...fresh, ...withHeaders('content-disposition') },
      content: {
        'application/json': {
          schema: Stats,
          examples: { figures: { summary: 'Two months', value: figures } },
        },
        'text/csv': {
          schema: { type: 'string' },
          examples: { csv: { summary: 'The same in long form (shortened)', value: csv } },
        },
      },
    },
    304: { description: 'Nothing changed since the answer with that ETag', headers: fresh },
    ...problemResponses({
      ...commonProblems,
      unauthenticated: scoped(commonProblems.unauthenticated),
      insufficient_scope: scoped(commonProblems.insufficient_scope),
      invalid_parameter: {
        detail: 'from: 2026-03-01 is after to (2026-01-31)',
        errors: [{ parameter: 'from', detail: '2026-03-01 is after to (2026-01-31)' }],
      },
      not_acceptable:
        'Figures are sent as application/json or text/csv: ask for one of them in Accept or ?format=.',
      unavailable: 'The figures cannot be computed at the moment. Try again in a moment.',
    }),
  },
  schemas: { Stats, Period },
  exampleRequests: [
    { path: '/api/stats', description: 'all figures' },
    { path: '/api/stats?compare=previous_year', description: 'the same beside the year before' },
    { path: '/api/stats?format=csv', description: 'the same for a spreadsheet' },
  ],
}
