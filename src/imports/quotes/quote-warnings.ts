// Finds probable mistakes in a quote file whose rows are valid: rates, repeated lines, dates.
import type { ClientBase } from 'pg'
import { maxQuotedCharacters } from '../cells.ts'
import {
  type ImportWarning,
  listWarning,
  readWarning,
  type WarningKind,
} from '../import-warnings.ts'

/** Returns the characters of a text that no PDF can show. */
export type FindCharacters = (text: string) => string[]

/** Quotes that a customer may still get. Others are records of the past. */
const isToSend = "imported.status in ('draft', 'sent')"

export const maxUsualRateFactor = 5
/** The usual rate comes from quotes of this many days, up to the newest quote of the file. */
const daysOfKnownRates = 366
/** The file shows a usual rate itself if it has at least this many quotes in a currency. */
const minQuotesForMedian = 3
/** On a logarithmic scale. A rate that is closer to the usual one does not count as inverted. */
const minDistanceOfInverted = 0.05
/** An inverted rate is this many times closer to the inverse of the usual rate. */
const inverseClosenessFactor = 3

/** SQL that selects the cases of each warning. $1 is the base currency, $2 the reference rates. */
const cases: [kind: WarningKind, sql: string][] = [
  [
    'accepted_without_rate',
    `select first_file_line as file_line,
      format('line %s: quote %s in %s is accepted, but has no rate',
        first_file_line, number, currency) as example
    from imported_quotes
    where status = 'accepted' and rate is null and currency <> $1`,
  ],
  [
    'identical_lines',
    `select first_file_line as file_line,
      format('line %s: quote %s has %s identical lines: %s', first_file_line,
        max(imported.number), max(copies), left(max(description), ${maxQuotedCharacters})
      ) as example
    from (
      select first_file_line, count(*) as copies, min(description) as description
      from imported_quote_lines where kind = 'line'
      group by first_file_line, hash_record_extended(
        (sku, description, quantity, unit, unit_price, discount_percent, tax_rate, surcharge_rate,
          hs_code, origin_country), 0)
      having count(*) > 1
    ) repeated
    join imported_quotes imported using (first_file_line)
    group by first_file_line`,
  ],
  // A number that may have been used for two quotes: the same version has a different day of issue
  // in the database, or a version was issued before the previous version.
  [
    'two_dates',
    `select imported.first_file_line as file_line,
      format('line %s: quote %s version %s is of %s, but of %s in the database',
        imported.first_file_line, imported.number, imported.version, imported.issued_on,
        existing.issued_on) as example
    from imported_quotes imported
    join quotes existing using (id)
    where existing.issued_on <> imported.issued_on
    union all
    select imported.first_file_line,
      format('line %s: quote %s version %s is of %s, but version %s is of %s',
        imported.first_file_line, imported.number, imported.version, imported.issued_on,
        previous.version, previous.issued_on)
    from imported_quotes imported
    cross join lateral (
      select version, issued_on from (
        select older.version, older.issued_on from imported_quotes older
        where older.number = imported.number and older.version < imported.version
        union all
        select existing.version, existing.issued_on from quotes existing
        where existing.number = imported.number and existing.version < imported.version
          and not exists (select from imported_quotes where imported_quotes.id = existing.id)
      ) known
      where known.issued_on > imported.issued_on
      order by version desc limit 1
    ) previous
    where imported.version > 1`,
  ],
  // The usual rate is the median of the quotes in the database that were issued in the year up to the
  // newest quote of the file. Without such quotes it is a rough value, or else the median of the
  // file. A rough value shows an inverted rate only for currencies whose unit is worth much more or
  // less than that of the base currency.
  [
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
  ],
  // Columns of percentages whose values are all below 1, as if 15 % were written as 0.15.
  [
    'unusual_rate',
    `select min(first_file_line) as file_line, format('%s: no value above 0 reaches 1 %%, such as %s %%: '
      'they may be fractions of 1 instead of percentages', field, min(percentage)) as example
    from imported_quote_lines
    cross join lateral (
      values ('discount_percent', discount_percent), ('tax_rate', tax_rate)
    ) as field_of_line (field, percentage)
    where percentage > 0 group by field having max(percentage) < 1`,
  ],
  [
    'zero_rate_without_reason',
    `select first_file_line as file_line, format('line %s: quote %s, position %s, for %s',
        first_file_line, imported.number, min(line.position), coalesce(imported.country, 'no country')
      ) as example
    from imported_quotes imported join imported_quote_lines line using (first_file_line)
    where ${isToSend} and line.kind = 'line' and line.tax_rate = 0
      and coalesce(line.tax_reason, imported.default_tax_reason,
        automatic_tax_reason((select seller ->> 'country' from company), imported.country, line.unit)
      ) is null
    group by first_file_line, imported.number, imported.country`,
  ],
  [
    'negative_total',
    `select first_file_line as file_line,
      format('line %s: quote %s, %s %s', first_file_line, number, gross, currency) as example
    from imported_quotes where gross < 0`,
  ],
  [
    'without_lines',
    `select first_file_line as file_line,
      format('line %s: quote %s', first_file_line, number) as example
    from imported_quotes imported where ${isToSend} and not exists (
      select from imported_quote_lines line
      where line.first_file_line = imported.first_file_line and line.kind = 'line')`,
  ],
  [
    'valid_without_end',
    `select first_file_line as file_line,
      format('line %s: quote %s', first_file_line, number) as example
    from imported_quotes imported where ${isToSend} and valid_until is null`,
  ],
]

