-- Adds figures by customer and by product to the summary of the statistics, and the scope
-- stats:detail that reads them. See docs/decisions/0020-statistics-by-customer-and-product.md.

-- Writers wait until the new triggers are in place.
lock table customers, products, quotes, quote_lines in share row exclusive mode;

select pg_advisory_xact_lock(hashtextextended('trade-quoting-service fold', 0));

-- In the order of the readers. Another order could deadlock.
lock table quote_summary, quote_changes, quote_figures, quote_figures_unfolded, quote_validity,
  quote_validity_unfolded in access exclusive mode;

-- The new tables are filled from the quotes, so no change may count again when it is folded.
-- Without a company nothing is folded, and recording it rebuilds the summary.
do $$ begin while fold_quote_changes(20000) > 0 loop end loop; end $$;

alter table quote_changes add column customer_id bigint;

create type accepted_line as (sku text, net numeric);

alter table quote_changes add column lines accepted_line[];

create or replace view unfolded_changes as select d.* from quote_changes d
where (d.xid >= (select next_unfolded_xid())
  or d.xid = any ((select late_unfolded_xids())::xid8[]));

comment on type accepted_line is 'What a line of an accepted quote contributes.';
comment on column quote_changes.lines is
  'The lines of an accepted quote, if the change concerns them. Otherwise null.';
comment on column unfolded_changes.lines is
  'The lines of an accepted quote, if the change concerns them. Otherwise null.';

-- Pages have room for new versions of their rows, and no index has a measure, so that updates are
-- heap-only (HOT). Years and totals are few, and have pages of their own.
create table customer_figures (
  grain text collate "C" not null check (grain in ('month', 'year')),
  date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
  starts_on date not null, country text collate "C" not null, currency text collate "C" not null,
  customer_id bigint not null, quotes bigint not null, accepted bigint not null,
  base_net numeric not null, unconverted bigint not null,
  primary key (grain, date_kind, starts_on, country, currency, customer_id)
) partition by list (grain);

create table customer_figures_months partition of customer_figures
  for values in ('month')
with (fillfactor = 80);

create table customer_figures_years partition of customer_figures
  for values in ('year')
with (fillfactor = 70);

-- The country comes first in the key, so that a range of the index has the rows of one country.
create table product_figures (
  grain text collate "C" not null check (grain in ('month', 'month_total', 'year', 'year_total')),
  date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
  country text collate "C" not null, starts_on date not null, currency text collate "C" not null,
  sku text collate "C" not null, lines bigint not null, net numeric not null,
  rated_net numeric not null, unrated_lines bigint not null,
  primary key (grain, date_kind, country, starts_on, currency, sku)
) partition by list (grain);

create table product_figures_months partition of product_figures
  for values in ('month')
with (fillfactor = 80);

create table product_figures_totals partition of product_figures
  for values in ('month_total', 'year', 'year_total')
with (fillfactor = 70);

create table customer_figures_unfolded (
  xid xid8 not null default pg_current_xact_id(),
  date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
  starts_on date not null, country text collate "C" not null, currency text collate "C" not null,
  customer_id bigint not null,
  quotes bigint not null,
  accepted bigint not null,
  base_net numeric not null,
  unconverted bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

create index customer_figures_unfolded_xid on customer_figures_unfolded (xid);

-- A row has the months of both kinds of date, so writers append half as many.
create table product_figures_unfolded (
  xid xid8 not null default pg_current_xact_id(),
  issued_in date not null, accepted_in date not null, country text collate "C" not null,
  currency text collate "C" not null, sku text collate "C" not null,
  lines bigint not null,
  net numeric not null,
  rated_net numeric not null,
  unrated_lines bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

create index product_figures_unfolded_xid on product_figures_unfolded (xid);

drop function quotes_between(date, date);

create function quotes_between(first_day date, last_day date)
returns table (id bigint, customer_id bigint, status text, country text, currency text,
  rate numeric, issued_on date, valid_until date, decided_on date, net numeric)
language sql stable
as $$
  select q.id, q.customer_id, q.status, q.country, q.currency, q.rate, q.issued_on, q.valid_until,
    q.decided_on, q.net
  from quotes q
  where q.issued_on between first_day and last_day
    or q.status = 'accepted'
      and coalesce(q.decided_on, q.issued_on) between first_day and last_day
$$;

  create function customer_figures_from_quotes(first_day date, last_day date)
  returns table (grain text, date_kind text, starts_on date, country text, currency text,
    customer_id bigint, quotes bigint, accepted bigint, base_net numeric, unconverted bigint)
  language sql stable
  as $$
select * from (
  select g.grain, f.date_kind, g.starts_on, f.country, f.currency, coalesce(s.customer_id, 0),
    coalesce(sum(c.quotes), 0) as quotes,
    coalesce(sum(c.accepted), 0) as accepted,
    coalesce(sum(c.base_net) filter (where c.base_net is not null), 0) as base_net,
    coalesce(sum(c.unconverted), 0) as unconverted
  from quotes_between(first_day, last_day) s cross join quote_summary b cross
    join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
    s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits) f
  cross join lateral (
    select coalesce(f.drafts, f.sent, f.accepted, f.rejected, f.expired) as quotes, f.accepted,
      f.base_net, f.unconverted
  ) c cross join lateral (values ('month', date_trunc('month', f.day::timestamp)::date),
    ('year', date_trunc('year', date_trunc('month', f.day::timestamp)::date::timestamp)::date))
    g (grain, starts_on)
  group by 1, 2, 3, 4, 5, 6
) cells where quotes <> 0 or accepted <> 0 or base_net <> 0 or unconverted <> 0 $$;

create function product_figures_from_quotes(first_day date, last_day date)
returns table (grain text, date_kind text, country text, starts_on date, currency text,
  sku text, lines bigint, net numeric, rated_net numeric, unrated_lines bigint)
language sql stable
as $$
  with lines as materialized (
    select * from (
      select date_trunc('month', q.issued_on::timestamp)::date as issued_in,
        date_trunc('month', coalesce(q.decided_on, q.issued_on)::timestamp)::date as accepted_in,
        coalesce(q.country, '') as country, q.currency, coalesce(l.sku, '') as sku,
        sum(1) as lines, sum(1 * l.net) as net,
        coalesce(sum(1 * l.net * q.rate), 0) as rated_net,
        coalesce(sum(1) filter (where q.rate is null), 0) as unrated_lines
      from quotes_between(first_day, last_day) q
      join quote_lines l on l.quote_id = q.id
      where q.status = 'accepted'
      group by 1, 2, 3, 4, 5
    ) cells where lines <> 0 or net <> 0 or rated_net <> 0 or unrated_lines <> 0)
  select g.grain, k.date_kind, g.country, g.starts_on, d.currency, d.sku,
    sum(d.lines), sum(d.net), sum(d.rated_net), sum(d.unrated_lines)
  from lines d cross join lateral (
    values ('issued', d.issued_in), ('accepted', d.accepted_in)
  ) k (date_kind, month) cross join lateral (values
    ('month', k.month, d.country),
    ('month_total', k.month, ''),
    ('year', date_trunc('year', k.month::timestamp)::date, d.country),
    ('year_total', date_trunc('year', k.month::timestamp)::date, '')
  ) g (grain, starts_on, country)
  group by 1, 2, 3, 4, 5, 6
$$;

-- For periods that begin or end within a month. The API may not read quotes. They return a row for
-- each quote or line: hardly two have the same customer or product, and the reader adds them up
-- anyway.
create or replace function customer_figures_between(kind text, first_day date, last_day date)
returns table (country text, currency text, customer_id bigint, quotes bigint, accepted bigint,
  base_net numeric, unconverted bigint)
language sql stable security definer set search_path = public, pg_temp
as $$
  select f.country, f.currency, coalesce(s.customer_id, 0),
    coalesce(c.quotes, 0), coalesce(c.accepted, 0), coalesce(c.base_net, 0),
      coalesce(c.unconverted, 0)
  from quotes_between(first_day, last_day) s cross join quote_summary b cross
    join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
    s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits) f
cross join lateral (
  select coalesce(f.drafts, f.sent, f.accepted, f.rejected, f.expired) as quotes, f.accepted,
    f.base_net, f.unconverted
) c
  where f.date_kind = kind and f.day between first_day and last_day
$$;

-- "offset 0" keeps the joins with lines nested loops over an index. A plan with a hash join that
-- was cached for a large statement would read the whole table for each small one.
create or replace function product_figures_between(kind text, first_day date, last_day date)
returns table (country text, currency text, sku text, lines bigint, net numeric, rated_net numeric,
  unrated_lines bigint)
language sql stable security definer set search_path = public, pg_temp
as $$
  select coalesce(q.country, ''), q.currency, coalesce(l.sku, ''),
    coalesce(c.lines, 0), coalesce(c.net, 0), coalesce(c.rated_net, 0), coalesce(c.unrated_lines, 0)
  from quotes_between(first_day, last_day) q cross join lateral (
        select sku, net from quote_lines where quote_id = q.id offset 0
      ) l cross join lateral (
    select 1 as lines, l.net, l.net * q.rate as rated_net,
      case when q.rate is null then 1 end as unrated_lines
  ) c
  where q.status = 'accepted' and case kind
      when 'issued' then q.issued_on else coalesce(q.decided_on, q.issued_on)
    end between first_day and last_day
