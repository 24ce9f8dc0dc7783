-- Keeps years and totals of months in editions, so that readers do not visit the dead versions of
-- their rows that folding leaves behind beside an old snapshot.

-- Writers wait until the new triggers are in place.
lock table quotes, quote_lines in share row exclusive mode;

select pg_advisory_xact_lock(hashtextextended('trade-quoting-service fold', 0));

-- In the order of the readers. Another order could deadlock.
lock table quote_summary, quote_changes, quote_figures, quote_figures_unfolded, quote_validity,
  quote_validity_unfolded, customer_figures, customer_figures_unfolded, product_figures,
  product_figures_unfolded in access exclusive mode;

alter table quote_summary add column edition integer not null default 1,
  add column edition_updates_left bigint not null default 0;

alter table quote_figures add column edition integer not null default 0,
drop constraint quote_figures_pkey;

-- Totals of days are as many as the days: they get pages of their own and are not copied.
alter table quote_figures detach partition quote_figures_totals;
create table quote_figures_day_totals partition of quote_figures for values in ('day_total')
with (fillfactor = 50);
with moved as (delete from quote_figures_totals where grain = 'day_total' returning *)
insert into quote_figures_day_totals select * from moved;
update quote_figures_totals set edition = 1;
alter table quote_figures attach partition quote_figures_totals for
  values in ('month_total', 'year');
alter table quote_figures
  add primary key (grain, edition, date_kind, starts_on, country, currency);

-- Unfolded rows are found by their key: coalesce() keeps PostgreSQL from reading all unfolded rows
-- by their transactions. The condition on xid skips the rows folded before. Every row that a
-- snapshot sees is in the current edition. The condition on edition only keeps the index from
-- visiting the dead rows of earlier ones.
create or replace view grouped_figures as
select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
  net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
  decision_histogram
from quote_figures
where edition = any ((select array[0, edition] from quote_summary)::integer[])
union all
select d.grain, d.date_kind, d.starts_on, d.country, d.currency,
  d.drafts, d.sent, d.accepted, d.rejected, d.expired, d.net, d.base_net, d.unconverted,
  d.unconverted_net, d.base_sent, d.base_lost, d.decided, d.decision_days,
  d.decision_histogram
from quote_figures_unfolded d
where coalesce((d.xid >= (select next_unfolded_xid())
    or d.xid = any ((select late_unfolded_xids())::xid8[])), false);

-- While an old snapshot is open, PostgreSQL keeps the versions of rows that folding replaces. Each
-- answer would visit all of them. It does not visit those of earlier editions, because the edition
-- is part of the primary key. An edition begins after two updates of each of its rows, on average.
-- Then copying adds a third to the work of the updates. Fewer than 500 rows are not worth copying
-- more often.
create or replace function begin_summary_edition() returns void
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off
as $$
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

comment on function begin_summary_edition is
  'Copies years and totals of months into a new edition of quote_figures.';

-- Nothing is left of what the fold sees unless a batch is full. A sequential scan would read the
-- dead rows of earlier folds. Sums of integers are much cheaper than sums of bigints, which
-- PostgreSQL adds as numeric. Each filter keeps it from creating the state of a sum that has
-- nothing to add. A row of product_figures_unfolded is folded into eight, so an eighth of the batch
-- is taken.
create or replace function fold_quote_changes(batch integer) returns integer
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off
as $$
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

create or replace function find_summary_differences(first_day date, last_day date)
returns table (relation text, cell text)
language plpgsql security definer set search_path = public, pg_temp set work_mem = '64MB'
as $$
declare
  -- Reading a year takes as long as reading its months, so it is compared with one of them.
  is_oldest_of_year boolean := coalesce(
    newest_month_before(first_day) < date_trunc('year', first_day::timestamp), true
  );
