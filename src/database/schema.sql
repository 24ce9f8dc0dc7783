-- The database schema that the migrations make, for reading.
-- Written by `node scripts/schema.ts`: do not edit it. docs/data-model.md explains the tables.
-- Left out: Kysely's own tables, objects of extensions, and the grants to the roles of the programs
-- (src/database/role-grants.ts).

create extension pg_trgm;
create extension unaccent;

-- -------------------------------------------------------------------------------------------------
-- Company, currencies and countries
-- -------------------------------------------------------------------------------------------------

-- ISO 4217 currencies and their minor digits (JPY 0, EUR 2, KWD 3).
create table currencies (
  code    text     not null,
  digits  integer  not null generated always as (currency_digits(code)) stored,
  constraint currencies_pkey primary key (code)
);

-- ISO 3166-1 countries.
create table countries (
  code  text  not null,
  constraint countries_pkey primary key (code)
);

-- The seller, in one row. scripts/migrate.ts writes it from the company file.
create table company (
  the_only_row   boolean  not null default true,
  base_currency  text     not null,
  time_zone      text     not null,
  seller         jsonb    not null,
  constraint company_pkey primary key (the_only_row),
  constraint company_base_currency_fkey foreign key (base_currency) references currencies(code),
  constraint company_the_only_row_check check (the_only_row)
);
create trigger check_rates after insert or update of base_currency on company for each row
  execute function check_rates_for_company();
create trigger rebuild_summary after insert or update of base_currency on company for each row
  execute function rebuild_for_company();

-- Returns the ISO 4217 minor digits of a currency.
create function currency_digits(code text)
 returns integer
 language sql
 immutable parallel safe strict
return case when (code = any (array['BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG',
  'RWF', 'UGX', 'UYI', 'VND', 'VUV', 'XAF', 'XOF', 'XPF'])) then 0
  when (code = any (array['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND'])) then 3
  when (code = any (array['CLF', 'UYW'])) then 4 else 2 end;

-- -------------------------------------------------------------------------------------------------
-- Products, and text search in PostgreSQL
-- -------------------------------------------------------------------------------------------------