$$;

revoke execute on function customer_figures_between(text, date, date) from public;
revoke execute on function product_figures_between(text, date, date) from public;

create or replace view current_customer_figures as
select grain, date_kind, starts_on, country, currency, customer_id, quotes, accepted, base_net,
  unconverted
from customer_figures
union all
select g.grain, d.date_kind, g.starts_on, d.country, d.currency, d.customer_id,
  d.quotes, d.accepted, d.base_net, d.unconverted
from customer_figures_unfolded d
cross join lateral (values ('month', d.starts_on),
  ('year', date_trunc('year', d.starts_on::timestamp)::date))
  g (grain, starts_on)
where (d.xid >= (select next_unfolded_xid())
  or d.xid = any ((select late_unfolded_xids())::xid8[]))
union all
select g.grain, f.date_kind, g.starts_on, f.country, f.currency, coalesce(s.customer_id, 0),
  coalesce(s.sign * c.quotes, 0) as quotes, coalesce(s.sign * c.accepted, 0) as accepted,
  coalesce(s.sign * c.base_net, 0) as base_net, coalesce(s.sign * c.unconverted, 0)
  as unconverted
from unfolded_changes s
cross join quote_summary b
cross join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
  s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits) f
cross join lateral (
  select coalesce(f.drafts, f.sent, f.accepted, f.rejected, f.expired) as quotes, f.accepted,
    f.base_net, f.unconverted
) c
cross join lateral (values ('month', date_trunc('month', f.day::timestamp)::date),
  ('year', date_trunc('year', date_trunc('month', f.day::timestamp)::date::timestamp)::date))
  g (grain, starts_on);

create or replace view current_product_figures as
select grain, date_kind, country, starts_on, currency, sku, lines, net, rated_net, unrated_lines
from product_figures
union all
select g.grain, k.date_kind, g.country, g.starts_on, d.currency, d.sku,
  d.lines, d.net, d.rated_net, d.unrated_lines
from product_figures_unfolded d cross join lateral (
  values ('issued', d.issued_in), ('accepted', d.accepted_in)
) k (date_kind, month) cross join lateral (values
  ('month', k.month, d.country),
  ('month_total', k.month, ''),
  ('year', date_trunc('year', k.month::timestamp)::date, d.country),
  ('year_total', date_trunc('year', k.month::timestamp)::date, '')
) g (grain, starts_on, country)
where (d.xid >= (select next_unfolded_xid())
  or d.xid = any ((select late_unfolded_xids())::xid8[]))
union all
select g.grain, k.date_kind, g.country, g.starts_on, s.currency, l.sku,
  coalesce(s.sign * c.lines, 0) as lines, coalesce(s.sign * c.net, 0) as net,
  coalesce(s.sign * c.rated_net, 0) as rated_net, coalesce(s.sign * c.unrated_lines, 0)
  as unrated_lines
from unfolded_changes s cross join lateral unnest(s.lines) l cross join lateral (
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
) g (grain, starts_on, country);

create or replace function quote_figures_of(quote_status text, quote_country text,
  quote_currency text, quote_rate numeric, quote_issued_on date, quote_valid_until date,
  quote_decided_on date, quote_net numeric, base_currency text, base_digits integer)
returns table (date_kind text, day date, country text, currency text,
  drafts integer, sent integer, accepted integer, rejected integer, expired integer, net numeric,
    base_net numeric, unconverted integer, unconverted_net numeric, base_sent numeric,
    base_lost numeric, decided integer, decision_days integer, decision_histogram numeric)
language sql immutable parallel safe
as $$
  select kind.date_kind, kind.day, coalesce(quote_country, ''), quote_currency,
    (case when quote_status = 'draft' then 1 end)::integer as drafts,
    (case when quote_status = 'sent' then 1 end)::integer as sent,
    (case when quote_status = 'accepted' then 1 end)::integer as accepted,
    (case when quote_status = 'rejected' then 1 end)::integer as rejected,
    (case when quote_status = 'expired' then 1 end)::integer as expired,
    (case when quote_status = 'accepted' then quote_net end)::numeric as net,
    (case when quote_status = 'accepted'
      then net_in_base(quote_net, quote_currency, quote_rate, base_currency, base_digits)
      end)::numeric as base_net,
    (case when quote_status = 'accepted'
      and net_in_base(quote_net, quote_currency, quote_rate, base_currency, base_digits) is null
      then 1 end)::integer as unconverted,
    (case when quote_status = 'accepted'
      and net_in_base(quote_net, quote_currency, quote_rate, base_currency, base_digits) is null
      then quote_net end)::numeric as unconverted_net,
    (case when quote_status = 'sent'
      then net_in_base(quote_net, quote_currency, quote_rate, base_currency, base_digits)
      end)::numeric as base_sent,
    (case when quote_status in ('rejected', 'expired')
      then net_in_base(quote_net, quote_currency, quote_rate, base_currency, base_digits)
      end)::numeric as base_lost,
    (case when quote_status in ('accepted', 'rejected') and quote_decided_on is not null then 1
      end)::integer as decided,
    (case when quote_status in ('accepted', 'rejected') and quote_decided_on is not null
      then quote_decided_on - quote_issued_on end)::integer as decision_days,
    (case when quote_status in ('accepted', 'rejected') and quote_decided_on is not null then
  ('1e' || 8 * least(quote_decided_on - quote_issued_on, 1000))::numeric end)::numeric
    as decision_histogram
  from (values
    ('issued', quote_issued_on),
    ('accepted', case when quote_status = 'accepted'
      then coalesce(quote_decided_on, quote_issued_on) end)
  ) kind (date_kind, day)
  where kind.day is not null and quote_status <> 'superseded'
$$;

-- Unfolded rows are found by their key: coalesce() keeps PostgreSQL from reading all unfolded rows
-- by their transactions. The condition on xid skips the rows folded before.
create or replace view grouped_figures as
select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
  net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
  decision_histogram
from quote_figures
union all
select d.grain, d.date_kind, d.starts_on, d.country, d.currency,
  d.drafts, d.sent, d.accepted, d.rejected, d.expired, d.net, d.base_net, d.unconverted,
  d.unconverted_net, d.base_sent, d.base_lost, d.decided, d.decision_days,
  d.decision_histogram
from quote_figures_unfolded d
where coalesce((d.xid >= (select next_unfolded_xid())
    or d.xid = any ((select late_unfolded_xids())::xid8[])), false);

create or replace view changed_figures as
select c.date_kind, c.day, c.country, c.currency,
  coalesce(s.sign * c.drafts, 0) as drafts, coalesce(s.sign * c.sent, 0) as sent,
  coalesce(s.sign * c.accepted, 0) as accepted, coalesce(s.sign * c.rejected, 0) as rejected,
  coalesce(s.sign * c.expired, 0) as expired, coalesce(s.sign * c.net, 0) as net,
  coalesce(s.sign * c.base_net, 0) as base_net, coalesce(s.sign * c.unconverted, 0)
  as unconverted, coalesce(s.sign * c.unconverted_net, 0) as unconverted_net,
  coalesce(s.sign * c.base_sent, 0) as base_sent, coalesce(s.sign * c.base_lost, 0) as base_lost,
  coalesce(s.sign * c.decided, 0) as decided, coalesce(s.sign * c.decision_days, 0)
  as decision_days, coalesce(s.sign * c.decision_histogram, 0) as decision_histogram
from unfolded_changes s
cross join quote_summary b
cross join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
  s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits) c;

create or replace view current_figures as
select * from grouped_figures
union all
select g.grain, c.date_kind, g.starts_on, g.country, c.currency,
  c.drafts, c.sent, c.accepted, c.rejected, c.expired, c.net, c.base_net, c.unconverted,
  c.unconverted_net, c.base_sent, c.base_lost, c.decided, c.decision_days, c.decision_histogram
from changed_figures c cross join lateral (values
  ('day', c.day, c.country),
  ('day_total', c.day, ''),
  ('month', date_trunc('month', c.day::timestamp)::date, c.country),
  ('month_total', date_trunc('month', c.day::timestamp)::date, ''),
  ('year', date_trunc('year', c.day::timestamp)::date, c.country)
) g (grain, starts_on, country);

create or replace function figures_from_quotes(first_day date, last_day date)
returns table (grain text, date_kind text, starts_on date, country text, currency text,
  drafts bigint, sent bigint, accepted bigint, rejected bigint, expired bigint, net numeric,
    base_net numeric, unconverted bigint, unconverted_net numeric, base_sent numeric,
    base_lost numeric, decided bigint, decision_days bigint, decision_histogram numeric)
