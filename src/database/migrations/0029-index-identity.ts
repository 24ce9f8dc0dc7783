// Records what each search index was built from, so that a restored database or engine is noticed,
// and lets programs find new changes without reading settled ones. See
// docs/decisions/0025-the-index-knows-what-it-is.md.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  await run(`
    create function database_identity() returns text
    language sql stable security definer set search_path = pg_catalog, public, pg_temp
    as $$
      select concat_ws('/', system_identifier,
        left(pg_walfile_name(pg_current_wal_lsn()), 8),
        (select oid from pg_database where datname = current_database()),
        'products'::regclass::oid)
      from pg_control_system()
    $$
  `)
  await run(`
    alter table search_engines
      add column index_name text,
      add column registered_in xid8,
      add column database_identity text,
      add column last_task_at text,
      add column is_writing boolean not null default true,
      add column settled_snapshot pg_snapshot not null default '1:1:',
      add column pending integer not null default 0,
      add column used_at timestamptz not null default now(),
      drop constraint search_engines_name_check,
      add constraint search_engines_name_check check (name ~ '^[a-z0-9_-]{1,60}$')
  `)
  await run('drop trigger move_version on product_changes')
  await run('drop function move_search_version()')
  // Rows that exist already get the transaction of this migration, so they count as new.
  await run('alter table product_changes add column xid xid8 not null default pg_current_xact_id()')
  await run('drop index product_changes_engine')
  await run('create index product_changes_engine on product_changes (engine, xid, id)')
  // A snapshot that was taken while the registration ran has its id as the oldest running one.
  await run(`
    create or replace function has_older_transaction(than xid8) returns boolean
    language sql security definer set search_path = pg_catalog, pg_temp
    begin atomic
      select exists (
        select from pg_stat_activity
        where datname = current_database()
          and backend_type = 'client backend'
          and pid <> pg_backend_pid()
          and greatest(age(backend_xid), age(backend_xmin)) >= age(than::xid)
      );
    end
  `)
  for (const [column, comment] of Object.entries(comments))
    await sql`comment on column ${sql.raw(column)} is ${sql.lit(comment)}`.execute(db)
}

const comments = {
  'search_engines.index_name': 'The index in the engine.',
  'search_engines.registered_in':
    'The transaction of the registration, until all older ones have ended. Then null.',
  'search_engines.database_identity':
    'database_identity() when the index was built. Another value: the database was restored.',
  'search_engines.last_task_at': 'When last_task was accepted, by the clock of the engine.',
  'search_engines.is_writing':
    'True while the index may contain changes that are not recorded here.',
  'search_engines.settled_snapshot': 'The index contains every change that this snapshot sees.',
  'search_engines.pending': 'While is_writing: about how many changes are pending.',
  'search_engines.used_at': 'When an API process last used the index, within some seconds.',
  'product_changes.xid': 'The transaction that made the change.',
}
