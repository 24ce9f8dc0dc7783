-- What people search for.

-- How many searches somebody stayed on, by day.
create table search_report_days (
  -- The day in UTC.
  day date primary key,
  -- Searches, as best effort.
  searches bigint not null,
  -- Those of them that found nothing.
  without_result bigint not null,
  constraint search_report_days_part check (without_result between 0 and searches)
);

-- Texts of searches. A text is null until five callers have searched for it.
create table search_report_texts (
  -- Generated.
  id bigint generated always as identity primary key,
  -- query: a whole query. word: a word that no product has.
  kind text not null check (kind in ('query', 'word')),
  -- A keyed hash. The key is not in the database.
  text_hash bytea not null,
  -- Keyed hashes of at most five callers, different for each text. Empty if the text is known.
  callers bytea[] not null,
  -- The text, folded. Null: fewer than five callers.
  text text,
  -- The day of the last search for it.
  last_day date not null,
  constraint search_report_texts_identity unique (kind, text_hash),
  constraint search_report_texts_callers check
    (cardinality(callers) <= 5 and (text is null or callers = '{}'))
);
create index search_report_texts_unknown on search_report_texts (last_day) where text is null;

-- How often each text was searched for, by day.
create table search_report_counts (
  -- The day in UTC.
  day date not null,
  -- The text.
  text_id bigint not null references search_report_texts on delete cascade,
  -- Searches, as best effort.
  searches bigint not null,
  -- Those of them that found nothing.
  without_result bigint not null,
  primary key (day, text_id),
  constraint search_report_counts_part check (without_result between 0 and searches)
);
create index search_report_counts_text on search_report_counts (text_id);

-- Deletes what the search report no longer keeps.
create function purge_search_report() returns bigint
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
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
