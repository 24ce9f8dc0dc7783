// What an API key carries besides: a limit of its own, and when it was used last.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table api_keys
      add column limit_factor numeric check (limit_factor > 0 and limit_factor <= 1000),
      add column last_used_at timestamptz
  `.execute(db)
  await sql`comment on column api_keys.limit_factor is 'Its rate limits are this many times the configured ones; null: the configured ones.'`.execute(
    db,
  )
  await sql`comment on column api_keys.last_used_at is 'When the key was used last, to about a minute, best effort; null: never.'`.execute(
    db,
  )
}
