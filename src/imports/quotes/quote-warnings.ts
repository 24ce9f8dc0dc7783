// Finds probable mistakes in a quote file whose rows are valid: rates, repeated lines, dates.
import type { ClientBase } from 'pg'
import { maxQuotedCharacters } from '../cells/cell-checks.ts'
import { type ImportWarning, maxWarningExamples, type WarningKind } from '../import-warnings.ts'
import { addUnusualRateWarnings } from './unusual-rates.ts'

/** Returns the warnings about `imported_quotes` and `imported_lines`, which are not written yet. */
export async function findQuoteWarnings(
  client: ClientBase,
  baseCurrency: string,
): Promise<ImportWarning[]> {
  await client.query(`
    create temporary table warnings (kind text not null, line integer, example text not null)
    on commit drop`)
  await addUnusualRateWarnings(client, baseCurrency)
  await client.query(
    `insert into warnings (kind, line, example)
    select 'accepted_without_rate', i.line,
      format('line %s: quote %s in %s is accepted, but has no rate', i.line, i.number, i.currency)
    from imported_quotes i
    where i.status = 'accepted' and i.rate is null and i.currency <> $1`,
    [baseCurrency],
  )
  await addIdenticalLineWarnings(client)
  await addTwoDatesWarnings(client)
  return readWarnings(client)
}

/** Returns the warnings in the table `warnings`, by kind. */
async function readWarnings(client: ClientBase): Promise<ImportWarning[]> {
  const { rows } = await client.query<{ kind: WarningKind; count: string; examples: string[] }>(`
    select kind, max(place) as count,
      array_agg(example order by place) filter (where place <= ${maxWarningExamples}) as examples
    from (
      select kind, example, row_number() over (partition by kind order by line, example) as place
      from warnings
    ) numbered
    group by kind order by kind`)
  return rows.map(({ kind, count, examples }) => ({ kind, count: Number(count), examples }))
}

/** Adds a warning for lines of one quote that differ only in their position. */
async function addIdenticalLineWarnings(client: ClientBase): Promise<void> {
  await client.query(`
    insert into warnings (kind, line, example)
    select 'identical_lines', quote_line, format(
      'line %s: quote %s has %s identical lines: %s', quote_line, max(i.number), max(copies),
      left(max(example), ${maxQuotedCharacters}))
    from (
      select l.quote_line, count(*) as copies, min(l.description) as example
      from imported_lines l
      group by l.quote_line, hash_record_extended(
        (l.sku, l.description, l.quantity, l.unit, l.unit_price, l.discount_percent, l.tax_rate,
          l.surcharge_rate, l.hs_code, l.origin_country), 0)
      having count(*) > 1
    ) repeated
    join imported_quotes i on i.line = repeated.quote_line
    group by quote_line`)
}

/**
 * Adds a warning for a number that may have been used for two quotes: the same version has a
 * different day of issue in the database, or a version was issued before the previous version.
 */
async function addTwoDatesWarnings(client: ClientBase): Promise<void> {
  await client.query(`
    insert into warnings (kind, line, example)
    select 'two_dates', i.line, format(
      'line %s: quote %s version %s is of %s, but of %s in the database',
      i.line, i.number, i.version, i.issued_on, e.issued_on)
    from imported_quotes i join quotes e on e.id = i.id
    where e.issued_on <> i.issued_on`)
  await client.query(`
    insert into warnings (kind, line, example)
    select 'two_dates', i.line, format(
      'line %s: quote %s version %s is of %s, but version %s is of %s',
      i.line, i.number, i.version, i.issued_on, older.version, older.issued_on)
    from imported_quotes i
    cross join lateral (
      select version, issued_on from (
        select version, issued_on from imported_quotes o
        where o.number = i.number and o.version < i.version
        union all
        select e.version, e.issued_on from quotes e
        where e.number = i.number and e.version < i.version
          and not exists (select from imported_quotes o where o.id = e.id)
      ) known
      where known.issued_on > i.issued_on
      order by version desc limit 1
    ) older
    where i.version > 1`)
}
