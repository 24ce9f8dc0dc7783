// Views of quote links, if counting them is switched on. Each view is a row of its own, so visitors
// never wait for each other.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table quote_share_views (
      share_id bigint not null references quote_shares on delete cascade,
      viewed_at timestamptz not null default now()
    )
  `.execute(db)
  await sql`
    create index quote_share_views_share on quote_share_views (share_id, viewed_at)
  `.execute(db)

  for (const [object, comment] of comments)
    await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
}

const comments: [object: string, comment: string][] = [
  [
    'table quote_share_views',
    'When each link was opened, if COUNT_VIEWS is on. Nothing about who opened it.',
  ],
  ['column quote_share_views.share_id', 'The link.'],
  ['column quote_share_views.viewed_at', 'When it was opened.'],
]
