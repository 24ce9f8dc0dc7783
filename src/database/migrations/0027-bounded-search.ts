// Indexes and keys with which PostgreSQL answers searches in bounded time, at any number of
// products. See docs/decisions/0024-bounded-search-in-postgresql.md.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  const version = await readServerVersion(db)
  // This collation knows the letters of every script, whatever the locale of the database. Before
  // PostgreSQL 17 there is no builtin one.
  const collation = sql.raw(version < 17 ? '"und-x-icu"' : 'pg_catalog.pg_c_utf8')
  await sql`
    create function code_key(value text) returns text language sql immutable strict parallel safe
    return coalesce(
      nullif(
        regexp_replace(
          lower(normalize(value, nfc) collate ${collation}), '[^[:alnum:]]', '', 'g'
        ),
        ''
      ),
      lower(normalize(value, nfc) collate ${collation})
    )
  `.execute(db)
  await sql`
    create function filter_key(value text) returns text language sql immutable strict parallel safe
    return lower(normalize(btrim(value), nfkd) collate ${collation})
  `.execute(db)
  await replaceSkuKey(db, version)
  await sql`drop index products_search_text_nearest`.execute(db)
  await sql`
    create index products_code_key on products (sku_key text_pattern_ops) where active
  `.execute(db)
  await sql`create index products_name on products (name, id) where active`.execute(db)
  await sql`
    create index products_category_filter on products (filter_key(category)) where active
  `.execute(db)
  await sql`
    create index products_brand_filter on products (filter_key(brand)) where active
  `.execute(db)
  for (const [what, comment] of [
    ['column products.sku_key', 'The SKU without case and separators; only they, if nothing else.'],
    ['function code_key(text)', 'A code in lower case without separators.'],
    ['function filter_key(text)', 'What a filter compares: without case and surrounding blanks.'],
  ] as const)
    await sql`comment on ${sql.raw(what)} is ${sql.lit(comment)}`.execute(db)
}

/** Before PostgreSQL 17 an expression cannot be replaced, so the column and its index are. */
async function replaceSkuKey(db: Kysely<unknown>, version: number): Promise<void> {
  if (version >= 17) {
    await sql`
      alter table products alter column sku_key set expression as (code_key(sku))
    `.execute(db)
    return
  }
  await sql`
    alter table products drop column sku_key,
      add column sku_key text generated always as (code_key(sku)) stored
  `.execute(db)
  await sql`
    create index products_sku_key_trigrams on products using gin (sku_key gin_trgm_ops)
      where active
  `.execute(db)
}

async function readServerVersion(db: Kysely<unknown>): Promise<number> {
  const { rows } = await sql<{ version: number }>`
    select current_setting('server_version_num')::integer / 10000 as version
  `.execute(db)
  return rows[0]?.version ?? 0
}