-- The catalogue. Any writer may change it. Triggers queue each change for the search index.
create table products (
  id              bigint   not null generated always as identity,
  sku             text     not null,
  name            text     not null,
  description     text,
  category        text,
  brand           text,
  unit            text,
  price           numeric,
  currency        text,
  hs_code         text,
  origin_country  text,
  active          boolean  not null default true,
  search_text     text     generated always
    as (fold_text((((name || ' ') || sku) || coalesce(' ' || brand, '')) ||
    coalesce(' ' || category, ''))) stored,
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
create index products_brand_filter on products using btree (filter_key(brand)) where active;
create index products_category_filter on products using btree (filter_key(category)) where active;
create index products_code_key on products using btree (sku_key text_pattern_ops) where active;
create index products_hs_code on products using btree (hs_code text_pattern_ops) where active
  and hs_code is not null;
create index products_name on products using btree (name, id) where active;
create index products_search_text_words on products
  using gin (to_tsvector('simple'::regconfig, search_text)) where active;
create index products_sku_key_trigrams on products using gin (sku_key gin_trgm_ops) where active;
create trigger note_deleted_names after delete on products referencing old table as old_rows
  for each statement execute function note_product_names();
create trigger note_inserted_names after insert on products referencing new table as new_rows
  for each statement execute function note_product_names();
create trigger note_replicated_names after update on products for each row
  when (current_setting('session_replication_role') = 'replica'
  and (new.sku <> old.sku or new.name <> old.name)) execute function note_changed_name();
create trigger note_replicated_products after insert or delete on products for each row
  when (current_setting('session_replication_role') = 'replica')
  execute function note_changed_name();
create trigger note_truncated_names after truncate on products for each statement
  execute function note_changed_name();
create trigger note_updated_names after update on products referencing old table
  as old_rows new table as new_rows for each statement execute function note_product_names();
create trigger queue_deletes after delete on products referencing old table as old_rows
  for each statement execute function queue_product_changes();
create trigger queue_inserts after insert on products referencing new table as new_rows
  for each statement execute function queue_product_changes();
create trigger queue_truncate after truncate on products for each statement
  execute function queue_product_changes();
create trigger queue_updates after update on products referencing old table as old_rows new table
  as new_rows for each statement execute function queue_product_changes();

-- Number of quotes with a product in the 12 months up to the latest quote. The indexer updates it.
create table product_popularity (
  product_id    bigint    not null,
  times_quoted  integer   not null,
  step          smallint  not null,
  rank          smallint,
  constraint product_popularity_pkey primary key (product_id),
  constraint product_popularity_product_id_fkey foreign key (product_id) references products(id)
    on delete cascade,
  constraint product_popularity_rank_check check (rank >= 1 and rank <= 100),
  constraint product_popularity_step_check check (step >= 1 and step <= 9),
  constraint product_popularity_times_quoted_check check (times_quoted > 0)
);

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

-- What a filter compares: without case and surrounding blanks.
create function filter_key(value text)
 returns text
 language sql
 immutable parallel safe strict
return lower((normalize(btrim(value), nfkd) collate pg_c_utf8));

-- -------------------------------------------------------------------------------------------------
-- The words of search that the company owns
-- -------------------------------------------------------------------------------------------------

-- Words and phrases that mean the same to search.
create table search_synonyms (
  word      text     not null,
  synonyms  text[]   not null,
  two_way   boolean  not null default true,
  constraint search_synonyms_pkey primary key (word)
);
create trigger change_version after insert or delete or update or truncate on search_synonyms
  for each statement execute function change_search_words_version();
create trigger prepare before insert or update on search_synonyms for each row
  execute function prepare_search_synonyms();

-- The products that come first for a query.
create table search_pins (
  query  text    not null,
  skus   text[]  not null,
  constraint search_pins_pkey primary key (query)
);
create trigger change_version after insert or delete or update or truncate on search_pins
  for each statement execute function change_search_words_version();
create trigger prepare before insert or update on search_pins for each row
  execute function prepare_search_pins();

-- Words for which search behaves as if it did not know them.
create table search_hidden_words (
  word   text  not null,
  hides  text  not null default 'synonyms',
  constraint search_hidden_words_pkey primary key (word),
  constraint search_hidden_words_hides_check check (hides = any (array['synonyms', 'word']))
);
create trigger change_version after insert or delete or update or truncate on search_hidden_words
  for each statement execute function change_search_words_version();
create trigger prepare before insert or update on search_hidden_words for each row
  execute function prepare_search_hidden_word();

-- Changes with the three tables of words. Triggers write it.
create table search_words_version (
  the_only_row  boolean  not null default true,
  version       uuid     not null default gen_random_uuid(),
  constraint search_words_version_pkey primary key (the_only_row),
  constraint search_words_version_the_only_row_check check (the_only_row)
);

-- A text in lower case with single blanks, as words are stored.
create function search_phrase(value text)
 returns text
 language sql
 immutable parallel safe strict
return lower(normalize(btrim(regexp_replace(value, '\s+', ' ', 'g')), nfc));

create function check_search_phrase(phrase text)
 returns void
 language plpgsql
 immutable
as $$
begin
  if phrase is null or phrase = '' then
    raise exception 'A word for search is empty.' using errcode = 'check_violation';
  end if;
  if length(phrase) > 50 then
    raise exception 'The word "%…" for search has more than 50 characters.', left(phrase, 50)
      using errcode = 'check_violation';
  end if;
  if array_length(string_to_array(phrase, ' '), 1) > 3 then
    raise exception 'The phrase "%" for search has more than 3 words.', phrase
      using errcode = 'check_violation';
  end if;
end $$;

create function prepare_search_synonyms()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'pg_catalog', 'public', 'pg_temp'
as $$
begin
  new.word := search_phrase(new.word);
  perform check_search_phrase(new.word);
  if coalesce(cardinality(new.synonyms), 0) not between 1 and 20 then
    raise exception 'The word "%" has % synonyms: 1 to 20 are allowed.',
      new.word, coalesce(cardinality(new.synonyms), 0) using errcode = 'check_violation';
  end if;
  new.synonyms := array(
    select search_phrase(synonym) from unnest(new.synonyms) with ordinality as s (synonym, place)
    order by place
  );
  perform check_search_phrase(synonym) from unnest(new.synonyms) as synonym;
  if new.word = any (new.synonyms) then
    raise exception 'The word "%" is a synonym of itself.', new.word
      using errcode = 'check_violation';
  end if;
  return new;
end $$;

create function prepare_search_pins()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'pg_catalog', 'public', 'pg_temp'
as $$
begin
  new.query := search_phrase(new.query);
  if new.query is null or length(new.query) not between 1 and 200 then
    raise exception 'The query of a pin has 1 to 200 characters.'
      using errcode = 'check_violation';
  end if;
  if coalesce(cardinality(new.skus), 0) not between 1 and 20 then
    raise exception 'The query "%" has % pinned SKUs: 1 to 20 are allowed.',
      new.query, coalesce(cardinality(new.skus), 0) using errcode = 'check_violation';
  end if;
  if exists (
    select from unnest(new.skus) as sku where sku is null or length(sku) not between 1 and 100
  ) then
    raise exception 'A pinned SKU of the query "%" does not have 1 to 100 characters.', new.query
      using errcode = 'check_violation';
  end if;
  return new;
end $$;

create function prepare_search_hidden_word()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'pg_catalog', 'public', 'pg_temp'
as $$
begin
  new.word := search_phrase(new.word);
  perform check_search_phrase(new.word);
  if new.word = '*' and new.hides <> 'synonyms' then
    raise exception 'The word * stands for all built-in synonyms: it can only hide synonyms.'
      using errcode = 'check_violation';
  end if;
  return new;
end $$;

create function change_search_words_version()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'pg_catalog', 'public', 'pg_temp'
as $$
declare
  rows_of_table bigint;
  pairs bigint;
  limit_of_table constant bigint :=
    case tg_table_name when 'search_pins' then 5000 else 1000 end;
begin
  update search_words_version set version = gen_random_uuid();
  execute format('select count(*) from %I', tg_table_name) into rows_of_table;
  if rows_of_table > limit_of_table then
    raise exception '% has % rows: at most % are allowed.',
      tg_table_name, rows_of_table, limit_of_table using errcode = 'check_violation';
  end if;
  if tg_table_name = 'search_synonyms' then
    select coalesce(sum(
      case when two_way then cardinality(synonyms) + 1 else 1 end * cardinality(synonyms)
    ), 0) into pairs from search_synonyms;
    if pairs > 5000 then
      raise exception 'search_synonyms makes % pairs of words: at most 5000 are allowed, '
        'because each of them slows every search.', pairs using errcode = 'check_violation';
    end if;
  end if;
  return null;
end $$;

-- -------------------------------------------------------------------------------------------------
-- What people search for
-- -------------------------------------------------------------------------------------------------

-- How many searches somebody stayed on, by day.
create table search_report_days (
  day             date    not null,
  searches        bigint  not null,
  without_result  bigint  not null,
  constraint search_report_days_pkey primary key (day),
  constraint search_report_days_part check (without_result >= 0 and without_result <= searches)
);

-- Texts of searches. A text is null until five callers have searched for it.
create table search_report_texts (
  id         bigint   not null generated always as identity,
  kind       text     not null,
  text_hash  bytea    not null,
  callers    bytea[]  not null,
  text       text,
  last_day   date     not null,
  constraint search_report_texts_pkey primary key (id),
  constraint search_report_texts_identity unique (kind, text_hash),
  constraint search_report_texts_callers check
    (cardinality(callers) <= 5 and (text is null or callers = '{}'::bytea[])),
  constraint search_report_texts_kind_check check (kind = any (array['query', 'word']))
);
create index search_report_texts_unknown on search_report_texts using btree (last_day)
  where text is null;

-- How often each text was searched for, by day.
create table search_report_counts (
  day             date    not null,
  text_id         bigint  not null,
  searches        bigint  not null,
  without_result  bigint  not null,
  constraint search_report_counts_pkey primary key (day, text_id),
  constraint search_report_counts_text_id_fkey foreign key (text_id)
    references search_report_texts(id) on delete cascade,
  constraint search_report_counts_part check (without_result >= 0 and without_result <= searches)
);
create index search_report_counts_text on search_report_counts using btree (text_id);

-- Deletes what the search report no longer keeps.
create function purge_search_report()
 returns bigint
 language plpgsql
 security definer
 set search_path to 'pg_catalog', 'public', 'pg_temp'
as $$
declare
  today constant date := (now() at time zone 'UTC')::date;
  purged bigint := 0;
  purged_now bigint;
begin
  delete from search_report_counts where day <= today - 90;
  get diagnostics purged_now = row_count;
  purged := purged + purged_now;
  delete from search_report_days where day <= today - 90;
  get diagnostics purged_now = row_count;
  purged := purged + purged_now;
  delete from search_report_texts
  where last_day <= today - case when text is null then 30 else 90 end
    or id in (
      select id from search_report_texts where text is null
      order by cardinality(callers) > 1 desc, last_day desc, id desc
      offset 20000
    );
  get diagnostics purged_now = row_count;
  return purged + purged_now;
end $$;
revoke execute on function purge_search_report() from public;

-- -------------------------------------------------------------------------------------------------
-- Customers and quotes
-- -------------------------------------------------------------------------------------------------

-- Customers of the company. A quote keeps its own copy of the customer data.
create table customers (
  id            bigint  not null generated always as identity,
  name          text    not null,
  tax_id        text,
  address       text,
  contact_name  text,
  country       text,
  constraint customers_pkey primary key (id),
  constraint customers_identity unique nulls not distinct (name, tax_id, country),
  constraint customers_country_fkey foreign key (country) references countries(code),
  constraint customers_address_check check (length(address) <= 2000),
  constraint customers_contact_name_check check (length(contact_name) <= 500),
  constraint customers_name_check check (btrim(name, E' \t\n\r') <> '' and length(name) <= 500),
  constraint customers_tax_id_check check (btrim(tax_id, E' \t\n\r') <> '' and length(tax_id) <= 50)
);
create trigger note_names after update on customers referencing old table as old_rows new table
  as new_rows for each statement execute function note_customer_names();
create trigger note_replicated_names after update on customers for each row
  when (current_setting('session_replication_role') = 'replica' and new.name <> old.name)
  execute function note_changed_name();

-- The languages that a quote may have. scripts/migrate.ts fills it from the files of texts.
create table languages (
  code             text     not null,
  place            integer  not null,
  vat_label        text     not null,
  sales_tax_label  text     not null,
  constraint languages_pkey primary key (code),
  constraint languages_code_check check (code ~ '^[a-z]{2}$')
);

-- Quotes, with one row for each version of a number.
create table quotes (
  id                bigint   not null generated always as identity,
  number            text     not null,
  version           integer  not null default 1,
  status            text     not null,
  customer_id       bigint,
  customer_name     text,
  customer_tax_id   text,
  customer_address  text,
  customer_contact  text,
  country           text,
  currency          text     not null,
  rate              numeric,
  issued_on         date     not null,
  valid_until       date,
  decided_on        date,
  incoterm          text,
  incoterm_place    text,
  delivery          text,
  payment_terms     text,
  language          text,
  notes             text,
  internal_notes    text,
  net               numeric  not null default 0,
  tax               numeric  not null default 0,
  gross             numeric  not null default 0,
  tax_label         text,
  constraint quotes_pkey primary key (id),
  constraint quotes_number_version unique (number, version),
  constraint quotes_country_fkey foreign key (country) references countries(code),
  constraint quotes_currency_fkey foreign key (currency) references currencies(code),
  constraint quotes_customer_id_fkey foreign key (customer_id) references customers(id)
    on delete set null,
  constraint quotes_language_fkey foreign key (language) references languages(code),
  constraint quotes_amounts_have_currency_digits check
    (greatest(scale(trim_scale(net)), scale(trim_scale(tax))) <= currency_digits(currency)),
  constraint quotes_customer_address_check check (length(customer_address) <= 2000),
  constraint quotes_customer_contact_check check (length(customer_contact) <= 500),
  constraint quotes_customer_name_check check (length(customer_name) <= 500),
  constraint quotes_customer_tax_id_check check (length(customer_tax_id) <= 50),
  constraint quotes_decided_after_issue check (decided_on >= issued_on),
  constraint quotes_decided_on_check check (decided_on <= '9999-12-31'::date),
  constraint quotes_decision_has_status check
    (decided_on is null or (status = any (array['accepted', 'rejected', 'superseded']))),
  constraint quotes_delivery_check check (length(delivery) <= 2000),
  constraint quotes_gross_is_net_and_tax check (gross = (net + tax)),
  constraint quotes_incoterm_check check
    (incoterm = any (array['EXW', 'FCA', 'CPT', 'CIP', 'DAP', 'DPU', 'DDP', 'FAS', 'FOB', 'CFR',
    'CIF'])),
  constraint quotes_incoterm_place_check check (length(incoterm_place) <= 200),
  constraint quotes_internal_notes_check check (length(internal_notes) <= 10000),
  constraint quotes_issued_on_check check
    (issued_on >= '1970-01-01'::date and issued_on <= '9999-12-31'::date),
  constraint quotes_net_check check (net >= 0::numeric
    and net < '1000000000000000000000000000000'::numeric),
  constraint quotes_not_misdated check
    (issued_on <= '2099-12-31'::date and decided_on <= '2099-12-31'::date) not valid,
  constraint quotes_notes_check check (length(notes) <= 10000),
  constraint quotes_number_check check
    (number = btrim(number, E' \t\n\r') and number <> '' and length(number) <= 64),
  constraint quotes_payment_terms_check check (length(payment_terms) <= 2000),
  constraint quotes_place_has_incoterm check (incoterm_place is null or incoterm is not null),
  constraint quotes_rate_check check
    (rate > 0::numeric and rate < '1000000000000'::numeric and scale(trim_scale(rate)) <= 12),
  constraint quotes_status_check check
    (status = any (array['draft', 'sent', 'accepted', 'rejected', 'expired', 'superseded'])),
  constraint quotes_tax_check check (abs(tax) < '1000000000000000000000000000000'::numeric),
  constraint quotes_tax_label_check check
    (btrim(tax_label, E' \t\n\r') <> '' and length(tax_label) <= 20),
  constraint quotes_valid_after_issue check (valid_until >= issued_on),
  constraint quotes_valid_until_check check (valid_until <= '9999-12-31'::date),
  constraint quotes_version_check check (version >= 1),
  constraint quotes_one_current_version exclude using btree (number with =)
    where (is_current_status(status)) deferrable initially deferred
);
create index quotes_accepted_on on quotes using btree (coalesce(decided_on, issued_on))
  where status = 'accepted';
create index quotes_customer on quotes using btree (customer_id) where customer_id is not null;
create index quotes_issued_on on quotes using btree (issued_on);
create trigger append_deletes after delete on quotes referencing old table as old_rows
  for each statement execute function append_quote_changes();
create trigger append_inserts after insert on quotes referencing new table as new_rows
  for each statement execute function append_quote_changes();
create trigger append_replicated after insert or delete or update on quotes for each row
  when (current_setting('session_replication_role') = 'replica')
  execute function append_replicated_change();
create trigger append_updates after update on quotes referencing old table as old_rows new table
  as new_rows for each statement execute function append_quote_changes();
create trigger check_rate after insert or update of currency, rate on quotes for each row
  when (new.rate <> 1::numeric) execute function check_rate_of_base_currency();
create trigger empty_summary after truncate on quotes for each statement
  execute function empty_quote_summary();
create trigger subtract_lines before delete on quotes for each row when (old.status = 'accepted')
  execute function subtract_lines_of_quote();
create trigger supersede_after_inserts after insert on quotes referencing new table as new_rows
  for each statement execute function supersede_older_versions();
create trigger supersede_after_renumbering after update of number, version on quotes for each row
  execute function supersede_older_versions();
create trigger supersede_after_updates after update of status on quotes for each row
  when ((old.status = any (array['draft', 'superseded'])) and new.status <> 'superseded')
  execute function supersede_older_versions();
create trigger supersede_replicated after insert or update on quotes for each row
  when (new.status <> 'superseded' and current_setting('session_replication_role') = 'replica')
  execute function supersede_older_versions();

-- The lines of a quote.
create table quote_lines (
  quote_id          bigint   not null,
  position          integer  not null,
  sku               text,
  description       text     not null,
  quantity          numeric  not null,
  unit              text,
  unit_price        numeric  not null,
  discount_percent  numeric  not null default 0,
  tax_rate          numeric,
  surcharge_rate    numeric,
  hs_code           text,
  origin_country    text,
  net               numeric  not null,
  constraint quote_lines_pkey primary key (quote_id, "position"),
  constraint quote_lines_origin_country_fkey foreign key (origin_country)
    references countries(code),
  constraint quote_lines_quote_id_fkey foreign key (quote_id) references quotes(id)
    on delete cascade,
  constraint quote_lines_description_check check
    (btrim(description, E' \t\n\r') <> '' and length(description) <= 10000),
  constraint quote_lines_discount_percent_check check
    (discount_percent >= 0::numeric and discount_percent <= 100::numeric
    and scale(trim_scale(discount_percent)) <= 4),
  constraint quote_lines_hs_code_check check (hs_code ~ '^[0-9]{4,12}$'),
  constraint quote_lines_net_check check
    (abs(net) < '1000000000000000000000000000'::numeric and scale(trim_scale(net)) <= 4),
  constraint quote_lines_position_check check ("position" >= 1),
  constraint quote_lines_quantity_check check
    (quantity <> 0::numeric and abs(quantity) < '1000000000000'::numeric
    and scale(trim_scale(quantity)) <= 6),
  constraint quote_lines_sku_check check (length(sku) <= 100),
  constraint quote_lines_surcharge_has_tax check (surcharge_rate is null or tax_rate is not null),
  constraint quote_lines_surcharge_rate_check check
    (surcharge_rate >= 0::numeric and surcharge_rate <= 100::numeric
    and scale(trim_scale(surcharge_rate)) <= 4),
  constraint quote_lines_tax_rate_check check
    (tax_rate >= 0::numeric and tax_rate <= 100::numeric and scale(trim_scale(tax_rate)) <= 4),
  constraint quote_lines_unit_check check (unit ~ '^[A-Z0-9]{2,3}$'),
  constraint quote_lines_unit_price_check check
    (abs(unit_price) < '1000000000000000'::numeric and scale(trim_scale(unit_price)) <= 4)
);
create trigger append_deletes after delete on quote_lines referencing old table as old_rows
  for each statement execute function append_line_changes();
create trigger append_inserts after insert on quote_lines referencing new table as new_rows
  for each statement execute function append_line_changes();
create trigger append_replicated after insert or delete or update on quote_lines for each row
  when (current_setting('session_replication_role') = 'replica')
  execute function append_replicated_line();
create trigger append_updates after update on quote_lines referencing old table
  as old_rows new table as new_rows for each statement execute function append_line_changes();
create trigger empty_figures after truncate on quote_lines for each statement
  execute function empty_product_figures();

-- Returns quantity × unit price less discount, rounded half away from zero to the digits of the
-- currency.
create function line_net(quantity numeric, unit_price numeric, discount_percent numeric,
  digits integer)
 returns numeric
 language sql
 immutable parallel safe
return round((((quantity * unit_price) * ((100)::numeric - discount_percent)) * 0.01), digits);

-- Returns a tax or surcharge on a sum of lines, rounded half away from zero: the one definition,
-- for totals, documents, imports and checks. An unknown rate is 0.
create function tax_amount(base numeric, rate numeric, digits integer)
 returns numeric
 language sql
 immutable parallel safe
return round(((base * coalesce(rate, (0)::numeric)) * 0.01), digits);

-- Computes net, tax and gross of a quote. The tax at a rate is computed on the sum of the lines
-- with this rate.
create function quote_totals(wanted_quote_id bigint, out net numeric, out tax numeric,
  out gross numeric)
 returns record
 language sql
 stable parallel safe
begin atomic
 with taxes as (
          select sum(line_net(l.quantity, l.unit_price, l.discount_percent, c.digits)) as base,
             l.tax_rate,
             l.surcharge_rate,
             c.digits
            from ((quote_lines l
              join quotes q on ((q.id = l.quote_id)))
              join currencies c on ((c.code = q.currency)))
           where (l.quote_id = quote_totals.wanted_quote_id)
           group by l.tax_rate, l.surcharge_rate, c.digits
         ), sums as (
          select coalesce(sum(taxes.base), (0)::numeric) as net,
             coalesce(sum((tax_amount(taxes.base, taxes.tax_rate, taxes.digits) +
               tax_amount(taxes.base, taxes.surcharge_rate, taxes.digits))), (0)::numeric) as tax
            from taxes
         )
  select sums.net,
     sums.tax,
     (sums.net + sums.tax)
    from sums;
end;

-- Returns the name of the tax in a language for a seller of a country, if the quote names none.
create function default_tax_label(language text, country text)
 returns text
 language sql
 stable parallel safe
return case when (country = 'PE') then 'IGV' when (country = 'DO') then 'ITBIS'
  when (country = 'PA') then 'ITBMS' when (country = 'HN') then 'ISV'
  when (country = any (array['AU', 'CA', 'IN', 'NZ', 'SG'])) then 'GST'
  else coalesce((select case when (default_tax_label.country = 'US') then l.sales_tax_label
  else l.vat_label end as vat_label from languages l where (l.code = default_tax_label.language)),
  'VAT') end;

-- The legal texts of the company in a language for a quote: `legal` for the whole quote, and
-- `legalForLines` for an exemption that holds only for `exempt_lines`. `legalInOtherLanguages` has
-- those that are missing in this language.
create function quote_legal(mentions jsonb, language text, company_language text, exemption text,
  exempt_lines jsonb)
 returns jsonb
 language sql
 immutable parallel safe
begin atomic
 with applicable as (
          select (all_mentions.mention ->> 'text') as text,
             (all_mentions.mention ->> 'language') as language,
             (all_mentions.mention ->> 'appliesTo') as kind,
             all_mentions.place
            from jsonb_array_elements(quote_legal.mentions) with ordinality
              all_mentions(mention, place)
           where ((all_mentions.mention ->> 'appliesTo') = any
             (array['all', quote_legal.exemption]))
         ), chosen as (
          select a.text,
             a.language,
             a.place,
             (a.kind <> 'all') as is_exemption,
             (a.language <> quote_legal.language) as is_foreign
            from applicable a
           where (a.language = ( select b.language
                    from applicable b
                   where (b.kind = a.kind)
                   order by (b.language <> quote_legal.language),
                     (b.language <> quote_legal.company_language), b.place
                  limit 1))
         )
  select ((jsonb_build_object('legal',
    coalesce(jsonb_agg(chosen.text order by chosen.place) filter
    (where ((not chosen.is_foreign) and
    ((not chosen.is_exemption) or (quote_legal.exempt_lines is null)))), '[]'::jsonb)) ||
         case
             when ((quote_legal.exempt_lines is not null)
               and bool_or((chosen.is_exemption and (not chosen.is_foreign))))
               then jsonb_build_object('legalForLines',
               jsonb_agg(jsonb_build_object('text', chosen.text, 'lines', quote_legal.exempt_lines)
               order by chosen.place) filter
               (where (chosen.is_exemption and (not chosen.is_foreign))))
             else '{}'::jsonb
         end) ||
         case
             when bool_or(chosen.is_foreign)
               then jsonb_build_object('legalInOtherLanguages',
               jsonb_agg((jsonb_build_object('language', chosen.language, 'text', chosen.text) ||
             case
                 when (chosen.is_exemption and (quote_legal.exempt_lines is not null))
                   then jsonb_build_object('lines', quote_legal.exempt_lines)
                 else '{}'::jsonb
             end) order by chosen.place) filter (where chosen.is_foreign))
             else '{}'::jsonb
         end)
    from chosen;
end;

-- Rejects quotes in the base currency with another rate than 1.
create function check_rate_of_base_currency()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
begin
  if exists (select from company where base_currency = new.currency) then
    raise exception 'quote % version % is in the base currency, %, and has the rate %: it must be 1 or null', new.number, new.version, new.currency, new.rate
      using errcode = 'check_violation', constraint = 'quotes_base_currency_has_rate_one',
        table = 'quotes';
  end if;
  return null;
end $$;

-- Rejects a base currency in which a quote has another rate than 1.
create function check_rates_for_company()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
declare
  wrong bigint;
begin
  if tg_op = 'INSERT' or old.base_currency <> new.base_currency then
    -- Each statement of a function sees what was committed before it began.
    lock table quotes in share mode;
  end if;
  wrong := (
    select count(*) from quotes q where q.currency = new.base_currency and q.rate <> 1
  );
  if wrong > 0 then
    raise exception '% quotes in the base currency, %, have another rate than 1',
      wrong, new.base_currency
      using errcode = 'check_violation', constraint = 'quotes_base_currency_has_rate_one',
        hint = format('update quotes set rate = 1 where currency = %L', new.base_currency);
  end if;
  return null;
end $$;

-- Returns whether a version with this status was sent and is not superseded.
create function is_current_status(status text)
 returns boolean
 language sql
 immutable parallel safe
return (status <> all (array['draft', 'superseded']));

-- The languages that a quote may have, as ISO 639-1.
create function quote_languages()
 returns text[]
 language sql
 stable parallel safe
return array(select languages.code from languages order by languages.place);

-- Supersedes every version of the written numbers that is older than the current one.
create function supersede_older_versions()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set enable_seqscan to 'off'
 set plan_cache_mode to 'force_generic_plan'
as $$
declare
  numbers text[];
  older_ids bigint[];
begin
  -- One probe of an index for each row. A quote without other versions ends here.
  if tg_level = 'ROW' then
    if not exists (
      select from quotes other where other.number = new.number
        and (other.version < new.version or other.version > new.version)
    ) then
      return null;
    end if;
    numbers := array[new.number];
  else
    numbers := array(
      select written.number from new_rows written
      where written.version > 1 or exists (
        select from quotes newer
        where newer.number = written.number and newer.version > written.version
      )
    );
    if numbers = '{}' then
      return null;
    end if;
  end if;
  older_ids := array(
    select older.id from quotes older
    where older.number = any (numbers) and older.status <> 'superseded' and exists (
      select from quotes newer
      where newer.number = older.number and newer.version > older.version
        and is_current_status(newer.status)
    )
  );
  -- An update without rows would still run the other triggers.
  if older_ids <> '{}' then
    update quotes set status = 'superseded'
    where id = any (older_ids) and status <> 'superseded';
  end if;
  return null;
end $$;

-- -------------------------------------------------------------------------------------------------
-- Quote links
-- -------------------------------------------------------------------------------------------------

-- The last valid day in a frozen document; null without one.
create function frozen_valid_until(document text)
 returns date
 language sql
 immutable parallel safe
return (select make_date(("left"(frozen.day, 4))::integer, (substr(frozen.day, 6, 2))::integer,
  ("right"(frozen.day, 2))::integer) as make_date
  from (select ((frozen_valid_until.document)::jsonb ->> 'validUntil') as day) frozen);

-- Links to quotes, guarded: no program has rights on the table. The token is not stored.
create table quote_shares (
  id            bigint       not null generated always as identity,
  quote_id      bigint,
  token_hash    bytea        not null,
  document      text,
  content_hash  text         not null,
  created_at    timestamptz  not null default now(),
  expires_at    timestamptz,
  revoked_at    timestamptz,
  valid_until   date         generated always as (frozen_valid_until(document)) stored,
  constraint quote_shares_pkey primary key (id),
  constraint quote_shares_token_hash_key unique (token_hash),
  constraint quote_shares_quote_id_fkey foreign key (quote_id) references quotes(id)
    on delete set null,
  constraint quote_shares_content_hash_check check (content_hash ~ '^[0-9a-f]{64}$'),
  constraint quote_shares_expires_at_check check
    (expires_at < '10000-01-01 00:00:00+00'::timestamptz),
  constraint quote_shares_hash_is_of_document check
    (content_hash = encode(sha256(convert_to(document, 'UTF8'::name)), 'hex')),
  constraint quote_shares_token_hash_check check (octet_length(token_hash) = 32)
);
create index quote_shares_closed_at on quote_shares using btree (least(expires_at, revoked_at))
  where document is not null;
create index quote_shares_quote on quote_shares using btree (quote_id);
create trigger durable_revocation before delete or update of revoked_at, expires_at on quote_shares
  for each statement execute function require_durable_revocation();
create trigger guard before update on quote_shares for each row
  execute function guard_quote_share();

-- Settings of quote links, in one row. scripts/migrate.ts writes it.
create table quote_share_settings (
  the_only_row    boolean  not null default true,
  max_lines       integer  not null default 2000,
  retention_days  integer  not null default 400,
  constraint quote_share_settings_pkey primary key (the_only_row),
  constraint quote_share_settings_max_lines_check check (max_lines >= 1 and max_lines <= 100000),
  constraint quote_share_settings_retention_days_check check
    (retention_days >= 1 and retention_days <= 36500),
  constraint quote_share_settings_the_only_row_check check (the_only_row)
);

-- One row for each time a link was opened, if COUNT_VIEWS is on. No data about the visitor.
create table quote_share_views (
  share_id   bigint       not null,
  viewed_at  timestamptz  not null default now(),
  constraint quote_share_views_share_id_fkey foreign key (share_id) references quote_shares(id)
    on delete cascade
);
create index quote_share_views_share on quote_share_views using btree (share_id, viewed_at);
create index quote_share_views_viewed_at on quote_share_views using brin (viewed_at);

-- Rejects every change of a link except its revocation, and emptying the document of a closed link
-- or a deleted quote.
create function guard_quote_share()
 returns trigger
 language plpgsql
as $$
begin
  if new.quote_id is null then
    new.document := null;
  end if;
  if (new.id, new.token_hash, new.content_hash, new.created_at, new.expires_at)
      is distinct from (old.id, old.token_hash, old.content_hash, old.created_at,
      old.expires_at)
    or (new.quote_id is not null and new.quote_id is distinct from old.quote_id)
    or (new.document is not null and new.document is distinct from old.document)
    or (new.document is null and old.document is not null and new.quote_id is not null
      and coalesce(least(old.expires_at, old.revoked_at) > now(), true))
    or (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)
  then
    raise exception 'link % was shared: nothing but its revocation can change', old.id
      using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create function money_json(amount numeric, currency text, digits integer)
 returns jsonb
 language sql
 immutable parallel safe strict
return jsonb_build_object('amount', (round(amount, digits))::text, 'currency', currency);

create function unit_price_json(amount numeric, currency text, digits integer)
 returns jsonb
 language sql
 immutable parallel safe
return jsonb_build_object('amount', (round(amount,
  greatest(digits, scale(trim_scale(amount)))))::text, 'currency', currency);

create function canonical_json(value jsonb)
 returns text
 language plpgsql
 immutable parallel safe strict
as $$
begin
  if jsonb_typeof(value) = 'object' then
    return '{' || coalesce((
      select string_agg(
        to_json(key)::text || ':' || canonical_json(item), ',' order by key collate "C"
      )
      from jsonb_each(value) as entries (key, item)
    ), '') || '}';
  elsif jsonb_typeof(value) = 'array' then
    return '[' || coalesce((
      select string_agg(canonical_json(item), ',' order by place)
      from jsonb_array_elements(value) with ordinality as items (item, place)
    ), '') || ']';
  end if;
  return value::text;
end $$;

create function quote_document(wanted_quote_id bigint, wanted_language text)
 returns jsonb
 language sql
 stable parallel safe
begin atomic
 with quote as (
          select q_1.id,
             q_1.number,
             q_1.version,
             q_1.status,
             q_1.customer_id,
             q_1.customer_name,
             q_1.customer_tax_id,
             q_1.customer_address,
             q_1.customer_contact,
             q_1.country,
             q_1.currency,
             q_1.rate,
             q_1.issued_on,
             q_1.valid_until,
             q_1.decided_on,
             q_1.incoterm,
             q_1.incoterm_place,
             q_1.delivery,
             q_1.payment_terms,
             q_1.language,
             q_1.notes,
             q_1.internal_notes,
             q_1.net,
             q_1.tax,
             q_1.gross,
             q_1.tax_label,
             c.digits,
             company.seller,
             coalesce(quote_document.wanted_language, q_1.language, (company.seller ->> 'language'))
               as document_language
            from ((quotes q_1
              join currencies c on ((c.code = q_1.currency)))
              cross join company)
           where (q_1.id = quote_document.wanted_quote_id)
         ), lines as (
          select l.quote_id,
             l."position",
             l.sku,
             l.description,
             l.quantity,
             l.unit,
             l.unit_price,
             l.discount_percent,
             l.tax_rate,
             l.surcharge_rate,
             l.hs_code,
             l.origin_country,
             l.net,
             q_1.currency,
             q_1.digits,
             round((l.quantity * l.unit_price), q_1.digits) as undiscounted
            from (quote_lines l
              join quote q_1 on ((q_1.id = l.quote_id)))
         ), taxes as (
          select lines.tax_rate,
             lines.surcharge_rate,
             lines.currency,
             lines.digits,
             sum(lines.net) as base,
             tax_amount(sum(lines.net), lines.tax_rate, lines.digits) as amount,
                 case
                     when (lines.surcharge_rate is not null)
                       then tax_amount(sum(lines.net), lines.surcharge_rate, lines.digits)
                     else null::numeric
                 end as surcharge_amount
            from lines
           where (lines.tax_rate is not null)
           group by lines.tax_rate, lines.surcharge_rate, lines.currency, lines.digits
         ), situation as (
          select
                 case
                     when ((not (exists ( select
                        from lines
                       where (lines.tax_rate = (0)::numeric)))) or (q_1.country is null)
                         or (q_1.country = (q_1.seller ->> 'country'))) then null::text
                     when ((q_1.country = any (eu.members))
                       and ((q_1.seller ->> 'country') = any (eu.members))) then 'intraCommunity'
                     else 'export'
                 end as exemption,
             ( select jsonb_agg(lines."position" order by lines."position") filter
               (where (lines.tax_rate = (0)::numeric)) as jsonb_agg
                    from lines
                  having bool_or((lines.tax_rate > (0)::numeric))) as exempt_lines
            from quote q_1,
             ( values (array['AT', 'BE', 'BG', 'CY', 'CZ', 'DE', 'DK', 'EE', 'ES', 'FI', 'FR', 'GR',
               'HR', 'HU', 'IE', 'IT', 'LT', 'LU', 'LV', 'MT', 'NL', 'PL', 'PT', 'RO', 'SE', 'SI',
               'SK'])) eu(members)
         )
  select ((jsonb_build_object('number', q.number, 'version', q.version, 'issuedOn', q.issued_on,
    'validUntil', q.valid_until, 'language', q.document_language, 'currency', q.currency, 'seller',
    jsonb_build_object('legalName', (q.seller -> 'legalName'), 'taxId', (q.seller -> 'taxId'),
    'address', (q.seller -> 'address'), 'email', (q.seller -> 'email'), 'phone',
    (q.seller -> 'phone'), 'website', (q.seller -> 'website'), 'bank', (q.seller -> 'bank')),
    'buyer', jsonb_build_object('name', q.customer_name, 'taxId', q.customer_tax_id, 'address',
    q.customer_address, 'contactName', q.customer_contact), 'lines',
    ( select coalesce(jsonb_agg(jsonb_build_object('position', lines."position", 'sku', lines.sku,
    'description', lines.description, 'quantity', (trim_scale(lines.quantity))::text, 'unit',
    lines.unit, 'unitPrice', unit_price_json(lines.unit_price, lines.currency, lines.digits),
    'discountPercent', (trim_scale(lines.discount_percent))::text, 'taxRate',
    (trim_scale(lines.tax_rate))::text, 'surchargeRate', (trim_scale(lines.surcharge_rate))::text,
    'hsCode', lines.hs_code, 'originCountry', lines.origin_country, 'net',
    money_json(lines.net, lines.currency, lines.digits)) order by lines."position"), '[]'::jsonb)
    as "coalesce"
            from lines), 'totals', jsonb_build_object('net',
              money_json(q.net, q.currency, q.digits), 'discounts',
              money_json(( select coalesce(sum((lines.undiscounted - lines.net)), (0)::numeric)
              as "coalesce"
            from lines), q.currency, q.digits), 'taxes',
              ( select coalesce(jsonb_agg(jsonb_build_object('rate',
              (trim_scale(taxes.tax_rate))::text, 'surchargeRate',
              (trim_scale(taxes.surcharge_rate))::text, 'base',
              money_json(taxes.base, taxes.currency, taxes.digits), 'amount',
              money_json(taxes.amount, taxes.currency, taxes.digits), 'surchargeAmount',
              money_json(taxes.surcharge_amount, taxes.currency, taxes.digits)) order by
              taxes.tax_rate desc, taxes.surcharge_rate desc nulls last), '[]'::jsonb) as "coalesce"
            from taxes), 'taxLabel',
              ( select jsonb_object_agg(language.language,
              coalesce(q.tax_label, default_tax_label(language.language, (q.seller ->> 'country'))))
              as jsonb_object_agg
            from unnest(quote_languages()) language(language)), 'gross',
              money_json(q.gross, q.currency, q.digits)), 'trade', jsonb_build_object('incoterm',
         case
             when (q.incoterm is not null)
               then jsonb_build_object('code', q.incoterm, 'edition', '2020', 'place',
               q.incoterm_place)
             else null::jsonb
         end, 'delivery', q.delivery), 'payment', jsonb_build_object('terms', q.payment_terms),
           'notes', q.notes) || quote_legal((q.seller -> 'legal'), q.document_language,
           (q.seller ->> 'language'), s.exemption, s.exempt_lines)) ||
           coalesce(( select jsonb_build_object('legalTranslations',
           jsonb_object_agg(language.language, translated.translated)) as jsonb_build_object
            from unnest(quote_languages()) language(language),
             lateral quote_legal((q.seller -> 'legal'), language.language,
               (q.seller ->> 'language'), s.exemption, s.exempt_lines) translated(translated)
           where ((language.language <> q.document_language)
             and (((translated.translated -> 'legal') <> '[]'::jsonb)
             or (translated.translated ? 'legalForLines')))
          having (count(*) > 0)), '{}'::jsonb))
    from quote q,
     situation s;
end;

-- Freezes the document of a quote under the hash of a token that the caller generated. Without a
-- version it takes the newest. Errors: TQ404 unknown quote, TQ409 quote that cannot be shared.
create function create_quote_share(quote_number text, quote_version integer, token_hash bytea,
  expires_at timestamptz default null::timestamptz, language text default null::text)
 returns bigint
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
declare
  max_bytes constant integer := 4000000;
  max_lines constant integer := (select s.max_lines from quote_share_settings s);
  line_count integer;
  quote quotes;
  computed record;
  share_id bigint;
begin
  select * into quote from quotes q
    where q.number = quote_number and q.version = coalesce(quote_version, q.version)
    order by q.version desc limit 1 for share;
  if not found then
    raise exception 'there is no quote % %',
      quote_number, coalesce('version ' || quote_version, '(any version)')
      using errcode = 'TQ404';
  elsif quote.status = 'draft' then
    raise exception 'quote % version % is a draft: send it first', quote.number, quote.version
      using errcode = 'TQ409';
  elsif not exists (select from company) then
    raise exception 'the company is not recorded yet: run scripts/migrate.ts'
      using errcode = 'TQ409';
  elsif expires_at <= now() then
    raise exception 'the link would expire at once (%): give an instant in the future',
      expires_at using errcode = 'TQ409';
  elsif language <> all (quote_languages()) then
    raise exception 'language must be one of %, not %', array_to_string(quote_languages(), ', '),
      language
      using errcode = 'TQ409';
  end if;
  line_count := (select count(*) from quote_lines l where l.quote_id = quote.id);
  if line_count > max_lines then
    raise exception 'quote % version % has % lines, and a shared quote may have at most %: divide it into several quotes, or raise SHARE_MAX_LINES and run scripts/migrate.ts', quote.number, quote.version, line_count, max_lines
      using errcode = 'TQ409';
  end if;
  -- One statement, so that the checked and the frozen rows are of the same snapshot.
  select totals.net, totals.tax,
      canonical_json(quote_document(quote.id, language)) as document, (
      select format('line %s: net %s stored, %s computed', l.position, l.net, c.net)
      from quote_lines l
      cross join lateral line_net(
        l.quantity, l.unit_price, l.discount_percent, currency_digits(quote.currency)
      ) as c (net)
      where l.quote_id = quote.id and l.net <> c.net order by l.position limit 1) as wrong_line
    into computed from quote_totals(quote.id) as totals;
  if (computed.net, computed.tax) is distinct from (quote.net, quote.tax) then
    raise exception 'the stored totals of quote % version % disagree with its lines: net % stored, % computed (off by %), tax % stored, % computed (off by %)',
      quote.number, quote.version, quote.net, computed.net, quote.net - computed.net,
      quote.tax, computed.tax, quote.tax - computed.tax
      using errcode = 'TQ409';
  elsif computed.wrong_line is not null then
    raise exception 'the stored net of a line of quote % version % is wrong: %',
      quote.number, quote.version, computed.wrong_line
      using errcode = 'TQ409';
  elsif octet_length(computed.document) > max_bytes then
    raise exception 'the document of quote % version % has % bytes, and at most % are allowed: shorten its descriptions, or divide it into several quotes',
      quote.number, quote.version, octet_length(computed.document), max_bytes
      using errcode = 'TQ409';
  end if;
  insert into quote_shares (quote_id, token_hash, document, content_hash, expires_at)
    values (quote.id, create_quote_share.token_hash, computed.document,
      encode(sha256(convert_to(computed.document, 'UTF8')), 'hex'),
      create_quote_share.expires_at)
    returning id into share_id;
  return share_id;
end $$;
revoke execute on function create_quote_share(text,integer,bytea,timestamp with time zone,text)
  from public;

-- Revokes a link. Returns false if there is none with this id, or it is already revoked.
create function revoke_quote_share(share_id bigint)
 returns boolean
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
begin
  update quote_shares set revoked_at = now() where id = share_id and revoked_at is null;
  return found;
end $$;
revoke execute on function revoke_quote_share(bigint) from public;

-- Revokes all links of a quote, or of one version of it, and returns how many.
create function revoke_quote_shares(quote_number text, quote_version integer default null::integer)
 returns integer
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
declare
  revoked integer;
begin
  update quote_shares s set revoked_at = now()
    where s.revoked_at is null and s.quote_id in (
      select q.id from quotes q
      where q.number = quote_number and q.version = coalesce(quote_version, q.version)
    );
  get diagnostics revoked = row_count;
  return revoked;
end $$;
revoke execute on function revoke_quote_shares(text,integer) from public;

-- Lets a transaction that closes links or keys wait for the disk and the synchronous standbys.
create function require_durable_revocation()
 returns trigger
 language plpgsql
as $$
begin
  if current_setting('synchronous_commit') in ('off', 'local', 'remote_write') then
    perform set_config('synchronous_commit', 'on', true);
  end if;
  return null;
end $$;

-- The links of all versions of a quote, newest first, with their counted views, and whether the
-- document was erased.
create function list_quote_shares(quote_number text)
 returns table(id bigint, version integer, created_at timestamptz, expires_at timestamptz,
   revoked_at timestamptz, views integer, last_viewed_at timestamptz, is_erased boolean)
 language plpgsql
 stable security definer
 set search_path to 'public', 'pg_temp'
as $$
begin
  return query
    select s.id, q.version, s.created_at, s.expires_at, s.revoked_at, v.views,
      v.last_viewed_at, s.document is null
    from quotes q join quote_shares s on s.quote_id = q.id
    cross join lateral (
      select count(*)::integer as views, max(viewed_at) as last_viewed_at
      from quote_share_views where share_id = s.id
    ) v
    where q.number = quote_number order by s.id desc;
end $$;
revoke execute on function list_quote_shares(text) from public;

-- The link with the hash of a token, without its document. None for drafts. row_version is another
-- one after every change of the link.
create function read_quote_share(token_hash bytea)
 returns table(share_id bigint, status text, valid_until date, content_hash text,
   expires_at timestamptz, revoked_at timestamptz, document_bytes integer, row_version text)
 language plpgsql
 stable security definer
 set search_path to 'public', 'pg_temp'
as $$
begin
  return query
    select s.id, q.status, s.valid_until, s.content_hash, s.expires_at, s.revoked_at,
      octet_length(s.document), s.xmin::text
    from quotes q join quote_shares s on s.quote_id = q.id
    where s.token_hash = read_quote_share.token_hash and q.status <> 'draft';
end $$;
revoke execute on function read_quote_share(bytea) from public;

-- The document of the link with the hash of a token. Null if the link is not open now.
create function read_quote_share_document(token_hash bytea)
 returns text
 language plpgsql
 stable security definer
 set search_path to 'public', 'pg_temp'
as $$
begin
  return (
    select s.document
    from quotes q join quote_shares s on s.quote_id = q.id
    where s.token_hash = read_quote_share_document.token_hash and q.status <> 'draft'
      and s.revoked_at is null and (s.expires_at is null or s.expires_at > now())
  );
end $$;
revoke execute on function read_quote_share_document(bytea) from public;

-- Empties the documents of at most so many links that were closed before the retention time, and
-- deletes old views. Returns the number of emptied documents.
create function purge_quote_shares(batch integer)
 returns integer
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
declare
  kept_since constant timestamptz :=
    now() - make_interval(days => (select retention_days from quote_share_settings));
  emptied integer;
begin
  update quote_shares set document = null where id in (
    select id from quote_shares
    where document is not null and least(expires_at, revoked_at) < kept_since
    order by id limit batch for update skip locked
  );
  get diagnostics emptied = row_count;
  delete from quote_share_views where viewed_at < kept_since;
  return emptied;
end $$;
revoke execute on function purge_quote_shares(integer) from public;

-- -------------------------------------------------------------------------------------------------
-- Statistics
-- docs/statistics.md explains fold, grain, edition and the other terms (#terms).
-- -------------------------------------------------------------------------------------------------

-- An amount in the base currency, rounded half up; null without a rate.
create function net_in_base(net numeric, currency text, rate numeric, base_currency text,
  base_digits integer)
 returns numeric
 language sql
 immutable parallel safe
return case when (currency = base_currency) then net else round((net * rate), base_digits) end;

-- What one quote contributes to quote_figures: the one definition of every figure. A quote counts
-- on its day of issue, and an accepted one also on its day of decision.
create function quote_figures_of(quote_status text, quote_country text, quote_currency text,
  quote_rate numeric, quote_issued_on date, quote_valid_until date, quote_decided_on date,
  quote_net numeric, base_currency text, base_digits integer)
 returns table(date_kind text, day date, country text, currency text, drafts integer, sent integer,
   accepted integer, rejected integer, expired integer, net numeric, base_net numeric,
   unconverted integer, unconverted_net numeric, base_sent numeric, base_lost numeric,
   decided integer, decision_days integer, decision_histogram numeric)
 language sql
 immutable parallel safe
as $$
  select kind.date_kind, kind.day, coalesce(quote_country, ''), quote_currency,
    (case when quote_status = 'draft' then 1 end)::integer as drafts,
    (case when quote_status = 'sent' then 1 end)::integer as sent,
    (case when quote_status = 'accepted' then 1 end)::integer as accepted,
    (case when quote_status = 'rejected' then 1 end)::integer as rejected,
    (case when quote_status = 'expired' then 1 end)::integer as expired,
    (case when quote_status = 'accepted' then quote_net end)::numeric as net,
    (case when quote_status = 'accepted'
      then net_in_base(quote_net, quote_currency, quote_rate, base_currency, base_digits)
      end)::numeric as base_net,
    (case when quote_status = 'accepted'
      and net_in_base(quote_net, quote_currency, quote_rate, base_currency, base_digits) is null
      then 1 end)::integer as unconverted,
    (case when quote_status = 'accepted'
      and net_in_base(quote_net, quote_currency, quote_rate, base_currency, base_digits) is null
      then quote_net end)::numeric as unconverted_net,
    (case when quote_status = 'sent'
      then net_in_base(quote_net, quote_currency, quote_rate, base_currency, base_digits)
      end)::numeric as base_sent,
    (case when quote_status in ('rejected', 'expired')
      then net_in_base(quote_net, quote_currency, quote_rate, base_currency, base_digits)
      end)::numeric as base_lost,
    (case when quote_status in ('accepted', 'rejected') and quote_decided_on is not null then 1
      end)::integer as decided,
    (case when quote_status in ('accepted', 'rejected') and quote_decided_on is not null
      then quote_decided_on - quote_issued_on end)::integer as decision_days,
    (case when quote_status in ('accepted', 'rejected') and quote_decided_on is not null then
  ('1e' || 8 * least(quote_decided_on - quote_issued_on, 1000))::numeric end)::numeric
    as decision_histogram
  from (values
    ('issued', quote_issued_on),
    ('accepted', case when quote_status = 'accepted'
      then coalesce(quote_decided_on, quote_issued_on) end)
  ) kind (date_kind, day)
  where kind.day is not null and quote_status <> 'superseded'
$$;

-- What one quote contributes to quote_validity.
create function quote_validity_of(quote_status text, quote_country text, quote_currency text,
  quote_rate numeric, quote_issued_on date, quote_valid_until date, quote_decided_on date,
  quote_net numeric, base_currency text, base_digits integer)
 returns table(issued_on date, valid_until date, country text, currency text, quotes integer,
   base_net numeric)
 language sql
 immutable parallel safe
as $$
  select quote_issued_on, coalesce(quote_valid_until, 'infinity'), coalesce(quote_country, ''),
    quote_currency, 1, net_in_base(quote_net, quote_currency, quote_rate, base_currency,
      base_digits)
  where quote_status = 'sent'
$$;

-- What a line of an accepted quote contributes.
create type accepted_line as (sku text, net numeric);

-- Changes of quotes that are not folded yet. A statement that changes many quotes appends one row
-- with sign 0 here, and its rows to quote_figures_unfolded and quote_validity_unfolded.
create table quote_changes (
  xid          xid8             not null default pg_current_xact_id(),
  created_at   timestamptz      not null default now(),
  sign         smallint         not null,
  status       text,
  country      text,
  currency     text,
  rate         numeric,
  issued_on    date,
  valid_until  date,
  decided_on   date,
  net          numeric,
  customer_id  bigint,
  lines        accepted_line[],
  constraint quote_changes_sign_check check (sign = any (array['-1'::integer, 0, 1]))
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000);
create index quote_changes_xid on quote_changes using btree (xid);

-- Figures by day, month and year, without what is not folded yet.
create table quote_figures (
  grain               text     collate "C" not null,
  date_kind           text     collate "C" not null,
  starts_on           date     not null,
  country             text     collate "C" not null,
  currency            text     collate "C" not null,
  drafts              bigint   not null,
  sent                bigint   not null,
  accepted            bigint   not null,
  rejected            bigint   not null,
  expired             bigint   not null,
  net                 numeric  not null,
  base_net            numeric  not null,
  unconverted         bigint   not null,
  unconverted_net     numeric  not null,
  base_sent           numeric  not null default 0,
  base_lost           numeric  not null default 0,
  decided             bigint   not null default 0,
  decision_days       bigint   not null default 0,
  decision_histogram  numeric  not null default 0,
  edition             integer  not null default 0,
  constraint quote_figures_pkey primary key
    (grain, edition, date_kind, starts_on, country, currency),
  constraint quote_figures_date_kind_check check (date_kind = any (array['issued', 'accepted'])),
  constraint quote_figures_grain_check check
    (grain = any (array['day', 'day_total', 'month', 'month_total', 'year']))
) partition by list (grain);
create table quote_figures_day_totals partition of quote_figures for values in ('day_total');
create table quote_figures_days partition of quote_figures for values in ('day');
create table quote_figures_months partition of quote_figures for values in ('month');
create table quote_figures_totals partition of quote_figures for values in ('month_total', 'year');

-- Changes of quote_figures by statements with many quotes.
create table quote_figures_unfolded (
  xid                 xid8     not null default pg_current_xact_id(),
  grain               text     collate "C" not null,
  date_kind           text     collate "C" not null,
  starts_on           date     not null,
  country             text     collate "C" not null,
  currency            text     collate "C" not null,
  drafts              bigint   not null,
  sent                bigint   not null,
  accepted            bigint   not null,
  rejected            bigint   not null,
  expired             bigint   not null,
  net                 numeric  not null,
  base_net            numeric  not null,
  unconverted         bigint   not null,
  unconverted_net     numeric  not null,
  base_sent           numeric  not null default 0,
  base_lost           numeric  not null default 0,
  decided             bigint   not null default 0,
  decision_days       bigint   not null default 0,
  decision_histogram  numeric  not null default 0,
  constraint quote_figures_unfolded_date_kind_check check
    (date_kind = any (array['issued', 'accepted'])),
  constraint quote_figures_unfolded_grain_check check
    (grain = any (array['day', 'day_total', 'month', 'month_total', 'year']))
) partition by list (grain);
create table quote_figures_unfolded_days partition of quote_figures_unfolded for values in ('day');
create table quote_figures_unfolded_totals partition of quote_figures_unfolded for
  values in ('day_total', 'month', 'month_total', 'year');
create index quote_figures_unfolded_key on only quote_figures_unfolded
  using btree (grain, date_kind, starts_on);
create index quote_figures_unfolded_xid on only quote_figures_unfolded using btree (xid);

-- Sent quotes by day or month of issue and by their last valid day: how many are still open.
create table quote_validity (
  grain        text     collate "C" not null,
  valid_until  date     not null,
  starts_on    date     not null,
  country      text     collate "C" not null,
  currency     text     collate "C" not null,
  quotes       bigint   not null,
  base_net     numeric  not null,
  constraint quote_validity_pkey primary key (grain, valid_until, starts_on, country, currency),
  constraint quote_validity_grain_check check
    (grain = any (array['day', 'month', 'month_by_month']))
) with (fillfactor=80);

-- Changes of quote_validity by statements with many quotes.
create table quote_validity_unfolded (
  xid          xid8     not null default pg_current_xact_id(),
  grain        text     collate "C" not null,
  valid_until  date     not null,
  starts_on    date     not null,
  country      text     collate "C" not null,
  currency     text     collate "C" not null,
  quotes       bigint   not null,
  base_net     numeric  not null,
  constraint quote_validity_unfolded_grain_check check
    (grain = any (array['day', 'month', 'month_by_month']))
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000);
create index quote_validity_unfolded_key on quote_validity_unfolded
  using btree (grain, valid_until);
create index quote_validity_unfolded_xid on quote_validity_unfolded using btree (xid);

-- Version of the summary. generation, and folded plus the number of unfolded_changes, change with
-- every commit that changes the statistics.
create table quote_summary (
  the_only_row          boolean      not null default true,
  generation            uuid         not null default gen_random_uuid(),
  folded                bigint       not null default 0,
  folded_through        pg_snapshot  not null default pg_current_snapshot(),
  folded_by             xid8         not null default pg_current_xact_id(),
  base_currency         text,
  base_digits           integer,
  server_started_at     timestamptz  not null default pg_postmaster_start_time(),
  edition               integer      not null default 1,
  edition_updates_left  bigint       not null default 0,
  constraint quote_summary_pkey primary key (the_only_row),
  constraint quote_summary_the_only_row_check check (the_only_row)
);

-- The first transaction after the last fold: its changes and all later ones are unfolded.
create function next_unfolded_xid()
 returns xid8
 language plpgsql
 stable
as $$
begin
  return (
    select case when server_started_at = pg_postmaster_start_time()
      then pg_snapshot_xmax(folded_through) else '1'::xid8 end
    from quote_summary
  );
end $$;

-- Transactions before next_unfolded_xid that were still running at the last fold, and the one that
-- folded.
create function late_unfolded_xids()
 returns xid8[]
 language plpgsql
 stable
as $$
begin
  return (
    select array(select pg_snapshot_xip(folded_through)) || folded_by from quote_summary
  );
end $$;

-- The rows of quote_changes that are not folded.
create view unfolded_changes as
 SELECT xid,
    created_at,
    sign,
    status,
    country,
    currency,
    rate,
    issued_on,
    valid_until,
    decided_on,
    net,
    customer_id,
    lines
   FROM quote_changes d
  WHERE xid >= (( SELECT next_unfolded_xid() AS next_unfolded_xid)) OR
    (xid = ANY ((( SELECT late_unfolded_xids() AS late_unfolded_xids))::xid8[]));

-- The number of rows of quote_changes that are not folded.
create function count_unfolded_changes()
 returns bigint
 language sql
 stable
 set enable_seqscan to 'off'
return (select count(*) as count from unfolded_changes);

-- Figures without single changes: folded rows, and the unfolded rows of statements with many
-- quotes.
create view grouped_figures as
 SELECT quote_figures.grain,
    quote_figures.date_kind,
    quote_figures.starts_on,
    quote_figures.country,
    quote_figures.currency,
    quote_figures.drafts,
    quote_figures.sent,
    quote_figures.accepted,
    quote_figures.rejected,
    quote_figures.expired,
    quote_figures.net,
    quote_figures.base_net,
    quote_figures.unconverted,
    quote_figures.unconverted_net,
    quote_figures.base_sent,
    quote_figures.base_lost,
    quote_figures.decided,
    quote_figures.decision_days,
    quote_figures.decision_histogram
   FROM quote_figures
  WHERE quote_figures.edition = ANY ((( SELECT ARRAY[0, quote_summary.edition] AS "array"
           FROM quote_summary))::integer[])
UNION ALL
 SELECT d.grain,
    d.date_kind,
    d.starts_on,
    d.country,
    d.currency,
    d.drafts,
    d.sent,
    d.accepted,
    d.rejected,
    d.expired,
    d.net,
    d.base_net,
    d.unconverted,
    d.unconverted_net,
    d.base_sent,
    d.base_lost,
    d.decided,
    d.decision_days,
    d.decision_histogram
   FROM quote_figures_unfolded d
  WHERE COALESCE(d.xid >= (( SELECT next_unfolded_xid() AS next_unfolded_xid)) OR
    (d.xid = ANY ((( SELECT late_unfolded_xids() AS late_unfolded_xids))::xid8[])), false);

-- Figures of single changes that are not folded, by day.
create view changed_figures as
 SELECT c.date_kind,
    c.day,
    c.country,
    c.currency,
    COALESCE(s.sign * c.drafts, 0) AS drafts,
    COALESCE(s.sign * c.sent, 0) AS sent,
    COALESCE(s.sign * c.accepted, 0) AS accepted,
    COALESCE(s.sign * c.rejected, 0) AS rejected,
    COALESCE(s.sign * c.expired, 0) AS expired,
    COALESCE(s.sign::numeric * c.net, 0::numeric) AS net,
    COALESCE(s.sign::numeric * c.base_net, 0::numeric) AS base_net,
    COALESCE(s.sign * c.unconverted, 0) AS unconverted,
    COALESCE(s.sign::numeric * c.unconverted_net, 0::numeric) AS unconverted_net,
    COALESCE(s.sign::numeric * c.base_sent, 0::numeric) AS base_sent,
    COALESCE(s.sign::numeric * c.base_lost, 0::numeric) AS base_lost,
    COALESCE(s.sign * c.decided, 0) AS decided,
    COALESCE(s.sign * c.decision_days, 0) AS decision_days,
    COALESCE(s.sign::numeric * c.decision_histogram, 0::numeric) AS decision_histogram
   FROM unfolded_changes s
     CROSS JOIN quote_summary b
     CROSS JOIN LATERAL quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
       s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits)
       c(date_kind, day, country, currency, drafts, sent, accepted, rejected, expired, net,
       base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
       decision_histogram);

-- Figures of all committed quotes: grouped_figures, and changed_figures as days, months and years.
-- A reader adds up the rows of a key.
create view current_figures as
 SELECT grouped_figures.grain,
    grouped_figures.date_kind,
    grouped_figures.starts_on,
    grouped_figures.country,
    grouped_figures.currency,
    grouped_figures.drafts,
    grouped_figures.sent,
    grouped_figures.accepted,
    grouped_figures.rejected,
    grouped_figures.expired,
    grouped_figures.net,
    grouped_figures.base_net,
    grouped_figures.unconverted,
    grouped_figures.unconverted_net,
    grouped_figures.base_sent,
    grouped_figures.base_lost,
    grouped_figures.decided,
    grouped_figures.decision_days,
    grouped_figures.decision_histogram
   FROM grouped_figures
UNION ALL
 SELECT g.grain,
    c.date_kind,
    g.starts_on,
    g.country,
    c.currency,
    c.drafts,
    c.sent,
    c.accepted,
    c.rejected,
    c.expired,
    c.net,
    c.base_net,
    c.unconverted,
    c.unconverted_net,
    c.base_sent,
    c.base_lost,
    c.decided,
    c.decision_days,
    c.decision_histogram
   FROM changed_figures c
     CROSS JOIN LATERAL ( VALUES ('day'::text,c.day,c.country), ('day_total'::text,c.day,''::text),
       ('month'::text,date_trunc('month'::text,
       c.day::timestamp without time zone)::date,c.country),
       ('month_total'::text,date_trunc('month'::text,
       c.day::timestamp without time zone)::date,''::text),
       ('year'::text,date_trunc('year'::text, c.day::timestamp without time zone)::date,c.country))
       g(grain, starts_on, country);

-- Sent quotes, folded and not, as in quote_validity. A reader adds up the rows of a key.
create view current_validity as
 SELECT quote_validity.grain,
    quote_validity.valid_until,
    quote_validity.starts_on,
    quote_validity.country,
    quote_validity.currency,
    quote_validity.quotes,
    quote_validity.base_net
   FROM quote_validity
UNION ALL
 SELECT d.grain,
    d.valid_until,
    d.starts_on,
    d.country,
    d.currency,
    d.quotes,
    d.base_net
   FROM quote_validity_unfolded d
  WHERE COALESCE(d.xid >= (( SELECT next_unfolded_xid() AS next_unfolded_xid)) OR
    (d.xid = ANY ((( SELECT late_unfolded_xids() AS late_unfolded_xids))::xid8[])), false)
UNION ALL
 SELECT g.grain,
    g.valid_until,
    g.starts_on,
    c.country,
    c.currency,
    COALESCE(s.sign * c.quotes, 0) AS quotes,
    COALESCE(s.sign::numeric * c.base_net, 0::numeric) AS base_net
   FROM unfolded_changes s
     CROSS JOIN quote_summary b
     CROSS JOIN LATERAL quote_validity_of(s.status, s.country, s.currency, s.rate, s.issued_on,
       s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits)
       c(issued_on, valid_until, country, currency, quotes, base_net)
     CROSS JOIN LATERAL ( VALUES ('day'::text,c.issued_on,c.valid_until),
       ('month'::text,date_trunc('month'::text,
       c.issued_on::timestamp without time zone)::date,c.valid_until),
       ('month_by_month'::text,date_trunc('month'::text,
       c.issued_on::timestamp without time
       zone)::date,(date_trunc('month'::text, c.valid_until::timestamp without time zone) +
       '1 mon -1 days'::interval)::date)) g(grain, starts_on, valid_until);

-- Appends what a statement changes, in the transaction of the writer. Writers share no row, so they
-- never wait for each other.
create function append_quote_changes()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set enable_seqscan to 'off'
as $$
declare
  all_changes text;
  work_mem_before text;
  appended integer;
begin
  if tg_op = 'INSERT' then
    insert into quote_changes (sign, status, country, currency, rate, issued_on, valid_until,
      decided_on, net, customer_id)
    select 1 as sign, n.status, n.country, n.currency, n.rate, n.issued_on, n.valid_until,
      n.decided_on, n.net, n.customer_id from new_rows n where status <> 'superseded' and not (
      exists (select from new_rows offset 200)
      and exists (select from quote_summary where base_currency is not null)
    );
  elsif tg_op = 'DELETE' then
    insert into quote_changes (sign, status, country, currency, rate, issued_on, valid_until,
      decided_on, net, customer_id)
    select -1 as sign, o.status, o.country, o.currency, o.rate, o.issued_on, o.valid_until,
      o.decided_on, o.net, o.customer_id from old_rows o where status <> 'superseded' and not (
      exists (select from old_rows offset 200)
      and exists (select from quote_summary where base_currency is not null)
    );
  else
    insert into quote_changes (sign, status, country, currency, rate, issued_on, valid_until,
      decided_on, net, customer_id, lines)
    select v.sign, v.status, v.country, v.currency, v.rate, v.issued_on, v.valid_until,
      v.decided_on, v.net, v.customer_id, case when v.status = 'accepted'
      and (n.status, n.country, n.currency, n.rate, n.issued_on, n.decided_on)
        is distinct from (o.status, o.country, o.currency, o.rate, o.issued_on, o.decided_on)
      then array(
        select row(coalesce(sku, ''), net)::accepted_line from quote_lines
        where quote_id = v.id
      ) end
      from new_rows n full join old_rows o on o.id = n.id
      cross join lateral (
        values (1, n.id, n.status, n.country, n.currency, n.rate, n.issued_on, n.valid_until,
          n.decided_on, n.net, n.customer_id),
          (-1, o.id, o.status, o.country, o.currency, o.rate, o.issued_on, o.valid_until,
          o.decided_on, o.net, o.customer_id)
      ) v (sign, id, status, country, currency, rate, issued_on, valid_until, decided_on, net,
        customer_id)
      where (n.status, n.country, n.currency, n.rate, n.issued_on, n.valid_until, n.decided_on,
        n.net, n.customer_id) is distinct
        from (o.status, o.country, o.currency, o.rate, o.issued_on, o.valid_until, o.decided_on,
        o.net, o.customer_id)
        and v.status <> 'superseded' and not (
      exists (select from new_rows offset 200)
      and exists (select from quote_summary where base_currency is not null)
    );
  end if;
  -- Single statements come first, because they are the most frequent ones.
  if found then
    return null;
  end if;
  if tg_op = 'DELETE' then
    if not (
      exists (select from old_rows offset 200)
      and exists (select from quote_summary where base_currency is not null)
    ) then return null; end if;
  elsif not (
      exists (select from new_rows offset 200)
      and exists (select from quote_summary where base_currency is not null)
    ) then
    return null;
  end if;
  all_changes := case tg_op
    when 'INSERT' then $changes$select 1 as sign, n.status, n.country, n.currency, n.rate,
      n.issued_on, n.valid_until, n.decided_on, n.net, n.customer_id from new_rows n$changes$
    when 'DELETE' then $changes$select -1 as sign, o.status, o.country, o.currency, o.rate,
      o.issued_on, o.valid_until, o.decided_on, o.net, o.customer_id from old_rows o$changes$
    else $changes$select 1 as sign, n.status, n.country, n.currency, n.rate, n.issued_on,
      n.valid_until, n.decided_on, n.net, n.customer_id from new_rows n union all select -1 as sign,
      o.status, o.country, o.currency, o.rate, o.issued_on, o.valid_until, o.decided_on, o.net,
      o.customer_id from old_rows o$changes$
  end;
  work_mem_before := current_setting('work_mem');
  perform set_config('work_mem', '64MB', true);
  execute replace($groups$
    with source as materialized (changes_of_statement),
    days as materialized (
  select 'day' as grain, c.date_kind, c.day as starts_on, c.country, c.currency,
    coalesce(sum(s.sign * c.drafts), 0) as drafts,
  coalesce(sum(s.sign * c.sent), 0) as sent,
  coalesce(sum(s.sign * c.accepted), 0) as accepted,
  coalesce(sum(s.sign * c.rejected), 0) as rejected,
  coalesce(sum(s.sign * c.expired), 0) as expired,
  coalesce(sum(s.sign * c.net) filter (where c.net is not null), 0) as net,
  coalesce(sum(s.sign * c.base_net) filter (where c.base_net is not null), 0) as base_net,
  coalesce(sum(s.sign * c.unconverted), 0) as unconverted,
  coalesce(sum(s.sign * c.unconverted_net) filter (where c.unconverted_net is not null), 0)
    as unconverted_net,
  coalesce(sum(s.sign * c.base_sent) filter (where c.base_sent is not null), 0) as base_sent,
  coalesce(sum(s.sign * c.base_lost) filter (where c.base_lost is not null), 0) as base_lost,
  coalesce(sum(s.sign * c.decided), 0) as decided,
  coalesce(sum(s.sign * c.decision_days), 0) as decision_days,
  coalesce(sum(s.sign * c.decision_histogram) filter (where c.decision_histogram is not null), 0)
    as decision_histogram
  from source s cross join quote_summary b cross
    join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
    s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits) c
  group by 2, 3, 4, 5
), months as materialized (
  select 'month' as grain, date_kind, date_trunc('month', starts_on::timestamp)::date as starts_on,
    country,
    currency, sum(drafts) as drafts, sum(sent) as sent, sum(accepted) as accepted, sum(rejected)
      as rejected, sum(expired) as expired, sum(net) as net, sum(base_net) as base_net,
      sum(unconverted) as unconverted, sum(unconverted_net) as unconverted_net, sum(base_sent)
      as base_sent, sum(base_lost) as base_lost, sum(decided) as decided, sum(decision_days)
      as decision_days, sum(decision_histogram) as decision_histogram
  from days group by 2, 3, 4, 5
), figures as (
  select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
    net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
    decision_histogram from days where drafts <> 0 or sent <> 0 or accepted <> 0 or rejected <> 0
    or expired <> 0 or net <> 0 or base_net <> 0 or unconverted <> 0 or unconverted_net <> 0
    or base_sent <> 0 or base_lost <> 0 or decided <> 0 or decision_days <> 0
    or decision_histogram <> 0
  union all
  select 'day_total', date_kind, starts_on, '', currency, sum(drafts) as drafts, sum(sent) as sent,
    sum(accepted) as accepted, sum(rejected) as rejected, sum(expired) as expired, sum(net) as net,
    sum(base_net) as base_net, sum(unconverted) as unconverted, sum(unconverted_net)
    as unconverted_net, sum(base_sent) as base_sent, sum(base_lost) as base_lost, sum(decided)
    as decided, sum(decision_days) as decision_days, sum(decision_histogram) as decision_histogram
  from days group by 2, 3, 5 having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0
    or sum(rejected) <> 0 or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0
    or sum(unconverted) <> 0 or sum(unconverted_net) <> 0 or sum(base_sent) <> 0
    or sum(base_lost) <> 0 or sum(decided) <> 0 or sum(decision_days) <> 0
    or sum(decision_histogram) <> 0
  union all
  select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
    net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
    decision_histogram from months where drafts <> 0 or sent <> 0 or accepted <> 0 or rejected <> 0
    or expired <> 0 or net <> 0 or base_net <> 0 or unconverted <> 0 or unconverted_net <> 0
    or base_sent <> 0 or base_lost <> 0 or decided <> 0 or decision_days <> 0
    or decision_histogram <> 0
  union all
  select 'month_total', date_kind, starts_on, '', currency, sum(drafts) as drafts, sum(sent)
    as sent, sum(accepted) as accepted, sum(rejected) as rejected, sum(expired) as expired, sum(net)
    as net, sum(base_net) as base_net, sum(unconverted) as unconverted, sum(unconverted_net)
    as unconverted_net, sum(base_sent) as base_sent, sum(base_lost) as base_lost, sum(decided)
    as decided, sum(decision_days) as decision_days, sum(decision_histogram) as decision_histogram
  from months group by 2, 3, 5 having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0
    or sum(rejected) <> 0 or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0
    or sum(unconverted) <> 0 or sum(unconverted_net) <> 0 or sum(base_sent) <> 0
    or sum(base_lost) <> 0 or sum(decided) <> 0 or sum(decision_days) <> 0
    or sum(decision_histogram) <> 0
  union all
  select 'year', date_kind, date_trunc('year', starts_on::timestamp)::date, country, currency,
    sum(drafts) as drafts, sum(sent) as sent, sum(accepted) as accepted, sum(rejected) as rejected,
    sum(expired) as expired, sum(net) as net, sum(base_net) as base_net, sum(unconverted)
    as unconverted, sum(unconverted_net) as unconverted_net, sum(base_sent) as base_sent,
    sum(base_lost) as base_lost, sum(decided) as decided, sum(decision_days) as decision_days,
    sum(decision_histogram) as decision_histogram
  from months group by 2, 3, 4, 5 having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0
    or sum(rejected) <> 0 or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0
    or sum(unconverted) <> 0 or sum(unconverted_net) <> 0 or sum(base_sent) <> 0
    or sum(base_lost) <> 0 or sum(decided) <> 0 or sum(decision_days) <> 0
    or sum(decision_histogram) <> 0
), appended_figures as (
      insert into quote_figures_unfolded
        (grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
        net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
        decision_histogram)
      select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected,
        expired, net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided,
        decision_days, decision_histogram from figures
      returning 1
    ), appended_validity as (
      insert into quote_validity_unfolded
        (grain, valid_until, starts_on, country, currency, quotes, base_net)
select * from (
select g.grain, g.valid_until, g.starts_on, c.country, c.currency,
  coalesce(sum(s.sign * c.quotes), 0) as quotes,
  coalesce(sum(s.sign * c.base_net) filter (where c.base_net is not null), 0) as base_net
from source s cross join quote_summary b cross
  join lateral quote_validity_of(s.status, s.country, s.currency, s.rate, s.issued_on,
  s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits) c
cross join lateral (values
  ('day', c.issued_on, c.valid_until),
  ('month', date_trunc('month', c.issued_on::timestamp)::date, c.valid_until),
  ('month_by_month', date_trunc('month', c.issued_on::timestamp)::date,
    (date_trunc('month', c.valid_until::timestamp) + interval '1 month - 1 day')::date)
) g (grain, starts_on, valid_until)
group by 1, 2, 3, 4, 5
) cells where quotes <> 0 or base_net <> 0
      returning 1
    ), appended_customers as (
        insert into customer_figures_unfolded
          (date_kind, starts_on, country, currency, customer_id, quotes, accepted, base_net,
          unconverted)
select * from (
select f.date_kind, date_trunc('month', f.day::timestamp)::date, f.country, f.currency,
  coalesce(s.customer_id, 0),
  coalesce(sum(s.sign * c.quotes), 0) as quotes,
  coalesce(sum(s.sign * c.accepted), 0) as accepted,
  coalesce(sum(s.sign * c.base_net) filter (where c.base_net is not null), 0) as base_net,
  coalesce(sum(s.sign * c.unconverted), 0) as unconverted
from source s cross join quote_summary b cross
  join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on, s.valid_until,
  s.decided_on, s.net, b.base_currency, b.base_digits) f
cross join lateral (
  select coalesce(f.drafts, f.sent, f.accepted, f.rejected, f.expired) as quotes, f.accepted,
    f.base_net, f.unconverted
) c
group by 1, 2, 3, 4, 5
) cells where quotes <> 0 or accepted <> 0 or base_net <> 0 or unconverted <> 0 returning 1)
    insert into quote_changes (sign)
    select 0
    where exists (select from appended_figures) or exists (select from appended_validity)
      or exists (select from appended_customers)
  $groups$, 'changes_of_statement', all_changes);
  get diagnostics appended = row_count;
  if tg_op = 'UPDATE' then
    if exists (select from new_rows where status = 'accepted')
      or exists (select from old_rows where status = 'accepted') then
      insert into product_figures_unfolded
        (issued_in, accepted_in, country, currency, sku, lines, net, rated_net, unrated_lines)
    select * from (
      select date_trunc('month', q.issued_on::timestamp)::date as issued_in,
        date_trunc('month', coalesce(q.decided_on, q.issued_on)::timestamp)::date as accepted_in,
        coalesce(q.country, '') as country, q.currency, coalesce(l.sku, '') as sku,
        sum(q.sign) as lines, sum(q.sign * l.net) as net,
        coalesce(sum(q.sign * l.net * q.rate), 0) as rated_net,
        coalesce(sum(q.sign) filter (where q.rate is null), 0) as unrated_lines
      from (
        select v.* from new_rows n full join old_rows o on o.id = n.id cross join lateral (
          values (1, n.id, n.status, n.country, n.currency, n.rate, n.issued_on, n.decided_on),
            (-1, o.id, o.status, o.country, o.currency, o.rate, o.issued_on, o.decided_on)
        ) v (sign, id, status, country, currency, rate, issued_on, decided_on)
        where v.status = 'accepted'
          and (n.status, n.country, n.currency, n.rate, n.issued_on, n.decided_on)
            is distinct from (o.status, o.country, o.currency, o.rate, o.issued_on, o.decided_on)
      ) q cross join lateral (
        select sku, net from quote_lines where quote_id = q.id offset 0
      ) l
      group by 1, 2, 3, 4, 5
    ) cells where lines <> 0 or net <> 0 or rated_net <> 0 or unrated_lines <> 0;
      if found and appended = 0 then
        insert into quote_changes (sign) values (0);
      end if;
    end if; end if;
  perform set_config('work_mem', work_mem_before, true);
  return null;
