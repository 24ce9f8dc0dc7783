-- Products, and what search in PostgreSQL needs of them.

create function fold_text(value text)
 returns text
 language sql
 immutable parallel safe strict
return lower(unaccent('unaccent'::regdictionary, value));

-- A code in lower case without separators.
create function code_key(value text)
 returns text
 language sql
 immutable parallel safe strict
return coalesce(nullif(regexp_replace(lower((normalize(value, nfc) collate pg_c_utf8)),
  '[^[:alnum:]]', '', 'g'), ''), lower((normalize(value, nfc) collate pg_c_utf8)));

-- The catalogue. Any writer may change it. Triggers queue each change for the search index.
create table products (
  -- Internal id. It stays the same when the SKU changes.
  id              bigint   not null generated always as identity,
  -- Stock keeping unit, unique as written: AB-1 and ab1 are two products.
  sku             text     not null,
  -- Name of the product.
  name            text     not null,
  -- Longer description. Null: none.
  description     text,
  -- Category to filter by. Null: none.
  category        text,
  -- Brand to filter by. Null: none.
  brand           text,
  -- UN/ECE Recommendation 20 code, such as C62 (piece), KGM, MTR.
  unit            text,
  -- List price for one unit, up to 4 decimals; null: on request.
  price           numeric,
  -- Currency of price; null where price is null.
  currency        text,
  -- Harmonised System code, digits only, 4 to 12 of them.
  hs_code         text,
  -- Country of origin; null: not known.
  origin_country  text,
  -- Search returns active products only.
  active          boolean  not null default true,
  -- Folded text, for search in PostgreSQL.
  search_text     text     generated always
    as (fold_text((((name || ' ') || sku) || coalesce(' ' || brand, '')) ||
    coalesce(' ' || category, ''))) stored,
  -- The SKU without case and separators; only they, if nothing else.
  sku_key         text     generated always as (code_key(sku)) stored,
  constraint products_pkey primary key (id),
  constraint products_sku_key unique (sku),
  constraint products_currency_fkey foreign key (currency) references currencies(code),
  constraint products_origin_country_fkey foreign key (origin_country) references countries(code),
  constraint products_brand_check check (btrim(brand, E' \t\n\r') <> '' and length(brand) <= 200),
  constraint products_category_check check
    (btrim(category, E' \t\n\r') <> '' and length(category) <= 200),
  constraint products_description_check check (length(description) <= 10000),
  constraint products_hs_code_check check (hs_code ~ '^[0-9]{4,12}$'),
  constraint products_name_check check (btrim(name, E' \t\n\r') <> '' and length(name) <= 500),
  constraint products_price_check check
    (price >= 0::numeric and price < '1000000000000000'::numeric and scale(trim_scale(price)) <= 4),
  constraint products_price_has_currency check ((price is null) = (currency is null)),
  constraint products_sku_check check
    (sku = btrim(sku, E' \t\n\r') and sku <> '' and length(sku) <= 100),
  constraint products_unit_check check (unit ~ '^[A-Z0-9]{2,3}$')
);
create index products_code_key on products using btree (sku_key text_pattern_ops) where active;
create index products_hs_code on products using btree (hs_code text_pattern_ops) where active
  and hs_code is not null;
create index products_name on products using btree (name, id) where active;
create index products_search_text_words on products
  using gin (to_tsvector('simple'::regconfig, search_text)) where active;
create index products_sku_key_trigrams on products using gin (sku_key gin_trgm_ops) where active;

-- Number of quotes with a product in the 12 months up to the latest quote. The indexer updates it.
create table product_popularity (
  -- A quoted product. Other products have no row.
  product_id    bigint    not null,
  -- Number of quotes that contain the product.
  times_quoted  integer   not null,
  -- times_quoted in coarse steps: 1 + floor(log2(times)), at most 9. The index holds this
  -- value.
  step          smallint  not null,
  -- Rank among the 100 most quoted products.
  rank          smallint,
  constraint product_popularity_pkey primary key (product_id),
  constraint product_popularity_product_id_fkey foreign key (product_id) references products(id)
    on delete cascade,
  constraint product_popularity_rank_check check (rank >= 1 and rank <= 100),
  constraint product_popularity_step_check check (step >= 1 and step <= 9),
  constraint product_popularity_times_quoted_check check (times_quoted > 0)
);

-- What a filter compares: without case and surrounding blanks.
create function filter_key(value text)
 returns text
 language sql
 immutable parallel safe strict
return lower((normalize(btrim(value), nfkd) collate pg_c_utf8));
create index products_brand_filter on products using btree (filter_key(brand)) where active;
create index products_category_filter on products using btree (filter_key(category)) where active;
