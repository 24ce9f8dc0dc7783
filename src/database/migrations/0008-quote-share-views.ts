// Views of quote links, where counting them is switched on: one row each, so that no two visitors wait for each other.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table quote_share_views (
      share_id bigint not null references quote_shares on delete cascade,
      viewed_at timestamptz not null default now()
    )
  `.execute(db)
  await sql`create index quote_share_views_share on quote_share_views (share_id, viewed_at)`.execute(
    db,
  )

  await sql`comment on table quote_share_views is 'When each link was opened, if COUNT_VIEWS is on. Nothing about who opened it.'`.execute(
    db,
  )
  await sql`comment on column quote_share_views.share_id is 'The link.'`.execute(db)
  await sql`comment on column quote_share_views.viewed_at is 'When it was opened.'`.execute(db)
}