end $$;

-- Appends what logical replication changes, which fires no triggers for statements.
create function append_replicated_change()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set enable_seqscan to 'off'
as $$
begin
  insert into quote_changes (sign, status, country, currency, rate, issued_on, valid_until,
    decided_on, net, customer_id)
  select * from (values (1, new.status, new.country, new.currency, new.rate, new.issued_on,
    new.valid_until, new.decided_on, new.net, new.customer_id),
    (-1, old.status, old.country, old.currency, old.rate, old.issued_on, old.valid_until,
    old.decided_on, old.net, old.customer_id))
    v (sign, status, country, currency, rate, issued_on, valid_until, decided_on, net, customer_id)
  where status <> 'superseded';
  if tg_op <> 'DELETE' and (new.status = 'accepted' or old.status = 'accepted') then
    insert into product_figures_unfolded
      (issued_in, accepted_in, country, currency, sku, lines, net, rated_net, unrated_lines)
    select * from (
      select date_trunc('month', q.issued_on::timestamp)::date as issued_in,
        date_trunc('month', coalesce(q.decided_on, q.issued_on)::timestamp)::date as accepted_in,
        coalesce(q.country, '') as country, q.currency, coalesce(l.sku, '') as sku,
        sum(q.sign) as lines, sum(q.sign * l.net) as net,
        coalesce(sum(q.sign * l.net * q.rate), 0) as rated_net,
        coalesce(sum(q.sign) filter (where q.rate is null), 0) as unrated_lines
      from (
        select v.* from  (
          values (1, new.id, new.status, new.country, new.currency, new.rate, new.issued_on,
            new.decided_on),
            (-1, old.id, old.status, old.country, old.currency, old.rate, old.issued_on,
              old.decided_on)
        ) v (sign, id, status, country, currency, rate, issued_on, decided_on)
        where v.status = 'accepted') q cross join lateral (
        select sku, net from quote_lines where quote_id = q.id offset 0
      ) l
      group by 1, 2, 3, 4, 5
    ) cells where lines <> 0 or net <> 0 or rated_net <> 0 or unrated_lines <> 0;
  end if;
  return null;
