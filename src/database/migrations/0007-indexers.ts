// The lease of the indexer, the state of each index, and the documents that an engine rejected.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table search_engines
      add column shape text,
      add column last_task bigint,
      add column rebuild_asked_at timestamptz
  `.execute(db)
  // A separate table, because it is written every second, and every writer of products reads
  // search_engines.
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

  for (const [object, comment] of comments)
    await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
}

const comments: [object: string, comment: string][] = [
  [
    'column search_engines.shape',
    'Hash of the settings and of how documents are made that the index was built with; ' +
      'another one leads to a rebuild.',
  ],
  [
    'column search_engines.last_task',
    'The last task of the engine whose success was noted. An engine that does not know it ' +
      'holds older contents.',
  ],
  [
    'column search_engines.rebuild_asked_at',
    'Set to ask for a rebuild, by whichever indexer works; null when there is nothing to do.',
  ],
  [
    'table indexer_leases',
    'Which indexer works on an engine. Several may run; one holds the lease and the others ' +
      'stand by.',
  ],
  ['column indexer_leases.engine', 'The engine that is worked on.'],
  [
    'column indexer_leases.fence',
    'Rises by one with each taking over: an indexer with a lower number has lost its place.',
  ],
  ['column indexer_leases.holder', 'Machine and process of the holder; null when nobody holds it.'],
  ['column indexer_leases.held_until', 'From this instant on another indexer may take over.'],
  [
    'table parked_documents',
    'Products whose document an engine refused. Tried again when the product changes.',
  ],
  [
    'column parked_documents.engine',
    'The engine; followed by ~next for an index that a rebuild is filling.',
  ],
  ['column parked_documents.product_id', 'The product.'],
  ['column parked_documents.parked_at', 'When it was refused last.'],
  ['column parked_documents.reason', 'What the engine said.'],
]
