// Conditions for rows of the views of the summary: date ranges, country and currency.
import { type ExpressionBuilder, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import type { StatsRequest } from '../schema.ts'
import type { GrainRange } from './summary-grains.ts'

type SummaryView = ExpressionBuilder<
  Tables,
  'current_figures' | 'current_validity' | 'current_customer_figures' | 'current_product_figures'
>

/** The condition that a row lies in one of the ranges. One condition is planned once. */
export const isWithin =
  (ranges: GrainRange[]) =>
  ({ or, and, eb }: SummaryView) =>
    or(
      ranges.map(({ grain, from, to }) =>
        and([eb('grain', '=', grain), eb('starts_on', '>=', from), eb('starts_on', '<=', to)]),
      ),
    )

/** The column `sign`: 1, or -1 for the rows that are subtracted. */
export function signIn(ranges: GrainRange[]) {
  const subtracted = ranges.filter(({ sign }) => sign === -1)
  return (expressions: SummaryView) =>
    (subtracted.length === 0
      ? sql<number>`1`
      : sql<number>`case when ${isWithin(subtracted)(expressions)} then -1 else 1 end`
    ).as('sign')
}

/** The conditions for the country and the currency, if the request has them. */
export function matches({ country, currency }: StatsRequest) {
  // An unknown country is stored as an empty text, because a primary key cannot contain null.
  const countryKey = country === 'unknown' ? '' : country
  return <DB, TB extends keyof DB>({ and, eb }: ExpressionBuilder<DB, TB>) =>
    and([
      ...(countryKey === undefined ? [] : [eb(sql.ref<string>('country'), '=', countryKey)]),
      ...(currency === undefined ? [] : [eb(sql.ref<string>('currency'), '=', currency)]),
    ])
}
