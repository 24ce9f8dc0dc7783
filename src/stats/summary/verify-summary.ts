// Verifies that the summary agrees with the quotes.
import { isDeepStrictEqual } from 'node:util'
import { type Kysely, sql } from 'kysely'
import type { Company } from '../../company/company.ts'
import type { Tables } from '../../database/table-types.ts'
import { assembleStats } from '../assemble-stats.ts'
import { totalsFromQuotes } from './stats-from-quotes.ts'
import { totalsFromSummary } from './stats-from-summary.ts'

/**
 * Compares the summary with the quotes in one snapshot. Returns one line for each difference, at
 * most about 30. It compares every day by country and currency, every month with its days, and the
 * statistics over all quotes as the service would return them on the day `today`.
 */
export async function findDifferences(
  db: Kysely<Tables>,
  company: Company,
  today: string,
): Promise<string[]> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (transaction) => {
      await sql`
        lock table quotes, quote_deltas, quote_figures, quote_validity in access share mode
      `.execute(transaction)
      return [
        ...(await findDifferentDays(transaction, company)),
        ...(await findDifferentMonths(transaction)),
        ...(await findDifferentValidity(transaction)),
        ...(await findDifferentAnswers(transaction, company, today)),
      ]
    })
}

const maxDifferences = 10
const measureNames = [
  'drafts',
  'sent',
  'accepted',
  'rejected',
  'expired',
  'net',
  'base_net',
  'unconverted',
  'unconverted_net',
]
const summedMeasures = sql.raw(measureNames.map((name) => `sum(${name}) as ${name}`).join(', '))
const negatedMeasures = sql.raw(measureNames.map((name) => `-${name}`).join(', '))
const isDifferent = sql.raw(measureNames.map((name) => `sum(${name}) <> 0`).join(' or '))

type Cell = { cell: string }

/** For every day, the values of the quotes minus those of the summary must be zero. */
async function findDifferentDays(db: Kysely<Tables>, company: Company): Promise<string[]> {
  const base = company.baseCurrency
  const { rows } = await sql<Cell>`
    with plain as (
      select date_kind,
        case date_kind when 'issued' then issued_on else coalesce(decided_on, issued_on) end as day,
        coalesce(country, '') as country, currency, status, net,
        case when currency = ${base} then net
          else round(net * rate, currency_digits(${base})) end as base_net
      from quotes, (values ('issued'), ('accepted')) kinds (date_kind)
      where status <> 'superseded' and (date_kind = 'issued' or status = 'accepted')
    ), cells as (
      select date_kind, day, country, currency,
        count(*) filter (where status = 'draft') as drafts,
        count(*) filter (where status = 'sent') as sent,
        count(*) filter (where status = 'accepted') as accepted,
        count(*) filter (where status = 'rejected') as rejected,
        count(*) filter (where status = 'expired') as expired,
        coalesce(sum(net) filter (where status = 'accepted'), 0) as net,
        coalesce(sum(base_net) filter (where status = 'accepted'), 0) as base_net,
        count(*) filter (where status = 'accepted' and base_net is null) as unconverted,
        coalesce(
          sum(net) filter (where status = 'accepted' and base_net is null), 0
        ) as unconverted_net
      from plain group by 1, 2, 3, 4
      union all
      select date_kind, starts_on, country, currency, ${negatedMeasures}
      from quote_figures where grain = 'day'
      union all
      select date_kind, day, country, currency, ${negatedMeasures} from quote_deltas
    )
    select
      concat_ws(' ', date_kind, day, coalesce(nullif(country, ''), 'unknown'), currency) as cell
    from cells
    group by date_kind, day, country, currency having ${isDifferent}
    order by date_kind, day limit ${maxDifferences}
  `.execute(db)
  return rows.map(({ cell }) => `day: ${cell}`)
}

async function findDifferentMonths(db: Kysely<Tables>): Promise<string[]> {
  const { rows } = await sql<Cell>`
    with cells as (
      select date_kind, date_trunc('month', starts_on::timestamp)::date as month, country, currency,
        ${summedMeasures}
      from quote_figures where grain = 'day'
      group by 1, 2, 3, 4
      union all
      select date_kind, starts_on, country, currency, ${negatedMeasures}
      from quote_figures where grain = 'month'
    )
    select concat_ws(
      ' ', date_kind, to_char(month, 'YYYY-MM'), coalesce(nullif(country, ''), 'unknown'), currency
    ) as cell
    from cells
    group by date_kind, month, country, currency having ${isDifferent}
    order by date_kind, month limit ${maxDifferences}
  `.execute(db)
  return rows.map(({ cell }) => `month: ${cell}`)
}

async function findDifferentValidity(db: Kysely<Tables>): Promise<string[]> {
  const { rows } = await sql<Cell>`
    with starts as (
      select grain, day,
        case grain
          when 'day' then day else date_trunc('month', day::timestamp)::date
        end as starts_on
      from (values ('day'), ('month')) grains (grain), (
        select issued_on from quotes union select valid_until from quotes
        union select day from quote_deltas union select valid_until from quote_deltas
        union select 'infinity'
      ) days (day) where day is not null
    ), changes as (
      select issued_on, coalesce(valid_until, 'infinity') as valid_until,
        coalesce(country, '') as country, currency, count(*) as quotes
      from quotes
      where status = 'sent' group by 1, 2, 3, 4
      union all
      select day, coalesce(valid_until, 'infinity'), country, currency, -sent
      from quote_deltas where sent <> 0
    ), cells as (
      select i.grain as issued_grain, v.grain as valid_grain, i.starts_on as issued_from,
        v.starts_on as valid_from, country, currency, quotes
      from changes c
        join starts i on i.day = c.issued_on
        join starts v on v.day = c.valid_until
      union all
      select issued_grain, valid_grain, issued_from, valid_from, country, currency, -quotes
      from quote_validity
    )
    select concat_ws(
      ' ', issued_grain, issued_from, 'to', valid_grain, valid_from,
      coalesce(nullif(country, ''), 'unknown'), currency
    ) as cell
    from cells
    group by issued_grain, valid_grain, issued_from, valid_from, country, currency
    having sum(quotes) <> 0
    order by issued_from limit ${maxDifferences}
  `.execute(db)
  return rows.map(({ cell }) => `validity: ${cell}`)
}

async function findDifferentAnswers(
  db: Kysely<Tables>,
  company: Company,
  today: string,
): Promise<string[]> {
  const differences: string[] = []
  for (const date of ['issued', 'accepted'] as const) {
    for (const currency of [undefined, company.baseCurrency]) {
      const request = { date, today, ...(currency && { currency }) }
      const expected = await assembleStats(db, company, request, totalsFromQuotes)
      const actual = await assembleStats(db, company, request, totalsFromSummary)
      if (isDeepStrictEqual(actual, expected)) continue
      differences.push(`statistics by ${date} date${currency ? ` in ${currency}` : ''}`)
    }
  }
  return differences
}
