// The company's own words for search: synonyms, pinned products and hidden words. See
// docs/decisions/0026-words-of-the-company.md.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  await run(`
    create table search_synonyms (
      word text primary key,
      synonyms text[] not null,
      two_way boolean not null default true
    );
    create table search_pins (
      query text primary key,
      skus text[] not null
    );
    create table search_hidden_words (
      word text primary key,
      hides text not null default 'synonyms' check (hides in ('synonyms', 'word'))
    );
    create table search_words_version (
      the_only_row boolean primary key default true check (the_only_row),
      version uuid not null default gen_random_uuid()
    );
    insert into search_words_version default values;
    alter table search_engines add column words text
  `)
  await run(`
    create function search_phrase(value text) returns text
    language sql immutable strict parallel safe
    return lower(normalize(btrim(regexp_replace(value, '\\s+', ' ', 'g')), nfc))
  `)
  await run(checkPhrase)
  await run(prepareSynonyms)
  await run(preparePins)
  await run(prepareHiddenWord)
  await run(changeVersion)
  for (const [table, prepare] of Object.entries(tables)) {
    await run(`
      create trigger prepare before insert or update on ${table}
      for each row execute function ${prepare}()
    `)
    await run(`
      create trigger change_version after insert or update or delete or truncate on ${table}
      for each statement execute function change_search_words_version()
    `)
  }
  for (const [object, comment] of Object.entries(comments))
    await run(`comment on ${object} is '${comment}'`)
}

/** The tables of words, and the trigger function that checks and normalises their rows. */
const tables = {
  search_synonyms: 'prepare_search_synonyms',
  search_pins: 'prepare_search_pins',
  search_hidden_words: 'prepare_search_hidden_word',
}

/** The importer checks the same, and more, with the line of the file (src/words/word-rules.ts). */
const checkPhrase = `
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
  end $$
`

const prepareSynonyms = `
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
  end $$
`

const preparePins = `
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
  end $$
`

const prepareHiddenWord = `
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
  end $$
`

/**
 * Limits how many words there are, because every search pays for each of them, and gives them a
 * new version. The version is random: a restored database never has the version of other words.
 */
const changeVersion = `
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
  end $$
`

const comments: Record<string, string> = {
  'table search_synonyms': 'Words and phrases that mean the same to search.',
  'column search_synonyms.word': 'A word or phrase, in lower case. It identifies the row.',
  'column search_synonyms.synonyms': 'What else a search for the word finds.',
  'column search_synonyms.two_way': 'Whether each of the words also finds all the others.',
  'table search_pins': 'The products that come first for a query.',
  'column search_pins.query': 'The whole text of the query, in lower case.',
  'column search_pins.skus': 'The SKUs of the products, in the order in which they are shown.',
  'table search_hidden_words': 'Words for which search behaves as if it did not know them.',
  'column search_hidden_words.word': 'The word, in lower case; * for all built-in synonyms.',
  'column search_hidden_words.hides':
    'synonyms: the built-in synonyms of the word. word: search ignores the word beside others.',
  'table search_words_version': 'Changes with the three tables of words. Triggers write it.',
  'column search_words_version.the_only_row': 'Always true: the table has one row.',
  'column search_words_version.version': 'A random value for each state of the tables.',
  'column search_engines.words': 'Which words the index has, as the indexer applied them.',
  'function search_phrase(text)': 'A text in lower case with single blanks, as words are stored.',
}
