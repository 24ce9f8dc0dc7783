-- Folding: adds the ledger to the summary, which then is the statistics of one instant.

-- Folds at most about so many rows of the ledger and lines in them; null: all. Returns null when
-- everything is folded that was committed when the transaction began to fold, or if another one is
-- folding. Otherwise returns the snapshot to continue with, in the same transaction, which must not
-- be committed before.
create function fold_statistics(batch integer default null, inout through pg_snapshot default null)
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off
  set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  summary quote_summary;
  changes quote_changes[];
  empty_figures quote_figures[];
  empty_customers customer_figures[];
  empty_products product_figures[];
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
  select * into summary from quote_summary;

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

  with added as (
    insert into quote_figures as f
    select cell.* from add_up_figures(array(
      select part from unnest(changes) c cross join lateral quote_figures_of(
        c.quote, c.sign, summary.as_of_day, summary.base_currency, summary.base_digits) part
    )) cell
    order by grain, date_kind, starts_on, country, currency
    on conflict (grain, date_kind, starts_on, country, currency) do update set
      quotes = f.quotes + excluded.quotes, draft = f.draft + excluded.draft,
      sent = f.sent + excluded.sent, accepted = f.accepted + excluded.accepted,
      rejected = f.rejected + excluded.rejected, expired = f.expired + excluded.expired,
      open_net = f.open_net + excluded.open_net, won_net = f.won_net + excluded.won_net,
      lost_net = f.lost_net + excluded.lost_net, own_net = f.own_net + excluded.own_net,
      unconverted = f.unconverted + excluded.unconverted,
      unconverted_net = f.unconverted_net + excluded.unconverted_net,
      decided = f.decided + excluded.decided,
      decision_days = f.decision_days + excluded.decision_days,
      decision_histogram = f.decision_histogram + excluded.decision_histogram
    returning f as cell
  )
  -- In the middle of a fold, a cell without quotes may have other figures.
  select array_agg(cell) into empty_figures from added where (cell).quotes = 0
    and ((cell).draft, (cell).sent, (cell).accepted, (cell).rejected, (cell).expired,
      (cell).open_net, (cell).won_net, (cell).lost_net, (cell).own_net, (cell).unconverted,
      (cell).unconverted_net, (cell).decided, (cell).decision_days, (cell).decision_histogram)
      = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  if empty_figures is not null then
    delete from quote_figures f using unnest(empty_figures) e
    where (f.grain, f.date_kind, f.starts_on, f.country, f.currency)
      = (e.grain, e.date_kind, e.starts_on, e.country, e.currency);
  end if;

  with added as (
    insert into customer_figures as f
    select cell.* from add_up_customers(array(
      select part from unnest(changes) c cross join lateral customer_figures_of(
        c.quote, c.sign, summary.as_of_day, summary.base_currency, summary.base_digits) part
    )) cell
    order by grain, date_kind, starts_on, country, currency, customer_id
    on conflict (grain, date_kind, starts_on, country, currency, customer_id) do update set
      quotes = f.quotes + excluded.quotes, accepted = f.accepted + excluded.accepted,
      won_net = f.won_net + excluded.won_net, unconverted = f.unconverted + excluded.unconverted
    returning f as cell
  )
  select array_agg(cell) into empty_customers from added
  where ((cell).quotes, (cell).accepted, (cell).won_net, (cell).unconverted) = (0, 0, 0, 0);
  if empty_customers is not null then
    delete from customer_figures f using unnest(empty_customers) e
    where (f.grain, f.date_kind, f.starts_on, f.country, f.currency, f.customer_id)
      = (e.grain, e.date_kind, e.starts_on, e.country, e.currency, e.customer_id);
  end if;

  if exists (select from unnest(changes) where lines is not null) then
    with added as (
      insert into product_figures as f
      select cell.* from add_up_products(array(
        select part from unnest(changes) c
        cross join lateral product_figures_of(c.quote, c.lines) part
      )) cell
      order by grain, date_kind, starts_on, country, currency, sku
      on conflict (grain, date_kind, starts_on, country, currency, sku) do update set
        lines = f.lines + excluded.lines, own_net = f.own_net + excluded.own_net,
        rated_net = f.rated_net + excluded.rated_net,
        unrated_lines = f.unrated_lines + excluded.unrated_lines
      returning f as cell
    )
    select array_agg(cell) into empty_products from added
    where ((cell).lines, (cell).own_net, (cell).rated_net, (cell).unrated_lines) = (0, 0, 0, 0);
    if empty_products is not null then
      delete from product_figures f using unnest(empty_products) e
      where (f.grain, f.date_kind, f.starts_on, f.country, f.currency, f.sku)
        = (e.grain, e.date_kind, e.starts_on, e.country, e.currency, e.sku);
    end if;
  end if;

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