/** Needs `imported_quotes` and `imported_quote_lines`, which are not written yet. */
export async function findQuoteWarnings(
  client: ClientBase,
  baseCurrency: string,
  findUnprintable?: FindCharacters,
): Promise<ImportWarning[]> {
  const warnings: ImportWarning[] = []
  const parameters = [baseCurrency, JSON.stringify(listReferenceRates(baseCurrency))]
  for (const [kind, sql] of cases) {
    const values = parameters.filter((_, index) => sql.includes(`$${index + 1}`))
    warnings.push(...(await readWarning(client, kind, sql, { values })))
  }
  if (findUnprintable) warnings.push(...(await findUnprintableQuotes(client, findUnprintable)))
  return warnings
}

/** Characters outside the scripts that are certainly printable, as pdf-text.ts has them. */
const rareCharacters =
  '[^\\s -~\\u00a0-\\u02ff\\u0391-\\u03a1\\u03a3-\\u0482\\u2010-\\u2027\\u20a0-\\u20bf]'
const maxCheckedTexts = 20_000

async function findUnprintableQuotes(
  client: ClientBase,
  findUnprintable: FindCharacters,
): Promise<ImportWarning[]> {
  const { rows } = await client.query<{ file_line: number; number: string; text: string }>(
    `with texts as (
      select first_file_line, number, status, concat_ws(' ', number, customer_name,
        customer_tax_id, customer_address, customer_contact, incoterm_place, delivery,
        payment_terms, tax_label, default_tax_reason, notes) as text
      from imported_quotes
      union all
      select first_file_line, number, status, concat_ws(' ', sku, description, tax_reason)
      from imported_quote_lines join imported_quotes using (first_file_line)
    )
    select first_file_line as file_line, number, text from texts imported
    where ${isToSend} and text ~ $1
    order by first_file_line limit ${maxCheckedTexts}`,
    [rareCharacters],
  )
  const byQuote = new Map<number, { number: string; characters: Set<string> }>()
  for (const { file_line: line, number, text } of rows)
    for (const character of findUnprintable(text)) {
      const known = byQuote.get(line) ?? { number, characters: new Set() }
      byQuote.set(line, known)
      known.characters.add(character)
    }
  return listWarning(
    'not_printable',
    [...byQuote].map(
      ([line, { number, characters }]) =>
        `line ${line}: quote ${number}: ${[...characters].join(' ')}`,
    ),
  )
}

/**
 * How many units make about one euro, as in 2025. The list has only currencies that are stable
 * enough not to change by a factor of 5 within a few years. So a value needs an update only after
 * such a change, for example when a currency is replaced.
 */
const unitsPerEuro = new Map(
  (
    'EUR 1 USD 1.1 GBP 0.85 CHF 0.95 CAD 1.6 AUD 1.75 NZD 1.9 CNY 8 HKD 9 SGD 1.5 JPY 165 ' +
    'KRW 1550 TWD 35 THB 38 INR 97 IDR 18500 VND 29000 PHP 65 MYR 4.8 BRL 6.2 MXN 21 CLP 1080 ' +
    'COP 4600 PEN 4.1 UYU 46 PYG 8500 CRC 570 DOP 70 GTQ 8.7 SEK 11.2 NOK 11.7 DKK 7.46 ' +
    'ISK 145 PLN 4.3 CZK 25 HUF 400 RON 5 RSD 117 UAH 48 ILS 4 AED 4.1 SAR 4.2 QAR 4 KWD 0.34 ' +
    'BHD 0.42 OMR 0.43 JOD 0.79 TND 3.4 MAD 10.6 DZD 150 XOF 656 XAF 656 ZAR 20 KES 145'
  )
    .match(/[A-Z]{3} [\d.]+/g)
    ?.map((text): [string, number] => [text.slice(0, 3), Number(text.slice(4))]),
)

/** Returns about how many units of the base currency one unit of each known currency is worth. */
function listReferenceRates(baseCurrency: string): { currency: string; rate: number }[] {
  const base = unitsPerEuro.get(baseCurrency)
  if (base === undefined) return []
  return [...unitsPerEuro].map(([currency, units]) => ({ currency, rate: base / units }))
}

/** Days of issue, both included, as 2026-12-31. */
export type Period = { from: string; to: string }

/**
 * Returns a warning that names the quotes of the period that are not in `staged`, or nothing. They
 * are not deleted: quotes are business records, and their links must keep working. Superseded
 * versions are not counted, because many programs export the current version only.
 */
export function findMissingQuotes(
  client: ClientBase,
  { from, to }: Period,
): Promise<ImportWarning[]> {
  return readWarning(
    client,
    'missing_quotes',
    `select issued_on, number, version,
      format('quote %s version %s of %s, %s', number, version, issued_on, status) as example
    from quotes existing
    where issued_on between $1::date and $2::date and status <> 'superseded'
      and not exists (
        select from staged
        where staged.number = existing.number
          and coalesce(staged.version_number, existing.version) = existing.version
      )`,
    { values: [from, to], order: 'issued_on, number, version' },
  )
}