language sql stable
as $$
  with days as materialized (
  select 'day' as grain, c.date_kind, c.day as starts_on, c.country, c.currency,
    coalesce(sum(c.drafts), 0) as drafts,
  coalesce(sum(c.sent), 0) as sent,
  coalesce(sum(c.accepted), 0) as accepted,
  coalesce(sum(c.rejected), 0) as rejected,
  coalesce(sum(c.expired), 0) as expired,
  coalesce(sum(c.net) filter (where c.net is not null), 0) as net,
  coalesce(sum(c.base_net) filter (where c.base_net is not null), 0) as base_net,
  coalesce(sum(c.unconverted), 0) as unconverted,
  coalesce(sum(c.unconverted_net) filter (where c.unconverted_net is not null), 0)
    as unconverted_net,
  coalesce(sum(c.base_sent) filter (where c.base_sent is not null), 0) as base_sent,
  coalesce(sum(c.base_lost) filter (where c.base_lost is not null), 0) as base_lost,
  coalesce(sum(c.decided), 0) as decided,
  coalesce(sum(c.decision_days), 0) as decision_days,
  coalesce(sum(c.decision_histogram) filter (where c.decision_histogram is not null), 0)
    as decision_histogram
  from quotes_between(first_day, last_day) s cross join quote_summary b cross
    join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
    s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits) c
  group by 2, 3, 4, 5
), months as materialized (
  select 'month' as grain, date_kind, date_trunc('month', starts_on::timestamp)::date as starts_on,
    country,
    currency, sum(drafts) as drafts, sum(sent) as sent, sum(accepted) as accepted, sum(rejected)
      as rejected, sum(expired) as expired, sum(net) as net, sum(base_net) as base_net,
      sum(unconverted) as unconverted, sum(unconverted_net) as unconverted_net, sum(base_sent)
      as base_sent, sum(base_lost) as base_lost, sum(decided) as decided, sum(decision_days)
      as decision_days, sum(decision_histogram) as decision_histogram
  from days group by 2, 3, 4, 5
), figures as (
  select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
    net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
    decision_histogram from days where drafts <> 0 or sent <> 0 or accepted <> 0 or rejected <> 0
    or expired <> 0 or net <> 0 or base_net <> 0 or unconverted <> 0 or unconverted_net <> 0
    or base_sent <> 0 or base_lost <> 0 or decided <> 0 or decision_days <> 0
    or decision_histogram <> 0
  union all
  select 'day_total', date_kind, starts_on, '', currency, sum(drafts) as drafts, sum(sent) as sent,
    sum(accepted) as accepted, sum(rejected) as rejected, sum(expired) as expired, sum(net) as net,
    sum(base_net) as base_net, sum(unconverted) as unconverted, sum(unconverted_net)
    as unconverted_net, sum(base_sent) as base_sent, sum(base_lost) as base_lost, sum(decided)
    as decided, sum(decision_days) as decision_days, sum(decision_histogram) as decision_histogram
  from days group by 2, 3, 5 having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0
    or sum(rejected) <> 0 or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0
    or sum(unconverted) <> 0 or sum(unconverted_net) <> 0 or sum(base_sent) <> 0
    or sum(base_lost) <> 0 or sum(decided) <> 0 or sum(decision_days) <> 0
    or sum(decision_histogram) <> 0
  union all
  select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
    net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
    decision_histogram from months where drafts <> 0 or sent <> 0 or accepted <> 0 or rejected <> 0
    or expired <> 0 or net <> 0 or base_net <> 0 or unconverted <> 0 or unconverted_net <> 0
    or base_sent <> 0 or base_lost <> 0 or decided <> 0 or decision_days <> 0
    or decision_histogram <> 0
  union all
  select 'month_total', date_kind, starts_on, '', currency, sum(drafts) as drafts, sum(sent)
    as sent, sum(accepted) as accepted, sum(rejected) as rejected, sum(expired) as expired, sum(net)
    as net, sum(base_net) as base_net, sum(unconverted) as unconverted, sum(unconverted_net)
    as unconverted_net, sum(base_sent) as base_sent, sum(base_lost) as base_lost, sum(decided)
    as decided, sum(decision_days) as decision_days, sum(decision_histogram) as decision_histogram
  from months group by 2, 3, 5 having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0
    or sum(rejected) <> 0 or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0
    or sum(unconverted) <> 0 or sum(unconverted_net) <> 0 or sum(base_sent) <> 0
    or sum(base_lost) <> 0 or sum(decided) <> 0 or sum(decision_days) <> 0
    or sum(decision_histogram) <> 0
  union all
  select 'year', date_kind, date_trunc('year', starts_on::timestamp)::date, country, currency,
    sum(drafts) as drafts, sum(sent) as sent, sum(accepted) as accepted, sum(rejected) as rejected,
    sum(expired) as expired, sum(net) as net, sum(base_net) as base_net, sum(unconverted)
    as unconverted, sum(unconverted_net) as unconverted_net, sum(base_sent) as base_sent,
    sum(base_lost) as base_lost, sum(decided) as decided, sum(decision_days) as decision_days,
    sum(decision_histogram) as decision_histogram
  from months group by 2, 3, 4, 5 having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0
    or sum(rejected) <> 0 or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0
    or sum(unconverted) <> 0 or sum(unconverted_net) <> 0 or sum(base_sent) <> 0
    or sum(base_lost) <> 0 or sum(decided) <> 0 or sum(decision_days) <> 0
    or sum(decision_histogram) <> 0
)
  select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
    net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
    decision_histogram from figures
$$;

-- Plans are cached for the session. One that was made while a table was small would read the whole
-- table for each row of a later statement, so sequential scans are off. Groups of thousands of
-- quotes would be written to temporary files with the usual work_mem. A statement with more than
-- 200 quotes appends sums: readers do not add up thousands of changes. Quotes are grouped into
-- days, days into months and months into years, because each quote would have to be added five
-- times otherwise.
create or replace function append_quote_changes() returns trigger
language plpgsql security definer set search_path = public, pg_temp
set enable_seqscan = off as $$
declare
  all_changes text;
  work_mem_before text;
  appended integer;