end $$;

-- Moves up to this number of unfolded rows of each table into the summary and returns how many.
-- Returns 0 if there are none or if another process is folding.
create function fold_quote_changes(batch integer)
 returns integer
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set enable_seqscan to 'off'
as $$
declare
  moved integer;
  is_edition_full boolean;
  empty_quote_figures quote_figures[];
  empty_quote_validity quote_validity[];
  empty_customer_figures customer_figures[];
  empty_product_figures product_figures[];
begin
  if not exists (select from quote_summary where base_currency is not null)
    or not pg_try_advisory_xact_lock(hashtextextended('trade-quoting-service fold', 0)) then
    return 0;
  end if;
  lock table quote_summary, quote_changes, quote_figures, quote_figures_unfolded, quote_validity,
    quote_validity_unfolded, customer_figures, customer_figures_unfolded, product_figures,
    product_figures_unfolded in row exclusive mode;
  with moved_changes as (
    delete from quote_changes where ctid = any (array(
      select d.ctid from quote_changes d where (d.xid >= (select next_unfolded_xid())
  or d.xid = any ((select late_unfolded_xids())::xid8[])) limit batch
    )) returning *
  ), moved_from_quote_figures_unfolded_days
    as (delete from quote_figures_unfolded_days where ctid = any (array(
      select d.ctid from quote_figures_unfolded_days d where (d.xid >= (select next_unfolded_xid())
  or d.xid = any ((select late_unfolded_xids())::xid8[])) limit batch
    )) returning *), moved_from_quote_figures_unfolded_totals
      as (delete from quote_figures_unfolded_totals where ctid = any (array(
      select d.ctid from quote_figures_unfolded_totals d
        where (d.xid >= (select next_unfolded_xid())
  or d.xid = any ((select late_unfolded_xids())::xid8[])) limit batch
    )) returning *),
  moved_quote_figures as (
    select * from moved_from_quote_figures_unfolded_days union all select *
      from moved_from_quote_figures_unfolded_totals
  ), folded_quote_figures as (
    insert into quote_figures as f (grain, date_kind, starts_on, country, currency, drafts, sent,
      accepted, rejected, expired, net, base_net, unconverted, unconverted_net, base_sent,
      base_lost, decided, decision_days, decision_histogram, edition)
    select grain, date_kind, starts_on, country, currency, sum(drafts), sum(sent), sum(accepted),
      sum(rejected), sum(expired), sum(net), sum(base_net), sum(unconverted), sum(unconverted_net),
      sum(base_sent), sum(base_lost), sum(decided), sum(decision_days), sum(decision_histogram),
      case when grain in ('month_total', 'year')
      then (select edition from quote_summary) else 0 end
    from (
      select d.grain, d.date_kind, d.starts_on, d.country, d.currency,
        d.drafts, d.sent, d.accepted, d.rejected, d.expired, d.net, d.base_net, d.unconverted,
          d.unconverted_net, d.base_sent, d.base_lost, d.decided, d.decision_days,
          d.decision_histogram
      from moved_quote_figures d  union all
select * from (
select g.grain, c.date_kind, g.starts_on, g.country, c.currency,
  coalesce(sum(s.sign * c.drafts), 0) as drafts,
  coalesce(sum(s.sign * c.sent), 0) as sent,
  coalesce(sum(s.sign * c.accepted), 0) as accepted,
  coalesce(sum(s.sign * c.rejected), 0) as rejected,
  coalesce(sum(s.sign * c.expired), 0) as expired,
  coalesce(sum(s.sign * c.net) filter (where c.net is not null), 0) as net,
  coalesce(sum(s.sign * c.base_net) filter (where c.base_net is not null), 0) as base_net,
  coalesce(sum(s.sign * c.unconverted), 0) as unconverted,
  coalesce(sum(s.sign * c.unconverted_net) filter (where c.unconverted_net is not null), 0)
    as unconverted_net,
  coalesce(sum(s.sign * c.base_sent) filter (where c.base_sent is not null), 0) as base_sent,
  coalesce(sum(s.sign * c.base_lost) filter (where c.base_lost is not null), 0) as base_lost,
  coalesce(sum(s.sign * c.decided), 0) as decided,
  coalesce(sum(s.sign * c.decision_days), 0) as decision_days,
  coalesce(sum(s.sign * c.decision_histogram) filter (where c.decision_histogram is not null), 0)
    as decision_histogram
from moved_changes s cross join quote_summary b cross
  join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on, s.valid_until,
  s.decided_on, s.net, b.base_currency, b.base_digits) c cross join lateral (values
  ('day', c.day, c.country),
  ('day_total', c.day, ''),
  ('month', date_trunc('month', c.day::timestamp)::date, c.country),
  ('month_total', date_trunc('month', c.day::timestamp)::date, ''),
  ('year', date_trunc('year', c.day::timestamp)::date, c.country)
) g (grain, starts_on, country)
group by 1, 2, 3, 4, 5
) cells where drafts <> 0 or sent <> 0 or accepted <> 0 or rejected <> 0 or expired <> 0 or net <> 0
  or base_net <> 0 or unconverted <> 0 or unconverted_net <> 0 or base_sent <> 0 or base_lost <> 0
  or decided <> 0 or decision_days <> 0 or decision_histogram <> 0
    ) m
    group by grain, date_kind, starts_on, country, currency
    order by grain, date_kind, starts_on, country, currency
    on conflict (grain, date_kind, starts_on, country, currency, edition) do update set
      drafts = f.drafts + excluded.drafts, sent = f.sent + excluded.sent,
        accepted = f.accepted + excluded.accepted, rejected = f.rejected + excluded.rejected,
        expired = f.expired + excluded.expired, net = f.net + excluded.net,
        base_net = f.base_net + excluded.base_net,
        unconverted = f.unconverted + excluded.unconverted,
        unconverted_net = f.unconverted_net + excluded.unconverted_net,
        base_sent = f.base_sent + excluded.base_sent, base_lost = f.base_lost + excluded.base_lost,
        decided = f.decided + excluded.decided,
        decision_days = f.decision_days + excluded.decision_days,
        decision_histogram = f.decision_histogram + excluded.decision_histogram
    returning f as cell, f.drafts = 0 and f.sent = 0 and f.accepted = 0 and f.rejected = 0
      and f.expired = 0 and f.net = 0 and f.base_net = 0 and f.unconverted = 0
      and f.unconverted_net = 0 and f.base_sent = 0 and f.base_lost = 0 and f.decided = 0
      and f.decision_days = 0 and f.decision_histogram = 0
      as is_empty
  ),
  moved_from_quote_validity_unfolded
    as (delete from quote_validity_unfolded where ctid = any (array(
      select d.ctid from quote_validity_unfolded d where (d.xid >= (select next_unfolded_xid())
  or d.xid = any ((select late_unfolded_xids())::xid8[])) limit batch
    )) returning *),
  moved_quote_validity as (
    select * from moved_from_quote_validity_unfolded
  ), folded_quote_validity as (
    insert into quote_validity as f (grain, valid_until, starts_on, country, currency, quotes,
      base_net)
    select grain, valid_until, starts_on, country, currency, sum(quotes), sum(base_net)
    from (
      select d.grain, d.valid_until, d.starts_on, d.country, d.currency,
        d.quotes, d.base_net
      from moved_quote_validity d  union all
select * from (
select g.grain, g.valid_until, g.starts_on, c.country, c.currency,
  coalesce(sum(s.sign * c.quotes), 0) as quotes,
  coalesce(sum(s.sign * c.base_net) filter (where c.base_net is not null), 0) as base_net
from moved_changes s cross join quote_summary b cross
  join lateral quote_validity_of(s.status, s.country, s.currency, s.rate, s.issued_on,
  s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits) c
cross join lateral (values
  ('day', c.issued_on, c.valid_until),
  ('month', date_trunc('month', c.issued_on::timestamp)::date, c.valid_until),
  ('month_by_month', date_trunc('month', c.issued_on::timestamp)::date,
    (date_trunc('month', c.valid_until::timestamp) + interval '1 month - 1 day')::date)
) g (grain, starts_on, valid_until)
group by 1, 2, 3, 4, 5
) cells where quotes <> 0 or base_net <> 0
    ) m
    group by grain, valid_until, starts_on, country, currency
    order by grain, valid_until, starts_on, country, currency
    on conflict (grain, valid_until, starts_on, country, currency) do update set
      quotes = f.quotes + excluded.quotes, base_net = f.base_net + excluded.base_net
    returning f as cell, f.quotes = 0 and f.base_net = 0
      as is_empty
  ),
  moved_from_customer_figures_unfolded
    as (delete from customer_figures_unfolded where ctid = any (array(
      select d.ctid from customer_figures_unfolded d where (d.xid >= (select next_unfolded_xid())
  or d.xid = any ((select late_unfolded_xids())::xid8[])) limit batch
    )) returning *),
  moved_customer_figures as (
    select * from moved_from_customer_figures_unfolded
  ), folded_customer_figures as (
    insert into customer_figures as f
      (grain, date_kind, starts_on, country, currency, customer_id, quotes, accepted, base_net,
      unconverted)
    select grain, date_kind, starts_on, country, currency, customer_id, sum(quotes), sum(accepted),
      sum(base_net), sum(unconverted)
    from (
      select g.grain, d.date_kind, g.starts_on, d.country, d.currency, d.customer_id,
        d.quotes, d.accepted, d.base_net, d.unconverted
      from moved_customer_figures d cross
        join lateral (values ('month', d.starts_on),
        ('year', date_trunc('year', d.starts_on::timestamp)::date))
  g (grain, starts_on) union all
select * from (
select g.grain, f.date_kind, g.starts_on, f.country, f.currency, coalesce(s.customer_id, 0),
  coalesce(sum(s.sign * c.quotes), 0) as quotes,
  coalesce(sum(s.sign * c.accepted), 0) as accepted,
  coalesce(sum(s.sign * c.base_net) filter (where c.base_net is not null), 0) as base_net,
  coalesce(sum(s.sign * c.unconverted), 0) as unconverted
from moved_changes s cross join quote_summary b cross
  join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on, s.valid_until,
  s.decided_on, s.net, b.base_currency, b.base_digits) f
cross join lateral (
  select coalesce(f.drafts, f.sent, f.accepted, f.rejected, f.expired) as quotes, f.accepted,
    f.base_net, f.unconverted
) c cross join lateral (values ('month', date_trunc('month', f.day::timestamp)::date),
  ('year', date_trunc('year', date_trunc('month', f.day::timestamp)::date::timestamp)::date))
  g (grain, starts_on)
group by 1, 2, 3, 4, 5, 6
) cells where quotes <> 0 or accepted <> 0 or base_net <> 0 or unconverted <> 0
    ) m
    group by grain, date_kind, starts_on, country, currency, customer_id
    order by grain, date_kind, starts_on, country, currency, customer_id
    on conflict (grain, date_kind, starts_on, country, currency, customer_id) do update set
      quotes = f.quotes + excluded.quotes, accepted = f.accepted + excluded.accepted,
        base_net = f.base_net + excluded.base_net,
        unconverted = f.unconverted + excluded.unconverted
    returning f as cell, f.quotes = 0 and f.accepted = 0 and f.base_net = 0 and f.unconverted = 0
      as is_empty
  ),
  moved_from_product_figures_unfolded
    as (delete from product_figures_unfolded where ctid = any (array(
      select d.ctid from product_figures_unfolded d where (d.xid >= (select next_unfolded_xid())
  or d.xid = any ((select late_unfolded_xids())::xid8[])) limit greatest(batch / 8, 1)
    )) returning *),
  moved_product_figures as (
    select * from moved_from_product_figures_unfolded
  ), folded_product_figures as (
    insert into product_figures as f
      (grain, date_kind, country, starts_on, currency, sku, lines, net, rated_net, unrated_lines)
    select grain, date_kind, country, starts_on, currency, sku, sum(lines), sum(net),
      sum(rated_net), sum(unrated_lines)
    from (
      select g.grain, k.date_kind, g.country, g.starts_on, d.currency, d.sku,
        d.lines, d.net, d.rated_net, d.unrated_lines
      from moved_product_figures d cross join lateral (
    values ('issued', d.issued_in), ('accepted', d.accepted_in)
  ) k (date_kind, month) cross join lateral (values
    ('month', k.month, d.country),
    ('month_total', k.month, ''),
    ('year', date_trunc('year', k.month::timestamp)::date, d.country),
    ('year_total', date_trunc('year', k.month::timestamp)::date, '')
  ) g (grain, starts_on, country) union all
select * from (
select g.grain, k.date_kind, g.country, g.starts_on, s.currency, l.sku,
  coalesce(sum(s.sign * c.lines), 0) as lines,
  coalesce(sum(s.sign * c.net) filter (where c.net is not null), 0) as net,
  coalesce(sum(s.sign * c.rated_net) filter (where c.rated_net is not null), 0) as rated_net,
  coalesce(sum(s.sign * c.unrated_lines), 0) as unrated_lines
from moved_changes s cross join lateral unnest(s.lines) l cross join lateral (
    select 1 as lines, l.net, l.net * s.rate as rated_net,
      case when s.rate is null then 1 end as unrated_lines
  ) c
  cross join lateral (
    values ('issued', date_trunc('month', s.issued_on::timestamp)::date),
      ('accepted', date_trunc('month', coalesce(s.decided_on, s.issued_on)::timestamp)::date)
  ) k (date_kind, month) cross join lateral (values
    ('month', k.month, coalesce(s.country, '')),
    ('month_total', k.month, ''),
    ('year', date_trunc('year', k.month::timestamp)::date, coalesce(s.country, '')),
    ('year_total', date_trunc('year', k.month::timestamp)::date, '')
  ) g (grain, starts_on, country)
group by 1, 2, 3, 4, 5, 6
) cells where lines <> 0 or net <> 0 or rated_net <> 0 or unrated_lines <> 0
    ) m
    group by grain, date_kind, country, starts_on, currency, sku
    order by grain, date_kind, country, starts_on, currency, sku
    on conflict (grain, date_kind, country, starts_on, currency, sku) do update set
      lines = f.lines + excluded.lines, net = f.net + excluded.net,
        rated_net = f.rated_net + excluded.rated_net,
        unrated_lines = f.unrated_lines + excluded.unrated_lines
    returning f as cell, f.lines = 0 and f.net = 0 and f.rated_net = 0 and f.unrated_lines = 0
      as is_empty
  ),
  counts as (
    select (select count(*) from moved_changes) as changes,
      (select count(*) from moved_quote_figures) as quote_figures,
      (select count(*) from moved_quote_validity) as quote_validity,
      (select count(*) from moved_customer_figures) as customer_figures,
      (select count(*) from moved_product_figures) as product_figures
      , (
        select count(*) from folded_quote_figures where (cell).edition > 0
      ) as edition_updates
  ), summary as (
    update quote_summary set folded = folded + changes,
      folded_through = case when is_complete
        then pg_current_snapshot() else folded_through end,
      folded_by = case when is_complete then pg_current_xact_id() else folded_by end,
      server_started_at = case when is_complete
        then pg_postmaster_start_time() else server_started_at end
      , edition_updates_left = edition_updates_left - edition_updates
    from (select *, changes < batch and quote_figures < batch and quote_validity < batch
      and customer_figures < batch and product_figures < greatest(batch / 8, 1) as is_complete
      from counts) counts
    returning edition_updates_left
  )
  select (select edition_updates_left <= 0 from summary),
    changes + quote_figures + quote_validity + customer_figures + product_figures,
    (select array_agg(cell) from folded_quote_figures where is_empty),
    (select array_agg(cell) from folded_quote_validity where is_empty),
    (select array_agg(cell) from folded_customer_figures where is_empty),
    (select array_agg(cell) from folded_product_figures where is_empty)
  into is_edition_full,
    moved, empty_quote_figures, empty_quote_validity, empty_customer_figures, empty_product_figures
  from counts;
  delete from quote_figures f using unnest(empty_quote_figures) e
  where f.grain = e.grain and f.date_kind = e.date_kind and f.starts_on = e.starts_on
    and f.country = e.country and f.currency = e.currency and f.edition = e.edition;
  delete from quote_validity f using unnest(empty_quote_validity) e
  where f.grain = e.grain and f.valid_until = e.valid_until and f.starts_on = e.starts_on
    and f.country = e.country and f.currency = e.currency;
  delete from customer_figures f using unnest(empty_customer_figures) e
  where f.grain = e.grain and f.date_kind = e.date_kind and f.starts_on = e.starts_on
    and f.country = e.country and f.currency = e.currency and f.customer_id = e.customer_id;
  delete from product_figures f using unnest(empty_product_figures) e
  where f.grain = e.grain and f.date_kind = e.date_kind and f.country = e.country
    and f.starts_on = e.starts_on and f.currency = e.currency and f.sku = e.sku;
  if is_edition_full then perform begin_summary_edition(); end if;
  return moved;
