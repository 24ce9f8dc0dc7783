// Finds probable mistakes in a quote file whose rows are valid: rates, repeated lines, dates.
import type { ClientBase } from 'pg'
import { maxQuotedCharacters } from '../cells/cell-checks.ts'
import { type ImportWarning, readWarning } from '../import-warnings.ts'
import { findUnusualRates } from './unusual-rates.ts'

/** Needs `imported_quotes` and `imported_quote_lines`, which are not written yet. */
export async function findQuoteWarnings(
  client: ClientBase,
  baseCurrency: string,
): Promise<ImportWarning[]> {
  return [
    ...(await findAcceptedWithoutRate(client, baseCurrency)),
    ...(await findIdenticalLines(client)),
    ...(await findTwoDates(client)),
    ...(await findUnusualRates(client, baseCurrency)),
  ]
}

function findAcceptedWithoutRate(
  client: ClientBase,
  baseCurrency: string,
): Promise<ImportWarning[]> {
  return readWarning(
    client,
    'accepted_without_rate',
    `select first_file_line as file_line,
      format('line %s: quote %s in %s is accepted, but has no rate',
        first_file_line, number, currency) as example
    from imported_quotes
    where status = 'accepted' and rate is null and currency <> $1`,
    { values: [baseCurrency] },
  )
}

/** Warns of lines of one quote that differ only in their position. */
function findIdenticalLines(client: ClientBase): Promise<ImportWarning[]> {
  return readWarning(
    client,
    'identical_lines',
    `select first_file_line as file_line,
      format('line %s: quote %s has %s identical lines: %s', first_file_line,
        max(imported.number), max(copies), left(max(description), ${maxQuotedCharacters})
      ) as example
    from (
      select first_file_line, count(*) as copies, min(description) as description
      from imported_quote_lines
      group by first_file_line, hash_record_extended(
        (sku, description, quantity, unit, unit_price, discount_percent, tax_rate, surcharge_rate,
          hs_code, origin_country), 0)
      having count(*) > 1
    ) repeated
    join imported_quotes imported using (first_file_line)
    group by first_file_line`,
  )
}

/**
 * Warns of a number that may have been used for two quotes: the same version has a different day of
 * issue in the database, or a version was issued before the previous version.
 */
function findTwoDates(client: ClientBase): Promise<ImportWarning[]> {
  return readWarning(
    client,
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
  )
}
