-- The search indexes in Meilisearch, and the outbox that keeps them up to date.

-- The registered search indexes, which indexers keep in sync. Each has its own rows in
-- index_outbox.
create table search_indexes (
  -- SEARCH_ENGINE, with the version of the index: main-v1.
  registration_name text primary key check (registration_name ~ '^[a-z0-9_-]{1,60}$'),
  -- What is known about the contents of the index:
  -- unknown: nothing, so PostgreSQL answers. A rebuild follows.
  -- suspect: perhaps changes that a failover has lost. It is used, but no cached answers. A rebuild
  --   follows.
  -- writing: an indexer is writing, or has died while it was. It is used, but no cached answers.
  -- settled: every change of the outbox that is not pending, and no others.
  state text not null default 'unknown'
    check (state in ('unknown', 'suspect', 'writing', 'settled')),
  -- The index contains every change committed before this time. Null if its contents are unknown.
  indexed_at timestamptz,
  -- Rises when the contents may have changed. Cached answers of other versions are not used.
  version bigint not null default 0,
  -- The first transaction that was still running during the last complete read of the outbox. Rows
  -- of it and of later ones are pending. Reads begin here, because PostgreSQL keeps deleted rows
  -- while an old snapshot is in use, and reading past a million of them takes 100 ms.
  settled_before xid8 not null default '0',
  -- database_identity() when the index was built. Another value: the database was restored, or has
  -- failed over. Null: no build has begun.
  database_identity text,
  -- The number of the last known task of the Meilisearch server, and when the server accepted it.
  -- A server without this task was restored from an older state.
  last_task jsonb,
  -- The version of the synonyms that were sent last: that of the words of the company, and a hash
  -- of the built-in ones.
  synonyms_version text,
  -- Time at which a rebuild was requested. Null: none.
  rebuild_requested_at timestamptz
);

-- Outbox: changed products that an index does not contain yet. Triggers write it and the indexer
-- deletes the rows.
create table index_outbox (
  -- Order of writing, which can differ from the order of commits.
  id bigint generated always as identity primary key,
  -- The index that lacks the change.
  registration_name text not null,
  -- The product. Null: all products, after a truncate.
  product_id bigint,
  -- The transaction that made the change.
  xid xid8 not null default pg_current_xact_id()
);
create index index_outbox_order on index_outbox (registration_name, xid, id);

-- Dead letters: products whose document Meilisearch rejected. A change of the product tries again.
create table index_parked_documents (
  -- The index that lacks the document.
  registration_name text not null,
  -- The product.
  product_id bigint not null,
  -- Error message of Meilisearch.
  reason text not null,
  -- Time of the last rejection.
  parked_at timestamptz not null default now(),
  primary key (registration_name, product_id)
);

-- The indexer that works on an index. One indexer holds the lease, and the others stand by.
create table index_leases (
  -- The index.
  registration_name text primary key references search_indexes on delete cascade,
  -- Host and process of the indexer, and a random number. Null: none.
  holder text,
  -- Time from which another indexer may take over; without a holder, since when there is none.
  held_until timestamptz not null default now()
);

-- Appends the changed products of a statement to the outbox of each index: one insert for a whole
-- import. The apply worker of a subscription fires no triggers of statements, so replicated products
-- are not queued. Triggers of rows would slow each import for a case in which the index is built
-- once: `indexer.ts rebuild` after the subscriber has become the primary.
create function queue_product_changes() returns trigger
language plpgsql security definer set search_path = public, pg_temp set enable_nestloop = off as $$
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
end $$;
create trigger queue_deletes after delete on products
  referencing old table as old_rows for each statement execute function queue_product_changes();
create trigger queue_inserts after insert on products
  referencing new table as new_rows for each statement execute function queue_product_changes();
create trigger queue_truncate after truncate on products
  for each statement execute function queue_product_changes();
create trigger queue_updates after update on products
  referencing old table as old_rows new table as new_rows for each statement
  execute function queue_product_changes();

-- Another value after a restore: the cluster, the timeline, the database and its table products.
create function database_identity() returns text
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select concat_ws('/', system_identifier,
    left(pg_walfile_name(pg_current_wal_lsn()), 8),
    (select oid from pg_database where datname = current_database()),
    'products'::regclass::oid)
  from pg_control_system()
$$;

-- Returns whether a transaction is still running that began before this one.
create function has_older_transaction(than xid8) returns boolean
language sql security definer set search_path = pg_catalog, pg_temp
begin atomic
  select exists (
    select from pg_stat_activity
    where datname = current_database()
      and backend_type = 'client backend'
      and pid <> pg_backend_pid()
      and greatest(age(backend_xid), age(backend_xmin)) >= age(than::xid)
  );
end;
revoke execute on function has_older_transaction(xid8) from public;