end $$;
revoke execute on function fold_quote_changes(integer) from public;

-- Copies years and totals of months into a new edition of quote_figures.
create function begin_summary_edition()
 returns void
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set enable_seqscan to 'off'
as $$
declare
  next_edition integer;
  copied bigint;
begin
  update quote_summary set edition = edition + 1 returning edition into next_edition;
  with replaced as (
    delete from quote_figures
    where grain in ('month_total', 'year') and edition = next_edition - 1 returning grain,
      date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired, net,
      base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
      decision_histogram
  )
  insert into quote_figures (grain, date_kind, starts_on, country, currency, drafts, sent, accepted,
    rejected, expired, net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided,
    decision_days, decision_histogram, edition)
  select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
    net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
    decision_histogram, next_edition from replaced order by grain, date_kind, starts_on, country,
    currency;
  get diagnostics copied = row_count;
  update quote_summary
  set edition_updates_left = 2 * greatest(copied, 500);
end $$;
revoke execute on function begin_summary_edition() from public;

-- The quotes that count on a day between two days.
create function quotes_between(first_day date, last_day date)
 returns table(id bigint, customer_id bigint, status text, country text, currency text,
   rate numeric, issued_on date, valid_until date, decided_on date, net numeric)
 language sql
 stable
as $$
  select q.id, q.customer_id, q.status, q.country, q.currency, q.rate, q.issued_on, q.valid_until,
    q.decided_on, q.net
  from quotes q
  where q.issued_on between first_day and last_day
    or q.status = 'accepted'
      and coalesce(q.decided_on, q.issued_on) between first_day and last_day
