// The outbox that carries product changes to the search index, and what search in PostgreSQL needs
// while the search engine is unavailable.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table search_engines (
      name text primary key check (name ~ '^[a-z0-9_-]{1,50}$'),
      indexed_at timestamptz
    )
  `.execute(db)
  await sql`
    create table product_changes (
      id bigint generated always as identity primary key,
      engine text not null,
      product_id bigint
    )
  `.execute(db)
  await sql`create index product_changes_engine on product_changes (engine, id)`.execute(db)
  await sql`
    create table product_popularity (
      product_id bigint primary key references products on delete cascade,
      times_quoted integer not null check (times_quoted > 0),
      step smallint not null check (step between 1 and 9),
      rank smallint check (rank between 1 and 100)
    )
  `.execute(db)

  // A trigger for each statement, with transition tables, makes one insert for each statement
  // instead of one for each row. There is no NOTIFY, because NOTIFY serialises commits.
  await sql`
    create function queue_product_changes() returns trigger language plpgsql as $$
    begin
      if tg_op = 'INSERT' then
        insert into product_changes (engine, product_id)
        select e.name, n.id from new_rows n cross join search_engines e;
      elsif tg_op = 'DELETE' then
        insert into product_changes (engine, product_id)
        select e.name, o.id from old_rows o cross join search_engines e;
      elsif tg_op = 'TRUNCATE' then
        insert into product_changes (engine, product_id)
        select e.name, null from search_engines e;
      else
        insert into product_changes (engine, product_id)
        select e.name, changed.id from (
          select n.id from new_rows n join old_rows o on o.id = n.id where n.* is distinct from o.*
          union
          select o.id from old_rows o where not exists (select from new_rows n where n.id = o.id)
          union
          select n.id from new_rows n where not exists (select from old_rows o where o.id = n.id)
        ) changed cross join search_engines e;
      end if;
      return null;
    end $$
  `.execute(db)
  await sql`create trigger queue_inserts after insert on products referencing new table as new_rows
    for each statement execute function queue_product_changes()`.execute(db)
  await sql`create trigger queue_updates after update on products
    referencing old table as old_rows new table as new_rows
    for each statement execute function queue_product_changes()`.execute(db)
  await sql`create trigger queue_deletes after delete on products referencing old table as old_rows
    for each statement execute function queue_product_changes()`.execute(db)
  await sql`create trigger queue_truncate after truncate on products
    for each statement execute function queue_product_changes()`.execute(db)

  // Search in PostgreSQL: trigrams over folded text. unaccent() is only stable, because its
  // dictionary can be changed; ours never changes, so fold_text may be immutable.
  await sql`create extension if not exists pg_trgm`.execute(db)
  await sql`create extension if not exists unaccent`.execute(db)
  await sql`
    create function fold_text(value text) returns text language sql immutable strict parallel safe
    return lower(public.unaccent('public.unaccent'::regdictionary, value))
  `.execute(db)
  await sql`
    alter table products
      add column search_text text generated always as (
        fold_text(name || ' ' || sku || coalesce(' ' || brand, '') || coalesce(' ' || category, ''))
      ) stored,
      add column sku_key text generated always as (
        regexp_replace(lower(sku), '[^a-z0-9]', '', 'g')
      ) stored
  `.execute(db)
  await sql`create index products_search_text_trigrams on products
    using gin (search_text gin_trgm_ops) where active`.execute(db)
  await sql`create index products_sku_key_trigrams on products
    using gin (sku_key gin_trgm_ops) where active`.execute(db)

  for (const [object, comment] of comments)
    await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
}

const comments: [object: string, comment: string][] = [
  [
    'table search_engines',
    'The search engines that are kept in step. Each has its own pending rows in product_changes.',
  ],
  ['column search_engines.name', 'Name of the engine, as configured in SEARCH_ENGINE.'],
  [
    'column search_engines.indexed_at',
    'The index of this engine holds every change committed up to this instant.',
  ],
  [
    'table product_changes',
    'Products that changed and are not yet in the index of an engine. Written by triggers, ' +
      'deleted by the indexer.',
  ],
  ['column product_changes.id', 'Order of writing; not of committing.'],
  ['column product_changes.engine', 'The engine whose index lacks the change.'],
  ['column product_changes.product_id', 'Null: every product (the table was truncated).'],
  [
    'table product_popularity',
    'How often a product was quoted in the 12 months up to the latest quote; kept by the indexer.',
  ],
  ['column product_popularity.product_id', 'A product that was quoted; the others have no row.'],
  ['column product_popularity.times_quoted', 'In how many quotes it stands.'],
  [
    'column product_popularity.step',
    'Times quoted in coarse steps: 1 + floor(log2(times)), at most 9. What the index holds.',
  ],
  ['column product_popularity.rank', 'Place among the 100 most quoted products.'],
  ['column products.search_text', 'Folded text for search without the engine.'],
  ['column products.sku_key', 'The SKU without case and separators.'],
]