begin
  if tg_op = 'INSERT' then
    insert into quote_changes (sign, status, country, currency, rate, issued_on, valid_until,
      decided_on, net, customer_id)
    select 1 as sign, n.status, n.country, n.currency, n.rate, n.issued_on, n.valid_until,
      n.decided_on, n.net, n.customer_id from new_rows n where status <> 'superseded' and not (
      exists (select from new_rows offset 200)
      and exists (select from quote_summary where base_currency is not null)
    );
  elsif tg_op = 'DELETE' then
    insert into quote_changes (sign, status, country, currency, rate, issued_on, valid_until,
      decided_on, net, customer_id)
    select -1 as sign, o.status, o.country, o.currency, o.rate, o.issued_on, o.valid_until,
      o.decided_on, o.net, o.customer_id from old_rows o where status <> 'superseded' and not (
      exists (select from old_rows offset 200)
      and exists (select from quote_summary where base_currency is not null)
    );
  else
    insert into quote_changes (sign, status, country, currency, rate, issued_on, valid_until,
      decided_on, net, customer_id, lines)
    select v.sign, v.status, v.country, v.currency, v.rate, v.issued_on, v.valid_until,
      v.decided_on, v.net, v.customer_id, case when v.status = 'accepted'
      and (n.status, n.country, n.currency, n.rate, n.issued_on, n.decided_on)
        is distinct from (o.status, o.country, o.currency, o.rate, o.issued_on, o.decided_on)
      then array(
        select row(coalesce(sku, ''), net)::accepted_line from quote_lines
        where quote_id = v.id
      ) end
      from new_rows n full join old_rows o on o.id = n.id
      cross join lateral (
        values (1, n.id, n.status, n.country, n.currency, n.rate, n.issued_on, n.valid_until,
          n.decided_on, n.net, n.customer_id),
          (-1, o.id, o.status, o.country, o.currency, o.rate, o.issued_on, o.valid_until,
          o.decided_on, o.net, o.customer_id)
      ) v (sign, id, status, country, currency, rate, issued_on, valid_until, decided_on, net,
        customer_id)
      where (n.status, n.country, n.currency, n.rate, n.issued_on, n.valid_until, n.decided_on,
        n.net, n.customer_id) is distinct
        from (o.status, o.country, o.currency, o.rate, o.issued_on, o.valid_until, o.decided_on,
        o.net, o.customer_id)
        and v.status <> 'superseded' and not (
      exists (select from new_rows offset 200)
      and exists (select from quote_summary where base_currency is not null)
    );
  end if;
  -- Single statements come first, because they are the most frequent ones.
  if found then
    return null;
  end if;
  if tg_op = 'DELETE' then
    if not (
      exists (select from old_rows offset 200)
      and exists (select from quote_summary where base_currency is not null)
    ) then return null; end if;
  elsif not (
      exists (select from new_rows offset 200)
      and exists (select from quote_summary where base_currency is not null)
    ) then
    return null;
  end if;
  all_changes := case tg_op
    when 'INSERT' then $changes$select 1 as sign, n.status, n.country, n.currency, n.rate,
      n.issued_on, n.valid_until, n.decided_on, n.net, n.customer_id from new_rows n$changes$
    when 'DELETE' then $changes$select -1 as sign, o.status, o.country, o.currency, o.rate,
      o.issued_on, o.valid_until, o.decided_on, o.net, o.customer_id from old_rows o$changes$
    else $changes$select 1 as sign, n.status, n.country, n.currency, n.rate, n.issued_on,
      n.valid_until, n.decided_on, n.net, n.customer_id from new_rows n union all select -1 as sign,
      o.status, o.country, o.currency, o.rate, o.issued_on, o.valid_until, o.decided_on, o.net,
      o.customer_id from old_rows o$changes$
  end;
  work_mem_before := current_setting('work_mem');
  perform set_config('work_mem', '64MB', true);
  execute replace($groups$
    with source as materialized (changes_of_statement),
    days as materialized (
  select 'day' as grain, c.date_kind, c.day as starts_on, c.country, c.currency,
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
  from source s cross join quote_summary b cross
    join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
    s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits) c
  group by 2, 3, 4, 5
), months as materialized (
  select 'month' as grain, date_kind, date_trunc('month', starts_on::timestamp)::date as starts_on,
    country,
    currency, sum(drafts) as drafts, sum(sent) as sent, sum(accepted) as accepted, sum(rejected)
      as rejected, sum(expired) as expired, sum(net) as net, sum(base_net) as base_net,
      sum(unconverted) as unconverted, sum(unconverted_net) as unconverted_net, sum(base_sent)
      as base_sent, sum(base_lost) as base_lost, sum(decided) as decided, sum(decision_days)
      as decision_days, sum(decision_histogram) as decision_histogram
  from days group by 2, 3, 4, 5
), figures as (
  select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
    net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
    decision_histogram from days where drafts <> 0 or sent <> 0 or accepted <> 0 or rejected <> 0
    or expired <> 0 or net <> 0 or base_net <> 0 or unconverted <> 0 or unconverted_net <> 0
    or base_sent <> 0 or base_lost <> 0 or decided <> 0 or decision_days <> 0
    or decision_histogram <> 0
  union all
  select 'day_total', date_kind, starts_on, '', currency, sum(drafts) as drafts, sum(sent) as sent,
    sum(accepted) as accepted, sum(rejected) as rejected, sum(expired) as expired, sum(net) as net,
    sum(base_net) as base_net, sum(unconverted) as unconverted, sum(unconverted_net)
    as unconverted_net, sum(base_sent) as base_sent, sum(base_lost) as base_lost, sum(decided)
    as decided, sum(decision_days) as decision_days, sum(decision_histogram) as decision_histogram
  from days group by 2, 3, 5 having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0
    or sum(rejected) <> 0 or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0
    or sum(unconverted) <> 0 or sum(unconverted_net) <> 0 or sum(base_sent) <> 0
    or sum(base_lost) <> 0 or sum(decided) <> 0 or sum(decision_days) <> 0
    or sum(decision_histogram) <> 0
  union all
  select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
    net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
    decision_histogram from months where drafts <> 0 or sent <> 0 or accepted <> 0 or rejected <> 0
    or expired <> 0 or net <> 0 or base_net <> 0 or unconverted <> 0 or unconverted_net <> 0
    or base_sent <> 0 or base_lost <> 0 or decided <> 0 or decision_days <> 0
    or decision_histogram <> 0
  union all
  select 'month_total', date_kind, starts_on, '', currency, sum(drafts) as drafts, sum(sent)
    as sent, sum(accepted) as accepted, sum(rejected) as rejected, sum(expired) as expired, sum(net)
    as net, sum(base_net) as base_net, sum(unconverted) as unconverted, sum(unconverted_net)
    as unconverted_net, sum(base_sent) as base_sent, sum(base_lost) as base_lost, sum(decided)
    as decided, sum(decision_days) as decision_days, sum(decision_histogram) as decision_histogram
  from months group by 2, 3, 5 having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0
    or sum(rejected) <> 0 or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0
    or sum(unconverted) <> 0 or sum(unconverted_net) <> 0 or sum(base_sent) <> 0
    or sum(base_lost) <> 0 or sum(decided) <> 0 or sum(decision_days) <> 0
    or sum(decision_histogram) <> 0
  union all
  select 'year', date_kind, date_trunc('year', starts_on::timestamp)::date, country, currency,
    sum(drafts) as drafts, sum(sent) as sent, sum(accepted) as accepted, sum(rejected) as rejected,
    sum(expired) as expired, sum(net) as net, sum(base_net) as base_net, sum(unconverted)
    as unconverted, sum(unconverted_net) as unconverted_net, sum(base_sent) as base_sent,
    sum(base_lost) as base_lost, sum(decided) as decided, sum(decision_days) as decision_days,
    sum(decision_histogram) as decision_histogram
  from months group by 2, 3, 4, 5 having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0
    or sum(rejected) <> 0 or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0
    or sum(unconverted) <> 0 or sum(unconverted_net) <> 0 or sum(base_sent) <> 0
    or sum(base_lost) <> 0 or sum(decided) <> 0 or sum(decision_days) <> 0
    or sum(decision_histogram) <> 0
), appended_figures as (
      insert into quote_figures_unfolded
        (grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
        net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
        decision_histogram)
      select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected,
        expired, net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided,
        decision_days, decision_histogram from figures
      returning 1
    ), appended_validity as (
      insert into quote_validity_unfolded
        (grain, valid_until, starts_on, country, currency, quotes, base_net)
select * from (
select g.grain, g.valid_until, g.starts_on, c.country, c.currency,
  coalesce(sum(s.sign * c.quotes), 0) as quotes,
  coalesce(sum(s.sign * c.base_net) filter (where c.base_net is not null), 0) as base_net
from source s cross join quote_summary b cross
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
      returning 1
    ), appended_customers as (
        insert into customer_figures_unfolded
          (date_kind, starts_on, country, currency, customer_id, quotes, accepted, base_net,
          unconverted)
select * from (
select f.date_kind, date_trunc('month', f.day::timestamp)::date, f.country, f.currency,
  coalesce(s.customer_id, 0),
  coalesce(sum(s.sign * c.quotes), 0) as quotes,
  coalesce(sum(s.sign * c.accepted), 0) as accepted,
  coalesce(sum(s.sign * c.base_net) filter (where c.base_net is not null), 0) as base_net,
  coalesce(sum(s.sign * c.unconverted), 0) as unconverted
from source s cross join quote_summary b cross
  join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on, s.valid_until,
  s.decided_on, s.net, b.base_currency, b.base_digits) f
cross join lateral (
  select coalesce(f.drafts, f.sent, f.accepted, f.rejected, f.expired) as quotes, f.accepted,
    f.base_net, f.unconverted
) c
group by 1, 2, 3, 4, 5
) cells where quotes <> 0 or accepted <> 0 or base_net <> 0 or unconverted <> 0 returning 1)
    insert into quote_changes (sign)
    select 0
    where exists (select from appended_figures) or exists (select from appended_validity)
      or exists (select from appended_customers)
  $groups$, 'changes_of_statement', all_changes);
  get diagnostics appended = row_count;
  if tg_op = 'UPDATE' then
    if exists (select from new_rows where status = 'accepted')
      or exists (select from old_rows where status = 'accepted') then
      insert into product_figures_unfolded
        (issued_in, accepted_in, country, currency, sku, lines, net, rated_net, unrated_lines)
    select * from (
      select date_trunc('month', q.issued_on::timestamp)::date as issued_in,
        date_trunc('month', coalesce(q.decided_on, q.issued_on)::timestamp)::date as accepted_in,
        coalesce(q.country, '') as country, q.currency, coalesce(l.sku, '') as sku,
        sum(q.sign) as lines, sum(q.sign * l.net) as net,
        coalesce(sum(q.sign * l.net * q.rate), 0) as rated_net,
        coalesce(sum(q.sign) filter (where q.rate is null), 0) as unrated_lines
      from (
        select v.* from new_rows n full join old_rows o on o.id = n.id cross join lateral (
          values (1, n.id, n.status, n.country, n.currency, n.rate, n.issued_on, n.decided_on),
            (-1, o.id, o.status, o.country, o.currency, o.rate, o.issued_on, o.decided_on)
        ) v (sign, id, status, country, currency, rate, issued_on, decided_on)
        where v.status = 'accepted'
          and (n.status, n.country, n.currency, n.rate, n.issued_on, n.decided_on)
            is distinct from (o.status, o.country, o.currency, o.rate, o.issued_on, o.decided_on)
      ) q cross join lateral (
        select sku, net from quote_lines where quote_id = q.id offset 0
      ) l
      group by 1, 2, 3, 4, 5
    ) cells where lines <> 0 or net <> 0 or rated_net <> 0 or unrated_lines <> 0;
      if found and appended = 0 then
        insert into quote_changes (sign) values (0);
      end if;
    end if; end if;
  perform set_config('work_mem', work_mem_before, true);
  return null;
end $$;

