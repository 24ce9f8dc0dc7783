// The OpenAPI description of GET /api/stats.
import { type Operation, queryParameters } from '../api-docs/endpoint-description.ts'
import { commonProblems, problemResponses } from '../api-docs/problem-responses.ts'
import { withHeaders } from '../api-docs/response-headers.ts'
import { outcomeDescriptions, outcomes } from '../database/quote-statuses.ts'
import { statsPath } from '../http/endpoint-paths.ts'
import { byCustomer, byProduct, exampleDay, exampleStats } from './openapi-examples.ts'
import { notAcceptableDetail, Period, Stats, StatsQuery, unavailableDetail } from './schema.ts'
import { formatCsv } from './stats-csv.ts'

const description = `
Statistics over quotes for dashboards and ERPs: counts and money by status, acceptance rates,
revenue and days to decision, by country and by month. Amounts are exact to the cent. The counts
and amounts by country, month, day and customer add up to the total.

* Revenue is the net (before tax) of accepted quotes in the base currency. Each quote is converted
  at its own exchange rate and rounded half up before the amounts are added. Quotes without a rate
  are not part of any base amount; \`revenue.unconverted\` lists them.
* \`money\` is the net in the base currency by outcome: ${outcomes
  .map((outcome) => `\`${outcome}\` of ${outcomeDescriptions[outcome]}`)
  .join('; ')}.
* \`acceptance\` is the share of quotes that were accepted: of the accepted, rejected and expired
  quotes (\`ofDecided\`), and of these and the open ones (\`ofSent\`). \`ofSentValue\` and
  \`ofDecidedValue\` are the same by value.
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
* A committed change is visible within two seconds, unless \`Cache-Status\` says \`fwd=stale\`.
  Then \`asOf\` and \`Age\` tell how old the data is. The statistics contain every change that was
  committed before \`asOf\`, which advances while nothing changes.
* Poll with \`If-None-Match\`: a 304 is cheap. The \`ETag\` is weak, because it does not depend on
  \`asOf\`. After a 304, the statistics you have are current as of \`Date\` minus \`Age\`.
* \`text/csv\` has the same statistics in long form. Rows of the period, of countries, months and
  days fill every column; \`revenue\` is the amount won. Other rows fill only the columns that apply
  to them. Do not add up a column over all dimensions: filter by \`dimension\` first. Rows of
  \`acceptance\` and \`change\` hold ratios, also in the columns \`quotes\`, \`accepted\` and
  \`revenue\`. \`locale\` is for spreadsheet programs: all but \`en\` have semicolons
  and decimal commas.
* In CSV, \`by\` adds rows with the dimension \`day\`, \`customer\` or \`product\`. Customers and
  products also add three columns (\`name\`, \`lines\`, \`unconverted\`), and their rest is a row
  with the dimension \`otherCustomers\` or \`otherProducts\`, whose key is how many there are.
`.trim()

const exampleCsv = formatCsv(exampleStats, 'csv')

const cacheHeaders = withHeaders('etag', 'age', 'cache-status', 'vary')

export const statsOperation: Operation = {
  path: statsPath,
  id: 'readStats',
  summary: 'Statistics over quotes: counts, money, acceptance and days, by country and by month',
  description,
  scope: 'stats:read',
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
            byCustomer: {
              summary: 'By customer, shortened to two rows',
              value: { ...exampleStats, byCustomer },
            },
            byProduct: {
              summary: 'By product, shortened to two rows',
              value: { ...exampleStats, byProduct },
            },
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
      insufficient_scope:
        'by=customer needs the scope stats:detail, which the key lacks; it has stats:read.',
      invalid_parameter: {
        detail: 'from: 2026-03-01 is later than to (2026-01-31)',
        errors: [{ parameter: 'from', detail: '2026-03-01 is later than to (2026-01-31)' }],
      },
      rate_limited: 'The limit is 120 requests per minute. Try again in 24 seconds.',
      not_acceptable: notAcceptableDetail,
      unavailable: unavailableDetail,
    }),
  },
  schemas: { Stats, Period },
}