$$;

-- Figures computed from the quotes that count between two days: for the rebuild and the
-- verification.
create function figures_from_quotes(first_day date, last_day date)
 returns table(grain text, date_kind text, starts_on date, country text, currency text,
   drafts bigint, sent bigint, accepted bigint, rejected bigint, expired bigint, net numeric,
   base_net numeric, unconverted bigint, unconverted_net numeric, base_sent numeric,
   base_lost numeric, decided bigint, decision_days bigint, decision_histogram numeric)
 language sql
 stable
as $$
  with days as materialized (
  select 'day' as grain, c.date_kind, c.day as starts_on, c.country, c.currency,
    coalesce(sum(c.drafts), 0) as drafts,
  coalesce(sum(c.sent), 0) as sent,
  coalesce(sum(c.accepted), 0) as accepted,
  coalesce(sum(c.rejected), 0) as rejected,
  coalesce(sum(c.expired), 0) as expired,
  coalesce(sum(c.net) filter (where c.net is not null), 0) as net,
  coalesce(sum(c.base_net) filter (where c.base_net is not null), 0) as base_net,
  coalesce(sum(c.unconverted), 0) as unconverted,
  coalesce(sum(c.unconverted_net) filter (where c.unconverted_net is not null), 0)
    as unconverted_net,
  coalesce(sum(c.base_sent) filter (where c.base_sent is not null), 0) as base_sent,
  coalesce(sum(c.base_lost) filter (where c.base_lost is not null), 0) as base_lost,
  coalesce(sum(c.decided), 0) as decided,
  coalesce(sum(c.decision_days), 0) as decision_days,
  coalesce(sum(c.decision_histogram) filter (where c.decision_histogram is not null), 0)
    as decision_histogram
  from quotes_between(first_day, last_day) s cross join quote_summary b cross
    join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
    s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits) c
  group by 2, 3, 4, 5
), months as materialized (
  select 'month' as grain, date_kind, date_trunc('month', starts_on::timestamp)::date as starts_on,
    country,
    currency, sum(drafts) as drafts, sum(sent) as sent, sum(accepted) as accepted, sum(rejected)
      as rejected, sum(expired) as expired, sum(net) as net, sum(base_net) as base_net,
      sum(unconverted) as unconverted, sum(unconverted_net) as unconverted_net, sum(base_sent)
      as base_sent, sum(base_lost) as base_lost, sum(decided) as decided, sum(decision_days)
      as decision_days, sum(decision_histogram) as decision_histogram
  from days group by 2, 3, 4, 5
), figures as (
  select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
    net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
    decision_histogram from days where drafts <> 0 or sent <> 0 or accepted <> 0 or rejected <> 0
    or expired <> 0 or net <> 0 or base_net <> 0 or unconverted <> 0 or unconverted_net <> 0
    or base_sent <> 0 or base_lost <> 0 or decided <> 0 or decision_days <> 0
    or decision_histogram <> 0
  union all
  select 'day_total', date_kind, starts_on, '', currency, sum(drafts) as drafts, sum(sent) as sent,
    sum(accepted) as accepted, sum(rejected) as rejected, sum(expired) as expired, sum(net) as net,
    sum(base_net) as base_net, sum(unconverted) as unconverted, sum(unconverted_net)
    as unconverted_net, sum(base_sent) as base_sent, sum(base_lost) as base_lost, sum(decided)
    as decided, sum(decision_days) as decision_days, sum(decision_histogram) as decision_histogram
  from days group by 2, 3, 5 having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0
    or sum(rejected) <> 0 or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0
    or sum(unconverted) <> 0 or sum(unconverted_net) <> 0 or sum(base_sent) <> 0
    or sum(base_lost) <> 0 or sum(decided) <> 0 or sum(decision_days) <> 0
    or sum(decision_histogram) <> 0
  union all
  select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
    net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
    decision_histogram from months where drafts <> 0 or sent <> 0 or accepted <> 0 or rejected <> 0
    or expired <> 0 or net <> 0 or base_net <> 0 or unconverted <> 0 or unconverted_net <> 0
    or base_sent <> 0 or base_lost <> 0 or decided <> 0 or decision_days <> 0
    or decision_histogram <> 0
  union all
  select 'month_total', date_kind, starts_on, '', currency, sum(drafts) as drafts, sum(sent)
    as sent, sum(accepted) as accepted, sum(rejected) as rejected, sum(expired) as expired, sum(net)
    as net, sum(base_net) as base_net, sum(unconverted) as unconverted, sum(unconverted_net)
    as unconverted_net, sum(base_sent) as base_sent, sum(base_lost) as base_lost, sum(decided)
    as decided, sum(decision_days) as decision_days, sum(decision_histogram) as decision_histogram
  from months group by 2, 3, 5 having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0
    or sum(rejected) <> 0 or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0
    or sum(unconverted) <> 0 or sum(unconverted_net) <> 0 or sum(base_sent) <> 0
    or sum(base_lost) <> 0 or sum(decided) <> 0 or sum(decision_days) <> 0
    or sum(decision_histogram) <> 0
  union all
  select 'year', date_kind, date_trunc('year', starts_on::timestamp)::date, country, currency,
    sum(drafts) as drafts, sum(sent) as sent, sum(accepted) as accepted, sum(rejected) as rejected,
    sum(expired) as expired, sum(net) as net, sum(base_net) as base_net, sum(unconverted)
    as unconverted, sum(unconverted_net) as unconverted_net, sum(base_sent) as base_sent,
    sum(base_lost) as base_lost, sum(decided) as decided, sum(decision_days) as decision_days,
    sum(decision_histogram) as decision_histogram
  from months group by 2, 3, 4, 5 having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0
    or sum(rejected) <> 0 or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0
    or sum(unconverted) <> 0 or sum(unconverted_net) <> 0 or sum(base_sent) <> 0
    or sum(base_lost) <> 0 or sum(decided) <> 0 or sum(decision_days) <> 0
    or sum(decision_histogram) <> 0
)
  select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
    net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
    decision_histogram from figures
$$;

-- quote_validity computed from the quotes between two days.
create function validity_from_quotes(first_day date, last_day date)
 returns table(grain text, valid_until date, starts_on date, country text, currency text,
   quotes bigint, base_net numeric)
 language sql
 stable
as $$
select * from (
select g.grain, g.valid_until, g.starts_on, c.country, c.currency,
  coalesce(sum(c.quotes), 0) as quotes,
  coalesce(sum(c.base_net) filter (where c.base_net is not null), 0) as base_net
from quotes_between(first_day, last_day) s cross join quote_summary b cross
  join lateral quote_validity_of(s.status, s.country, s.currency, s.rate, s.issued_on,
  s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits) c
cross join lateral (values
  ('day', c.issued_on, c.valid_until),
  ('month', date_trunc('month', c.issued_on::timestamp)::date, c.valid_until),
  ('month_by_month', date_trunc('month', c.issued_on::timestamp)::date,
    (date_trunc('month', c.valid_until::timestamp) + interval '1 month - 1 day')::date)
) g (grain, starts_on, valid_until)
group by 1, 2, 3, 4, 5
) cells where quotes <> 0 or base_net <> 0
$$;

-- Rows of the summary between two days, the whole months that begin there included, that differ
-- from the quotes; at most twenty. Years are compared with the oldest of their months.
create function find_summary_differences(first_day date, last_day date)
 returns table(relation text, cell text)
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set work_mem to '64MB'
as $$
declare
  -- Reading a year takes as long as reading its months, so it is compared with one of them.
  is_oldest_of_year boolean := coalesce(
    newest_month_before(first_day) < date_trunc('year', first_day::timestamp), true
  );
begin
  lock table quotes, quote_lines, quote_summary, quote_changes, quote_figures,
    quote_figures_unfolded, quote_validity, quote_validity_unfolded, customer_figures,
    customer_figures_unfolded, product_figures, product_figures_unfolded
    in access share mode;
  return query
    select 'quote_figures',
      concat_ws(' ', grain, date_kind, starts_on, case when grain not like '%total'
        then coalesce(nullif(country, ''), 'unknown') end, currency)
    from (
      select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected,
        expired, net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided,
        decision_days, decision_histogram from figures_from_quotes(first_day, last_day)
        where grain not like 'year%' and starts_on between first_day and last_day
      union all
      select grain, date_kind, starts_on, country, currency, -drafts, -sent, -accepted, -rejected,
        -expired, -net, -base_net, -unconverted, -unconverted_net, -base_sent, -base_lost, -decided,
        -decision_days, -decision_histogram
      from (select * from current_figures where grain not like 'year%'
        and starts_on between first_day and last_day) a
    ) c
    group by grain, date_kind, starts_on, country, currency
    having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0 or sum(rejected) <> 0
      or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0 or sum(unconverted) <> 0
      or sum(unconverted_net) <> 0 or sum(base_sent) <> 0 or sum(base_lost) <> 0
      or sum(decided) <> 0 or sum(decision_days) <> 0 or sum(decision_histogram) <> 0
    union all
    select 'quote_figures',
      concat_ws(' ', grain, date_kind, starts_on, case when grain not like '%total'
        then coalesce(nullif(country, ''), 'unknown') end, currency)
    from (
      select 'year' as grain, date_kind, date_trunc('year', starts_on::timestamp)::date
        as starts_on, country, currency, sum(drafts) as drafts, sum(sent) as sent, sum(accepted)
        as accepted, sum(rejected) as rejected, sum(expired) as expired, sum(net) as net,
        sum(base_net) as base_net, sum(unconverted) as unconverted, sum(unconverted_net)
        as unconverted_net, sum(base_sent) as base_sent, sum(base_lost) as base_lost, sum(decided)
        as decided, sum(decision_days) as decision_days, sum(decision_histogram)
        as decision_histogram
      from current_figures
      where is_oldest_of_year and grain = 'month'
        and starts_on >= date_trunc('year', first_day::timestamp)
        and starts_on < date_trunc('year', last_day::timestamp) + interval '1 year'
      group by 2, 3, 4, 5
      union all
      select grain, date_kind, starts_on, country, currency, -drafts, -sent, -accepted, -rejected,
        -expired, -net, -base_net, -unconverted, -unconverted_net, -base_sent, -base_lost, -decided,
        -decision_days, -decision_histogram
      from (select * from current_figures where is_oldest_of_year and grain = 'year'
      and starts_on between date_trunc('year', first_day::timestamp) and last_day) a
    ) c
    group by grain, date_kind, starts_on, country, currency
    having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0 or sum(rejected) <> 0
      or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0 or sum(unconverted) <> 0
      or sum(unconverted_net) <> 0 or sum(base_sent) <> 0 or sum(base_lost) <> 0
      or sum(decided) <> 0 or sum(decision_days) <> 0 or sum(decision_histogram) <> 0
    union all
    select 'quote_validity',
      concat_ws(' ', grain, valid_until, starts_on, case when grain not like '%total'
        then coalesce(nullif(country, ''), 'unknown') end, currency)
    from (
      select grain, valid_until, starts_on, country, currency, quotes, base_net
        from validity_from_quotes(first_day, last_day) where grain not like 'year%'
        and starts_on between first_day and last_day
      union all
      select grain, valid_until, starts_on, country, currency, -quotes, -base_net
      from (select * from current_validity where grain not like 'year%'
        and starts_on between first_day and last_day) a
    ) c
    group by grain, valid_until, starts_on, country, currency
    having sum(quotes) <> 0 or sum(base_net) <> 0
    union all
    select 'customer_figures',
      concat_ws(' ', grain, date_kind, starts_on, case when grain not like '%total'
        then coalesce(nullif(country, ''), 'unknown') end, currency, customer_id)
    from (
      select grain, date_kind, starts_on, country, currency, customer_id, quotes, accepted,
        base_net, unconverted from customer_figures_from_quotes(first_day, last_day)
        where grain not like 'year%' and starts_on between first_day and last_day
      union all
      select grain, date_kind, starts_on, country, currency, customer_id, -quotes, -accepted,
        -base_net, -unconverted
      from (select * from current_customer_figures where grain not like 'year%'
        and starts_on between first_day and last_day) a
    ) c
    group by grain, date_kind, starts_on, country, currency, customer_id
    having sum(quotes) <> 0 or sum(accepted) <> 0 or sum(base_net) <> 0 or sum(unconverted) <> 0
    union all
    select 'customer_figures',
      concat_ws(' ', grain, date_kind, starts_on, case when grain not like '%total'
        then coalesce(nullif(country, ''), 'unknown') end, currency, customer_id)
    from (
      select 'year' as grain, date_kind, date_trunc('year', starts_on::timestamp)::date
        as starts_on, country, currency, customer_id, sum(quotes) as quotes, sum(accepted)
        as accepted, sum(base_net) as base_net, sum(unconverted) as unconverted
      from current_customer_figures
      where is_oldest_of_year and grain = 'month'
        and starts_on >= date_trunc('year', first_day::timestamp)
        and starts_on < date_trunc('year', last_day::timestamp) + interval '1 year'
      group by 2, 3, 4, 5, 6
      union all
      select grain, date_kind, starts_on, country, currency, customer_id, -quotes, -accepted,
        -base_net, -unconverted
      from (select * from current_customer_figures where is_oldest_of_year and grain = 'year'
      and starts_on between date_trunc('year', first_day::timestamp) and last_day) a
    ) c
    group by grain, date_kind, starts_on, country, currency, customer_id
    having sum(quotes) <> 0 or sum(accepted) <> 0 or sum(base_net) <> 0 or sum(unconverted) <> 0
    union all
    select 'product_figures',
      concat_ws(' ', grain, date_kind, case when grain not like '%total'
        then coalesce(nullif(country, ''), 'unknown') end, starts_on, currency,
        coalesce(nullif(sku, ''), 'none'))
    from (
      select grain, date_kind, country, starts_on, currency, sku, lines, net, rated_net,
        unrated_lines from product_figures_from_quotes(first_day, last_day)
        where grain not like 'year%' and starts_on between first_day and last_day
      union all
      select grain, date_kind, country, starts_on, currency, sku, -lines, -net, -rated_net,
        -unrated_lines
      from (select * from current_product_figures where grain not like 'year%'
        and starts_on between first_day and last_day) a
    ) c
    group by grain, date_kind, country, starts_on, currency, sku
    having sum(lines) <> 0 or sum(net) <> 0 or sum(rated_net) <> 0 or sum(unrated_lines) <> 0
    union all
    select 'product_figures',
      concat_ws(' ', grain, date_kind, case when grain not like '%total'
        then coalesce(nullif(country, ''), 'unknown') end, starts_on, currency,
        coalesce(nullif(sku, ''), 'none'))
    from (
      select 'year' as grain, date_kind, country, date_trunc('year', starts_on::timestamp)::date
        as starts_on, currency, sku, sum(lines) as lines, sum(net) as net, sum(rated_net)
        as rated_net, sum(unrated_lines) as unrated_lines
      from current_product_figures
      where is_oldest_of_year and grain = 'month'
        and starts_on >= date_trunc('year', first_day::timestamp)
        and starts_on < date_trunc('year', last_day::timestamp) + interval '1 year'
      group by 2, 3, 4, 5, 6
      union all
      select grain, date_kind, country, starts_on, currency, sku, -lines, -net, -rated_net,
        -unrated_lines
      from (select * from current_product_figures where is_oldest_of_year and grain = 'year'
      and starts_on between date_trunc('year', first_day::timestamp) and last_day) a
    ) c
    group by grain, date_kind, country, starts_on, currency, sku
    having sum(lines) <> 0 or sum(net) <> 0 or sum(rated_net) <> 0 or sum(unrated_lines) <> 0
    union all
    select 'product_figures',
      concat_ws(' ', grain, date_kind, case when grain not like '%total'
        then coalesce(nullif(country, ''), 'unknown') end, starts_on, currency,
        coalesce(nullif(sku, ''), 'none'))
    from (
      select 'year_total' as grain, date_kind, country,
        date_trunc('year', starts_on::timestamp)::date as starts_on, currency, sku, sum(lines)
        as lines, sum(net) as net, sum(rated_net) as rated_net, sum(unrated_lines) as unrated_lines
      from current_product_figures
      where is_oldest_of_year and grain = 'month_total'
        and starts_on >= date_trunc('year', first_day::timestamp)
        and starts_on < date_trunc('year', last_day::timestamp) + interval '1 year'
      group by 2, 3, 4, 5, 6
      union all
      select grain, date_kind, country, starts_on, currency, sku, -lines, -net, -rated_net,
        -unrated_lines
      from (select * from current_product_figures where is_oldest_of_year and grain = 'year_total'
      and starts_on between date_trunc('year', first_day::timestamp) and last_day) a
    ) c
    group by grain, date_kind, country, starts_on, currency, sku
    having sum(lines) <> 0 or sum(net) <> 0 or sum(rated_net) <> 0 or sum(unrated_lines) <> 0
    order by 1, 2 limit 20;
