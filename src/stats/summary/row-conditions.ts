// Conditions for rows of the views of the summary: date ranges, country and currency.
import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import type {
  FigureGrain,
  ProductGrain,
  Tables,
  ValidityGrain,
} from '../../database/table-types.ts'
import type { StatsRequest } from '../schema.ts'
import type { GrainRange } from './summary-grains.ts'

/** Builds expressions over a row of one of the views. */
type SummaryView = ExpressionBuilder<
  Tables,
  | 'current_figures'
  | 'grouped_figures'
  | 'current_validity'
  | 'current_customer_figures'
  | 'current_product_figures'
>

/**
 * Returns the condition that a row lies in one of the ranges and meets `condition`.
 *
 * Each branch of the OR repeats `condition` with a parameter of its own: do not simplify this. With
 * one shared parameter, PostgreSQL would factor `date_kind = $1` out of the OR. A plan that was
 * made while the table was almost empty could scan the index by it alone. Later, that plan would
 * read every row of the date kind. test/stats/summary/cached-plans.test.ts checks it.
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

type RowRange = GrainRange<FigureGrain | ProductGrain | ValidityGrain>

/** Returns the condition that a row counts quotes by issue or by acceptance, as requested. */
export const isOfDateKind =
  ({ date }: StatsRequest) =>
  (row: SummaryView) =>
    row(sql.ref<string>('date_kind'), '=', date)

/** Returns the conditions for the country and the currency, if the request has them. */
export function matchesCountryAndCurrency({ country, currency }: StatsRequest) {
  // An unknown country is stored as an empty text, because a primary key cannot contain null.
  const countryKey = country === 'unknown' ? '' : country
  return <DB, TB extends keyof DB>({ and, eb }: ExpressionBuilder<DB, TB>) =>
    and([
      ...(countryKey === undefined ? [] : [eb(sql.ref<string>('country'), '=', countryKey)]),
      ...(currency === undefined ? [] : [eb(sql.ref<string>('currency'), '=', currency)]),
    ])
}
