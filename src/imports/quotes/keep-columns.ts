// What happens to the columns that a file of quotes does not have, if its quotes exist already: the
// fields of a quote stay, and columns of lines are lost only if the user says so.
import type { ClientBase } from 'pg'
import { decidedStatuses } from '../../database/quote-statuses.ts'
import { ImportError } from '../file-format.ts'
import { quoteLineFields, repeatedQuoteFields } from '../file-kinds.ts'
import { isSameQuote } from './quote-row-consistency.ts'

/** SQL: when a field of an existing quote still fits what the file says. Others always do. */
const conditions: Partial<Record<(typeof repeatedQuoteFields)[number], string>> = {
  valid_until: 'existing.valid_until::text >= staged.issued_on',
  decided_on: `existing.decided_on::text >= staged.issued_on
    and staged.status in ('${decidedStatuses.join("', '")}')`,
  rate: 'existing.currency = staged.currency',
  global_discount_percent: "coalesce(staged.global_discount_amount, '') !~ '[1-9]'",
  global_discount_amount: `existing.currency = staged.currency
    and coalesce(staged.global_discount_percent, '') !~ '[1-9]'`,
}
/** SQL: the values of lines that a missing column means. Others are null. */
const defaults: Partial<Record<(typeof quoteLineFields)[number], string>> = {
  discount_percent: '0',
  kind: "'line'",
}
/** A field that belongs to another one stays if that one is not changed. */
const owners: Partial<Record<(typeof repeatedQuoteFields)[number], string>> = {
  customer_tax_id: 'customer_name',
  customer_address: 'customer_name',
  customer_contact: 'customer_name',
  country: 'customer_name',
  incoterm_place: 'incoterm',
}

/**
 * Fills the columns that the file does not have with the values of the existing quotes, in the
 * first row of each quote, from which the quote is assembled. Needs `staged_quotes`, and all
 * problems that compare the rows of a quote.
 */
export async function keepMissingColumns(client: ClientBase, columns: string[]): Promise<void> {
  const missing = repeatedQuoteFields.filter((field) => !columns.includes(field))
  if (missing.length === 0) return
  const assignments = missing.map((field) => {
    const owner = owners[field]
    const condition =
      conditions[field] ??
      (owner && columns.includes(owner) ? `existing.${owner} = staged.${owner}` : 'true')
    return `${field} = case when ${condition} then existing.${field}::text end`
  })
  await client.query(`
    update staged set ${assignments.join(', ')}
    from staged_quotes join quotes existing using (number, version)
    where staged.file_line = staged_quotes.first_file_line`)
}

/**
 * Throws an ImportError if the file lacks columns that the lines of existing quotes have. Lines are
 * replaced as a whole, so these values would be lost. Needs `staged_quotes`.
 */
export async function throwIfLinesLoseColumns(
  client: ClientBase,
  columns: string[],
): Promise<void> {
  const missing = quoteLineFields.filter(
    (field) => field !== 'position' && !columns.includes(field),
  )
  if (missing.length === 0) return
  const fields = missing.map(
    (field) => `('${field}', line.${field} is distinct from ${defaults[field] ?? 'null'})`,
  )
  const { rows } = await client.query<{ field: string; quotes: number; first: string }>(`
    select field, count(distinct existing.id)::integer as quotes, min(existing.number) as first
    from staged_quotes
    join quotes existing using (number, version)
    join quote_lines line on line.quote_id = existing.id
    cross join lateral (values ${fields.join(', ')}) as field_of_line (field, has_value)
    where has_value and exists (select from staged where ${isSameQuote})
    group by field order by field`)
  const [row] = rows
  if (!row) return
  throw new ImportError(
    `The file has no column ${rows.map(({ field }) => field).join(', ')}, but lines of quotes in ` +
      `the database have values there (${row.field} in ${row.quotes}, such as ${row.first}), which ` +
      'would be lost. Nothing was imported. Add the columns to the file, or use --replace to ' +
      'empty what the file does not have.',
  )
}
