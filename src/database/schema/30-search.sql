-- Search in PostgreSQL, which answers while Meilisearch does not: what a product is found by.
create extension if not exists pg_trgm;

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

-- These functions are written in PL/pgSQL because it keeps the plans of nested functions, which SQL
-- functions make anew for each row. A restore calls the last one, with an empty search path.

-- A text in lower case, without accents and invisible characters. Hiragana stands for katakana.
create function fold_text(value text) returns text
language plpgsql immutable parallel safe strict as $$
begin
  if octet_length(value) = length(value) then return lower(value); end if;
  value := translate(value, '™®©ºª°', '      ');
  value := regexp_replace(
    value, '[\u00ad\u200c-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]', '', 'g'
  );
  -- "2½" is "2 1/2".
  value := regexp_replace(value, '([\u00bc-\u00be\u2150-\u215e])', ' \1 ', 'g');
  value := regexp_replace(normalize(value, nfkd), '[\u0300-\u036f\u3099\u309a]', '', 'g');
  value := lower(normalize(value, nfc) collate every_script);
  value := replace(replace(replace(replace(
    value, 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th');
  return translate(
    value,
    'łđðøħıŋŧςґァアィイゥウェエォオカキクケコサシスセソタチッツテトナニヌネノハヒフヘホマミムメモャヤュユョヨラリルレロヮワヰヱヲンヵヶ',
    'lddohintσгぁあぃいぅうぇえぉおかきくけこさしすせそたちっつてとなにぬねのはひふへほまみむめもゃやゅゆょよらりるれろゎわゐゑをんゕゖ'
  );
end $$;

-- The maximal runs of letters or digits, in their order. A character of a script without blanks
-- is a run, and an x between numbers is none.
create function search_atoms(value text) returns text[]
language plpgsql immutable parallel safe strict as $$
begin
  value := fold_text(value);
  value := regexp_replace(value, '([0-9])\s*[x×*]\s*(?=[.,]?[0-9])', '\1 ', 'g');
  if octet_length(value) > length(value) then
    value := regexp_replace(
      value, '([\u2e80-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff])', ' \1 ', 'g'
    );
  end if;
  return array(
    select left(atom[1], 100)
    from regexp_matches(value collate every_script, '[0-9]+|[[:alpha:]]+', 'g') as atom
  );
end $$;

-- What a text is found by: its atoms, neighbours of which one is a number or of a script without
-- blanks ("m8", "8/45"), and words joined by a sign, written together ("oring").
create function search_lexemes(value text) returns text[]
language plpgsql immutable parallel safe strict as $$
declare
  atoms constant text[] := search_atoms(value);
  lexemes text[] := atoms;
  previous text collate "C";
  atom text collate "C";
begin
  foreach atom in array atoms loop
    -- In this collation digits are before ":".
    if previous < ':' and atom < ':' then
      lexemes := lexemes || (previous || '/' || atom);
    elsif previous < ':' or (previous is not null and atom < ':')
      or (previous >= E'\u2e80' and atom >= E'\u2e80') then
      lexemes := lexemes || (previous || atom);
    end if;
    previous := atom;
  end loop;
  if value ~ '[-''.&/]' then
    value := fold_text(value);
    lexemes := lexemes || array(
      select left(regexp_replace(joined[1], '[^[:alpha:]]', '', 'g'), 100)
      from regexp_matches(
        value collate every_script, '[[:alpha:]]+(?:[-''.&/][[:alpha:]]+)+', 'g'
      ) as joined
    );
  end if;
  return lexemes;
end $$;

-- The lexemes of a product. A is the name, B the brand, C the category, D the rest.
create function search_document(
  name text, brand text, category text, sku text, description text, supplier text
) returns tsvector
language plpgsql immutable parallel safe set search_path = pg_catalog, public as $$
begin
  return concat_ws(
    ' ',
    nullif(array_to_string(search_lexemes(name), ':1A '), '') || ':1A',
    nullif(array_to_string(search_lexemes(brand), ':1B '), '') || ':1B',
    nullif(array_to_string(search_lexemes(category), ':1C '), '') || ':1C',
    nullif(array_to_string(search_lexemes(sku), ':1 '), '') || ':1',
    nullif(array_to_string(search_lexemes(left(description, 1000)), ':1 '), '') || ':1',
    nullif(array_to_string(search_lexemes(supplier), ':1 '), '') || ':1'
  )::tsvector;
end $$;

-- search_document is what the words and codes of a query are compared with. sku_key is the SKU
-- without case and separators, or only they if it has nothing else.
alter table products
  add column search_document tsvector
    generated always as (
      search_document(name, brand, category, sku, description, supplier)
    ) stored,
  add column sku_key text generated always as (code_key(sku)) stored;

create index products_brand_filter on products (filter_key(brand)) where active;
create index products_category_filter on products (filter_key(category)) where active;
create index products_code_key on products (sku_key text_pattern_ops) where active;
create index products_hs_code on products (hs_code text_pattern_ops) where active
  and hs_code is not null;
create index products_name on products (name, id) where active;
create index products_supplier_filter on products (filter_key(supplier)) where active;
create index products_search_document on products using gin (search_document) where active;
create index products_sku_key_trigrams on products using gin (sku_key gin_trgm_ops) where active;

-- The words that products have, by which typos are corrected.
create table product_words (
  -- At least three letters, folded.
  word text not null,
  -- About how many products have it.
  products integer not null
);
create index product_words_word on product_words (word text_pattern_ops);
create index product_words_trigrams on product_words using gin (word gin_trgm_ops);

-- Adds new words at once. Does not wait for others: a word may be there twice.
create function note_product_words() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  insert into product_words (word, products)
  select word, products from (
    select lexeme as word, count(*) as products
    from new_rows cross join unnest(search_document)
    where lexeme ~ '^[[:alpha:]]{3,40}$' collate every_script
    group by lexeme
  ) as found
  where not exists (select from product_words as known where known.word = found.word);
  return null;
end $$;
create trigger note_inserted_words after insert on products referencing new table as new_rows
  for each statement execute function note_product_words();
create trigger note_updated_words after update on products referencing new table as new_rows
  for each statement execute function note_product_words();

-- Counts the words anew, and deletes those that no product has any more.
create function refresh_product_words() returns void
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  with counted as materialized (
    select lexeme as word, count(*)::int as products
    from products cross join unnest(search_document)
    where active and lexeme ~ '^[[:alpha:]]{3,40}$' collate every_script
    group by lexeme
  ), deleted as (
    delete from product_words as old
    where not exists (
      select from counted where counted.word = old.word and counted.products = old.products
    )
    returning word
  )
  insert into product_words (word, products)
  select word, products from counted
  where not exists (
    select from product_words as old
    where old.word = counted.word and old.products = counted.products
  );
$$;
revoke execute on function refresh_product_words() from public;

-- The known words that have most trigrams of a typed one.
create function similar_words(typed text) returns table (word text, products integer)
language sql stable strict parallel safe
set pg_trgm.similarity_threshold = 0.22
begin atomic
  select w.word, max(w.products) from product_words as w
  where w.word % typed and abs(length(w.word) - length(typed)) <= 3
  group by w.word
  order by similarity(w.word, typed) desc, 2 desc limit 40;
end;
