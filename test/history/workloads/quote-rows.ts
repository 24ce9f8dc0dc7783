// How the stats and share link workloads write quotes: each row is a key of the committed states.
import type { ClientBase } from 'pg'
import type { Quote } from '../../stats/quote-builder.ts'
import { absent, type Effect } from '../committed-states.ts'

export type QuoteRow = Quote & { version: number }

/** The columns that the statistics depend on, as text. */
const quoteColumns =
  'number, version, status, country, currency, rate::text, issued_on::text, ' +
  'valid_until::text, decided_on::text, round(net, currency_digits(currency))::text as net'

export const quoteKey = (number: string, version: number) => `quote ${number} v${version}`
export const linkKey = (tokenHash: string) => `link ${tokenHash}`

/**
 * Runs a statement that returns the numbers of the quotes it wrote. Returns the new values of all
 * versions that this transaction has changed, also of those that a trigger superseded.
 */
export async function writeQuotes(
  client: ClientBase,
  statement: string,
  values: unknown[],
): Promise<Effect[]> {
  const written = await client.query<{ number: string }>(statement, values)
  const { rows } = await client.query<QuoteRow>(
    `select ${quoteColumns} from quotes
     where number = any ($1) and xmin = pg_current_xact_id()::xid`,
    [written.rows.map(({ number }) => number)],
  )
  return rows.map((row) => ({ key: quoteKey(row.number, row.version), value: JSON.stringify(row) }))
}

/** Deletes all versions of a quote with their links. Null truncates the table of quotes. */
export async function deleteQuotes(client: ClientBase, number: string | null): Promise<Effect[]> {
  if (number === null)
    await client.query('lock table quotes, quote_shares in access exclusive mode')
  // Only locked rows are deleted, so that nothing is added between reading and deleting.
  const locked = await client.query<{ id: string }>(
    'select id from quotes where $1::text is null or number = $1 for update',
    [number],
  )
  const ids = locked.rows.map(({ id }) => id)
  const { rows } = await client.query<{ number: string; version: number; hash: string | null }>(
    `select number, version, encode(token_hash, 'hex') as hash
     from quotes left join quote_shares on quote_id = quotes.id
     where quotes.id = any ($1)`,
    [ids],
  )
  if (number === null) await client.query('truncate quotes cascade')
  else await client.query('delete from quotes where id = any ($1)', [ids])
  const keys = rows.flatMap((row) => [
    quoteKey(row.number, row.version),
    ...(row.hash === null ? [] : [linkKey(row.hash)]),
  ])
  return [...new Set(keys)].map((key) => ({ key, value: absent }))
}
