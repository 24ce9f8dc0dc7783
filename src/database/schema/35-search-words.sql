-- The words of search that the company owns.

-- Words and phrases that mean the same to search.
create table search_synonyms (
  -- A word or phrase, in lower case. It identifies the row.
  word text primary key,
  -- What else a search for the word finds.
  synonyms text[] not null,
  -- Whether each of the words also finds all the others.
  two_way boolean not null default true
);

-- The products that come first for a query.
create table search_pins (
  -- The whole text of the query, in lower case.
  query text primary key,
  -- The SKUs of the products, in the order in which they are shown.
  skus text[] not null
);

-- Words for which search behaves as if it did not know them.
create table search_hidden_words (
  -- The word, in lower case; * for all built-in synonyms.
  word text primary key,
  -- synonyms: the built-in synonyms of the word. word: search ignores the word beside others.
  hides text not null default 'synonyms' check (hides in ('synonyms', 'word'))
);

-- Changes with the three tables of words. Triggers write it.
create table search_words_version (
  the_only_row boolean primary key default true check (the_only_row),
  -- A random value for each state of the tables.
  version uuid not null default gen_random_uuid()
);

insert into search_words_version default values;

-- A text in lower case with single blanks, as words are stored.
create function search_phrase(value text) returns text
language sql immutable parallel safe strict
return lower(normalize(btrim(regexp_replace(value, '\s+', ' ', 'g')), nfc));

-- Rejects a word or phrase that search cannot use.
create function check_search_phrase(phrase text) returns void
language plpgsql immutable as $$
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

create function prepare_search_synonyms() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
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
create trigger prepare before insert or update on search_synonyms
  for each row execute function prepare_search_synonyms();

create function prepare_search_pins() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
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
create trigger prepare before insert or update on search_pins
  for each row execute function prepare_search_pins();

create function prepare_search_hidden_word() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  new.word := search_phrase(new.word);
  perform check_search_phrase(new.word);
  if new.word = '*' and new.hides <> 'synonyms' then
    raise exception 'The word * stands for all built-in synonyms: it can only hide synonyms.'
      using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger prepare before insert or update on search_hidden_words
  for each row execute function prepare_search_hidden_word();

-- Gives the three tables a new version, and limits their size.
create function change_search_words_version() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
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
create trigger change_version after insert or delete or update or truncate on search_hidden_words
  for each statement execute function change_search_words_version();
create trigger change_version after insert or delete or update or truncate on search_pins
  for each statement execute function change_search_words_version();
create trigger change_version after insert or delete or update or truncate on search_synonyms
  for each statement execute function change_search_words_version();
