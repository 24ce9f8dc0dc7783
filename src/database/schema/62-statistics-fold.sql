-- Folding: adds the ledger to the summary, which then is the statistics of one instant.

-- Folds at most about so many rows of the ledger and lines in them; null: all. Returns null when
-- everything is folded that was committed when the transaction began to fold, or if another one is
-- folding. Otherwise returns the snapshot to continue with, in the same transaction, which must not
-- be committed before.
create function fold_statistics(batch integer default null, inout through pg_snapshot default null)
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off
  set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  changes quote_changes[];
  figures figure_tables;
  empty_cells tid[];
begin
  if through is null then
    lock table quotes, quote_lines in access share mode;
    if not pg_try_advisory_xact_lock(fold_lock()) or not is_fold_due() then return; end if;
    -- The quotes that lapsed must be those of the same snapshot as the changes that are folded: a
    -- quote that is accepted later is still open in the summary when its change is folded.
    with lapsed as (
      insert into quote_changes (sign, quote)
      select v.sign, row(v.status, q.country, q.currency, q.rate, q.issued_on, null, null, q.net,
        q.customer_id)::quote_image
      from quotes q cross join (values (-1, 'sent'), (1, 'expired')) v (sign, status)
      where q.status = 'sent' and q.valid_until < local_today()
        and q.valid_until >= (select as_of_day from quote_summary)
    ), restored as (
      -- Another server wrote them, so their xid has no meaning here.
      update quote_changes set xid = pg_current_xact_id()
      where (select server_started_at <> pg_postmaster_start_time() from quote_summary)
    )
    select pg_current_snapshot() into through;
  end if;
  with folded as (
    delete from quote_changes c where ctid = any (array(
      select place from (
        select place, sum(1 + coalesce(cardinality(lines), 0))
          over (rows between unbounded preceding and 1 preceding) as work_before
        from (
          select place, lines from unfolded_changes
          where pg_visible_in_snapshot(xid, through) or xid = pg_current_xact_id()
          limit batch
        ) waiting
      ) counted
      where batch is null or coalesce(work_before, 0) < batch
    ))
    returning c
  )
  select array_agg(c) into changes from folded;

  for figures in select * from figure_tables loop
    continue when figures.relation = 'product_figures'::regclass
      and not exists (select from unnest(changes) where lines is not null);
    execute format('with added as (
        insert into %s as f %s order by %3$s on conflict (%3$s) do update set %4$s
        returning f.ctid as place, %5$s as is_empty
      ) select array_agg(place) from added where is_empty', figures.relation,
      format(figures.cells, format(figures.parts, 'unnest($1)')), figures.key, figures.additions,
      figures.is_empty)
    into empty_cells using changes;
    if empty_cells is not null then
      execute format('delete from %s where ctid = any ($1)', figures.relation) using empty_cells;
    end if;
  end loop;

  if batch is not null and exists (
    select from unfolded_changes
    where pg_visible_in_snapshot(xid, through) or xid = pg_current_xact_id()
  ) then
    return;
  end if;
  update quote_summary set version = version + 1, folded_at = now(),
    as_of_day = greatest(as_of_day, local_today()), unfolded_from = pg_snapshot_xmax(through),
    unfolded_xids = array(select pg_snapshot_xip(through)) || pg_current_xact_id(),
    server_started_at = pg_postmaster_start_time();
  through := null;
end $$;
revoke execute on function fold_statistics(integer, pg_snapshot) from public;
