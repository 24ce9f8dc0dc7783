// Warns of rates that are probably wrong: far from the usual rate of their currency, or inverted.
import type { ClientBase } from 'pg'
import { type ImportWarning, readWarning } from '../import-warnings.ts'
import { listReferenceRates } from './reference-rates.ts'

/** A rate that differs by more than this factor is unusual. */
export const maxUsualRateFactor = 5
/** The usual rate comes from quotes of this many days, up to the newest quote of the file. */
const daysOfKnownRates = 366
/** The file shows a usual rate itself if it has at least this many quotes in a currency. */
const minQuotesForMedian = 3
/** On a logarithmic scale. A rate that is closer to the usual one does not count as inverted. */
const minDistanceOfInverted = 0.05
/** An inverted rate is this many times closer to the inverse of the usual rate. */
const inverseClosenessFactor = 3

/**
 * Returns a warning of the quotes in `imported_quotes` whose rate differs from the usual one of
 * their currency by more than a factor of 5, or is close to the inverse of it. The usual rate is
 * the median of the quotes in the database that were issued in the year up to the newest quote of
 * the file. Without such quotes it is a rough value, or else the median of the file. A rough value
 * shows an inverted rate only for currencies whose unit is worth much more or less than that of the
 * base currency.
 */
export function findUnusualRates(
  client: ClientBase,
  baseCurrency: string,
): Promise<ImportWarning[]> {
  return readWarning(
    client,
    'unusual_rate',
    `with
    -- The quotes of the file in another currency than the base currency.
    foreign_quotes as materialized (
      select first_file_line, number, currency, rate, issued_on from imported_quotes
      where currency <> $1 and rate is not null
    ),
    -- Each currency of the file, with its median rate there.
    currencies_of_file as (
      select currency, max(issued_on) as newest,
        percentile_disc(0.5) within group (order by rate) as median, count(*) as quotes
      from foreign_quotes group by currency
    ),
    -- The rate to compare with: that of other quotes, a rough one, or the median of the file.
    usual_rates as materialized (
      select currencies_of_file.currency,
        coalesce(known.median, rough.rate,
          case when quotes >= ${minQuotesForMedian} then currencies_of_file.median end) as rate,
        case when known.median is not null then 'known' when rough.rate is not null then 'rough'
          else 'file' end as source
      from currencies_of_file
      left join lateral (
        select percentile_disc(0.5) within group (order by existing.rate) as median
        from quotes existing
        where existing.currency = currencies_of_file.currency and existing.rate is not null
          and existing.issued_on > newest - ${daysOfKnownRates} and existing.issued_on <= newest
          and not exists (select from imported_quotes where imported_quotes.id = existing.id)
      ) known on true
      left join jsonb_to_recordset($2::jsonb) as rough (currency text, rate numeric)
        on rough.currency = currencies_of_file.currency
    ),
    -- How far each rate is from the usual one and from its inverse, as the logarithm of a factor.
    compared as (
      select foreign_quotes.*, usual_rates.rate as usual, usual_rates.source,
        abs(ln((foreign_quotes.rate / usual_rates.rate)::float8)) as log_distance,
        abs(ln((foreign_quotes.rate * usual_rates.rate)::float8)) as log_distance_of_inverse
      from foreign_quotes
      join usual_rates on usual_rates.currency = foreign_quotes.currency and usual_rates.rate > 0
    ), judged as (
      select *, log_distance > ln(${maxUsualRateFactor}) as is_far,
        log_distance > ${minDistanceOfInverted}
          and ${inverseClosenessFactor} * log_distance_of_inverse < log_distance
          and (source <> 'rough' or log_distance > ln(${maxUsualRateFactor})) as is_inverted
      from compared
    )
    select first_file_line as file_line, format(
      'line %s: quote %s has the rate %s for %s, but %s is %s%s',
      first_file_line, number, trim_scale(rate), currency,
      case source when 'known' then 'the median of the last year' when 'rough' then 'roughly usual'
        else 'the median of the file' end,
      trim_scale(round(usual, case when usual > 1 then 2 else 6 end)),
      case when is_inverted then ': it looks inverted (1/rate)' else '' end) as example
    from judged
    where is_far or is_inverted`,
    { values: [baseCurrency, JSON.stringify(listReferenceRates(baseCurrency))] },
  )
}
