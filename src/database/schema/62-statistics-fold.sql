-- Folding: moves the appended changes into the summary.

-- Copies years and totals of months into a new edition of quote_figures.
create function begin_summary_edition() returns void
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off as $$
declare
  next_edition integer;
  copied bigint;
begin
  update quote_summary set edition = edition + 1 returning edition into next_edition;
  with replaced as (
    delete from quote_figures
    where grain in ('month_total', 'year') and edition = next_edition - 1 returning grain,
      date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired, net,
      base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
      decision_histogram
  )
  insert into quote_figures (grain, date_kind, starts_on, country, currency, drafts, sent, accepted,
    rejected, expired, net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided,
    decision_days, decision_histogram, edition)
  select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
    net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
    decision_histogram, next_edition from replaced order by grain, date_kind, starts_on, country,
    currency;
  get diagnostics copied = row_count;
  update quote_summary
  set edition_updates_left = 2 * greatest(copied, 500);
end $$;
revoke execute on function begin_summary_edition() from public;

-- Moves up to this number of unfolded rows of each table into the summary and returns how many.
-- Returns 0 if there are none or if another process is folding.
create function fold_quote_changes(batch integer) returns integer
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off as $$
declare
  moved integer;
  is_edition_full boolean;
  empty_quote_figures quote_figures[];
  empty_quote_validity quote_validity[];
  empty_customer_figures customer_figures[];
  empty_product_figures product_figures[];
