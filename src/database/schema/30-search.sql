-- Search in PostgreSQL, which answers while Meilisearch does not: what a product is found by.
create extension if not exists pg_trgm;
create extension if not exists unaccent;

-- Knows the letters of every script, whatever the locale of the database. PostgreSQL has a builtin
-- collation for that since version 17.
do $$
begin
  if current_setting('server_version_num')::integer >= 170000 then
    create collation every_script from pg_c_utf8;
  else
    create collation every_script from "und-x-icu";
  end if;
end $$;

create function fold_text(value text) returns text
language sql immutable parallel safe strict
return lower(unaccent('unaccent', value));

-- A code in lower case without separators.
create function code_key(value text) returns text
language sql immutable parallel safe strict
return coalesce(
  nullif(
    regexp_replace(lower(normalize(value, nfc) collate every_script), '[^[:alnum:]]', '', 'g'), ''
  ),
  lower(normalize(value, nfc) collate every_script)
);

-- What a filter compares: without case and surrounding blanks.
create function filter_key(value text) returns text
language sql immutable parallel safe strict
return lower(normalize(btrim(value), nfkd) collate every_script);

-- search_text is the folded text. sku_key is the SKU without case and separators, or only they if
-- it has nothing else.
alter table products
  add column search_text text generated always as (fold_text(
    name || ' ' || sku || coalesce(' ' || brand, '') || coalesce(' ' || category, '')
  )) stored,
  add column sku_key text generated always as (code_key(sku)) stored;

create index products_brand_filter on products (filter_key(brand)) where active;
create index products_category_filter on products (filter_key(category)) where active;
create index products_code_key on products (sku_key text_pattern_ops) where active;
create index products_hs_code on products (hs_code text_pattern_ops) where active
  and hs_code is not null;
create index products_name on products (name, id) where active;
create index products_search_text_words on products
  using gin (to_tsvector('simple'::regconfig, search_text)) where active;
create index products_sku_key_trigrams on products using gin (sku_key gin_trgm_ops) where active;
