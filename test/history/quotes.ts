// Quotes and their links as subjects of histories have them: every row a key, its value all that answers depend on.
import type { ClientBase } from 'pg'
import type { Quote } from '../stats/independent-model.ts'
import { absent, type Effect } from './model.ts'

export type QuoteRow = Quote & { version: number }

/** For `returning`: what figures depend on, as text. */
export const quoteColumns =
  'number, version, status, country, currency, rate::text, issued_on::text, valid_until::text, decided_on::text, ' +
  'round(net, currency_digits(currency))::text as net'

export const quoteKey = (number: string, version: number) => `quote ${number} v${version}`
export const linkKey = (tokenHash: string) => `link ${tokenHash}`

/** Runs a statement that returns `quoteColumns`, and tells what these quotes are then. */
export async function write(
  client: ClientBase,
  statement: string,
  values: unknown[],
): Promise<Effect[]> {
  const { rows } = await client.query<QuoteRow>(statement, values)
  return rows.map((row) => ({ key: quoteKey(row.number, row.version), value: JSON.stringify(row) }))
}

/** Deletes the quotes of a number, and with them their links; null: all of them, by truncating. */
export async function remove(client: ClientBase, number: string | null): Promise<Effect[]> {
  // Locked first, so that nothing is added between reading what goes and its going.
  if (number === null)
    await client.query('lock table quotes, quote_shares in access exclusive mode')
  else await client.query('select from quotes where number = $1 for update', [number])
  const { rows } = await client.query<{ number: string; version: number; hash: string | null }>(
    `select number, version, encode(token_hash, 'hex') as hash from quotes left join quote_shares on quote_id = quotes.id
     where $1::text is null or number = $1`,
    [number],
  )
  if (number === null) await client.query('truncate quotes cascade')
  else await client.query('delete from quotes where number = $1', [number])
  const keys = rows.flatMap((row) => [
    quoteKey(row.number, row.version),
    ...(row.hash === null ? [] : [linkKey(row.hash)]),
  ])
  return [...new Set(keys)].map((key) => ({ key, value: absent }))
}
