// Conditions for rows of the views of the summary: date ranges, country and currency.
import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import type { StatsRequest } from '../schema.ts'
import type { DateRange, Grain, ValidityRange } from './summary-grains.ts'

/** Builds expressions over a row of one of the views. */
export type SummaryView = ExpressionBuilder<
  Tables,
  | 'current_figures'
  | 'grouped_figures'
  | 'current_validity'
  | 'current_customer_figures'
  | 'current_product_figures'
>

/**
 * The condition that a row lies in one of the ranges and meets `condition`. `condition` is repeated
 * in each range, with a parameter of its own: then the only index condition is that of each range.
 * Otherwise a plan that was cached while a table was almost empty would go on to read all its rows
 * of a date kind. One condition is planned once.
 */
export const isWithin =
  <Range extends RowRange>(
    ranges: Range[],
    condition?: (row: SummaryView, range: Range) => Expression<SqlBool>,
  ) =>
  (row: SummaryView) =>
    row.or(
      ranges.map((range) =>
        row.and([
          row('grain', '=', range.grain),
          ...(condition ? [condition(row, range)] : []),
          row('starts_on', '>=', range.from),
          row('starts_on', '<=', range.to),
        ]),
      ),
    )

/** Rows of a grain that begin on these days. Those with sign -1 are subtracted. */
type RowRange = DateRange & { grain: Grain | ValidityRange['grain']; sign: 1 | -1 }

/** The condition that a row counts by the kind of date of the request. */
export const isOfDateKind =
  ({ date }: StatsRequest) =>
  (row: SummaryView) =>
    row(sql.ref<string>('date_kind'), '=', date)

/** The sign of a row: 1, or -1 if it is subtracted. */
export function signOf(ranges: RowRange[]) {
  const subtracted = ranges.filter(({ sign }) => sign === -1)
  return (row: SummaryView) =>
    subtracted.length === 0
      ? sql<number>`1`
      : sql<number>`case when ${isWithin(subtracted)(row)} then -1 else 1 end`
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
