// Records which key replaced a rotated one. Until now scripts/api-key.ts inferred it from times.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table api_keys add column
    successor_id text references api_keys on delete set null`.execute(db)
  await sql`
    comment on column api_keys.successor_id is
      'The key that replaced this one when it was rotated; null: it was not rotated.'
  `.execute(db)
  // A rotation that shortened the lifetime of a key let it end a whole number of days after the
  // creation of its successor, to the microsecond. The column stays null if the older release
  // rotates a key during the upgrade: such a key could be rotated again.
  await sql`
    update api_keys rotated set successor_id = successor.id
    from api_keys successor
    where isfinite(rotated.expires_at)
      and successor.name = rotated.name and successor.created_at > rotated.created_at
      and mod(extract(epoch from rotated.expires_at - successor.created_at), 86400) = 0
  `.execute(db)
}