end $$;
revoke execute on function find_summary_differences(date,date) from public;

-- The comparison of the summary with the quotes that the API makes in the background.
create table summary_check (
  the_only_row   boolean      not null default true,
  claimed_at     timestamptz  not null default '-infinity'::timestamptz,
  claimed_month  date         not null default 'infinity'::date,
  completed_at   timestamptz  not null default now(),
  constraint summary_check_pkey primary key (the_only_row),
  constraint summary_check_the_only_row_check check (the_only_row)
);

-- Months whose last comparison found a difference.
create table summary_differences (
  month           date         not null,
  generation      uuid         not null,
  found_at        timestamptz  not null default now(),
  different_rows  text[]       not null,
  constraint summary_differences_pkey primary key (month)
);

-- The first day of the newest month before a day that has quotes, figures or a known difference;
-- null if there is none.
create function newest_month_before(day date)
 returns date
 language sql
 stable
as $$
  select date_trunc('month', greatest(
    (select max(issued_on) from quotes where issued_on < day),
    (select max(coalesce(decided_on, issued_on)) from quotes
      where status = 'accepted' and coalesce(decided_on, issued_on) < day),
    (select max(starts_on) from quote_figures
      where grain = 'month_total' and date_kind = 'issued' and starts_on < day),
    (select max(starts_on) from quote_figures
      where grain = 'month_total' and date_kind = 'accepted' and starts_on < day),
    (select max(month) from summary_differences where month < day)
  )::timestamp)::date
$$;
revoke execute on function newest_month_before(date) from public;

-- Returns the month that the caller is to compare, or null if a process began to compare another
-- one less than pause ago.
create function claim_summary_check(pause interval)
 returns date
 language sql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
  update summary_check set claimed_at = now(), claimed_month = coalesce(
    newest_month_before(claimed_month),
    newest_month_before('infinity'),
    date_trunc('month', now()::timestamp)::date
  )
  where claimed_at <= now() - pause
  returning claimed_month
$$;
revoke execute on function claim_summary_check(interval) from public;

-- Compares a month of the summary with the quotes and records the result. Returns the rows that
-- differ, and whether this is another result than before.
create function run_summary_check(checked_month date, out found_rows text[], out is_news boolean)
 returns record
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set max_parallel_workers_per_gather to '0'
 set jit to 'off'
as $$
declare
  compared_generation uuid;
begin
  -- In the order of a truncate. Another order could deadlock.
  lock table quotes in access share mode;
  -- Read before the comparison: if a rebuild ends meanwhile, its result belongs to this one.
  select generation into compared_generation from quote_summary;
  select coalesce(array_agg(d.relation || ': ' || d.cell order by d.relation, d.cell), '{}')
  into found_rows
  from find_summary_differences(
    checked_month, (checked_month + interval '1 month' - interval '1 day')::date
  ) d;
  if found_rows = '{}' then
    delete from summary_differences where month = checked_month;
  else
    insert into summary_differences as known (month, generation, different_rows)
    values (checked_month, compared_generation, found_rows)
    on conflict (month) do update set generation = excluded.generation,
      found_at = excluded.found_at, different_rows = excluded.different_rows
    where (known.generation, known.different_rows)
      is distinct from (excluded.generation, excluded.different_rows);
  end if;
  is_news := found;
  update summary_check set completed_at = clock_timestamp();
end $$;
revoke execute on function run_summary_check(date) from public;

-- Rebuilds the summary from the quotes. Writers and readers are not blocked.
create function rebuild_quote_summary()
 returns void
 language plpgsql
 set work_mem to '64MB'
as $$
begin
  lock table quotes, quote_lines in access share mode;
  perform pg_advisory_xact_lock(hashtextextended('trade-quoting-service fold', 0));
  lock table quote_summary, quote_changes, quote_figures, quote_figures_unfolded, quote_validity,
    quote_validity_unfolded, customer_figures, customer_figures_unfolded, product_figures,
    product_figures_unfolded in row exclusive mode;
  update quote_summary s set base_currency = c.code, base_digits = c.digits
  from company join currencies c on c.code = company.base_currency;
  update quote_summary set edition = edition + 1, edition_updates_left = 0;
  delete from quote_figures;
  delete from quote_validity;
  delete from customer_figures;
  delete from product_figures;
  with moved_changes as (delete from quote_changes),
  moved_from_quote_figures as (delete from quote_figures_unfolded),
  filled_quote_figures as (
    insert into quote_figures (grain, date_kind, starts_on, country, currency, drafts, sent,
      accepted, rejected, expired, net, base_net, unconverted, unconverted_net, base_sent,
      base_lost, decided, decision_days, decision_histogram, edition)
    select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected,
      expired, net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided,
      decision_days, decision_histogram, case when grain in ('month_total', 'year')
      then (select edition from quote_summary) else 0 end
    from figures_from_quotes('-infinity', 'infinity')
    order by grain, date_kind, starts_on, country, currency),
  moved_from_quote_validity as (delete from quote_validity_unfolded),
  filled_quote_validity as (
    insert into quote_validity (grain, valid_until, starts_on, country, currency, quotes, base_net)
    select grain, valid_until, starts_on, country, currency, quotes, base_net
    from validity_from_quotes('-infinity', 'infinity')
    order by grain, valid_until, starts_on, country, currency),
  moved_from_customer_figures as (delete from customer_figures_unfolded),
  filled_customer_figures as (
    insert into customer_figures (grain, date_kind, starts_on, country, currency, customer_id,
      quotes, accepted, base_net, unconverted)
    select grain, date_kind, starts_on, country, currency, customer_id, quotes, accepted, base_net,
      unconverted
    from customer_figures_from_quotes('-infinity', 'infinity')
    order by grain, date_kind, starts_on, country, currency, customer_id),
  moved_from_product_figures as (delete from product_figures_unfolded),
  filled_product_figures as (
    insert into product_figures (grain, date_kind, country, starts_on, currency, sku, lines, net,
      rated_net, unrated_lines)
    select grain, date_kind, country, starts_on, currency, sku, lines, net, rated_net, unrated_lines
    from product_figures_from_quotes('-infinity', 'infinity')
    order by grain, date_kind, country, starts_on, currency, sku)
  update quote_summary set generation = gen_random_uuid(), folded = 0,
    folded_through = pg_current_snapshot(), folded_by = pg_current_xact_id(),
    server_started_at = pg_postmaster_start_time();
end $$;
revoke execute on function rebuild_quote_summary() from public;

create function rebuild_for_company()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
begin
  if tg_op = 'UPDATE' and old.base_currency <> new.base_currency then
    lock table quotes in share mode;
  end if;
  perform rebuild_quote_summary();
  return null;
end $$;

create function empty_quote_summary()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
begin
  lock table quote_summary, quote_changes, quote_figures, quote_figures_unfolded, quote_validity,
    quote_validity_unfolded, customer_figures, customer_figures_unfolded, product_figures,
    product_figures_unfolded in access exclusive mode;
  truncate quote_changes, quote_figures, quote_figures_unfolded, quote_validity,
    quote_validity_unfolded, customer_figures, customer_figures_unfolded, product_figures,
    product_figures_unfolded;
  update quote_summary set generation = gen_random_uuid(), folded = 0,
    folded_through = pg_current_snapshot(), folded_by = pg_current_xact_id(),
    server_started_at = pg_postmaster_start_time();
  return null;
end $$;

-- -------------------------------------------------------------------------------------------------
-- Statistics by customer and by product
-- -------------------------------------------------------------------------------------------------

-- Figures by customer and month or year, without what is not folded.
create table customer_figures (
  grain        text     collate "C" not null,
  date_kind    text     collate "C" not null,
  starts_on    date     not null,
  country      text     collate "C" not null,
  currency     text     collate "C" not null,
  customer_id  bigint   not null,
  quotes       bigint   not null,
  accepted     bigint   not null,
  base_net     numeric  not null,
  unconverted  bigint   not null,
  constraint customer_figures_pkey primary key
    (grain, date_kind, starts_on, country, currency, customer_id),
  constraint customer_figures_date_kind_check check (date_kind = any (array['issued', 'accepted'])),
  constraint customer_figures_grain_check check (grain = any (array['month', 'year']))
) partition by list (grain);
create table customer_figures_months partition of customer_figures for values in ('month');
create table customer_figures_years partition of customer_figures for values in ('year');

-- Changes of months by statements with many quotes.
create table customer_figures_unfolded (
  xid          xid8     not null default pg_current_xact_id(),
  date_kind    text     collate "C" not null,
  starts_on    date     not null,
  country      text     collate "C" not null,
  currency     text     collate "C" not null,
  customer_id  bigint   not null,
  quotes       bigint   not null,
  accepted     bigint   not null,
  base_net     numeric  not null,
  unconverted  bigint   not null,
  constraint customer_figures_unfolded_date_kind_check check
    (date_kind = any (array['issued', 'accepted']))
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000);
create index customer_figures_unfolded_xid on customer_figures_unfolded using btree (xid);

-- Figures by SKU and month or year, without what is not folded.
create table product_figures (
  grain          text     collate "C" not null,
  date_kind      text     collate "C" not null,
  country        text     collate "C" not null,
  starts_on      date     not null,
  currency       text     collate "C" not null,
  sku            text     collate "C" not null,
  lines          bigint   not null,
  net            numeric  not null,
  rated_net      numeric  not null,
  unrated_lines  bigint   not null,
  constraint product_figures_pkey primary key (grain, date_kind, country, starts_on, currency, sku),
  constraint product_figures_date_kind_check check (date_kind = any (array['issued', 'accepted'])),
  constraint product_figures_grain_check check
    (grain = any (array['month', 'month_total', 'year', 'year_total']))
) partition by list (grain);
create table product_figures_months partition of product_figures for values in ('month');
create table product_figures_totals partition of product_figures for
  values in ('month_total', 'year', 'year_total');

-- Changes of the lines of accepted quotes. A row counts by both of its months.
create table product_figures_unfolded (
  xid            xid8     not null default pg_current_xact_id(),
  issued_in      date     not null,
  accepted_in    date     not null,
  country        text     collate "C" not null,
  currency       text     collate "C" not null,
  sku            text     collate "C" not null,
  lines          bigint   not null,
  net            numeric  not null,
  rated_net      numeric  not null,
  unrated_lines  bigint   not null
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000);
create index product_figures_unfolded_xid on product_figures_unfolded using btree (xid);

-- Figures by customer of all committed quotes. A reader adds up the rows of a key.
create view current_customer_figures as
 SELECT customer_figures.grain,
    customer_figures.date_kind,
    customer_figures.starts_on,
    customer_figures.country,
    customer_figures.currency,
    customer_figures.customer_id,
    customer_figures.quotes,
    customer_figures.accepted,
    customer_figures.base_net,
    customer_figures.unconverted
   FROM customer_figures
UNION ALL
 SELECT g.grain,
    d.date_kind,
    g.starts_on,
    d.country,
    d.currency,
    d.customer_id,
    d.quotes,
    d.accepted,
    d.base_net,
    d.unconverted
   FROM customer_figures_unfolded d
     CROSS JOIN LATERAL ( VALUES ('month'::text,d.starts_on),
       ('year'::text,date_trunc('year'::text, d.starts_on::timestamp without time zone)::date))
       g(grain, starts_on)
  WHERE d.xid >= (( SELECT next_unfolded_xid() AS next_unfolded_xid)) OR
    (d.xid = ANY ((( SELECT late_unfolded_xids() AS late_unfolded_xids))::xid8[]))
UNION ALL
 SELECT g.grain,
    f.date_kind,
    g.starts_on,
    f.country,
    f.currency,
    COALESCE(s.customer_id, 0::bigint) AS customer_id,
    COALESCE(s.sign * c.quotes, 0) AS quotes,
    COALESCE(s.sign * c.accepted, 0) AS accepted,
    COALESCE(s.sign::numeric * c.base_net, 0::numeric) AS base_net,
    COALESCE(s.sign * c.unconverted, 0) AS unconverted
   FROM unfolded_changes s
     CROSS JOIN quote_summary b
     CROSS JOIN LATERAL quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
       s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits)
       f(date_kind, day, country, currency, drafts, sent, accepted, rejected, expired, net,
       base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
       decision_histogram)
     CROSS JOIN LATERAL ( SELECT COALESCE(f.drafts, f.sent, f.accepted, f.rejected, f.expired) AS
       quotes,
            f.accepted,
            f.base_net,
            f.unconverted) c
     CROSS JOIN LATERAL ( VALUES ('month'::text,date_trunc('month'::text,
       f.day::timestamp without time zone)::date),
       ('year'::text,date_trunc('year'::text,
       date_trunc('month'::text, f.day::timestamp without time zone)::date::timestamp without time
       zone)::date)) g(grain, starts_on);

-- Figures by SKU of the lines of all accepted quotes. A reader adds up the rows of a key.
create view current_product_figures as
 SELECT product_figures.grain,
    product_figures.date_kind,
    product_figures.country,
    product_figures.starts_on,
    product_figures.currency,
    product_figures.sku,
    product_figures.lines,
    product_figures.net,
    product_figures.rated_net,
    product_figures.unrated_lines
   FROM product_figures
UNION ALL
 SELECT g.grain,
    k.date_kind,
    g.country,
    g.starts_on,
    d.currency,
    d.sku,
    d.lines,
    d.net,
    d.rated_net,
    d.unrated_lines
   FROM product_figures_unfolded d
     CROSS JOIN LATERAL ( VALUES ('issued'::text,d.issued_in), ('accepted'::text,d.accepted_in))
       k(date_kind, month)
     CROSS JOIN LATERAL ( VALUES ('month'::text,k.month,d.country),
       ('month_total'::text,k.month,''::text),
       ('year'::text,date_trunc('year'::text,
       k.month::timestamp without time zone)::date,d.country),
       ('year_total'::text,date_trunc('year'::text,
       k.month::timestamp without time zone)::date,''::text)) g(grain, starts_on, country)
  WHERE d.xid >= (( SELECT next_unfolded_xid() AS next_unfolded_xid)) OR
    (d.xid = ANY ((( SELECT late_unfolded_xids() AS late_unfolded_xids))::xid8[]))
UNION ALL
 SELECT g.grain,
    k.date_kind,
    g.country,
    g.starts_on,
    s.currency,
    l.sku,
    COALESCE(s.sign * c.lines, 0) AS lines,
    COALESCE(s.sign::numeric * c.net, 0::numeric) AS net,
    COALESCE(s.sign::numeric * c.rated_net, 0::numeric) AS rated_net,
    COALESCE(s.sign * c.unrated_lines, 0) AS unrated_lines
   FROM unfolded_changes s
     CROSS JOIN LATERAL unnest(s.lines) l(sku, net)
     CROSS JOIN LATERAL ( SELECT 1 AS lines,
            l.net,
            l.net * s.rate AS rated_net,
                CASE
                    WHEN s.rate IS NULL THEN 1
                    ELSE NULL::integer
                END AS unrated_lines) c
     CROSS JOIN LATERAL ( VALUES ('issued'::text,date_trunc('month'::text,
       s.issued_on::timestamp without time zone)::date),
       ('accepted'::text,date_trunc('month'::text,
       COALESCE(s.decided_on, s.issued_on)::timestamp without time zone)::date)) k(date_kind, month)
     CROSS JOIN LATERAL ( VALUES ('month'::text,k.month,COALESCE(s.country, ''::text)),
       ('month_total'::text,k.month,''::text),
       ('year'::text,date_trunc('year'::text,
       k.month::timestamp without time zone)::date,COALESCE(s.country, ''::text)),
       ('year_total'::text,date_trunc('year'::text,
       k.month::timestamp without time zone)::date,''::text)) g(grain, starts_on, country);

-- Appends what a statement changes in the lines of accepted quotes. Locks the quotes, so that
-- nobody changes their status before this transaction ends.
create function append_line_changes()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set enable_seqscan to 'off'
as $$
declare
  quote_ids bigint[];
  accepted_ids bigint[];
  appended bigint;