begin
  lock table quotes, quote_lines, quote_summary, quote_changes, quote_figures,
    quote_figures_unfolded, quote_validity, quote_validity_unfolded, customer_figures,
    customer_figures_unfolded, product_figures, product_figures_unfolded
    in access share mode;
  return query
    select 'quote_figures',
      concat_ws(' ', grain, date_kind, starts_on, case when grain not like '%total'
        then coalesce(nullif(country, ''), 'unknown') end, currency)
    from (
      select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected,
        expired, net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided,
        decision_days, decision_histogram from figures_from_quotes(first_day, last_day)
        where grain not like 'year%' and starts_on between first_day and last_day
      union all
      select grain, date_kind, starts_on, country, currency, -drafts, -sent, -accepted, -rejected,
        -expired, -net, -base_net, -unconverted, -unconverted_net, -base_sent, -base_lost, -decided,
        -decision_days, -decision_histogram
      from (select * from current_figures where grain not like 'year%'
        and starts_on between first_day and last_day) a
    ) c
    group by grain, date_kind, starts_on, country, currency
    having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0 or sum(rejected) <> 0
      or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0 or sum(unconverted) <> 0
      or sum(unconverted_net) <> 0 or sum(base_sent) <> 0 or sum(base_lost) <> 0
      or sum(decided) <> 0 or sum(decision_days) <> 0 or sum(decision_histogram) <> 0
    union all
    select 'quote_figures',
      concat_ws(' ', grain, date_kind, starts_on, case when grain not like '%total'
        then coalesce(nullif(country, ''), 'unknown') end, currency)
    from (
      select 'year' as grain, date_kind, date_trunc('year', starts_on::timestamp)::date
        as starts_on, country, currency, sum(drafts) as drafts, sum(sent) as sent, sum(accepted)
        as accepted, sum(rejected) as rejected, sum(expired) as expired, sum(net) as net,
        sum(base_net) as base_net, sum(unconverted) as unconverted, sum(unconverted_net)
        as unconverted_net, sum(base_sent) as base_sent, sum(base_lost) as base_lost, sum(decided)
        as decided, sum(decision_days) as decision_days, sum(decision_histogram)
        as decision_histogram
      from current_figures
      where is_oldest_of_year and grain = 'month'
        and starts_on >= date_trunc('year', first_day::timestamp)
        and starts_on < date_trunc('year', last_day::timestamp) + interval '1 year'
      group by 2, 3, 4, 5
      union all
      select grain, date_kind, starts_on, country, currency, -drafts, -sent, -accepted, -rejected,
        -expired, -net, -base_net, -unconverted, -unconverted_net, -base_sent, -base_lost, -decided,
        -decision_days, -decision_histogram
      from (select * from current_figures where is_oldest_of_year and grain = 'year'
      and starts_on between date_trunc('year', first_day::timestamp) and last_day) a
    ) c
    group by grain, date_kind, starts_on, country, currency
    having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0 or sum(rejected) <> 0
      or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0 or sum(unconverted) <> 0
      or sum(unconverted_net) <> 0 or sum(base_sent) <> 0 or sum(base_lost) <> 0
      or sum(decided) <> 0 or sum(decision_days) <> 0 or sum(decision_histogram) <> 0
    union all
    select 'quote_validity',
      concat_ws(' ', grain, valid_until, starts_on, case when grain not like '%total'
        then coalesce(nullif(country, ''), 'unknown') end, currency)
    from (
      select grain, valid_until, starts_on, country, currency, quotes, base_net
        from validity_from_quotes(first_day, last_day) where grain not like 'year%'
        and starts_on between first_day and last_day
      union all
      select grain, valid_until, starts_on, country, currency, -quotes, -base_net
      from (select * from current_validity where grain not like 'year%'
        and starts_on between first_day and last_day) a
    ) c
    group by grain, valid_until, starts_on, country, currency
    having sum(quotes) <> 0 or sum(base_net) <> 0
    union all
    select 'customer_figures',
      concat_ws(' ', grain, date_kind, starts_on, case when grain not like '%total'
        then coalesce(nullif(country, ''), 'unknown') end, currency, customer_id)
    from (
      select grain, date_kind, starts_on, country, currency, customer_id, quotes, accepted,
        base_net, unconverted from customer_figures_from_quotes(first_day, last_day)
        where grain not like 'year%' and starts_on between first_day and last_day
      union all
      select grain, date_kind, starts_on, country, currency, customer_id, -quotes, -accepted,
        -base_net, -unconverted
      from (select * from current_customer_figures where grain not like 'year%'
        and starts_on between first_day and last_day) a
    ) c
    group by grain, date_kind, starts_on, country, currency, customer_id
    having sum(quotes) <> 0 or sum(accepted) <> 0 or sum(base_net) <> 0 or sum(unconverted) <> 0
    union all
    select 'customer_figures',
      concat_ws(' ', grain, date_kind, starts_on, case when grain not like '%total'
        then coalesce(nullif(country, ''), 'unknown') end, currency, customer_id)
    from (
      select 'year' as grain, date_kind, date_trunc('year', starts_on::timestamp)::date
        as starts_on, country, currency, customer_id, sum(quotes) as quotes, sum(accepted)
        as accepted, sum(base_net) as base_net, sum(unconverted) as unconverted
      from current_customer_figures
      where is_oldest_of_year and grain = 'month'
        and starts_on >= date_trunc('year', first_day::timestamp)
        and starts_on < date_trunc('year', last_day::timestamp) + interval '1 year'
      group by 2, 3, 4, 5, 6
      union all
      select grain, date_kind, starts_on, country, currency, customer_id, -quotes, -accepted,
        -base_net, -unconverted
      from (select * from current_customer_figures where is_oldest_of_year and grain = 'year'
      and starts_on between date_trunc('year', first_day::timestamp) and last_day) a
    ) c
    group by grain, date_kind, starts_on, country, currency, customer_id
    having sum(quotes) <> 0 or sum(accepted) <> 0 or sum(base_net) <> 0 or sum(unconverted) <> 0
    union all
    select 'product_figures',
      concat_ws(' ', grain, date_kind, case when grain not like '%total'
        then coalesce(nullif(country, ''), 'unknown') end, starts_on, currency,
        coalesce(nullif(sku, ''), 'none'))
    from (
      select grain, date_kind, country, starts_on, currency, sku, lines, net, rated_net,
        unrated_lines from product_figures_from_quotes(first_day, last_day)
        where grain not like 'year%' and starts_on between first_day and last_day
      union all
      select grain, date_kind, country, starts_on, currency, sku, -lines, -net, -rated_net,
        -unrated_lines
      from (select * from current_product_figures where grain not like 'year%'
        and starts_on between first_day and last_day) a
    ) c
    group by grain, date_kind, country, starts_on, currency, sku
    having sum(lines) <> 0 or sum(net) <> 0 or sum(rated_net) <> 0 or sum(unrated_lines) <> 0
    union all
    select 'product_figures',
      concat_ws(' ', grain, date_kind, case when grain not like '%total'
        then coalesce(nullif(country, ''), 'unknown') end, starts_on, currency,
        coalesce(nullif(sku, ''), 'none'))
    from (
      select 'year' as grain, date_kind, country, date_trunc('year', starts_on::timestamp)::date
        as starts_on, currency, sku, sum(lines) as lines, sum(net) as net, sum(rated_net)
        as rated_net, sum(unrated_lines) as unrated_lines
      from current_product_figures
      where is_oldest_of_year and grain = 'month'
        and starts_on >= date_trunc('year', first_day::timestamp)
        and starts_on < date_trunc('year', last_day::timestamp) + interval '1 year'
      group by 2, 3, 4, 5, 6
      union all
      select grain, date_kind, country, starts_on, currency, sku, -lines, -net, -rated_net,
        -unrated_lines
      from (select * from current_product_figures where is_oldest_of_year and grain = 'year'
      and starts_on between date_trunc('year', first_day::timestamp) and last_day) a
    ) c
    group by grain, date_kind, country, starts_on, currency, sku
    having sum(lines) <> 0 or sum(net) <> 0 or sum(rated_net) <> 0 or sum(unrated_lines) <> 0
    union all
    select 'product_figures',
      concat_ws(' ', grain, date_kind, case when grain not like '%total'
        then coalesce(nullif(country, ''), 'unknown') end, starts_on, currency,
        coalesce(nullif(sku, ''), 'none'))
    from (
      select 'year_total' as grain, date_kind, country,
        date_trunc('year', starts_on::timestamp)::date as starts_on, currency, sku, sum(lines)
        as lines, sum(net) as net, sum(rated_net) as rated_net, sum(unrated_lines) as unrated_lines
      from current_product_figures
      where is_oldest_of_year and grain = 'month_total'
        and starts_on >= date_trunc('year', first_day::timestamp)
        and starts_on < date_trunc('year', last_day::timestamp) + interval '1 year'
      group by 2, 3, 4, 5, 6
      union all
      select grain, date_kind, country, starts_on, currency, sku, -lines, -net, -rated_net,
        -unrated_lines
      from (select * from current_product_figures where is_oldest_of_year and grain = 'year_total'
      and starts_on between date_trunc('year', first_day::timestamp) and last_day) a
    ) c
    group by grain, date_kind, country, starts_on, currency, sku
    having sum(lines) <> 0 or sum(net) <> 0 or sum(rated_net) <> 0 or sum(unrated_lines) <> 0
    order by 1, 2 limit 20;
