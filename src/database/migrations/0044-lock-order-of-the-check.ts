// Lets the check of the summary lock the quotes first, as a truncate does. It read quote_summary
// first, and a truncate of the quotes at the same time was a deadlock.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function run_summary_check(
      checked_month date, out found_rows text[], out is_news boolean
    )
    language plpgsql security definer set search_path = public, pg_temp
    set max_parallel_workers_per_gather = 0 set jit = off
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
    end $$
  `.execute(db)
}
