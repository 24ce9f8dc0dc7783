// Warns of rates that are probably wrong: far from the usual rate of their currency, or inverted.
import type { ClientBase } from 'pg'
import { listReferenceRates } from './reference-rates.ts'

/** A rate that differs by more than this factor is unusual. */
const maxFactor = 5

/**
 * Adds a warning for each quote in `imported_quotes` whose rate differs from the usual one of its
 * currency by more than a factor of 5, or is close to the inverse of it. The usual rate is the
 * median of the quotes in the database that were issued in the year up to the newest quote of the
 * file. Without such quotes it is a rough value, or else the median of the file.
 */
export async function addUnusualRateWarnings(
  client: ClientBase,
  baseCurrency: string,
): Promise<void> {
  await createUsualRatesTable(client, baseCurrency)
  await addWarnings(client)
}

/** Creates the temporary table `usual_rates`: the usual rate of each currency, and its source. */
async function createUsualRatesTable(client: ClientBase, baseCurrency: string): Promise<void> {
  await client.query(
    'create temporary table usual_rates (currency text, rate numeric, source text) on commit drop',
  )
  await client.query(
    `with foreign_quotes as materialized (
      select i.currency, i.rate, i.issued_on from imported_quotes i
      where i.currency <> $1 and i.rate is not null
    ), currencies_of_file as (
      select currency, max(issued_on) as newest,
        percentile_disc(0.5) within group (order by rate) as median, count(*) as quotes
      from foreign_quotes group by currency
    )
    insert into usual_rates (currency, rate, source)
    select f.currency, coalesce(known.median, rough.rate, case when f.quotes > 2 then f.median end),
      case when known.median is not null then 'the median of the last year'
        when rough.rate is not null then 'roughly usual' else 'the median of the file' end
    from currencies_of_file f
    left join lateral (
      select percentile_disc(0.5) within group (order by q.rate) as median
      from quotes q
      where q.currency = f.currency and q.rate is not null
        and q.issued_on > f.newest - 366 and q.issued_on <= f.newest
        and not exists (select from imported_quotes i where i.id = q.id)
    ) known on true
    left join jsonb_to_recordset($2::jsonb) as rough (currency text, rate numeric)
      on rough.currency = f.currency`,
    [baseCurrency, JSON.stringify(listReferenceRates(baseCurrency))],
  )
}

/**
 * A rate counts as inverted if it is three times closer to the inverse of the usual rate than to
 * the usual rate, on a logarithmic scale. A rough value shows this only for currencies whose unit
 * is worth much more or less than that of the base currency.
 */
async function addWarnings(client: ClientBase): Promise<void> {
  await client.query(`
    insert into warnings (kind, line, example)
    select 'unusual_rate', line, format('line %s: quote %s has the rate %s for %s, but %s is %s%s',
      line, number, trim_scale(rate), currency, source,
      trim_scale(round(usual, case when usual > 1 then 2 else 6 end)),
      case when is_inverted then ': it looks inverted (1/rate)' else '' end)
    from (
      select i.line, i.number, i.rate, i.currency, u.rate as usual, u.source,
        distance > ln(${maxFactor}) as is_far,
        distance > 0.05 and 3 * abs(ln((i.rate * u.rate)::float8)) < distance
          and (u.source like 'the median%' or distance > ln(${maxFactor})) as is_inverted
      from imported_quotes i
      join usual_rates u on u.currency = i.currency and u.rate > 0
      cross join lateral abs(ln((i.rate / u.rate)::float8)) as distance
      where i.rate is not null
    ) compared
    where is_far or is_inverted`)
}
