// Counts by key and day the requests with the id of a key and a wrong secret, for
// scripts/api-key.ts report.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table api_key_usage
      add column wrong_secrets bigint not null default 0 check (wrong_secrets >= 0)
  `.execute(db)
  await sql`
    comment on column api_key_usage.wrong_secrets is
      'Requests with the id of the key and a wrong secret, which are no calls of the key.'
  `.execute(db)
}
