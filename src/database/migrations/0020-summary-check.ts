// Lets the API compare the summary with the quotes month by month, and record what differs.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  await run(`
    create table summary_check (
      the_only_row boolean primary key default true check (the_only_row),
      claimed_at timestamptz not null default '-infinity',
      claimed_month date not null default 'infinity',
      completed_at timestamptz not null default now()
    )
  `)
  await run('insert into summary_check default values')
  await run(`
    create table summary_differences (
      month date primary key,
      generation uuid not null,
      found_at timestamptz not null default now(),
      different_rows text[] not null
    )
  `)
  // Each value is at the end of an index. Quotes are read too, because the summary may lack the
  // rows of a whole month.
  await run(`
    create function newest_month_before(day date) returns date
    language sql stable
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
    $$
  `)
  // A second caller waits for the row, and then sees the claim of the first. A claim needs no
  // release: after the pause it no longer counts, whatever became of the process.
  await run(`
    create function claim_summary_check(pause interval) returns date
    language sql security definer set search_path = public, pg_temp
    as $$
      update summary_check set claimed_at = now(), claimed_month = coalesce(
        newest_month_before(claimed_month),
        newest_month_before('infinity'),
        date_trunc('month', now()::timestamp)::date
      )
      where claimed_at <= now() - pause
      returning claimed_month
    $$
  `)
  await run(`
    create function run_summary_check(
      checked_month date, out found_rows text[], out is_news boolean
    )
    language plpgsql security definer set search_path = public, pg_temp
    set max_parallel_workers_per_gather = 0 set jit = off
    as $$
    declare
      -- Read before the comparison: if a rebuild ends meanwhile, its result belongs to this one.
      compared_generation uuid := (select generation from quote_summary);
    begin
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
    end $$
  `)
  for (const signature of [
    'newest_month_before(date)',
    'claim_summary_check(interval)',
    'run_summary_check(date)',
  ])
    await run(`revoke execute on function ${signature} from public`)
  for (const [object, comment] of comments)
    await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
}

const comments: [object: string, comment: string][] = [
  [
    'table summary_check',
    'The comparison of the summary with the quotes that the API makes in the background.',
  ],
  ['column summary_check.the_only_row', 'Always true, so that only one row can exist.'],
  ['column summary_check.claimed_at', 'When a process last began to compare a month.'],
  [
    'column summary_check.claimed_month',
    'The first day of that month. The next older month follows, and the newest after the oldest.',
  ],
  [
    'column summary_check.completed_at',
    'When a comparison last ended without an error. Before the first: the time of the migration.',
  ],
  ['table summary_differences', 'Months whose last comparison found a difference.'],
  ['column summary_differences.month', 'The first day of the month.'],
  [
    'column summary_differences.generation',
    'The generation of quote_summary that was compared. A later rebuild begins another.',
  ],
  ['column summary_differences.found_at', 'When the comparison first had this result.'],
  [
    'column summary_differences.different_rows',
    'Rows of the summary that differ from the quotes: table and key, at most twenty.',
  ],
  [
    'function newest_month_before',
    'The first day of the newest month before a day that has quotes, figures or a known ' +
      'difference; null if there is none.',
  ],
  [
    'function claim_summary_check',
    'Returns the month that the caller is to compare, or null if a process began to compare ' +
      'another one less than pause ago.',
  ],
  [
    'function run_summary_check',
    'Compares a month of the summary with the quotes and records the result. Returns the rows ' +
      'that differ, and whether this is another result than before.',
  ],
]
