// Who keeps an index in step, what the index is known to be, and the documents that an engine refused.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table search_engines
      add column shape text,
      add column last_task bigint,
      add column rebuild_asked_at timestamptz
  `.execute(db)
  // A table of its own, because it is written every second while every writer of products reads search_engines.
  await sql`
    create table indexer_leases (
      engine text primary key references search_engines on delete cascade,
      fence bigint not null,
      holder text,
      held_until timestamptz
    )
  `.execute(db)
  await sql`
    create table parked_documents (
      engine text not null,
      product_id bigint not null,
      reason text not null,
      parked_at timestamptz not null default now(),
      primary key (engine, product_id)
    )
  `.execute(db)

  await sql`comment on column search_engines.shape is 'Hash of the settings and of how documents are made that the index was built with; another one leads to a rebuild.'`.execute(
    db,
  )
  await sql`comment on column search_engines.last_task is 'The last task of the engine whose success was noted. An engine that does not know it holds older contents.'`.execute(
    db,
  )
  await sql`comment on column search_engines.rebuild_asked_at is 'Set to ask for a rebuild, by whichever indexer works; null when there is nothing to do.'`.execute(
    db,
  )
  await sql`comment on table indexer_leases is 'Which indexer works on an engine. Several may run; one holds the lease and the others stand by.'`.execute(
    db,
  )
  await sql`comment on column indexer_leases.engine is 'The engine that is worked on.'`.execute(db)
  await sql`comment on column indexer_leases.fence is 'Rises by one with each taking over: an indexer with a lower number has lost its place.'`.execute(
    db,
  )
  await sql`comment on column indexer_leases.holder is 'Machine and process of the holder; null when nobody holds it.'`.execute(
    db,
  )
  await sql`comment on column indexer_leases.held_until is 'From this instant on another indexer may take over.'`.execute(
    db,
  )
  await sql`comment on table parked_documents is 'Products whose document an engine refused. Tried again when the product changes.'`.execute(
    db,
  )
  await sql`comment on column parked_documents.engine is 'The engine; followed by ~next for an index that a rebuild is filling.'`.execute(
    db,
  )
  await sql`comment on column parked_documents.product_id is 'The product.'`.execute(db)
  await sql`comment on column parked_documents.parked_at is 'When it was refused last.'`.execute(db)
  await sql`comment on column parked_documents.reason is 'What the engine said.'`.execute(db)
}
