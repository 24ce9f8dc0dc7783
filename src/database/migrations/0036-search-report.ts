// What people search for: counts by day, and texts that at least five callers have searched for.
// See docs/decisions/0027-search-report.md.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  await run(`
    create table search_report_days (
      day date primary key,
      searches bigint not null,
      without_result bigint not null,
      constraint search_report_days_part check (without_result between 0 and searches)
    );
    create table search_report_texts (
      id bigint generated always as identity primary key,
      kind text not null check (kind in ('query', 'word')),
      text_hash bytea not null,
      callers bytea[] not null,
      text text,
      last_day date not null,
      constraint search_report_texts_identity unique (kind, text_hash),
      constraint search_report_texts_callers check (
        cardinality(callers) <= 5 and (text is null or callers = '{}')
      )
    );
    create index search_report_texts_unknown on search_report_texts (last_day) where text is null;
    create table search_report_counts (
      day date not null,
      text_id bigint not null references search_report_texts on delete cascade,
      searches bigint not null,
      without_result bigint not null,
      primary key (day, text_id),
      constraint search_report_counts_part check (without_result between 0 and searches)
    );
    create index search_report_counts_text on search_report_counts (text_id)
  `)
  await run(purge)
  for (const [object, comment] of Object.entries(comments))
    await run(`comment on ${object} is '${comment}'`)
}

/**
 * Texts that few callers searched for are forgotten after 30 days, and earlier if there are more
 * than 20,000 of them, those of a single caller first.
 */
const purge = `
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
  revoke execute on function purge_search_report() from public
`

const comments: Record<string, string> = {
  'table search_report_days': 'How many searches somebody stayed on, by day.',
  'column search_report_days.day': 'The day in UTC.',
  'column search_report_days.searches': 'Searches, as best effort.',
  'column search_report_days.without_result': 'Those of them that found nothing.',
  'table search_report_texts':
    'Texts of searches. A text is null until five callers have searched for it.',
  'column search_report_texts.id': 'Generated.',
  'column search_report_texts.kind': 'query: a whole query. word: a word that no product has.',
  'column search_report_texts.text_hash': 'A keyed hash. The key is not in the database.',
  'column search_report_texts.callers':
    'Keyed hashes of at most five callers, different for each text. Empty if the text is known.',
  'column search_report_texts.text': 'The text, folded. Null: fewer than five callers.',
  'column search_report_texts.last_day': 'The day of the last search for it.',
  'table search_report_counts': 'How often each text was searched for, by day.',
  'column search_report_counts.day': 'The day in UTC.',
  'column search_report_counts.text_id': 'The text.',
  'column search_report_counts.searches': 'Searches, as best effort.',
  'column search_report_counts.without_result': 'Those of them that found nothing.',
  'function purge_search_report()': 'Deletes what the search report no longer keeps.',
}