-- A deleted quote is subtracted before its row is gone, by subtract_lines_of_quote.
create or replace function append_replicated_change() returns trigger
language plpgsql security definer set search_path = public, pg_temp
set enable_seqscan = off as $$
begin
  insert into quote_changes (sign, status, country, currency, rate, issued_on, valid_until,
    decided_on, net, customer_id)
  select * from (values (1, new.status, new.country, new.currency, new.rate, new.issued_on,
    new.valid_until, new.decided_on, new.net, new.customer_id),
    (-1, old.status, old.country, old.currency, old.rate, old.issued_on, old.valid_until,
    old.decided_on, old.net, old.customer_id))
    v (sign, status, country, currency, rate, issued_on, valid_until, decided_on, net, customer_id)
  where status <> 'superseded';
  if tg_op <> 'DELETE' and (new.status = 'accepted' or old.status = 'accepted') then
    insert into product_figures_unfolded
      (issued_in, accepted_in, country, currency, sku, lines, net, rated_net, unrated_lines)
    select * from (
      select date_trunc('month', q.issued_on::timestamp)::date as issued_in,
        date_trunc('month', coalesce(q.decided_on, q.issued_on)::timestamp)::date as accepted_in,
        coalesce(q.country, '') as country, q.currency, coalesce(l.sku, '') as sku,
        sum(q.sign) as lines, sum(q.sign * l.net) as net,
        coalesce(sum(q.sign * l.net * q.rate), 0) as rated_net,
        coalesce(sum(q.sign) filter (where q.rate is null), 0) as unrated_lines
      from (
        select v.* from  (
          values (1, new.id, new.status, new.country, new.currency, new.rate, new.issued_on,
            new.decided_on),
            (-1, old.id, old.status, old.country, old.currency, old.rate, old.issued_on,
              old.decided_on)
        ) v (sign, id, status, country, currency, rate, issued_on, decided_on)
        where v.status = 'accepted') q cross join lateral (
        select sku, net from quote_lines where quote_id = q.id offset 0
      ) l
      group by 1, 2, 3, 4, 5
    ) cells where lines <> 0 or net <> 0 or rated_net <> 0 or unrated_lines <> 0;
  end if;
  return null;
end $$;

create or replace trigger append_inserts after insert on quotes
  referencing new table as new_rows
  for each statement execute function append_quote_changes();

create or replace trigger append_updates after update on quotes
  referencing old table as old_rows new table as new_rows
  for each statement execute function append_quote_changes();

create or replace trigger append_deletes after delete on quotes
  referencing old table as old_rows
  for each statement execute function append_quote_changes();

create or replace trigger append_replicated after insert or update or delete on quotes
  for each row when (current_setting('session_replication_role') = 'replica')
  execute function append_replicated_change();

