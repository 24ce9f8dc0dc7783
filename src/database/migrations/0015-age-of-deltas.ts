// Stores when a delta was appended, so that a metric can show for how long none has been folded.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // A default that is the same for all rows does not rewrite the table.
  await sql`
    alter table quote_deltas add column created_at timestamptz not null default now()
  `.execute(db)
  await sql`
    comment on column quote_deltas.created_at is 'The start of the transaction that appended it.'
  `.execute(db)
}
