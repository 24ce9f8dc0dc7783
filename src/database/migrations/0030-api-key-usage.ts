// Counts the requests of each API key by day, for scripts/api-key.ts report.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table api_key_usage (
      key_id text not null references api_keys on delete cascade,
      day date not null,
      calls bigint not null check (calls >= 0),
      refusals bigint not null,
      primary key (key_id, day),
      constraint api_key_usage_refusals_are_calls check (refusals between 0 and calls)
    )
  `.execute(db)
  for (const [object, comment] of Object.entries(comments))
    await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
}

const comments: Record<string, string> = {
  'table api_key_usage': 'Requests by API key and day. The API adds to it, as best effort.',
  'column api_key_usage.key_id': 'The key.',
  'column api_key_usage.day': 'The day in UTC.',
  'column api_key_usage.calls': 'All requests with the key, refused ones included.',
  'column api_key_usage.refusals': 'Requests that were refused with 403 or 429.',
}