alter table quotes enable replica trigger append_replicated;

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
      base_lost, decided, decision_days, decision_histogram)
    select grain, date_kind, starts_on, country, currency, sum(drafts), sum(sent), sum(accepted),
      sum(rejected), sum(expired), sum(net), sum(base_net), sum(unconverted), sum(unconverted_net),
      sum(base_sent), sum(base_lost), sum(decided), sum(decision_days), sum(decision_histogram)
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
    on conflict (grain, date_kind, starts_on, country, currency) do update set
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
  ), summary as (
    update quote_summary set folded = folded + changes,
      folded_through = case when is_complete
        then pg_current_snapshot() else folded_through end,
      folded_by = case when is_complete then pg_current_xact_id() else folded_by end,
      server_started_at = case when is_complete
        then pg_postmaster_start_time() else server_started_at end
    from (select *, changes < batch and quote_figures < batch and quote_validity < batch
      and customer_figures < batch and product_figures < greatest(batch / 8, 1) as is_complete
      from counts) counts
  )
  select
    changes + quote_figures + quote_validity + customer_figures + product_figures,
    (select array_agg(cell) from folded_quote_figures where is_empty),
    (select array_agg(cell) from folded_quote_validity where is_empty),
    (select array_agg(cell) from folded_customer_figures where is_empty),
    (select array_agg(cell) from folded_product_figures where is_empty)
  into
    moved, empty_quote_figures, empty_quote_validity, empty_customer_figures, empty_product_figures
  from counts;
  delete from quote_figures f using unnest(empty_quote_figures) e
  where f.grain = e.grain and f.date_kind = e.date_kind and f.starts_on = e.starts_on
    and f.country = e.country and f.currency = e.currency;
  delete from quote_validity f using unnest(empty_quote_validity) e
  where f.grain = e.grain and f.valid_until = e.valid_until and f.starts_on = e.starts_on
    and f.country = e.country and f.currency = e.currency;
  delete from customer_figures f using unnest(empty_customer_figures) e
  where f.grain = e.grain and f.date_kind = e.date_kind and f.starts_on = e.starts_on
    and f.country = e.country and f.currency = e.currency and f.customer_id = e.customer_id;
  delete from product_figures f using unnest(empty_product_figures) e
  where f.grain = e.grain and f.date_kind = e.date_kind and f.country = e.country
    and f.starts_on = e.starts_on and f.currency = e.currency and f.sku = e.sku;
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
  delete from quote_figures;
  delete from quote_validity;
  delete from customer_figures;
  delete from product_figures;
  with moved_changes as (delete from quote_changes),
  moved_from_quote_figures as (delete from quote_figures_unfolded),
  filled_quote_figures as (
    insert into quote_figures (grain, date_kind, starts_on, country, currency, drafts, sent,
      accepted, rejected, expired, net, base_net, unconverted, unconverted_net, base_sent,
      base_lost, decided, decision_days, decision_histogram)
    select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected,
      expired, net, base_net, unconverted, unconverted_net, base_sent, base_lost, decided,
      decision_days, decision_histogram
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

create or replace function empty_quote_summary() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  lock table quote_summary, quote_changes, quote_figures, quote_figures_unfolded, quote_validity,
    quote_validity_unfolded, customer_figures, customer_figures_unfolded, product_figures,
    product_figures_unfolded in access exclusive mode;
  truncate quote_changes, quote_figures, quote_figures_unfolded, quote_validity,
    quote_validity_unfolded, customer_figures, customer_figures_unfolded, product_figures,
    product_figures_unfolded;
  update quote_summary set generation = gen_random_uuid(), folded = 0,
    folded_through = pg_current_snapshot(), folded_by = pg_current_xact_id(),
    server_started_at = pg_postmaster_start_time();
  return null;
end $$;

comment on column quote_figures.drafts is 'Quotes with status draft.';
comment on column quote_figures_unfolded.drafts is 'Change: Quotes with status draft.';
comment on column current_figures.drafts is 'Part of: Quotes with status draft.';
comment on column grouped_figures.drafts is 'Part of: Quotes with status draft.';
comment on column changed_figures.drafts is 'Change: Quotes with status draft.';
comment on column quote_figures.sent is
  'Quotes with status sent, also if their validity is over: see quote_validity.';
comment on column quote_figures_unfolded.sent is
  'Change: Quotes with status sent, also if their validity is over: see quote_validity.';
comment on column current_figures.sent is
  'Part of: Quotes with status sent, also if their validity is over: see quote_validity.';
comment on column grouped_figures.sent is
  'Part of: Quotes with status sent, also if their validity is over: see quote_validity.';
comment on column changed_figures.sent is
  'Change: Quotes with status sent, also if their validity is over: see quote_validity.';
comment on column quote_figures.accepted is 'Quotes with status accepted.';
comment on column quote_figures_unfolded.accepted is 'Change: Quotes with status accepted.';
comment on column current_figures.accepted is 'Part of: Quotes with status accepted.';
comment on column grouped_figures.accepted is 'Part of: Quotes with status accepted.';
comment on column changed_figures.accepted is 'Change: Quotes with status accepted.';
comment on column quote_figures.rejected is 'Quotes with status rejected.';
comment on column quote_figures_unfolded.rejected is 'Change: Quotes with status rejected.';
comment on column current_figures.rejected is 'Part of: Quotes with status rejected.';
comment on column grouped_figures.rejected is 'Part of: Quotes with status rejected.';
comment on column changed_figures.rejected is 'Change: Quotes with status rejected.';
comment on column quote_figures.expired is 'Quotes with status expired.';
comment on column quote_figures_unfolded.expired is 'Change: Quotes with status expired.';
comment on column current_figures.expired is 'Part of: Quotes with status expired.';
comment on column grouped_figures.expired is 'Part of: Quotes with status expired.';
comment on column changed_figures.expired is 'Change: Quotes with status expired.';
comment on column quote_figures.net is 'Net of accepted quotes in their currency.';
comment on column quote_figures_unfolded.net is 'Change: Net of accepted quotes in their currency.';
comment on column current_figures.net is 'Part of: Net of accepted quotes in their currency.';
comment on column grouped_figures.net is 'Part of: Net of accepted quotes in their currency.';
comment on column changed_figures.net is 'Change: Net of accepted quotes in their currency.';
comment on column quote_figures.base_net is
  'Net of accepted quotes that have a rate, in the base currency.';
comment on column quote_figures_unfolded.base_net is
  'Change: Net of accepted quotes that have a rate, in the base currency.';
comment on column current_figures.base_net is
  'Part of: Net of accepted quotes that have a rate, in the base currency.';
comment on column grouped_figures.base_net is
  'Part of: Net of accepted quotes that have a rate, in the base currency.';
comment on column changed_figures.base_net is
  'Change: Net of accepted quotes that have a rate, in the base currency.';
comment on column quote_figures.unconverted is
  'Accepted quotes without a rate: part of net, not of base_net.';
comment on column quote_figures_unfolded.unconverted is
  'Change: Accepted quotes without a rate: part of net, not of base_net.';
comment on column current_figures.unconverted is
  'Part of: Accepted quotes without a rate: part of net, not of base_net.';
comment on column grouped_figures.unconverted is
  'Part of: Accepted quotes without a rate: part of net, not of base_net.';
comment on column changed_figures.unconverted is
  'Change: Accepted quotes without a rate: part of net, not of base_net.';
comment on column quote_figures.unconverted_net is
  'Net of the unconverted quotes in their currency.';
comment on column quote_figures_unfolded.unconverted_net is
  'Change: Net of the unconverted quotes in their currency.';
comment on column current_figures.unconverted_net is
  'Part of: Net of the unconverted quotes in their currency.';
comment on column grouped_figures.unconverted_net is
  'Part of: Net of the unconverted quotes in their currency.';
comment on column changed_figures.unconverted_net is
  'Change: Net of the unconverted quotes in their currency.';
comment on column quote_figures.base_sent is
  'Net of sent quotes that have a rate, in the base currency.';
comment on column quote_figures_unfolded.base_sent is
  'Change: Net of sent quotes that have a rate, in the base currency.';
comment on column current_figures.base_sent is
  'Part of: Net of sent quotes that have a rate, in the base currency.';
comment on column grouped_figures.base_sent is
  'Part of: Net of sent quotes that have a rate, in the base currency.';
comment on column changed_figures.base_sent is
  'Change: Net of sent quotes that have a rate, in the base currency.';
comment on column quote_figures.base_lost is
  'Net of rejected and expired quotes that have a rate, in the base currency.';
comment on column quote_figures_unfolded.base_lost is
  'Change: Net of rejected and expired quotes that have a rate, in the base currency.';
comment on column current_figures.base_lost is
  'Part of: Net of rejected and expired quotes that have a rate, in the base currency.';
comment on column grouped_figures.base_lost is
  'Part of: Net of rejected and expired quotes that have a rate, in the base currency.';
comment on column changed_figures.base_lost is
  'Change: Net of rejected and expired quotes that have a rate, in the base currency.';
comment on column quote_figures.decided is
  'Accepted and rejected quotes with a known day of decision.';
comment on column quote_figures_unfolded.decided is
  'Change: Accepted and rejected quotes with a known day of decision.';
comment on column current_figures.decided is
  'Part of: Accepted and rejected quotes with a known day of decision.';
comment on column grouped_figures.decided is
  'Part of: Accepted and rejected quotes with a known day of decision.';
comment on column changed_figures.decided is
  'Change: Accepted and rejected quotes with a known day of decision.';
comment on column quote_figures.decision_days is
  'Sum of the days from issue to decision of the decided quotes.';
comment on column quote_figures_unfolded.decision_days is
  'Change: Sum of the days from issue to decision of the decided quotes.';
comment on column current_figures.decision_days is
  'Part of: Sum of the days from issue to decision of the decided quotes.';
comment on column grouped_figures.decision_days is
  'Part of: Sum of the days from issue to decision of the decided quotes.';
comment on column changed_figures.decision_days is
  'Change: Sum of the days from issue to decision of the decided quotes.';
comment on column quote_figures.decision_histogram is
  'Histogram of the days from issue to decision: the 8 digits at 10^(8d) count the quotes '
  'decided after d days, or after 1000 days and more for d = 1000.';
comment on column quote_figures_unfolded.decision_histogram is
  'Change: Histogram of the days from issue to decision: the 8 digits at 10^(8d) count the '
  'quotes decided after d days, or after 1000 days and more for d = 1000.';
comment on column current_figures.decision_histogram is
  'Part of: Histogram of the days from issue to decision: the 8 digits at 10^(8d) count the '
  'quotes decided after d days, or after 1000 days and more for d = 1000.';
comment on column grouped_figures.decision_histogram is
  'Part of: Histogram of the days from issue to decision: the 8 digits at 10^(8d) count the '
  'quotes decided after d days, or after 1000 days and more for d = 1000.';
comment on column changed_figures.decision_histogram is
  'Change: Histogram of the days from issue to decision: the 8 digits at 10^(8d) count the '
  'quotes decided after d days, or after 1000 days and more for d = 1000.';
comment on column current_figures.grain is 'What the row adds up.';
comment on column current_figures.starts_on is 'The day, or the first day of the month or year.';
comment on column current_figures.country is
  'Of the buyer. Empty: unknown, so that it can be part of a key.';
comment on column current_figures.currency is 'Of the quotes.';
comment on column current_figures.date_kind is
  'issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.';
comment on column current_figures.grain is
  'day, month or year by country; month_total: months over all countries, with an empty country.';
comment on column grouped_figures.grain is 'What the row adds up.';
comment on column grouped_figures.starts_on is 'The day, or the first day of the month or year.';
comment on column grouped_figures.country is
  'Of the buyer. Empty: unknown, so that it can be part of a key.';
comment on column grouped_figures.currency is 'Of the quotes.';
comment on column grouped_figures.date_kind is
  'issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.';
comment on column grouped_figures.grain is
  'day, month or year by country; month_total: months over all countries, with an empty country.';
comment on column changed_figures.date_kind is
  'issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.';
comment on column changed_figures.day is 'The day on which the figures count.';
comment on column changed_figures.country is
  'Of the buyer. Empty: unknown, so that it can be part of a key.';
comment on column changed_figures.currency is 'Of the quotes.';
comment on function quote_figures_of is
  'What one quote contributes to quote_figures: the one definition of every figure. A quote '
  'counts on its day of issue, and an accepted one also on its day of decision.';
comment on view current_figures is
  'Figures of all committed quotes: grouped_figures, and changed_figures as days, months and '
  'years. A reader adds up the rows of a key.';
comment on view grouped_figures is
  'Figures without single changes: folded rows, and the unfolded rows of statements with many '
  'quotes.';
comment on view changed_figures is 'Figures of single changes that are not folded, by day.';
comment on function figures_from_quotes is
  'Figures computed from the quotes that count between two days: for the rebuild and the '
  'verification.';
comment on function append_quote_changes is
  'Appends what a statement changes, in the transaction of the writer. Writers share no row, so '
  'they never wait for each other.';
comment on function fold_quote_changes is
  'Moves up to this number of unfolded rows of each table into the summary and returns how many. '
  'Returns 0 if there are none or if another process is folding.';
comment on function find_summary_differences is
  'Rows of the summary between two days, the whole months that begin there included, that differ '
  'from the quotes; at most twenty. Years are compared with the oldest of their months.';
comment on function rebuild_quote_summary is
  'Rebuilds the summary from the quotes. Writers and readers are not blocked.';

-- A quote that another transaction is about to accept must count with these lines, once. The lock
-- makes one wait for the other: the second sees what the first has committed. FOR SHARE would do,
-- but two writers of lines that then update the totals of the quote would deadlock. A row that this
-- transaction has written needs no lock: nobody else can change it. Most lines are written with
-- their quote, so this is checked first. Plans are cached for the session. A nested loop that was
-- planned for one line would take too long for thousands. EXECUTE plans each statement for its own
-- lines.
create or replace function append_line_changes() returns trigger language plpgsql security definer
set search_path = public, pg_temp set enable_seqscan = off as $$
declare
  quote_ids bigint[];
  accepted_ids bigint[];
  appended bigint;
begin
  if tg_op = 'INSERT' then
    quote_ids := array(select quote_id from new_rows);
  elsif tg_op = 'DELETE' then
    quote_ids := array(select quote_id from old_rows);
  else
    quote_ids := array(select quote_id from new_rows union select quote_id from old_rows);
  end if;
  if not exists (
    select from quotes where id = any (quote_ids)
    and (status = 'accepted' or xmin <> pg_current_xact_id()::xid)
  ) then
    return null;
  end if;
  perform from quotes
  where id = any (quote_ids) and xmin <> pg_current_xact_id()::xid
  order by id for no key update;
  accepted_ids := array(
    select id from quotes where id = any (quote_ids) and status = 'accepted'
  );
  if accepted_ids = '{}' then
    return null;
  end if;
  execute case tg_op
    when 'INSERT' then $insert$insert into product_figures_unfolded
      (issued_in, accepted_in, country, currency, sku, lines, net, rated_net, unrated_lines)
    select * from (
      select date_trunc('month', q.issued_on::timestamp)::date as issued_in,
        date_trunc('month', coalesce(q.decided_on, q.issued_on)::timestamp)::date as accepted_in,
        coalesce(q.country, '') as country, q.currency, coalesce(l.sku, '') as sku,
        sum(1) as lines, sum(1 * l.net) as net,
        coalesce(sum(1 * l.net * q.rate), 0) as rated_net,
        coalesce(sum(1) filter (where q.rate is null), 0) as unrated_lines
      from new_rows l join (
        select id, status, country, currency, rate, issued_on, decided_on from quotes
          where id = any ($1) offset 0
      ) q on q.id = l.quote_id
      group by 1, 2, 3, 4, 5
    ) cells where lines <> 0 or net <> 0 or rated_net <> 0 or unrated_lines <> 0;$insert$
    when 'DELETE' then $delete$insert into product_figures_unfolded
      (issued_in, accepted_in, country, currency, sku, lines, net, rated_net, unrated_lines)
    select * from (
      select date_trunc('month', q.issued_on::timestamp)::date as issued_in,
        date_trunc('month', coalesce(q.decided_on, q.issued_on)::timestamp)::date as accepted_in,
        coalesce(q.country, '') as country, q.currency, coalesce(l.sku, '') as sku,
        sum(-1) as lines, sum(-1 * l.net) as net,
        coalesce(sum(-1 * l.net * q.rate), 0) as rated_net,
        coalesce(sum(-1) filter (where q.rate is null), 0) as unrated_lines
      from old_rows l join (
        select id, status, country, currency, rate, issued_on, decided_on from quotes
          where id = any ($1) offset 0
      ) q on q.id = l.quote_id
      group by 1, 2, 3, 4, 5
    ) cells where lines <> 0 or net <> 0 or rated_net <> 0 or unrated_lines <> 0;$delete$
    else $update$insert into product_figures_unfolded
      (issued_in, accepted_in, country, currency, sku, lines, net, rated_net, unrated_lines)
    select * from (
      select date_trunc('month', q.issued_on::timestamp)::date as issued_in,
        date_trunc('month', coalesce(q.decided_on, q.issued_on)::timestamp)::date as accepted_in,
        coalesce(q.country, '') as country, q.currency, coalesce(l.sku, '') as sku,
        sum(l.sign) as lines, sum(l.sign * l.net) as net,
        coalesce(sum(l.sign * l.net * q.rate), 0) as rated_net,
        coalesce(sum(l.sign) filter (where q.rate is null), 0) as unrated_lines
      from (
        select 1 as sign, quote_id, sku, net from new_rows
        union all
        select -1, quote_id, sku, net from old_rows
      ) l join (
        select id, status, country, currency, rate, issued_on, decided_on from quotes
          where id = any ($1) offset 0
      ) q on q.id = l.quote_id
      group by 1, 2, 3, 4, 5
    ) cells where lines <> 0 or net <> 0 or rated_net <> 0 or unrated_lines <> 0;$update$
  end using accepted_ids;
  get diagnostics appended = row_count;
  if appended > 0 then
    insert into quote_changes (sign) values (0);
  end if;
  return null;
end $$;

-- Deletes instead of truncating: an exclusive lock could deadlock with a transaction that has
-- written quotes and is about to write lines. The lock on folding comes last, because folding waits
-- for the tables of the summary, which a truncate of quotes has locked and emptied.
create or replace function empty_product_figures() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (select from product_figures) or exists (select from product_figures_unfolded)
    or exists (select from quote_changes where lines is not null) then
    perform pg_advisory_xact_lock(hashtextextended('trade-quoting-service fold', 0));
    delete from product_figures;
    delete from product_figures_unfolded;
    update quote_changes set lines = null where lines is not null;
    update quote_summary set generation = gen_random_uuid();
  end if;
  return null;
end $$;

create function append_replicated_line() returns trigger language plpgsql security definer
set search_path = public, pg_temp set enable_seqscan = off as $$
begin
  insert into product_figures_unfolded
    (issued_in, accepted_in, country, currency, sku, lines, net, rated_net, unrated_lines)
    select * from (
      select date_trunc('month', q.issued_on::timestamp)::date as issued_in,
        date_trunc('month', coalesce(q.decided_on, q.issued_on)::timestamp)::date as accepted_in,
        coalesce(q.country, '') as country, q.currency, coalesce(l.sku, '') as sku,
        sum(l.sign) as lines, sum(l.sign * l.net) as net,
        coalesce(sum(l.sign * l.net * q.rate), 0) as rated_net,
        coalesce(sum(l.sign) filter (where q.rate is null), 0) as unrated_lines
      from (
        values (1, new.quote_id, new.sku, new.net), (-1, old.quote_id, old.sku, old.net)
      ) l (sign, quote_id, sku, net) cross join lateral (
        select status, country, currency, rate, issued_on, decided_on from quotes
          where id = l.quote_id offset 0
      ) q where q.status = 'accepted'
      group by 1, 2, 3, 4, 5
    ) cells where lines <> 0 or net <> 0 or rated_net <> 0 or unrated_lines <> 0;
  if found then
    insert into quote_changes (sign) values (0);
  end if;
  return null;
end $$;

-- The lines of a deleted quote are deleted before the triggers that follow a statement. Then
-- neither the quote nor its lines are left to read.
create function subtract_lines_of_quote() returns trigger language plpgsql security definer
set search_path = public, pg_temp set enable_seqscan = off as $$
begin
  insert into product_figures_unfolded
    (issued_in, accepted_in, country, currency, sku, lines, net, rated_net, unrated_lines)
    select * from (
      select date_trunc('month', q.issued_on::timestamp)::date as issued_in,
        date_trunc('month', coalesce(q.decided_on, q.issued_on)::timestamp)::date as accepted_in,
        coalesce(q.country, '') as country, q.currency, coalesce(l.sku, '') as sku,
        sum(-1) as lines, sum(-1 * l.net) as net,
        coalesce(sum(-1 * l.net * q.rate), 0) as rated_net,
        coalesce(sum(-1) filter (where q.rate is null), 0) as unrated_lines
      from (select old.id, old.status, old.country, old.currency, old.rate, old.issued_on,
        old.decided_on) q cross join lateral (
        select sku, net from quote_lines where quote_id = q.id offset 0
      ) l
      group by 1, 2, 3, 4, 5
    ) cells where lines <> 0 or net <> 0 or rated_net <> 0 or unrated_lines <> 0;
  return old;
end $$;

create trigger append_inserts after insert on quote_lines referencing new table as new_rows
  for each statement execute function append_line_changes();
create trigger append_updates after update on quote_lines
  referencing old table as old_rows new table as new_rows
  for each statement execute function append_line_changes();
create trigger append_deletes after delete on quote_lines referencing old table as old_rows
  for each statement execute function append_line_changes();
create trigger append_replicated after insert or update or delete on quote_lines
  for each row when (current_setting('session_replication_role') = 'replica')
  execute function append_replicated_line();
create trigger empty_figures after truncate on quote_lines
  for each statement execute function empty_product_figures();
create trigger subtract_lines before delete on quotes
  for each row when (old.status = 'accepted') execute function subtract_lines_of_quote();
alter table quote_lines enable replica trigger append_replicated,
  enable always trigger empty_figures;
alter table quotes enable always trigger subtract_lines;

-- Answers contain names. A row in quote_changes tells the caches that one has changed.
create function note_customer_names() returns trigger language plpgsql security definer
set search_path = public, pg_temp as $$
begin
  insert into quote_changes (sign) select 0 where exists (
    select from new_rows n full join old_rows o on o.id = n.id
    where n.name is distinct from o.name
  );
  return null;
end $$;

create function note_product_names() returns trigger language plpgsql security definer
set search_path = public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into quote_changes (sign) select 0 where exists (select from new_rows);
  elsif tg_op = 'DELETE' then
    insert into quote_changes (sign) select 0 where exists (select from old_rows);
  else
    insert into quote_changes (sign) select 0 where exists (
      select from new_rows n full join old_rows o on o.id = n.id
      where (n.sku, n.name) is distinct from (o.sku, o.name)
    );
  end if;
  return null;
end $$;

create function note_changed_name() returns trigger language plpgsql security definer
set search_path = public, pg_temp as $$
begin
  insert into quote_changes (sign) values (0);
  return null;
end $$;

create trigger note_names after update on customers
  referencing old table as old_rows new table as new_rows
  for each statement execute function note_customer_names();
create trigger note_replicated_names after update on customers
  for each row
  when (current_setting('session_replication_role') = 'replica' and new.name <> old.name)
  execute function note_changed_name();
create trigger note_inserted_names after insert on products referencing new table as new_rows
  for each statement execute function note_product_names();
create trigger note_updated_names after update on products
  referencing old table as old_rows new table as new_rows
  for each statement execute function note_product_names();
create trigger note_deleted_names after delete on products referencing old table as old_rows
  for each statement execute function note_product_names();
create trigger note_truncated_names after truncate on products
  for each statement execute function note_changed_name();
create trigger note_replicated_products after insert or delete on products
  for each row when (current_setting('session_replication_role') = 'replica')
  execute function note_changed_name();
create trigger note_replicated_names after update on products
  for each row when (current_setting('session_replication_role') = 'replica'
  and (new.sku <> old.sku or new.name <> old.name))
  execute function note_changed_name();
alter table customers enable replica trigger note_replicated_names;
alter table products enable replica trigger note_replicated_products,
  enable replica trigger note_replicated_names, enable always trigger note_truncated_names;

create view breakdown_sources as
select from customers, quotes, quote_lines where false;

alter table api_keys drop constraint api_keys_scopes_check,
  add constraint api_keys_scopes_check check (
  cardinality(scopes) > 0
  and scopes <@ array['search:read', 'stats:read', 'stats:detail']
);

comment on column quote_changes.customer_id is 'customer_id of the quote.';
comment on column unfolded_changes.customer_id is 'customer_id of the quote.';
comment on column quote_changes.sign is
  '1: the quote counts from now on; -1: it counted before; 0: many quotes, lines or names changed.';
comment on table customer_figures is
  'Figures by customer and month or year, without what is not folded.';
comment on table customer_figures_months is 'The rows of customer_figures that are months.';
comment on table customer_figures_years is 'The rows of customer_figures that are years.';
comment on table customer_figures_unfolded is 'Changes of months by statements with many quotes.';
comment on view current_customer_figures is
  'Figures by customer of all committed quotes. A reader adds up the rows of a key.';
comment on column customer_figures.grain is 'month or year.';
comment on column customer_figures.date_kind is
  'issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.';
comment on column customer_figures.starts_on is 'The first day of the month or year.';
comment on column customer_figures.country is
  'Of the buyer. Empty: unknown, so that it can be part of a key.';
comment on column customer_figures.currency is 'Of the quotes.';
comment on column customer_figures.customer_id is 'The customer; 0: none is known.';
comment on column current_customer_figures.grain is 'month or year.';
comment on column current_customer_figures.date_kind is
  'issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.';
comment on column current_customer_figures.starts_on is 'The first day of the month or year.';
comment on column current_customer_figures.country is
  'Of the buyer. Empty: unknown, so that it can be part of a key.';
comment on column current_customer_figures.currency is 'Of the quotes.';
comment on column current_customer_figures.customer_id is 'The customer; 0: none is known.';
comment on column customer_figures.quotes is 'Quotes of every status except superseded.';
comment on column customer_figures.accepted is 'Quotes with status accepted.';
comment on column customer_figures.base_net is
  'Net of accepted quotes that have a rate, in the base currency.';
comment on column customer_figures.unconverted is 'Accepted quotes without a rate.';
comment on column current_customer_figures.quotes is
  'Part of: Quotes of every status except superseded.';
comment on column current_customer_figures.accepted is 'Part of: Quotes with status accepted.';
comment on column current_customer_figures.base_net is
  'Part of: Net of accepted quotes that have a rate, in the base currency.';
comment on column current_customer_figures.unconverted is
  'Part of: Accepted quotes without a rate.';
comment on column customer_figures_unfolded.xid is 'The transaction that appended the row.';
comment on column customer_figures_unfolded.date_kind is
  'issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.';
comment on column customer_figures_unfolded.starts_on is 'The first day of the month.';
comment on column customer_figures_unfolded.country is
  'Of the buyer. Empty: unknown, so that it can be part of a key.';
comment on column customer_figures_unfolded.currency is 'Of the quotes.';
comment on column customer_figures_unfolded.customer_id is 'The customer; 0: none is known.';
comment on column customer_figures_unfolded.quotes is
  'Change: Quotes of every status except superseded.';
comment on column customer_figures_unfolded.accepted is 'Change: Quotes with status accepted.';
comment on column customer_figures_unfolded.base_net is
  'Change: Net of accepted quotes that have a rate, in the base currency.';
comment on column customer_figures_unfolded.unconverted is
  'Change: Accepted quotes without a rate.';
comment on table product_figures is 'Figures by SKU and month or year, without what is not folded.';
comment on table product_figures_months is
  'The rows of product_figures that are months by country.';
comment on table product_figures_totals is 'The rows of product_figures that are years and totals.';
comment on table product_figures_unfolded is
  'Changes of the lines of accepted quotes. A row counts by both of its months.';
comment on view current_product_figures is
  'Figures by SKU of the lines of all accepted quotes. A reader adds up the rows of a key.';
comment on column product_figures.grain is
  'month or year by country; month_total and year_total: over all countries.';
comment on column product_figures.date_kind is
  'issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.';
comment on column product_figures.starts_on is 'The first day of the month or year.';
comment on column product_figures.country is
  'Of the buyer. Empty: unknown, so that it can be part of a key.';
comment on column product_figures.currency is 'Of the quotes.';
comment on column product_figures.sku is 'As written in the lines; empty: lines without one.';
comment on column current_product_figures.grain is
  'month or year by country; month_total and year_total: over all countries.';
comment on column current_product_figures.date_kind is
  'issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.';
comment on column current_product_figures.starts_on is 'The first day of the month or year.';
comment on column current_product_figures.country is
  'Of the buyer. Empty: unknown, so that it can be part of a key.';
comment on column current_product_figures.currency is 'Of the quotes.';
comment on column current_product_figures.sku is
  'As written in the lines; empty: lines without one.';
comment on column product_figures.lines is 'Lines of accepted quotes.';
comment on column product_figures.net is 'Their net in the currency of the quotes.';
comment on column product_figures.rated_net is
  'Net × rate of the lines whose quotes have a rate, not rounded.';
comment on column product_figures.unrated_lines is 'Lines whose quotes have no rate.';
comment on column current_product_figures.lines is 'Part of: Lines of accepted quotes.';
comment on column current_product_figures.net is
  'Part of: Their net in the currency of the quotes.';
comment on column current_product_figures.rated_net is
  'Part of: Net × rate of the lines whose quotes have a rate, not rounded.';
comment on column current_product_figures.unrated_lines is
  'Part of: Lines whose quotes have no rate.';
comment on column product_figures_unfolded.xid is 'The transaction that appended the row.';
comment on column product_figures_unfolded.issued_in is 'The first day of the month of issue.';
comment on column product_figures_unfolded.accepted_in is
  'The first day of the month of decision, or of issue if that is not known.';
comment on column product_figures_unfolded.country is
  'Of the buyer. Empty: unknown, so that it can be part of a key.';
comment on column product_figures_unfolded.currency is 'Of the quotes.';
comment on column product_figures_unfolded.sku is
  'As written in the lines; empty: lines without one.';
comment on column product_figures_unfolded.lines is 'Change: Lines of accepted quotes.';
comment on column product_figures_unfolded.net is
  'Change: Their net in the currency of the quotes.';
comment on column product_figures_unfolded.rated_net is
  'Change: Net × rate of the lines whose quotes have a rate, not rounded.';
comment on column product_figures_unfolded.unrated_lines is
  'Change: Lines whose quotes have no rate.';
comment on view breakdown_sources is
  'Selects nothing. Whoever locks it locks the tables of which figures by customer and product '
  'read single days and names.';
comment on function quotes_between(date, date) is
  'The quotes that count on a day between two days.';
comment on function customer_figures_from_quotes(date, date) is
  'customer_figures computed from the quotes that count between two days.';
comment on function product_figures_from_quotes(date, date) is
  'product_figures computed from the lines of the quotes that count between two days.';
comment on function customer_figures_between(text, date, date) is
  'Figures by customer of single days, by one kind of date.';
comment on function product_figures_between(text, date, date) is
  'Figures by SKU of single days, by one kind of date.';
comment on function append_line_changes() is
  'Appends what a statement changes in the lines of accepted quotes. Locks the quotes, so that '
  'nobody changes their status before this transaction ends.';
comment on function append_replicated_line() is
  'Appends what logical replication changes, which fires no triggers for statements.';
comment on function subtract_lines_of_quote() is
  'Subtracts the lines of an accepted quote before they are deleted with it.';
comment on function empty_product_figures() is
  'Empties the figures by product when lines are truncated.';
comment on function note_customer_names() is
  'Changes the version of the summary if a name of a customer changes.';
comment on function note_product_names() is
  'Changes the version of the summary if the name of a SKU may change.';
comment on function note_changed_name() is 'Changes the version of the summary.';

set local work_mem = '64MB';

insert into customer_figures (grain, date_kind, starts_on, country, currency, customer_id, quotes,
  accepted, base_net, unconverted)
select grain, date_kind, starts_on, country, currency, customer_id, quotes, accepted, base_net,
  unconverted
from customer_figures_from_quotes('-infinity', 'infinity')
order by grain, date_kind, starts_on, country, currency, customer_id;

insert into product_figures (grain, date_kind, country, starts_on, currency, sku, lines, net,
  rated_net, unrated_lines)
select grain, date_kind, country, starts_on, currency, sku, lines, net, rated_net, unrated_lines
from product_figures_from_quotes('-infinity', 'infinity')
order by grain, date_kind, country, starts_on, currency, sku;

reset work_mem;
