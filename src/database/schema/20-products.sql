-- The products. 30-search.sql adds what PostgreSQL searches them by, 40-search-index.sql the
-- triggers that keep Meilisearch up to date, 61-statistics-changes.sql those that follow the names.

-- The catalogue. Any writer may change it. Triggers queue each change for the search index.
create table products (
  -- Internal id. It stays the same when the SKU changes.
  id bigint generated always as identity primary key,
  -- Stock keeping unit, unique as written: AB-1 and ab1 are two products.
  sku text not null unique
    check (sku = btrim(sku, E' \t\n\r') and sku <> '' and length(sku) <= 100),
  -- Name of the product.
  name text not null check (btrim(name, E' \t\n\r') <> '' and length(name) <= 500),
  -- Longer description. Null: none.
  description text check (length(description) <= 10000),
  -- Category to filter by. Null: none.
  category text check (btrim(category, E' \t\n\r') <> '' and length(category) <= 200),
  -- Brand to filter by. Null: none.
  brand text check (btrim(brand, E' \t\n\r') <> '' and length(brand) <= 200),
  -- Supplier to filter by. Null: none.
  supplier text check (btrim(supplier, E' \t\n\r') <> '' and length(supplier) <= 200),
  -- UN/ECE Recommendation 20 code, such as C62 (piece), KGM, MTR.
  unit text check (unit ~ '^[A-Z0-9]{2,3}$'),
  -- List price for one unit, up to 4 decimals; null: on request.
  price numeric check (price >= 0 and price < 1e15 and scale(trim_scale(price)) <= 4),
  -- Currency of price; null where price is null.
  currency text references currencies,
  -- Harmonised System code, digits only, 4 to 12 of them.
  hs_code text check (hs_code ~ '^[0-9]{4,12}$'),
  -- Country of origin; null: not known.
  origin_country text references countries,
  -- Search returns active products only.
  active boolean not null default true,
  constraint products_price_has_currency check ((price is null) = (currency is null))
);

-- Number of quotes with a product in the 12 months up to the latest quote. The indexer updates it.
create table product_popularity (
  -- A quoted product. Other products have no row.
  product_id bigint primary key references products on delete cascade,
  -- Number of quotes that contain the product.
  times_quoted integer not null check (times_quoted > 0),
  -- times_quoted in coarse steps: 1 + floor(log2(times)), at most 9. The index holds this value.
  step smallint not null check (step between 1 and 9),
  -- Rank among the 100 most quoted products.
  rank smallint check (rank between 1 and 100)
);
