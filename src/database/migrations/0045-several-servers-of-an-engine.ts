// Records that the URL of a search engine leads to several servers.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table search_engines add column has_several_servers boolean not null default false
  `.execute(db)
  await sql`
    comment on column search_engines.has_several_servers is
      'The URL of the engine leads to several servers: nobody knows what the index holds'
  `.execute(db)
}
