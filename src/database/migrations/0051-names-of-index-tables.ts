// Names the tables of the search index after indexes and their registrations. In the old names,
// "engine" meant the registration of an index, and elsewhere the Meilisearch server. Programs of
// the older release go on running during an upgrade and after a roll back, so the old names remain
// as views. A later migration drops them.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  await run(lockTables)
  // The programs of the older release must be allowed to use the views at once.
  const { rows: grants } = await sql<{ statement: string }>`
    with rights as (
      select oid, null::name as column_name, relowner, acl.*
      from pg_class, aclexplode(relacl) as acl
      union all
      select pg_class.oid, attname, relowner, acl.*
      from pg_class join pg_attribute on attrelid = pg_class.oid, aclexplode(attacl) as acl
    )
    select format('grant %s%s on %s to %s%s',
      privilege_type, ' (' || quote_ident(column_name) || ')', oid::regclass,
      case when grantee = 0 then 'public' else grantee::regrole::text end,
      case when is_grantable then ' with grant option' end) as statement
    from rights
    where oid = any (${Object.keys(oldNames)}::regclass[]) and grantee <> relowner
  `.execute(db)
  for (const statement of renames) await run(statement)
  await run(triggerFunction)
  for (const [object, comment] of Object.entries(comments))
    await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
  for (const [view, { table, columns }] of Object.entries(oldNames)) {
    const comment = `Only for the older release, which calls ${table} so. Do not use it.`
    await run(`create view ${view} as select ${columns} from ${table}`)
    await sql`comment on view ${sql.raw(view)} is ${sql.lit(comment)}`.execute(db)
  }
  for (const { statement } of grants) await run(statement)
}

/**
 * Programs lock these tables in different orders. Whoever waited for one of them while it holds
 * another could cause a deadlock, which might end the statement of a program. So only the first
 * lock waits: it stops writers of products, who would use the other tables. The others are tried
 * for half a second. Then the migration fails like one that got no lock, and is tried again.
 */
const lockTables = `
  do $$
  begin
    lock table products in share row exclusive mode;
    for attempt in 1..25 loop
      begin
        lock table product_changes, search_engines, parked_documents, indexer_leases
          in access exclusive mode nowait;
        return;
      exception when lock_not_available then
        perform pg_sleep(0.02);
      end;
    end loop;
    raise lock_not_available using message = 'The tables of the search index are in use.';
  end $$
`

const renames = [
  'alter table search_engines rename to search_indexes',
  'alter table search_indexes rename column name to registration_name',
  'alter table search_indexes rename column last_task to last_task_uid',
  'alter table search_indexes rename column last_task_at to last_task_enqueued_at',
  'alter table search_indexes rename column rebuild_asked_at to rebuild_requested_at',
  'alter table search_indexes rename column words to synonyms_version',
  'alter table search_indexes rename constraint search_engines_pkey to search_indexes_pkey',
  `alter table search_indexes rename constraint search_engines_name_check
    to search_indexes_registration_name_check`,

  'alter table product_changes rename to index_outbox',
  'alter table index_outbox rename column engine to registration_name',
  'alter table index_outbox rename constraint product_changes_pkey to index_outbox_pkey',
  'alter index product_changes_engine rename to index_outbox_order',
  'alter sequence product_changes_id_seq rename to index_outbox_id_seq',

  'alter table parked_documents rename to index_parked_documents',
  'alter table index_parked_documents rename column engine to registration_name',
  `alter table index_parked_documents rename constraint parked_documents_pkey
    to index_parked_documents_pkey`,

  'alter table indexer_leases rename to index_leases',
  'alter table index_leases rename column engine to registration_name',
  'alter table index_leases rename column fence to fencing_token',
  'alter table index_leases rename constraint indexer_leases_pkey to index_leases_pkey',
  `alter table index_leases rename constraint indexer_leases_engine_fkey
    to index_leases_registration_name_fkey`,
]

/** The body with the new names. Triggers keep the function, and it keeps its owner and rights. */
const triggerFunction = `
  create or replace function queue_product_changes() returns trigger
  language plpgsql security definer set search_path = public, pg_temp set enable_nestloop = off
  as $$
  begin
    if tg_op = 'INSERT' then
      insert into index_outbox (registration_name, product_id)
      select i.registration_name, n.id from new_rows n cross join search_indexes i;
    elsif tg_op = 'DELETE' then
      insert into index_outbox (registration_name, product_id)
      select i.registration_name, o.id from old_rows o cross join search_indexes i;
    elsif tg_op = 'TRUNCATE' then
      insert into index_outbox (registration_name, product_id)
      select i.registration_name, null from search_indexes i;
    else
      insert into index_outbox (registration_name, product_id)
      select i.registration_name, changed.id from (
        select n.id from new_rows n join old_rows o on o.id = n.id where n.* is distinct from o.*
        union
        select o.id from old_rows o where not exists (select from new_rows n where n.id = o.id)
        union
        select n.id from new_rows n where not exists (select from old_rows o where o.id = n.id)
      ) changed cross join search_indexes i;
    end if;
    return null;
  end $$
`

/** The views by the old names of the tables. Their columns have the old names and order. */
const oldNames = {
  search_engines: {
    table: 'search_indexes',
    columns: `registration_name as name, indexed_at, version, shape, last_task_uid as last_task,
      rebuild_requested_at as rebuild_asked_at, index_name, registered_in, database_identity,
      last_task_enqueued_at as last_task_at, is_writing, settled_snapshot, pending, used_at,
      synonyms_version as words, has_several_servers`,
  },
  product_changes: {
    table: 'index_outbox',
    columns: 'id, registration_name as engine, product_id, xid',
  },
  parked_documents: {
    table: 'index_parked_documents',
    columns: 'registration_name as engine, product_id, reason, parked_at',
  },
  indexer_leases: {
    table: 'index_leases',
    columns: 'registration_name as engine, fencing_token as fence, holder, held_until',
  },
}

const comments = {
  'table search_indexes':
    'The registered search indexes, which indexers keep in sync. Each has its own rows in ' +
    'index_outbox.',
  'column search_indexes.registration_name':
    'SEARCH_ENGINE, with the first digits of the shape of the index: main-1a2b3c4d.',
  'column search_indexes.last_task_uid':
    'The last task of the Meilisearch server that is known to have succeeded. A server without ' +
    'this task was restored from an older state.',
  'column search_indexes.last_task_enqueued_at':
    'When the server accepted that task, by its clock.',
  'column search_indexes.index_name': 'The index in the Meilisearch server.',
  'column search_indexes.pending':
    'Only for the older release, which writes and reads it while is_writing is true.',
  'column search_indexes.synonyms_version':
    'The version of the synonyms that were sent last: that of the words of the company, and a ' +
    'hash of the built-in ones.',
  'column search_indexes.has_several_servers':
    'The URL of the server leads to several ones: nobody knows what the index contains.',
  'table index_outbox':
    'Outbox: changed products that an index does not contain yet. Triggers write it and the ' +
    'indexer deletes the rows.',
  'column index_outbox.registration_name': 'The index that lacks the change.',
  'table index_parked_documents':
    'Dead letters: products whose document Meilisearch rejected. A change of the product tries ' +
    'again.',
  'column index_parked_documents.registration_name': 'The index that lacks the document.',
  'column index_parked_documents.reason': 'Error message of Meilisearch.',
  'table index_leases':
    'The indexer that works on an index. One indexer holds the lease, and the others stand by.',
  'column index_leases.registration_name': 'The index.',
  'column index_leases.fencing_token':
    'Each takeover increments it, and an indexer with a lower one has lost the lease.',
}
