// The parameters, the response and the problems of GET /api/stats.
import { type Static, type TProperties, Type } from '@sinclair/typebox'
import { Nullable } from '../api-docs/nullable-schema.ts'
import { Money } from '../company/money.ts'
import type { DateKind } from '../database/table-types.ts'
import { type Language, languages } from '../texts/languages.ts'
import { Count, Group, outcomeProperties, RatioText } from './figures.ts'

const LocalDate = Type.String({
  format: 'date',
  description: 'YYYY-MM-DD in the time zone of the company',
})
/** The most days that `by=day` lists: those of the longest quarter. */
export const maxListedDays = 92
/** The most customers or products that `by` lists. All others are one row. */
export const maxListedGroups = 50
const dateKinds = ['issued', 'accepted'] as const satisfies DateKind[]

/**
 * The values that `by` may have. A breakdown lists customers or products. It needs the scope
 * stats:detail too, and reads more tables.
 */
const byOptions = {
  day: { isBreakdown: false },
  customer: { isBreakdown: true },
  product: { isBreakdown: true },
}

export const StatsQuery = Type.Object(
  {
    from: Type.Optional(
      Type.String({ description: 'First day, YYYY-MM-DD; default: the day of the first quote' }),
    ),
    to: Type.Optional(
      Type.String({ description: 'Last day, YYYY-MM-DD; default: the day of the last quote' }),
    ),
    date: Type.Unsafe<DateKind>({
      type: 'string',
      enum: dateKinds,
      default: 'issued',
      description:
        'issued: all quotes on their issue date; accepted: accepted quotes on their decision date',
    }),
    country: Type.Optional(
      Type.String({
        pattern: '^([A-Z]{2}|unknown)$',
        examples: ['ES', 'unknown'],
        description: 'Only quotes of this country: ISO 3166-1 alpha-2 (GB, not UK), or unknown',
      }),
    ),
    currency: Type.Optional(
      Type.String({
        pattern: '^[A-Z]{3}$',
        examples: ['EUR'],
        description:
          'Only quotes in this currency: ISO 4217. Base amounts stay in the base currency',
      }),
    ),
    compare: Type.Optional(
      Type.Unsafe<'previous_period' | 'previous_year'>({
        type: 'string',
        enum: ['previous_period', 'previous_year'],
        description:
          'Adds the same statistics for the period directly before, or for a year before. ' +
          'Whole months are compared with whole months, other periods with as many days, and a ' +
          'running period only up to today. `comparison.period` has the days',
      }),
    ),
    by: Type.Optional(
      Type.Unsafe<keyof typeof byOptions>({
        type: 'string',
        enum: Object.keys(byOptions),
        description:
          '`day` adds `byDay`: every day of a period of at most ' +
          `${maxListedDays} days, with the values of a month. It needs \`from\` and \`to\`. ` +
          '`customer` adds `byCustomer` and `product` adds `byProduct`: ' +
          `the ${maxListedGroups} with the highest revenue, ` +
          'and all others as one row (`rest`). ' +
          'These two need a key that has the scope `stats:detail` besides `stats:read`, because ' +
          'names of customers are personal data. `compare` does not change them',
      }),
    ),
    format: Type.Optional(
      Type.Unsafe<'json' | 'csv'>({
        type: 'string',
        enum: ['json', 'csv'],
        description: 'Takes precedence over the Accept header; default: json',
      }),
    ),
    locale: Type.Optional(
      Type.Unsafe<Language>({
        type: 'string',
        enum: languages,
        description:
          'For CSV only, and for spreadsheet programs in this language: the file starts with a ' +
          'byte order mark, and all but en have semicolons and decimal commas. Default: commas, ' +
          'decimal points and no mark',
      }),
    ),
  },
  { additionalProperties: false },
)
export type StatsQuery = Static<typeof StatsQuery>

/** Everything that the statistics depend on besides the data. */
export type StatsRequest = Pick<
  StatsQuery,
  'from' | 'to' | 'date' | 'country' | 'currency' | 'compare' | 'by'
>

/** `today` is the local day of the summary. */
export type DatedRequest = StatsRequest & { today: string }

/** Whether the response has a breakdown. */
export const hasBreakdown = ({ by }: Pick<StatsQuery, 'by'>): boolean =>
  by !== undefined && byOptions[by].isBreakdown

export const Period = Type.Object({
  from: LocalDate,
  to: LocalDate,
  timeZone: Type.String({ description: 'IANA time zone name' }),
  date: Type.Union(
    dateKinds.map((kind) => Type.Literal(kind)),
    { description: 'The date on which a quote counts' },
  ),
})
export type Period = Static<typeof Period>