begin
  if not exists (select from quote_summary where base_currency is not null)
    or not pg_try_advisory_xact_lock(hashtextextended('trade-quoting-service fold', 0)) then
    return 0;
  end if;
  lock table quote_summary, quote_changes, quote_figures, quote_figures_unfolded, quote_validity,
    quote_validity_unfolded, customer_figures, customer_figures_unfolded, product_figures,
    product_figures_unfolded in row exclusive mode;
  with moved_changes as (
    delete from quote_changes where ctid = any (array(
      select d.ctid from quote_changes d where (d.xid >= (select next_unfolded_xid())
  or d.xid = any ((select late_unfolded_xids())::xid8[])) limit batch
    )) returning *
  ), moved_from_quote_figures_unfolded_days
    as (delete from quote_figures_unfolded_days where ctid = any (array(
      select d.ctid from quote_figures_unfolded_days d where (d.xid >= (select next_unfolded_xid())
  or d.xid = any ((select late_unfolded_xids())::xid8[])) limit batch
    )) returning *), moved_from_quote_figures_unfolded_totals
      as (delete from quote_figures_unfolded_totals where ctid = any (array(
      select d.ctid from quote_figures_unfolded_totals d
        where (d.xid >= (select next_unfolded_xid())
  or d.xid = any ((select late_unfolded_xids())::xid8[])) limit batch
    )) returning *),
  moved_quote_figures as (
    select * from moved_from_quote_figures_unfolded_days union all select *
      from moved_from_quote_figures_unfolded_totals
  ), folded_quote_figures as (
    insert into quote_figures as f (grain, date_kind, starts_on, country, currency, drafts, sent,
      accepted, rejected, expired, net, base_net, unconverted, unconverted_net, base_sent,
      base_lost, decided, decision_days, decision_histogram, edition)
    select grain, date_kind, starts_on, country, currency, sum(drafts), sum(sent), sum(accepted),
      sum(rejected), sum(expired), sum(net), sum(base_net), sum(unconverted), sum(unconverted_net),
      sum(base_sent), sum(base_lost), sum(decided), sum(decision_days), sum(decision_histogram),
      case when grain in ('month_total', 'year')
      then (select edition from quote_summary) else 0 end
    from (
      select d.grain, d.date_kind, d.starts_on, d.country, d.currency,
        d.drafts, d.sent, d.accepted, d.rejected, d.expired, d.net, d.base_net, d.unconverted,
          d.unconverted_net, d.base_sent, d.base_lost, d.decided, d.decision_days,
          d.decision_histogram
      from moved_quote_figures d  union all
select * from (
select g.grain, c.date_kind, g.starts_on, g.country, c.currency,
  coalesce(sum(s.sign * c.drafts), 0) as drafts,
  coalesce(sum(s.sign * c.sent), 0) as sent,
  coalesce(sum(s.sign * c.accepted), 0) as accepted,
  coalesce(sum(s.sign * c.rejected), 0) as rejected,
  coalesce(sum(s.sign * c.expired), 0) as expired,
  coalesce(sum(s.sign * c.net) filter (where c.net is not null), 0) as net,
  coalesce(sum(s.sign * c.base_net) filter (where c.base_net is not null), 0) as base_net,
  coalesce(sum(s.sign * c.unconverted), 0) as unconverted,
  coalesce(sum(s.sign * c.unconverted_net) filter (where c.unconverted_net is not null), 0)
    as unconverted_net,
  coalesce(sum(s.sign * c.base_sent) filter (where c.base_sent is not null), 0) as base_sent,
  coalesce(sum(s.sign * c.base_lost) filter (where c.base_lost is not null), 0) as base_lost,
  coalesce(sum(s.sign * c.decided), 0) as decided,
  coalesce(sum(s.sign * c.decision_days), 0) as decision_days,
  coalesce(sum(s.sign * c.decision_histogram) filter (where c.decision_histogram is not null), 0)
    as decision_histogram
from moved_changes s cross join quote_summary b cross
  join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on, s.valid_until,
  s.decided_on, s.net, b.base_currency, b.base_digits) c cross join lateral (values
  ('day', c.day, c.country),
  ('day_total', c.day, ''),
  ('month', date_trunc('month', c.day::timestamp)::date, c.country),
  ('month_total', date_trunc('month', c.day::timestamp)::date, ''),
  ('year', date_trunc('year', c.day::timestamp)::date, c.country)
) g (grain, starts_on, country)
group by 1, 2, 3, 4, 5
) cells where drafts <> 0 or sent <> 0 or accepted <> 0 or rejected <> 0 or expired <> 0 or net <> 0
  or base_net <> 0 or unconverted <> 0 or unconverted_net <> 0 or base_sent <> 0 or base_lost <> 0
  or decided <> 0 or decision_days <> 0 or decision_histogram <> 0
    ) m
    group by grain, date_kind, starts_on, country, currency
    order by grain, date_kind, starts_on, country, currency
    on conflict (grain, date_kind, starts_on, country, currency, edition) do update set
      drafts = f.drafts + excluded.drafts, sent = f.sent + excluded.sent,
        accepted = f.accepted + excluded.accepted, rejected = f.rejected + excluded.rejected,
        expired = f.expired + excluded.expired, net = f.net + excluded.net,
        base_net = f.base_net + excluded.base_net,
        unconverted = f.unconverted + excluded.unconverted,
        unconverted_net = f.unconverted_net + excluded.unconverted_net,
        base_sent = f.base_sent + excluded.base_sent, base_lost = f.base_lost + excluded.base_lost,
        decided = f.decided + excluded.decided,
        decision_days = f.decision_days + excluded.decision_days,
        decision_histogram = f.decision_histogram + excluded.decision_histogram
    returning f as cell, f.drafts = 0 and f.sent = 0 and f.accepted = 0 and f.rejected = 0
      and f.expired = 0 and f.net = 0 and f.base_net = 0 and f.unconverted = 0
      and f.unconverted_net = 0 and f.base_sent = 0 and f.base_lost = 0 and f.decided = 0
      and f.decision_days = 0 and f.decision_histogram = 0
      as is_empty
  ),
  moved_from_quote_validity_unfolded
    as (delete from quote_validity_unfolded where ctid = any (array(
      select d.ctid from quote_validity_unfolded d where (d.xid >= (select next_unfolded_xid())
  or d.xid = any ((select late_unfolded_xids())::xid8[])) limit batch
    )) returning *),
  moved_quote_validity as (
    select * from moved_from_quote_validity_unfolded
  ), folded_quote_validity as (
    insert into quote_validity as f (grain, valid_until, starts_on, country, currency, quotes,
      base_net)
    select grain, valid_until, starts_on, country, currency, sum(quotes), sum(base_net)
    from (
      select d.grain, d.valid_until, d.starts_on, d.country, d.currency,
        d.quotes, d.base_net
      from moved_quote_validity d  union all
select * from (
select g.grain, g.valid_until, g.starts_on, c.country, c.currency,
  coalesce(sum(s.sign * c.quotes), 0) as quotes,
  coalesce(sum(s.sign * c.base_net) filter (where c.base_net is not null), 0) as base_net
from moved_changes s cross join quote_summary b cross
  join lateral quote_validity_of(s.status, s.country, s.currency, s.rate, s.issued_on,
  s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits) c
cross join lateral (values
  ('day', c.issued_on, c.valid_until),
  ('month', date_trunc('month', c.issued_on::timestamp)::date, c.valid_until),
  ('month_by_month', date_trunc('month', c.issued_on::timestamp)::date,
    (date_trunc('month', c.valid_until::timestamp) + interval '1 month - 1 day')::date)
) g (grain, starts_on, valid_until)
group by 1, 2, 3, 4, 5
) cells where quotes <> 0 or base_net <> 0
    ) m
    group by grain, valid_until, starts_on, country, currency
    order by grain, valid_until, starts_on, country, currency
    on conflict (grain, valid_until, starts_on, country, currency) do update set
      quotes = f.quotes + excluded.quotes, base_net = f.base_net + excluded.base_net
    returning f as cell, f.quotes = 0 and f.base_net = 0
      as is_empty
  ),
  moved_from_customer_figures_unfolded
    as (delete from customer_figures_unfolded where ctid = any (array(
      select d.ctid from customer_figures_unfolded d where (d.xid >= (select next_unfolded_xid())
  or d.xid = any ((select late_unfolded_xids())::xid8[])) limit batch
    )) returning *),
  moved_customer_figures as (
    select * from moved_from_customer_figures_unfolded
  ), folded_customer_figures as (
    insert into customer_figures as f
      (grain, date_kind, starts_on, country, currency, customer_id, quotes, accepted, base_net,
      unconverted)
    select grain, date_kind, starts_on, country, currency, customer_id, sum(quotes), sum(accepted),
      sum(base_net), sum(unconverted)
    from (
      select g.grain, d.date_kind, g.starts_on, d.country, d.currency, d.customer_id,
        d.quotes, d.accepted, d.base_net, d.unconverted
      from moved_customer_figures d cross
        join lateral (values ('month', d.starts_on),
        ('year', date_trunc('year', d.starts_on::timestamp)::date))
  g (grain, starts_on) union all
select * from (
select g.grain, f.date_kind, g.starts_on, f.country, f.currency, coalesce(s.customer_id, 0),
  coalesce(sum(s.sign * c.quotes), 0) as quotes,
  coalesce(sum(s.sign * c.accepted), 0) as accepted,
  coalesce(sum(s.sign * c.base_net) filter (where c.base_net is not null), 0) as base_net,
  coalesce(sum(s.sign * c.unconverted), 0) as unconverted
from moved_changes s cross join quote_summary b cross
  join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on, s.valid_until,
  s.decided_on, s.net, b.base_currency, b.base_digits) f
cross join lateral (
  select coalesce(f.drafts, f.sent, f.accepted, f.rejected, f.expired) as quotes, f.accepted,
    f.base_net, f.unconverted
) c cross join lateral (values ('month', date_trunc('month', f.day::timestamp)::date),
  ('year', date_trunc('year', date_trunc('month', f.day::timestamp)::date::timestamp)::date))
  g (grain, starts_on)
group by 1, 2, 3, 4, 5, 6
) cells where quotes <> 0 or accepted <> 0 or base_net <> 0 or unconverted <> 0
    ) m
    group by grain, date_kind, starts_on, country, currency, customer_id
    order by grain, date_kind, starts_on, country, currency, customer_id
    on conflict (grain, date_kind, starts_on, country, currency, customer_id) do update set
      quotes = f.quotes + excluded.quotes, accepted = f.accepted + excluded.accepted,
        base_net = f.base_net + excluded.base_net,
        unconverted = f.unconverted + excluded.unconverted
    returning f as cell, f.quotes = 0 and f.accepted = 0 and f.base_net = 0 and f.unconverted = 0
      as is_empty
  ),
  moved_from_product_figures_unfolded
    as (delete from product_figures_unfolded where ctid = any (array(
      select d.ctid from product_figures_unfolded d where (d.xid >= (select next_unfolded_xid())
  or d.xid = any ((select late_unfolded_xids())::xid8[])) limit greatest(batch / 8, 1)
    )) returning *),
  moved_product_figures as (
    select * from moved_from_product_figures_unfolded
  ), folded_product_figures as (
    insert into product_figures as f
      (grain, date_kind, country, starts_on, currency, sku, lines, net, rated_net, unrated_lines)
    select grain, date_kind, country, starts_on, currency, sku, sum(lines), sum(net),
      sum(rated_net), sum(unrated_lines)
    from (
      select g.grain, k.date_kind, g.country, g.starts_on, d.currency, d.sku,
        d.lines, d.net, d.rated_net, d.unrated_lines
      from moved_product_figures d cross join lateral (
    values ('issued', d.issued_in), ('accepted', d.accepted_in)
  ) k (date_kind, month) cross join lateral (values
    ('month', k.month, d.country),
    ('month_total', k.month, ''),
    ('year', date_trunc('year', k.month::timestamp)::date, d.country),
    ('year_total', date_trunc('year', k.month::timestamp)::date, '')
  ) g (grain, starts_on, country) union all
select * from (
select g.grain, k.date_kind, g.country, g.starts_on, s.currency, l.sku,
  coalesce(sum(s.sign * c.lines), 0) as lines,
  coalesce(sum(s.sign * c.net) filter (where c.net is not null), 0) as net,
  coalesce(sum(s.sign * c.rated_net) filter (where c.rated_net is not null), 0) as rated_net,
  coalesce(sum(s.sign * c.unrated_lines), 0) as unrated_lines
from moved_changes s cross join lateral unnest(s.lines) l cross join lateral (
    select 1 as lines, l.net, l.net * s.rate as rated_net,
      case when s.rate is null then 1 end as unrated_lines
  ) c
  cross join lateral (
    values ('issued', date_trunc('month', s.issued_on::timestamp)::date),
      ('accepted', date_trunc('month', coalesce(s.decided_on, s.issued_on)::timestamp)::date)
  ) k (date_kind, month) cross join lateral (values
    ('month', k.month, coalesce(s.country, '')),
    ('month_total', k.month, ''),
    ('year', date_trunc('year', k.month::timestamp)::date, coalesce(s.country, '')),
    ('year_total', date_trunc('year', k.month::timestamp)::date, '')
  ) g (grain, starts_on, country)
group by 1, 2, 3, 4, 5, 6
) cells where lines <> 0 or net <> 0 or rated_net <> 0 or unrated_lines <> 0
    ) m
    group by grain, date_kind, country, starts_on, currency, sku
    order by grain, date_kind, country, starts_on, currency, sku
    on conflict (grain, date_kind, country, starts_on, currency, sku) do update set
      lines = f.lines + excluded.lines, net = f.net + excluded.net,
        rated_net = f.rated_net + excluded.rated_net,
        unrated_lines = f.unrated_lines + excluded.unrated_lines
    returning f as cell, f.lines = 0 and f.net = 0 and f.rated_net = 0 and f.unrated_lines = 0
      as is_empty
  ),
  counts as (
    select (select count(*) from moved_changes) as changes,
      (select count(*) from moved_quote_figures) as quote_figures,
      (select count(*) from moved_quote_validity) as quote_validity,
      (select count(*) from moved_customer_figures) as customer_figures,
      (select count(*) from moved_product_figures) as product_figures
      , (
        select count(*) from folded_quote_figures where (cell).edition > 0
      ) as edition_updates
  ), summary as (
    update quote_summary set folded = folded + changes,
      folded_through = case when is_complete
        then pg_current_snapshot() else folded_through end,
      folded_by = case when is_complete then pg_current_xact_id() else folded_by end,
      server_started_at = case when is_complete
        then pg_postmaster_start_time() else server_started_at end
      , edition_updates_left = edition_updates_left - edition_updates
    from (select *, changes < batch and quote_figures < batch and quote_validity < batch
      and customer_figures < batch and product_figures < greatest(batch / 8, 1) as is_complete
      from counts) counts
    returning edition_updates_left
  )
  select (select edition_updates_left <= 0 from summary),
    changes + quote_figures + quote_validity + customer_figures + product_figures,
    (select array_agg(cell) from folded_quote_figures where is_empty),
    (select array_agg(cell) from folded_quote_validity where is_empty),
    (select array_agg(cell) from folded_customer_figures where is_empty),
    (select array_agg(cell) from folded_product_figures where is_empty)
  into is_edition_full,
    moved, empty_quote_figures, empty_quote_validity, empty_customer_figures, empty_product_figures
  from counts;
  delete from quote_figures f using unnest(empty_quote_figures) e
  where f.grain = e.grain and f.date_kind = e.date_kind and f.starts_on = e.starts_on
    and f.country = e.country and f.currency = e.currency and f.edition = e.edition;
  delete from quote_validity f using unnest(empty_quote_validity) e
  where f.grain = e.grain and f.valid_until = e.valid_until and f.starts_on = e.starts_on
    and f.country = e.country and f.currency = e.currency;
  delete from customer_figures f using unnest(empty_customer_figures) e
  where f.grain = e.grain and f.date_kind = e.date_kind and f.starts_on = e.starts_on
    and f.country = e.country and f.currency = e.currency and f.customer_id = e.customer_id;
  delete from product_figures f using unnest(empty_product_figures) e
  where f.grain = e.grain and f.date_kind = e.date_kind and f.country = e.country
    and f.starts_on = e.starts_on and f.currency = e.currency and f.sku = e.sku;
  if is_edition_full then perform begin_summary_edition(); end if;
  return moved;
end $$;
revoke execute on function fold_quote_changes(integer) from public;