end $$;

revoke execute on function find_summary_differences(date, date) from public;

create or replace function rebuild_quote_summary() returns void
language plpgsql set work_mem = '64MB' as $$
begin
  lock table quotes, quote_lines in access share mode;
  perform pg_advisory_xact_lock(hashtextextended('trade-quoting-service fold', 0));
  lock table quote_summary, quote_changes, quote_figures, quote_figures_unfolded, quote_validity,
    quote_validity_unfolded, customer_figures, customer_figures_unfolded, product_figures,
    product_figures_unfolded in row exclusive mode;
  update quote_summary s set base_currency = c.code, base_digits = c.digits
  from company join currencies c on c.code = company.base_currency;
  update quote_summary set edition = edition + 1, edition_updates_left = 0;
  delete from quote_figures;
  delete from quote_validity;
  delete from customer_figures;
  delete from product_figures;
  with moved_changes as (delete from quote_changes),
  moved_from_quote_figures as (delete from quote_figures_unfolded),
  filled_quote_figures as (
    insert into quote_figures (grain, date_kind, starts_on, country, currency, drafts, sent,
      accepted, rejected, expired, net, base_net, unconverted, unconverted_net, base_sent,
      base_lost, decided, decision_days, decision_histogram, edition)
    select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected,
      expired, net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided,
      decision_days, decision_histogram, case when grain in ('month_total', 'year')
      then (select edition from quote_summary) else 0 end
    from figures_from_quotes('-infinity', 'infinity')
    order by grain, date_kind, starts_on, country, currency),
  moved_from_quote_validity as (delete from quote_validity_unfolded),
  filled_quote_validity as (
    insert into quote_validity (grain, valid_until, starts_on, country, currency, quotes, base_net)
    select grain, valid_until, starts_on, country, currency, quotes, base_net
    from validity_from_quotes('-infinity', 'infinity')
    order by grain, valid_until, starts_on, country, currency),
  moved_from_customer_figures as (delete from customer_figures_unfolded),
  filled_customer_figures as (
    insert into customer_figures (grain, date_kind, starts_on, country, currency, customer_id,
      quotes, accepted, base_net, unconverted)
    select grain, date_kind, starts_on, country, currency, customer_id, quotes, accepted, base_net,
      unconverted
    from customer_figures_from_quotes('-infinity', 'infinity')
    order by grain, date_kind, starts_on, country, currency, customer_id),
  moved_from_product_figures as (delete from product_figures_unfolded),
  filled_product_figures as (
    insert into product_figures (grain, date_kind, country, starts_on, currency, sku, lines, net,
      rated_net, unrated_lines)
    select grain, date_kind, country, starts_on, currency, sku, lines, net, rated_net, unrated_lines
    from product_figures_from_quotes('-infinity', 'infinity')
    order by grain, date_kind, country, starts_on, currency, sku)
  update quote_summary set generation = gen_random_uuid(), folded = 0,
    folded_through = pg_current_snapshot(), folded_by = pg_current_xact_id(),
    server_started_at = pg_postmaster_start_time();
end $$;

revoke execute on function rebuild_quote_summary() from public;

comment on function fold_quote_changes is
  'Moves up to this number of unfolded rows of each table into the summary and returns how many. '
  'Returns 0 if there are none or if another process is folding.';
comment on function find_summary_differences is
  'Rows of the summary between two days, the whole months that begin there included, that differ '
  'from the quotes; at most twenty. Years are compared with the oldest of their months.';
comment on function rebuild_quote_summary is
  'Rebuilds the summary from the quotes. Writers and readers are not blocked.';
comment on table quote_figures_totals is
  'The rows of quote_figures that are years and totals of months.';
comment on table quote_figures_day_totals is 'The rows of quote_figures that are totals of days.';
comment on column quote_figures.edition is
  'The edition of years and totals of months, and 0 in other rows. Only the current edition has '
  'visible rows. As part of the key, it lets readers skip the dead rows of earlier ones.';
comment on column quote_summary.edition is 'The current edition of years and totals of months.';
comment on column quote_summary.edition_updates_left is
  'After so many more updates of their rows, folding begins the next edition.';