const Quotes = Type.Object({
  total: Type.Integer({ minimum: 0, description: 'Quotes of every status except superseded' }),
  ...outcomeProperties,
})

const MoneyOfQuotes = Type.Object({
  amount: Money.properties.amount,
  currency: Money.properties.currency,
  quotes: Count,
})

const Revenue = Type.Object(
  {
    total: Money,
    average: Nullable(Money),
    byCurrency: Type.Array(MoneyOfQuotes, {
      description: 'Net of accepted quotes in their own currency',
    }),
    unconverted: Type.Array(MoneyOfQuotes, {
      description: 'Net of accepted quotes without an exchange rate; not part of any base amount',
    }),
  },
  { description: 'Net of accepted quotes in the base currency' },
)

const ratio = RatioText('null if the denominator is zero')
const Change = Type.Object(
  { quotes: ratio, accepted: ratio, revenue: ratio },
  { description: '(now − before) ÷ before' },
)

const customerStats = {
  quotes: Type.Integer({ minimum: 0, description: 'Quotes of every status except superseded' }),
  accepted: Count,
  revenue: Money,
  unconverted: Type.Integer({
    minimum: 0,
    description: 'Accepted quotes without an exchange rate; not part of revenue',
  }),
}
const productStats = {
  lines: Type.Integer({ minimum: 0, description: 'Lines of accepted quotes' }),
  revenue: Money,
  unconverted: Type.Integer({
    minimum: 0,
    description: 'Lines of accepted quotes without an exchange rate; not part of revenue',
  }),
}

/** The first groups, and `rest` for all others. */
const Breakdown = <Row extends TProperties, Rest extends TProperties>(
  description: string,
  row: Row,
  rest: Rest,
) =>
  Type.Object(
    {
      rows: Type.Array(Type.Object(row), { maxItems: maxListedGroups }),
      rest: Nullable(
        Type.Object(rest, { description: 'All others together; null if there are none' }),
      ),
    },
    { description },
  )

const ByCustomer = Breakdown(
  'Customers with quotes, by revenue and then by id. Only with by=customer',
  {
    customer: Nullable(
      Type.Object(
        { id: Type.String(), name: Nullable(Type.String({ description: 'As it is now' })) },
        { description: 'null for quotes without a customer' },
      ),
    ),
    ...customerStats,
  },
  { customers: Type.Integer({ minimum: 1 }), ...customerStats },
)

const ByProduct = Breakdown(
  'Products in lines of accepted quotes, by revenue and then by SKU. Revenue is the net of the ' +
    'lines, converted and then rounded for each row. Only with by=product',
  {
    product: Nullable(
      Type.Object(
        {
          sku: Type.String({ description: 'As written in the lines' }),
          name: Nullable(
            Type.String({ description: 'In the catalogue now; null if it lacks the SKU' }),
          ),
        },
        { description: 'null for lines without a SKU' },
      ),
    ),
    ...productStats,
  },
  { products: Type.Integer({ minimum: 1 }), ...productStats },
)

export const Stats = Type.Object({
  asOf: Type.String({
    format: 'date-time',
    description:
      'The statistics contain every change that was committed before this instant. It is rounded ' +
      'down to the second',
  }),
  period: Period,
  quotes: Quotes,
  revenue: Revenue,
  byCountry: Type.Array(
    Type.Object({
      country: Nullable(Type.String({ description: 'ISO 3166-1 alpha-2; null for unknown' })),
      ...Group.properties,
    }),
  ),
  byMonth: Type.Array(
    Type.Object({
      month: Type.String({ description: 'YYYY-MM' }),
      partial: Type.Boolean({
        description: 'Whether the period covers only a part of the month, or the month is not over',
      }),
      ...Group.properties,
    }),
  ),
  byDay: Type.Optional(
    Type.Array(
      Type.Object({
        day: LocalDate,
        partial: Type.Boolean({ description: 'Whether the day is not over' }),
        ...Group.properties,
      }),
      { description: 'Every day of the period, in order. Only with by=day' },
    ),
  ),
  byCustomer: Type.Optional(ByCustomer),
  byProduct: Type.Optional(ByProduct),
  comparison: Nullable(
    Type.Object({ period: Period, quotes: Quotes, revenue: Revenue, change: Change }),
  ),
})
export type Stats = Static<typeof Stats>

/** What is computed and cached. `asOf` advances while the rest does not change. */
export type StatsWithoutAsOf = Omit<Stats, 'asOf'>

/** The details of the problems that only statistics have. */
export const notAcceptableDetail =
  'Statistics are available as application/json or text/csv: use Accept or ?format=.'
export const unavailableDetail = 'The statistics cannot be computed now. Try again in a moment.'
