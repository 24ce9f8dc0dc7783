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

-- How often each text was searched for, by day. Only texts that five callers have searched for.
create table search_report_counts (
  -- query: a whole query. word: a word that no product has.
  kind text not null check (kind in ('query', 'word')),
  -- The text, folded.
  text text not null,
  -- The day in UTC.
  day date not null,
  -- Searches, as best effort.
  searches bigint not null,
  -- Those of them that found nothing.
  without_result bigint not null,
  primary key (kind, text, day),
  constraint search_report_counts_part check (without_result between 0 and searches)
);
create index search_report_counts_day on search_report_counts (day);

-- Deletes counts after 90 days.
create function purge_search_report() returns void
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  delete from search_report_counts where day <= (now() at time zone 'UTC')::date - 90;
  delete from search_report_days where day <= (now() at time zone 'UTC')::date - 90;
$$;
revoke execute on function purge_search_report() from public;
