// A rate limit of its own for each API key, and the time of its last use.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table api_keys
      add column limit_factor numeric check (limit_factor > 0 and limit_factor <= 1000),
      add column last_used_at timestamptz
  `.execute(db)

  for (const [object, comment] of comments)
    await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
}

const comments: [object: string, comment: string][] = [
  [
    'column api_keys.limit_factor',
    'Its rate limits are this many times the configured ones; null: the configured ones.',
  ],
  [
    'column api_keys.last_used_at',
    'When the key was used last, to about a minute, best effort; null: never.',
  ],
]