begin
  if tg_op = 'INSERT' then
    quote_ids := array(select quote_id from new_rows);
  elsif tg_op = 'DELETE' then
    quote_ids := array(select quote_id from old_rows);
  else
    quote_ids := array(select quote_id from new_rows union select quote_id from old_rows);
  end if;
  if not exists (
    select from quotes where id = any (quote_ids)
    and (status = 'accepted' or xmin <> pg_current_xact_id()::xid)
  ) then
    return null;
  end if;
  perform from quotes
  where id = any (quote_ids) and xmin <> pg_current_xact_id()::xid
  order by id for no key update;
  accepted_ids := array(
    select id from quotes where id = any (quote_ids) and status = 'accepted'
  );
  if accepted_ids = '{}' then
    return null;
  end if;
  execute case tg_op
    when 'INSERT' then $insert$insert into product_figures_unfolded
      (issued_in, accepted_in, country, currency, sku, lines, net, rated_net, unrated_lines)
    select * from (
      select date_trunc('month', q.issued_on::timestamp)::date as issued_in,
        date_trunc('month', coalesce(q.decided_on, q.issued_on)::timestamp)::date as accepted_in,
        coalesce(q.country, '') as country, q.currency, coalesce(l.sku, '') as sku,
        sum(1) as lines, sum(1 * l.net) as net,
        coalesce(sum(1 * l.net * q.rate), 0) as rated_net,
        coalesce(sum(1) filter (where q.rate is null), 0) as unrated_lines
      from new_rows l join (
        select id, status, country, currency, rate, issued_on, decided_on from quotes
          where id = any ($1) offset 0
      ) q on q.id = l.quote_id
      group by 1, 2, 3, 4, 5
    ) cells where lines <> 0 or net <> 0 or rated_net <> 0 or unrated_lines <> 0;$insert$
    when 'DELETE' then $delete$insert into product_figures_unfolded
      (issued_in, accepted_in, country, currency, sku, lines, net, rated_net, unrated_lines)
    select * from (
      select date_trunc('month', q.issued_on::timestamp)::date as issued_in,
        date_trunc('month', coalesce(q.decided_on, q.issued_on)::timestamp)::date as accepted_in,
        coalesce(q.country, '') as country, q.currency, coalesce(l.sku, '') as sku,
        sum(-1) as lines, sum(-1 * l.net) as net,
        coalesce(sum(-1 * l.net * q.rate), 0) as rated_net,
        coalesce(sum(-1) filter (where q.rate is null), 0) as unrated_lines
      from old_rows l join (
        select id, status, country, currency, rate, issued_on, decided_on from quotes
          where id = any ($1) offset 0
      ) q on q.id = l.quote_id
      group by 1, 2, 3, 4, 5
    ) cells where lines <> 0 or net <> 0 or rated_net <> 0 or unrated_lines <> 0;$delete$
    else $update$insert into product_figures_unfolded
      (issued_in, accepted_in, country, currency, sku, lines, net, rated_net, unrated_lines)
    select * from (
      select date_trunc('month', q.issued_on::timestamp)::date as issued_in,
        date_trunc('month', coalesce(q.decided_on, q.issued_on)::timestamp)::date as accepted_in,
        coalesce(q.country, '') as country, q.currency, coalesce(l.sku, '') as sku,
        sum(l.sign) as lines, sum(l.sign * l.net) as net,
        coalesce(sum(l.sign * l.net * q.rate), 0) as rated_net,
        coalesce(sum(l.sign) filter (where q.rate is null), 0) as unrated_lines
      from (
        select 1 as sign, quote_id, sku, net from new_rows
        union all
        select -1, quote_id, sku, net from old_rows
      ) l join (
        select id, status, country, currency, rate, issued_on, decided_on from quotes
          where id = any ($1) offset 0
      ) q on q.id = l.quote_id
      group by 1, 2, 3, 4, 5
    ) cells where lines <> 0 or net <> 0 or rated_net <> 0 or unrated_lines <> 0;$update$
  end using accepted_ids;
  get diagnostics appended = row_count;
  if appended > 0 then
    insert into quote_changes (sign) values (0);
  end if;
  return null;
end $$;

-- Appends what logical replication changes, which fires no triggers for statements.
create function append_replicated_line()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set enable_seqscan to 'off'
as $$
begin
  insert into product_figures_unfolded
    (issued_in, accepted_in, country, currency, sku, lines, net, rated_net, unrated_lines)
    select * from (
      select date_trunc('month', q.issued_on::timestamp)::date as issued_in,
        date_trunc('month', coalesce(q.decided_on, q.issued_on)::timestamp)::date as accepted_in,
        coalesce(q.country, '') as country, q.currency, coalesce(l.sku, '') as sku,
        sum(l.sign) as lines, sum(l.sign * l.net) as net,
        coalesce(sum(l.sign * l.net * q.rate), 0) as rated_net,
        coalesce(sum(l.sign) filter (where q.rate is null), 0) as unrated_lines
      from (
        values (1, new.quote_id, new.sku, new.net), (-1, old.quote_id, old.sku, old.net)
      ) l (sign, quote_id, sku, net) cross join lateral (
        select status, country, currency, rate, issued_on, decided_on from quotes
          where id = l.quote_id offset 0
      ) q where q.status = 'accepted'
      group by 1, 2, 3, 4, 5
    ) cells where lines <> 0 or net <> 0 or rated_net <> 0 or unrated_lines <> 0;
  if found then
    insert into quote_changes (sign) values (0);
  end if;
  return null;
end $$;

-- Subtracts the lines of an accepted quote before they are deleted with it.
create function subtract_lines_of_quote()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set enable_seqscan to 'off'
as $$
begin
  insert into product_figures_unfolded
    (issued_in, accepted_in, country, currency, sku, lines, net, rated_net, unrated_lines)
    select * from (
      select date_trunc('month', q.issued_on::timestamp)::date as issued_in,
        date_trunc('month', coalesce(q.decided_on, q.issued_on)::timestamp)::date as accepted_in,
        coalesce(q.country, '') as country, q.currency, coalesce(l.sku, '') as sku,
        sum(-1) as lines, sum(-1 * l.net) as net,
        coalesce(sum(-1 * l.net * q.rate), 0) as rated_net,
        coalesce(sum(-1) filter (where q.rate is null), 0) as unrated_lines
      from (select old.id, old.status, old.country, old.currency, old.rate, old.issued_on,
        old.decided_on) q cross join lateral (
        select sku, net from quote_lines where quote_id = q.id offset 0
      ) l
      group by 1, 2, 3, 4, 5
    ) cells where lines <> 0 or net <> 0 or rated_net <> 0 or unrated_lines <> 0;
  return old;
end $$;

-- Empties the figures by product when lines are truncated.
create function empty_product_figures()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
begin
  if exists (select from product_figures) or exists (select from product_figures_unfolded)
    or exists (select from quote_changes where lines is not null) then
    perform pg_advisory_xact_lock(hashtextextended('trade-quoting-service fold', 0));
    delete from product_figures;
    delete from product_figures_unfolded;
    update quote_changes set lines = null where lines is not null;
    update quote_summary set generation = gen_random_uuid();
  end if;
  return null;
end $$;

-- customer_figures computed from the quotes that count between two days.
create function customer_figures_from_quotes(first_day date, last_day date)
 returns table(grain text, date_kind text, starts_on date, country text, currency text,
   customer_id bigint, quotes bigint, accepted bigint, base_net numeric, unconverted bigint)
 language sql
 stable
as $$
select * from (
  select g.grain, f.date_kind, g.starts_on, f.country, f.currency, coalesce(s.customer_id, 0),
    coalesce(sum(c.quotes), 0) as quotes,
    coalesce(sum(c.accepted), 0) as accepted,
    coalesce(sum(c.base_net) filter (where c.base_net is not null), 0) as base_net,
    coalesce(sum(c.unconverted), 0) as unconverted
  from quotes_between(first_day, last_day) s cross join quote_summary b cross
    join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
    s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits) f
  cross join lateral (
    select coalesce(f.drafts, f.sent, f.accepted, f.rejected, f.expired) as quotes, f.accepted,
      f.base_net, f.unconverted
  ) c cross join lateral (values ('month', date_trunc('month', f.day::timestamp)::date),
    ('year', date_trunc('year', date_trunc('month', f.day::timestamp)::date::timestamp)::date))
    g (grain, starts_on)
  group by 1, 2, 3, 4, 5, 6
) cells where quotes <> 0 or accepted <> 0 or base_net <> 0 or unconverted <> 0 $$;

-- product_figures computed from the lines of the quotes that count between two days.
create function product_figures_from_quotes(first_day date, last_day date)
 returns table(grain text, date_kind text, country text, starts_on date, currency text, sku text,
   lines bigint, net numeric, rated_net numeric, unrated_lines bigint)
 language sql
 stable
as $$
  with lines as materialized (
    select * from (
      select date_trunc('month', q.issued_on::timestamp)::date as issued_in,
        date_trunc('month', coalesce(q.decided_on, q.issued_on)::timestamp)::date as accepted_in,
        coalesce(q.country, '') as country, q.currency, coalesce(l.sku, '') as sku,
        sum(1) as lines, sum(1 * l.net) as net,
        coalesce(sum(1 * l.net * q.rate), 0) as rated_net,
        coalesce(sum(1) filter (where q.rate is null), 0) as unrated_lines
      from quotes_between(first_day, last_day) q
      join quote_lines l on l.quote_id = q.id
      where q.status = 'accepted'
      group by 1, 2, 3, 4, 5
    ) cells where lines <> 0 or net <> 0 or rated_net <> 0 or unrated_lines <> 0)
  select g.grain, k.date_kind, g.country, g.starts_on, d.currency, d.sku,
    sum(d.lines), sum(d.net), sum(d.rated_net), sum(d.unrated_lines)
  from lines d cross join lateral (
    values ('issued', d.issued_in), ('accepted', d.accepted_in)
  ) k (date_kind, month) cross join lateral (values
    ('month', k.month, d.country),
    ('month_total', k.month, ''),
    ('year', date_trunc('year', k.month::timestamp)::date, d.country),
    ('year_total', date_trunc('year', k.month::timestamp)::date, '')
  ) g (grain, starts_on, country)
  group by 1, 2, 3, 4, 5, 6
$$;

-- Figures by customer of single days, by one kind of date.
create function customer_figures_between(kind text, first_day date, last_day date)
 returns table(country text, currency text, customer_id bigint, quotes bigint, accepted bigint,
   base_net numeric, unconverted bigint)
 language sql
 stable security definer
 set search_path to 'public', 'pg_temp'
as $$
  select f.country, f.currency, coalesce(s.customer_id, 0),
    coalesce(c.quotes, 0), coalesce(c.accepted, 0), coalesce(c.base_net, 0),
      coalesce(c.unconverted, 0)
  from quotes_between(first_day, last_day) s cross join quote_summary b cross
    join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
    s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits) f
cross join lateral (
  select coalesce(f.drafts, f.sent, f.accepted, f.rejected, f.expired) as quotes, f.accepted,
    f.base_net, f.unconverted
) c
  where f.date_kind = kind and f.day between first_day and last_day
$$;
revoke execute on function customer_figures_between(text,date,date) from public;

-- Figures by SKU of single days, by one kind of date.
create function product_figures_between(kind text, first_day date, last_day date)
 returns table(country text, currency text, sku text, lines bigint, net numeric, rated_net numeric,
   unrated_lines bigint)
 language sql
 stable security definer
 set search_path to 'public', 'pg_temp'
as $$
  select coalesce(q.country, ''), q.currency, coalesce(l.sku, ''),
    coalesce(c.lines, 0), coalesce(c.net, 0), coalesce(c.rated_net, 0), coalesce(c.unrated_lines, 0)
  from quotes_between(first_day, last_day) q cross join lateral (
        select sku, net from quote_lines where quote_id = q.id offset 0
      ) l cross join lateral (
    select 1 as lines, l.net, l.net * q.rate as rated_net,
      case when q.rate is null then 1 end as unrated_lines
  ) c
  where q.status = 'accepted' and case kind
      when 'issued' then q.issued_on else coalesce(q.decided_on, q.issued_on)
    end between first_day and last_day
$$;
revoke execute on function product_figures_between(text,date,date) from public;

-- Selects nothing. Whoever locks it locks the tables of which figures by customer and product read
-- single days and names.
create view breakdown_sources as
 SELECT
   FROM customers,
    quotes,
    quote_lines
  WHERE false;

-- Changes the version of the summary if a name of a customer changes.
create function note_customer_names()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
begin
  insert into quote_changes (sign) select 0 where exists (
    select from new_rows n full join old_rows o on o.id = n.id
    where n.name is distinct from o.name
  );
  return null;
end $$;

-- Changes the version of the summary if the name of a SKU may change.
create function note_product_names()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
begin
  if tg_op = 'INSERT' then
    insert into quote_changes (sign) select 0 where exists (select from new_rows);
  elsif tg_op = 'DELETE' then
    insert into quote_changes (sign) select 0 where exists (select from old_rows);
  else
    insert into quote_changes (sign) select 0 where exists (
      select from new_rows n full join old_rows o on o.id = n.id
      where (n.sku, n.name) is distinct from (o.sku, o.name)
    );
  end if;
  return null;
end $$;

-- Changes the version of the summary.
create function note_changed_name()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
begin
  insert into quote_changes (sign) values (0);
  return null;
end $$;

-- -------------------------------------------------------------------------------------------------
-- Search index
-- -------------------------------------------------------------------------------------------------

-- The registered search indexes, which indexers keep in sync. Each has its own rows in
-- index_outbox.
create table search_indexes (
  registration_name      text         not null,
  indexed_at             timestamptz,
  version                bigint       not null default 0,
  shape                  text,
  last_task_uid          bigint,
  rebuild_requested_at   timestamptz,
  index_name             text,
  registered_in          xid8,
  database_identity      text,
  last_task_enqueued_at  text,
  is_writing             boolean      not null default true,
  settled_snapshot       pg_snapshot  not null default '1:1:'::pg_snapshot,
  pending                integer      not null default 0,
  used_at                timestamptz  not null default now(),
  synonyms_version       text,
  has_several_servers    boolean      not null default false,
  constraint search_indexes_pkey primary key (registration_name),
  constraint search_indexes_registration_name_check check (registration_name ~ '^[a-z0-9_-]{1,60}$')
);

-- Outbox: changed products that an index does not contain yet. Triggers write it and the indexer
-- deletes the rows.
create table index_outbox (
  id                 bigint  not null generated always as identity,
  registration_name  text    not null,
  product_id         bigint,
  xid                xid8    not null default pg_current_xact_id(),
  constraint index_outbox_pkey primary key (id)
);
create index index_outbox_order on index_outbox using btree (registration_name, xid, id);

-- Dead letters: products whose document Meilisearch rejected. A change of the product tries again.
create table index_parked_documents (
  registration_name  text         not null,
  product_id         bigint       not null,
  reason             text         not null,
  parked_at          timestamptz  not null default now(),
  constraint index_parked_documents_pkey primary key (registration_name, product_id)
);

-- The indexer that works on an index. One indexer holds the lease, and the others stand by.
create table index_leases (
  registration_name  text         not null,
  fencing_token      bigint       not null,
  holder             text,
  held_until         timestamptz,
  constraint index_leases_pkey primary key (registration_name),
  constraint index_leases_registration_name_fkey foreign key (registration_name)
    references search_indexes(registration_name) on delete cascade
);

create function queue_product_changes()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set enable_nestloop to 'off'
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
end $$;

-- Only for the older release, which calls search_indexes so. Do not use it.
create view search_engines as
 SELECT registration_name AS name,
    indexed_at,
    version,
    shape,
    last_task_uid AS last_task,
    rebuild_requested_at AS rebuild_asked_at,
    index_name,
    registered_in,
    database_identity,
    last_task_enqueued_at AS last_task_at,
    is_writing,
    settled_snapshot,
    pending,
    used_at,
    synonyms_version AS words,
    has_several_servers
   FROM search_indexes;

-- Only for the older release, which calls index_outbox so. Do not use it.
create view product_changes as
 SELECT id,
    registration_name AS engine,
    product_id,
    xid
   FROM index_outbox;

-- Only for the older release, which calls index_parked_documents so. Do not use it.
create view parked_documents as
 SELECT registration_name AS engine,
    product_id,
    reason,
    parked_at
   FROM index_parked_documents;

-- Only for the older release, which calls index_leases so. Do not use it.
create view indexer_leases as
 SELECT registration_name AS engine,
    fencing_token AS fence,
    holder,
    held_until
   FROM index_leases;

create function database_identity()
 returns text
 language sql
 stable security definer
 set search_path to 'pg_catalog', 'public', 'pg_temp'
as $$
  select concat_ws('/', system_identifier,
    left(pg_walfile_name(pg_current_wal_lsn()), 8),
    (select oid from pg_database where datname = current_database()),
    'products'::regclass::oid)
  from pg_control_system()
$$;

-- Returns whether a transaction is still running that began before this one.
create function has_older_transaction(than xid8)
 returns boolean
 language sql
 security definer
 set search_path to 'pg_catalog', 'pg_temp'
begin atomic
 select (exists ( select
            from pg_stat_activity
           where ((pg_stat_activity.datname = current_database())
             and (pg_stat_activity.backend_type = 'client backend')
             and (pg_stat_activity.pid <> pg_backend_pid())
             and (greatest(age(pg_stat_activity.backend_xid), age(pg_stat_activity.backend_xmin)) >=
             age((has_older_transaction.than)::xid))))) as "exists";
end;
revoke execute on function has_older_transaction(xid8) from public;

-- -------------------------------------------------------------------------------------------------
-- API keys
-- -------------------------------------------------------------------------------------------------

-- API keys of callers. A key is tqs_<id>_<secret> (secret) or tqp_<id>_<secret> (publishable).
create table api_keys (
  id            text         not null,
  kind          text         not null,
  name          text         not null,
  secret_hash   bytea        not null,
  scopes        text[]       not null,
  origins       text[]       not null default '{}'::text[],
  unlimited     boolean      not null default false,
  created_at    timestamptz  not null default now(),
  expires_at    timestamptz,
  revoked_at    timestamptz,
  limit_factor  numeric,
  last_used_at  timestamptz,
  successor_id  text,
  constraint api_keys_pkey primary key (id),
  constraint api_keys_successor_id_fkey foreign key (successor_id) references api_keys(id)
    on delete set null,
  constraint api_keys_id_check check (id ~ '^[0-9a-z]{12}$'),
  constraint api_keys_kind_check check (kind = any (array['secret', 'publishable'])),
  constraint api_keys_limit_factor_check check
    (limit_factor > 0::numeric and limit_factor <= 1000::numeric),
  constraint api_keys_name_check check (btrim(name) <> '' and length(name) <= 200),
  constraint api_keys_publishable_is_narrow check
    (kind = 'secret' or scopes = array['search:read'] and cardinality(origins) > 0),
  constraint api_keys_scopes_check check
    (cardinality(scopes) > 0 and scopes <@ array['search:read', 'stats:read', 'stats:detail']),
  constraint api_keys_secret_hash_check check (octet_length(secret_hash) = 32)
);
create trigger durable_revocation before delete or update of revoked_at, expires_at on api_keys
  for each statement execute function require_durable_revocation();

-- Requests by API key and day. The API adds to it, as best effort.
create table api_key_usage (
  key_id         text    not null,
  day            date    not null,
  calls          bigint  not null,
  refusals       bigint  not null,
  wrong_secrets  bigint  not null default 0,
  constraint api_key_usage_pkey primary key (key_id, day),
  constraint api_key_usage_key_id_fkey foreign key (key_id) references api_keys(id)
    on delete cascade,
  constraint api_key_usage_calls_check check (calls >= 0),
  constraint api_key_usage_refusals_are_calls check (refusals >= 0 and refusals <= calls),
  constraint api_key_usage_wrong_secrets_check check (wrong_secrets >= 0)
);
