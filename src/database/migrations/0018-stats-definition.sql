-- Defines once what a quote contributes to the statistics: the triggers, the rebuild and the
-- verification use the same functions. Views add the changes that are not folded yet to the
-- summary. An index finds these changes, so that nobody reads the dead rows of folded ones.

-- Writers wait until the new triggers are in place. The rebuild at the end counts every quote, so
-- what quote_deltas holds is not needed.
lock table quotes in share row exclusive mode;

select pg_advisory_xact_lock(hashtextextended('trade-quoting-service fold', 0));

-- In the order in which readers lock them until now. Another order could deadlock.
lock table quote_summary, quote_deltas, quote_figures, quote_validity
  in access exclusive mode;

drop function if exists fold_quote_changes;
drop function if exists rebuild_quote_summary;
drop function if exists find_summary_differences;
drop function if exists figures_from_quotes;
drop view if exists current_figures;
drop view if exists grouped_figures;
drop view if exists changed_figures;
drop function if exists quote_figures_of;

drop function fold_quote_deltas;

drop table quote_deltas;

-- A question about all quotes reads years and totals, which fill few pages. Pages have room for new
-- versions of their rows, and no index has a measure, so that updates are heap-only (HOT). Roles
-- that may read the old table may read the new one.
alter table quote_figures rename to old_figures;
create table quote_figures (
  grain text collate "C" not null
    check (grain in ('day', 'day_total', 'month', 'month_total', 'year')),
  date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
  starts_on date not null,
  country text collate "C" not null,
  currency text collate "C" not null,
  drafts bigint not null, sent bigint not null, accepted bigint not null, rejected bigint not null,
  expired bigint not null, net numeric not null, base_net numeric not null,
  unconverted bigint not null, unconverted_net numeric not null
) partition by list (grain);
do $$
declare
  reader record;
begin
  for reader in
    select
      case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end as name
    from pg_class, aclexplode(relacl)
    where oid = 'old_figures'::regclass and privilege_type = 'SELECT' and grantee <> relowner
  loop
    execute format('grant select on quote_figures to %s', reader.name);
  end loop;
end $$;
drop table old_figures;
create table quote_figures_days partition of quote_figures for values in ('day')
with (fillfactor = 80);
create table quote_figures_months partition of quote_figures for values in ('month')
with (fillfactor = 70);
create table quote_figures_totals partition of quote_figures
  for values in ('day_total', 'month_total', 'year') with (fillfactor = 50);
alter table quote_figures add primary key (grain, date_kind, starts_on, country, currency);

drop table quote_validity;

create table quote_validity (
  grain text collate "C" not null check (grain in ('day', 'month', 'month_by_month')),
  valid_until date not null,
  starts_on date not null,
  country text collate "C" not null,
  currency text collate "C" not null,
  quotes bigint not null,
  base_net numeric not null,
  primary key (grain, valid_until, starts_on, country, currency)
) with (fillfactor = 80);

alter table quote_summary add column folded_through pg_snapshot not null
  default pg_current_snapshot(),
  add column folded_by xid8 not null default pg_current_xact_id(),
  add column base_currency text,
  add column base_digits integer,
  add column server_started_at timestamptz not null default pg_postmaster_start_time();

create table quote_changes (
  xid xid8 not null default pg_current_xact_id(),
  created_at timestamptz not null default now(),
  sign smallint not null check (sign in (-1, 0, 1)),
  status text, country text, currency text, rate numeric, issued_on date, valid_until date,
  decided_on date, net numeric
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

create table quote_figures_unfolded (
  xid xid8 not null default pg_current_xact_id(),
  grain text collate "C" not null
    check (grain in ('day', 'day_total', 'month', 'month_total', 'year')),
  date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
  starts_on date not null,
  country text collate "C" not null,
  currency text collate "C" not null,
  drafts bigint not null,
  sent bigint not null,
  accepted bigint not null,
  rejected bigint not null,
  expired bigint not null,
  net numeric not null,
  base_net numeric not null,
  unconverted bigint not null,
  unconverted_net numeric not null
) partition by list (grain);
create table quote_figures_unfolded_days partition of quote_figures_unfolded
  for values in ('day')
  with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create table quote_figures_unfolded_totals partition of quote_figures_unfolded
  for values in ('day_total', 'month', 'month_total', 'year')
  with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

create table quote_validity_unfolded (
  xid xid8 not null default pg_current_xact_id(),
  grain text collate "C" not null check (grain in ('day', 'month', 'month_by_month')),
  valid_until date not null,
  starts_on date not null,
  country text collate "C" not null,
  currency text collate "C" not null,
  quotes bigint not null,
  base_net numeric not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

create index quote_changes_xid on quote_changes (xid);

create index quote_figures_unfolded_xid on quote_figures_unfolded (xid);
create index quote_figures_unfolded_key
  on quote_figures_unfolded (grain, date_kind, starts_on);

create index quote_validity_unfolded_xid on quote_validity_unfolded (xid);
create index quote_validity_unfolded_key on quote_validity_unfolded (grain, valid_until);

-- Transaction ids of another server mean nothing in a restored dump. After each start of the
-- server, all rows that are left count as unfolded until the next fold. Functions, because the
-- planner calls them to estimate how many rows are unfolded, whatever the statistics say.
create function next_unfolded_xid() returns xid8 language plpgsql stable as $$
begin
  return (
    select case when server_started_at = pg_postmaster_start_time()
      then pg_snapshot_xmax(folded_through) else '1'::xid8 end
    from quote_summary
  );
end $$;

create function late_unfolded_xids() returns xid8[] language plpgsql stable as $$
begin
  return (
    select array(select pg_snapshot_xip(folded_through)) || folded_by from quote_summary
  );
end $$;

create view unfolded_changes as select d.*
from quote_changes d where (d.xid >= (select next_unfolded_xid())
  or d.xid = any ((select late_unfolded_xids())::xid8[]));

create function net_in_base(
  net numeric, currency text, rate numeric, base_currency text, base_digits integer
) returns numeric language sql immutable parallel safe
  return case when currency = base_currency then net else round(net * rate, base_digits) end;

create function quote_validity_of(quote_status text, quote_country text, quote_currency text,
  quote_rate numeric, quote_issued_on date, quote_valid_until date, quote_decided_on date,
  quote_net numeric, base_currency text, base_digits integer)
returns table (issued_on date, valid_until date, country text, currency text,
  quotes integer, base_net numeric)
language sql immutable parallel safe
as $$
  select quote_issued_on, coalesce(quote_valid_until, 'infinity'), coalesce(quote_country, ''),
    quote_currency, 1, net_in_base(quote_net, quote_currency, quote_rate, base_currency,
      base_digits)
  where quote_status = 'sent'
$$;

create index quotes_accepted_on on quotes (coalesce(decided_on, issued_on))
where status = 'accepted';

create function quotes_between(first_day date, last_day date)
returns table (status text, country text, currency text, rate numeric, issued_on date,
  valid_until date, decided_on date, net numeric)
language sql stable
as $$
  select q.status, q.country, q.currency, q.rate, q.issued_on, q.valid_until, q.decided_on, q.net
  from quotes q
  where q.issued_on between first_day and last_day
    or q.status = 'accepted'
      and coalesce(q.decided_on, q.issued_on) between first_day and last_day
$$;

-- By last valid day, and the months of issue also by last valid month: a reader adds up all quotes
-- that are valid from a day on, which are fewer rows by month.
create or replace function validity_from_quotes(first_day date, last_day date)
returns table (grain text, valid_until date, starts_on date, country text, currency text,
  quotes bigint, base_net numeric)
language sql stable
as $$
select * from (
select g.grain, g.valid_until, g.starts_on, c.country, c.currency,
  coalesce(sum(c.quotes), 0) as quotes,
  coalesce(sum(c.base_net) filter (where c.base_net is not null), 0) as base_net
from quotes_between(first_day, last_day) s cross join quote_summary b cross
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
$$;

create or replace view current_validity as
select grain, valid_until, starts_on, country, currency, quotes, base_net from quote_validity
union all
select d.grain, d.valid_until, d.starts_on, d.country, d.currency,
  d.quotes, d.base_net
from quote_validity_unfolded d
where coalesce((d.xid >= (select next_unfolded_xid())
    or d.xid = any ((select late_unfolded_xids())::xid8[])), false)
union all
select g.grain, g.valid_until, g.starts_on, c.country, c.currency,
  coalesce(s.sign * c.quotes, 0) as quotes, coalesce(s.sign * c.base_net, 0) as base_net
from unfolded_changes s
cross join quote_summary b
cross join lateral quote_validity_of(s.status, s.country, s.currency, s.rate, s.issued_on,
  s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits) c
cross join lateral (values
  ('day', c.issued_on, c.valid_until),
  ('month', date_trunc('month', c.issued_on::timestamp)::date, c.valid_until),
  ('month_by_month', date_trunc('month', c.issued_on::timestamp)::date,
    (date_trunc('month', c.valid_until::timestamp) + interval '1 month - 1 day')::date)
) g (grain, starts_on, valid_until);

comment on column quote_validity.grain is
  'day or month of issue, by last valid day; month_by_month: month of issue, by last valid month.';
comment on column quote_validity.valid_until is
  'The last day on which the quotes stand, or the last day of its month in month_by_month; '
  'infinity: they do not end.';
comment on column quote_validity_unfolded.grain is
  'day or month of issue, by last valid day; month_by_month: month of issue, by last valid month.';
comment on column quote_validity_unfolded.valid_until is
  'The last day on which the quotes stand, or the last day of its month in month_by_month; '
  'infinity: they do not end.';
comment on column current_validity.grain is
  'day or month of issue, by last valid day; month_by_month: month of issue, by last valid month.';
comment on column current_validity.valid_until is
  'The last day on which the quotes stand, or the last day of its month in month_by_month; '
  'infinity: they do not end.';

create or replace function quote_figures_of(quote_status text, quote_country text,
  quote_currency text, quote_rate numeric, quote_issued_on date, quote_valid_until date,
  quote_decided_on date, quote_net numeric, base_currency text, base_digits integer)
returns table (date_kind text, day date, country text, currency text,
  drafts integer, sent integer, accepted integer, rejected integer, expired integer, net numeric,
    base_net numeric, unconverted integer, unconverted_net numeric)
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
      then quote_net end)::numeric as unconverted_net
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
  net, base_net, unconverted, unconverted_net
from quote_figures
union all
select d.grain, d.date_kind, d.starts_on, d.country, d.currency,
  d.drafts, d.sent, d.accepted, d.rejected, d.expired, d.net, d.base_net, d.unconverted,
  d.unconverted_net
from quote_figures_unfolded d
where coalesce((d.xid >= (select next_unfolded_xid())
    or d.xid = any ((select late_unfolded_xids())::xid8[])), false);

create or replace view changed_figures as
select c.date_kind, c.day, c.country, c.currency,
  coalesce(s.sign * c.drafts, 0) as drafts, coalesce(s.sign * c.sent, 0) as sent,
  coalesce(s.sign * c.accepted, 0) as accepted, coalesce(s.sign * c.rejected, 0) as rejected,
  coalesce(s.sign * c.expired, 0) as expired, coalesce(s.sign * c.net, 0) as net,
  coalesce(s.sign * c.base_net, 0) as base_net, coalesce(s.sign * c.unconverted, 0)
  as unconverted, coalesce(s.sign * c.unconverted_net, 0) as unconverted_net
from unfolded_changes s
cross join quote_summary b
cross join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
  s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits) c;

create or replace view current_figures as
select * from grouped_figures
union all
select g.grain, c.date_kind, g.starts_on, g.country, c.currency,
  c.drafts, c.sent, c.accepted, c.rejected, c.expired, c.net, c.base_net, c.unconverted,
  c.unconverted_net
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
    base_net numeric, unconverted bigint, unconverted_net numeric)
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
    as unconverted_net
  from quotes_between(first_day, last_day) s cross join quote_summary b cross
    join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
    s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits) c
  group by 2, 3, 4, 5
), months as materialized (
  select 'month' as grain, date_kind, date_trunc('month', starts_on::timestamp)::date as starts_on,
    country,
    currency, sum(drafts) as drafts, sum(sent) as sent, sum(accepted) as accepted, sum(rejected)
      as rejected, sum(expired) as expired, sum(net) as net, sum(base_net) as base_net,
      sum(unconverted) as unconverted, sum(unconverted_net) as unconverted_net
  from days group by 2, 3, 4, 5
), figures as (
  select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
    net, base_net, unconverted, unconverted_net from days where drafts <> 0 or sent <> 0
    or accepted <> 0 or rejected <> 0 or expired <> 0 or net <> 0 or base_net <> 0
    or unconverted <> 0 or unconverted_net <> 0
  union all
  select 'day_total', date_kind, starts_on, '', currency, sum(drafts) as drafts, sum(sent) as sent,
    sum(accepted) as accepted, sum(rejected) as rejected, sum(expired) as expired, sum(net) as net,
    sum(base_net) as base_net, sum(unconverted) as unconverted, sum(unconverted_net)
    as unconverted_net
  from days group by 2, 3, 5 having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0
    or sum(rejected) <> 0 or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0
    or sum(unconverted) <> 0 or sum(unconverted_net) <> 0
  union all
  select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
    net, base_net, unconverted, unconverted_net from months where drafts <> 0 or sent <> 0
    or accepted <> 0 or rejected <> 0 or expired <> 0 or net <> 0 or base_net <> 0
    or unconverted <> 0 or unconverted_net <> 0
  union all
  select 'month_total', date_kind, starts_on, '', currency, sum(drafts) as drafts, sum(sent)
    as sent, sum(accepted) as accepted, sum(rejected) as rejected, sum(expired) as expired, sum(net)
    as net, sum(base_net) as base_net, sum(unconverted) as unconverted, sum(unconverted_net)
    as unconverted_net
  from months group by 2, 3, 5 having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0
    or sum(rejected) <> 0 or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0
    or sum(unconverted) <> 0 or sum(unconverted_net) <> 0
  union all
  select 'year', date_kind, date_trunc('year', starts_on::timestamp)::date, country, currency,
    sum(drafts) as drafts, sum(sent) as sent, sum(accepted) as accepted, sum(rejected) as rejected,
    sum(expired) as expired, sum(net) as net, sum(base_net) as base_net, sum(unconverted)
    as unconverted, sum(unconverted_net) as unconverted_net
  from months group by 2, 3, 4, 5 having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0
    or sum(rejected) <> 0 or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0
    or sum(unconverted) <> 0 or sum(unconverted_net) <> 0
)
  select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
    net, base_net, unconverted, unconverted_net from figures
$$;

-- Groups of thousands of quotes would be written to temporary files with the usual work_mem. A
-- statement with more than 200 quotes appends sums: readers do not add up thousands of changes.
-- Quotes are grouped into days, days into months and months into years, because each quote would
-- have to be added five times otherwise.
create or replace function append_quote_changes() returns trigger
language plpgsql security definer set search_path = public, pg_temp
 as $$
declare
  all_changes text;
  work_mem_before text;
  appended integer;
begin
  if tg_op = 'INSERT' then
    insert into quote_changes (sign, status, country, currency, rate, issued_on, valid_until,
      decided_on, net)
    select 1 as sign, n.status, n.country, n.currency, n.rate, n.issued_on, n.valid_until,
      n.decided_on, n.net from new_rows n where status <> 'superseded' and not (
      exists (select from new_rows offset 200)
      and exists (select from quote_summary where base_currency is not null)
    );
  elsif tg_op = 'DELETE' then
    insert into quote_changes (sign, status, country, currency, rate, issued_on, valid_until,
      decided_on, net)
    select -1 as sign, o.status, o.country, o.currency, o.rate, o.issued_on, o.valid_until,
      o.decided_on, o.net from old_rows o where status <> 'superseded' and not (
      exists (select from old_rows offset 200)
      and exists (select from quote_summary where base_currency is not null)
    );
  else
    insert into quote_changes (sign, status, country, currency, rate, issued_on, valid_until,
      decided_on, net)
    select v.sign, v.status, v.country, v.currency, v.rate, v.issued_on, v.valid_until,
      v.decided_on, v.net
      from new_rows n full join old_rows o on o.id = n.id
      cross join lateral (
        values (1, n.id, n.status, n.country, n.currency, n.rate, n.issued_on, n.valid_until,
          n.decided_on, n.net), (-1, o.id, o.status, o.country, o.currency, o.rate, o.issued_on,
          o.valid_until, o.decided_on, o.net)
      ) v (sign, id, status, country, currency, rate, issued_on, valid_until, decided_on, net)
      where (n.status, n.country, n.currency, n.rate, n.issued_on, n.valid_until, n.decided_on,
        n.net) is distinct from (o.status, o.country, o.currency, o.rate, o.issued_on,
        o.valid_until, o.decided_on, o.net)
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
      n.issued_on, n.valid_until, n.decided_on, n.net from new_rows n$changes$
    when 'DELETE' then $changes$select -1 as sign, o.status, o.country, o.currency, o.rate,
      o.issued_on, o.valid_until, o.decided_on, o.net from old_rows o$changes$
    else $changes$select 1 as sign, n.status, n.country, n.currency, n.rate, n.issued_on,
      n.valid_until, n.decided_on, n.net from new_rows n union all select -1 as sign, o.status,
      o.country, o.currency, o.rate, o.issued_on, o.valid_until, o.decided_on, o.net
      from old_rows o$changes$
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
    as unconverted_net
  from source s cross join quote_summary b cross
    join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
    s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits) c
  group by 2, 3, 4, 5
), months as materialized (
  select 'month' as grain, date_kind, date_trunc('month', starts_on::timestamp)::date as starts_on,
    country,
    currency, sum(drafts) as drafts, sum(sent) as sent, sum(accepted) as accepted, sum(rejected)
      as rejected, sum(expired) as expired, sum(net) as net, sum(base_net) as base_net,
      sum(unconverted) as unconverted, sum(unconverted_net) as unconverted_net
  from days group by 2, 3, 4, 5
), figures as (
  select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
    net, base_net, unconverted, unconverted_net from days where drafts <> 0 or sent <> 0
    or accepted <> 0 or rejected <> 0 or expired <> 0 or net <> 0 or base_net <> 0
    or unconverted <> 0 or unconverted_net <> 0
  union all
  select 'day_total', date_kind, starts_on, '', currency, sum(drafts) as drafts, sum(sent) as sent,
    sum(accepted) as accepted, sum(rejected) as rejected, sum(expired) as expired, sum(net) as net,
    sum(base_net) as base_net, sum(unconverted) as unconverted, sum(unconverted_net)
    as unconverted_net
  from days group by 2, 3, 5 having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0
    or sum(rejected) <> 0 or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0
    or sum(unconverted) <> 0 or sum(unconverted_net) <> 0
  union all
  select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
    net, base_net, unconverted, unconverted_net from months where drafts <> 0 or sent <> 0
    or accepted <> 0 or rejected <> 0 or expired <> 0 or net <> 0 or base_net <> 0
    or unconverted <> 0 or unconverted_net <> 0
  union all
  select 'month_total', date_kind, starts_on, '', currency, sum(drafts) as drafts, sum(sent)
    as sent, sum(accepted) as accepted, sum(rejected) as rejected, sum(expired) as expired, sum(net)
    as net, sum(base_net) as base_net, sum(unconverted) as unconverted, sum(unconverted_net)
    as unconverted_net
  from months group by 2, 3, 5 having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0
    or sum(rejected) <> 0 or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0
    or sum(unconverted) <> 0 or sum(unconverted_net) <> 0
  union all
  select 'year', date_kind, date_trunc('year', starts_on::timestamp)::date, country, currency,
    sum(drafts) as drafts, sum(sent) as sent, sum(accepted) as accepted, sum(rejected) as rejected,
    sum(expired) as expired, sum(net) as net, sum(base_net) as base_net, sum(unconverted)
    as unconverted, sum(unconverted_net) as unconverted_net
  from months group by 2, 3, 4, 5 having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0
    or sum(rejected) <> 0 or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0
    or sum(unconverted) <> 0 or sum(unconverted_net) <> 0
), appended_figures as (
      insert into quote_figures_unfolded
        (grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
        net, base_net, unconverted, unconverted_net)
      select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected,
        expired, net, base_net, unconverted, unconverted_net from figures
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
    )
    insert into quote_changes (sign)
    select 0
    where exists (select from appended_figures) or exists (select from appended_validity)
  $groups$, 'changes_of_statement', all_changes);
  get diagnostics appended = row_count;
  perform set_config('work_mem', work_mem_before, true);
  return null;
end $$;

create or replace function append_replicated_change() returns trigger
language plpgsql security definer set search_path = public, pg_temp
 as $$
begin
  insert into quote_changes (sign, status, country, currency, rate, issued_on, valid_until,
    decided_on, net)
  select * from (values (1, new.status, new.country, new.currency, new.rate, new.issued_on,
    new.valid_until, new.decided_on, new.net),
    (-1, old.status, old.country, old.currency, old.rate, old.issued_on, old.valid_until,
    old.decided_on, old.net))
    v (sign, status, country, currency, rate, issued_on, valid_until, decided_on, net)
  where status <> 'superseded';
  return null;
end $$;

-- Replacing a trigger does not block readers of quotes, as dropping it would.
create or replace trigger append_inserts after insert on quotes
  referencing new table as new_rows
  for each statement execute function append_quote_changes();

create or replace trigger append_updates after update on quotes
  referencing old table as old_rows new table as new_rows
  for each statement execute function append_quote_changes();

create or replace trigger append_deletes after delete on quotes
  referencing old table as old_rows
  for each statement execute function append_quote_changes();

-- The condition holds also after `alter table quotes enable trigger user`, which makes every
-- trigger fire for ordinary writes.
create or replace trigger append_replicated after insert or update or delete on quotes
  for each row when (current_setting('session_replication_role') = 'replica')
  execute function append_replicated_change();

alter table quotes enable replica trigger append_replicated;

-- Nothing is left of what the fold sees unless a batch is full. A sequential scan would read the
-- dead rows of earlier folds. Sums of integers are much cheaper than sums of bigints, which
-- PostgreSQL adds as numeric. Each filter keeps it from creating the state of a sum that has
-- nothing to add.
create or replace function fold_quote_changes(batch integer) returns integer
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off
as $$
declare
  moved integer;
  empty_quote_figures quote_figures[];
  empty_quote_validity quote_validity[];
begin
  if not exists (select from quote_summary where base_currency is not null)
    or not pg_try_advisory_xact_lock(hashtextextended('trade-quoting-service fold', 0)) then
    return 0;
  end if;
  lock table quote_summary, quote_changes, quote_figures, quote_figures_unfolded, quote_validity,
    quote_validity_unfolded in row exclusive mode;
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
      accepted, rejected, expired, net, base_net, unconverted, unconverted_net)
    select grain, date_kind, starts_on, country, currency, sum(drafts), sum(sent), sum(accepted),
      sum(rejected), sum(expired), sum(net), sum(base_net), sum(unconverted), sum(unconverted_net)
    from (
      select d.grain, d.date_kind, d.starts_on, d.country, d.currency,
        d.drafts, d.sent, d.accepted, d.rejected, d.expired, d.net, d.base_net, d.unconverted,
          d.unconverted_net
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
    as unconverted_net
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
  or base_net <> 0 or unconverted <> 0 or unconverted_net <> 0
    ) m
    group by grain, date_kind, starts_on, country, currency
    order by grain, date_kind, starts_on, country, currency
    on conflict (grain, date_kind, starts_on, country, currency) do update set
      drafts = f.drafts + excluded.drafts, sent = f.sent + excluded.sent,
        accepted = f.accepted + excluded.accepted, rejected = f.rejected + excluded.rejected,
        expired = f.expired + excluded.expired, net = f.net + excluded.net,
        base_net = f.base_net + excluded.base_net,
        unconverted = f.unconverted + excluded.unconverted,
        unconverted_net = f.unconverted_net + excluded.unconverted_net
    returning f as cell, f.drafts = 0 and f.sent = 0 and f.accepted = 0 and f.rejected = 0
      and f.expired = 0 and f.net = 0 and f.base_net = 0 and f.unconverted = 0
      and f.unconverted_net = 0
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
  counts as (
    select (select count(*) from moved_changes) as changes,
      (select count(*) from moved_quote_figures) as quote_figures,
      (select count(*) from moved_quote_validity) as quote_validity
  ), summary as (
    update quote_summary set folded = folded + changes,
      folded_through = case when is_complete
        then pg_current_snapshot() else folded_through end,
      folded_by = case when is_complete then pg_current_xact_id() else folded_by end,
      server_started_at = case when is_complete
        then pg_postmaster_start_time() else server_started_at end
    from (select *, changes < batch and quote_figures < batch and quote_validity < batch
      as is_complete from counts) counts
  )
  select
    changes + quote_figures + quote_validity,
    (select array_agg(cell) from folded_quote_figures where is_empty),
    (select array_agg(cell) from folded_quote_validity where is_empty)
  into
    moved, empty_quote_figures, empty_quote_validity
  from counts;
  delete from quote_figures f using unnest(empty_quote_figures) e
  where f.grain = e.grain and f.date_kind = e.date_kind and f.starts_on = e.starts_on
    and f.country = e.country and f.currency = e.currency;
  delete from quote_validity f using unnest(empty_quote_validity) e
  where f.grain = e.grain and f.valid_until = e.valid_until and f.starts_on = e.starts_on
    and f.country = e.country and f.currency = e.currency;
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
  lock table quotes, quote_summary, quote_changes, quote_figures, quote_figures_unfolded,
    quote_validity, quote_validity_unfolded
    in access share mode;
  return query
    select 'quote_figures',
      concat_ws(' ', grain, date_kind, starts_on, case when grain not like '%total'
        then coalesce(nullif(country, ''), 'unknown') end, currency)
    from (
      select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected,
        expired, net, base_net, unconverted, unconverted_net
        from figures_from_quotes(first_day, last_day) where grain not like 'year%'
        and starts_on between first_day and last_day
      union all
      select grain, date_kind, starts_on, country, currency, -drafts, -sent, -accepted, -rejected,
        -expired, -net, -base_net, -unconverted, -unconverted_net
      from (select * from current_figures where grain not like 'year%'
        and starts_on between first_day and last_day) a
    ) c
    group by grain, date_kind, starts_on, country, currency
    having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0 or sum(rejected) <> 0
      or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0 or sum(unconverted) <> 0
      or sum(unconverted_net) <> 0
    union all
    select 'quote_figures',
      concat_ws(' ', grain, date_kind, starts_on, case when grain not like '%total'
        then coalesce(nullif(country, ''), 'unknown') end, currency)
    from (
      select 'year' as grain, date_kind, date_trunc('year', starts_on::timestamp)::date
        as starts_on, country, currency, sum(drafts) as drafts, sum(sent) as sent, sum(accepted)
        as accepted, sum(rejected) as rejected, sum(expired) as expired, sum(net) as net,
        sum(base_net) as base_net, sum(unconverted) as unconverted, sum(unconverted_net)
        as unconverted_net
      from current_figures
      where is_oldest_of_year and grain = 'month'
        and starts_on >= date_trunc('year', first_day::timestamp)
        and starts_on < date_trunc('year', last_day::timestamp) + interval '1 year'
      group by 2, 3, 4, 5
      union all
      select grain, date_kind, starts_on, country, currency, -drafts, -sent, -accepted, -rejected,
        -expired, -net, -base_net, -unconverted, -unconverted_net
      from (select * from current_figures where is_oldest_of_year and grain = 'year'
      and starts_on between date_trunc('year', first_day::timestamp) and last_day) a
    ) c
    group by grain, date_kind, starts_on, country, currency
    having sum(drafts) <> 0 or sum(sent) <> 0 or sum(accepted) <> 0 or sum(rejected) <> 0
      or sum(expired) <> 0 or sum(net) <> 0 or sum(base_net) <> 0 or sum(unconverted) <> 0
      or sum(unconverted_net) <> 0
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
    order by 1, 2 limit 20;
end $$;

revoke execute on function find_summary_differences(date, date) from public;

create or replace function rebuild_quote_summary() returns void
language plpgsql set work_mem = '64MB' as $$
begin
  lock table quotes in access share mode;
  perform pg_advisory_xact_lock(hashtextextended('trade-quoting-service fold', 0));
  lock table quote_summary, quote_changes, quote_figures, quote_figures_unfolded, quote_validity,
    quote_validity_unfolded in row exclusive mode;
  update quote_summary s set base_currency = c.code, base_digits = c.digits
  from company join currencies c on c.code = company.base_currency;
  delete from quote_figures;
  delete from quote_validity;
  with moved_changes as (delete from quote_changes),
  moved_from_quote_figures as (delete from quote_figures_unfolded),
  filled_quote_figures as (
    insert into quote_figures (grain, date_kind, starts_on, country, currency, drafts, sent,
      accepted, rejected, expired, net, base_net, unconverted, unconverted_net)
    select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected,
      expired, net, base_net, unconverted, unconverted_net
    from figures_from_quotes('-infinity', 'infinity')
    order by grain, date_kind, starts_on, country, currency),
  moved_from_quote_validity as (delete from quote_validity_unfolded),
  filled_quote_validity as (
    insert into quote_validity (grain, valid_until, starts_on, country, currency, quotes, base_net)
    select grain, valid_until, starts_on, country, currency, quotes, base_net
    from validity_from_quotes('-infinity', 'infinity')
    order by grain, valid_until, starts_on, country, currency)
  update quote_summary set generation = gen_random_uuid(), folded = 0,
    folded_through = pg_current_snapshot(), folded_by = pg_current_xact_id(),
    server_started_at = pg_postmaster_start_time();
end $$;

revoke execute on function rebuild_quote_summary() from public;

create or replace function empty_quote_summary() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  lock table quote_summary, quote_changes, quote_figures, quote_figures_unfolded, quote_validity,
    quote_validity_unfolded in access exclusive mode;
  truncate quote_changes, quote_figures, quote_figures_unfolded, quote_validity,
    quote_validity_unfolded;
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

drop function append_quote_deltas;

alter table quotes enable always trigger empty_summary;

-- Transactions that are still running may have appended grouped rows in the old base currency.
create or replace function rebuild_for_company() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'UPDATE' and old.base_currency <> new.base_currency then
    lock table quotes in share mode;
  end if;
  perform rebuild_quote_summary();
  return null;
end $$;

comment on table quote_changes is
  'Changes of quotes that are not folded yet. A statement that changes many quotes appends one '
  'row with sign 0 here, and its rows to quote_figures_unfolded and quote_validity_unfolded.';
comment on column quote_changes.xid is 'The transaction that appended the row.';
comment on column quote_changes.created_at is 'The start of that transaction.';
comment on column quote_changes.sign is
  '1: the quote counts from now on; -1: it counted before; 0: many quotes changed.';
comment on column quote_changes.status is 'status of the quote.';
comment on column quote_changes.country is 'country of the quote.';
comment on column quote_changes.currency is 'currency of the quote.';
comment on column quote_changes.rate is 'rate of the quote.';
comment on column quote_changes.issued_on is 'issued_on of the quote.';
comment on column quote_changes.valid_until is 'valid_until of the quote.';
comment on column quote_changes.decided_on is 'decided_on of the quote.';
comment on column quote_changes.net is 'net of the quote.';
comment on column unfolded_changes.xid is 'The transaction that appended the row.';
comment on column unfolded_changes.created_at is 'The start of that transaction.';
comment on column unfolded_changes.sign is
  '1: the quote counts from now on; -1: it counted before; 0: many quotes changed.';
comment on column unfolded_changes.status is 'status of the quote.';
comment on column unfolded_changes.country is 'country of the quote.';
comment on column unfolded_changes.currency is 'currency of the quote.';
comment on column unfolded_changes.rate is 'rate of the quote.';
comment on column unfolded_changes.issued_on is 'issued_on of the quote.';
comment on column unfolded_changes.valid_until is 'valid_until of the quote.';
comment on column unfolded_changes.decided_on is 'decided_on of the quote.';
comment on column unfolded_changes.net is 'net of the quote.';
comment on table quote_figures is 'Figures by day, month and year, without what is not folded yet.';
comment on table quote_figures_days is 'The rows of quote_figures that are days.';
comment on table quote_figures_months is 'The rows of quote_figures that are months.';
comment on table quote_figures_totals is
  'The rows of quote_figures that are years and totals of months.';
comment on column quote_figures.grain is 'What the row adds up.';
comment on column quote_figures.starts_on is 'The day, or the first day of the month or year.';
comment on column quote_figures.country is
  'Of the buyer. Empty: unknown, so that it can be part of a key.';
comment on column quote_figures.currency is 'Of the quotes.';
comment on column quote_figures.date_kind is
  'issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.';
comment on column quote_figures.grain is
  'day, month or year by country; month_total: months over all countries, with an empty country.';
comment on table quote_figures_unfolded is
  'Changes of quote_figures by statements with many quotes.';
comment on table quote_figures_unfolded_days is 'The rows of quote_figures_unfolded that are days.';
comment on table quote_figures_unfolded_totals is 'All other rows of quote_figures_unfolded.';
comment on column quote_figures_unfolded.xid is 'The transaction that appended the row.';
comment on column quote_figures_unfolded.grain is 'What the row adds up.';
comment on column quote_figures_unfolded.starts_on is
  'The day, or the first day of the month or year.';
comment on column quote_figures_unfolded.country is
  'Of the buyer. Empty: unknown, so that it can be part of a key.';
comment on column quote_figures_unfolded.currency is 'Of the quotes.';
comment on column quote_figures_unfolded.date_kind is
  'issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.';
comment on table quote_validity is
  'Sent quotes by day or month of issue and by their last valid day: how many are still open.';
comment on column quote_validity.grain is 'What the row adds up.';
comment on column quote_validity.starts_on is 'The day, or the first day of the month or year.';
comment on column quote_validity.country is
  'Of the buyer. Empty: unknown, so that it can be part of a key.';
comment on column quote_validity.currency is 'Of the quotes.';
comment on table quote_validity_unfolded is
  'Changes of quote_validity by statements with many quotes.';
comment on column quote_validity_unfolded.xid is 'The transaction that appended the row.';
comment on column quote_validity_unfolded.grain is 'What the row adds up.';
comment on column quote_validity_unfolded.starts_on is
  'The day, or the first day of the month or year.';
comment on column quote_validity_unfolded.country is
  'Of the buyer. Empty: unknown, so that it can be part of a key.';
comment on column quote_validity_unfolded.currency is 'Of the quotes.';
comment on column current_validity.grain is 'What the row adds up.';
comment on column current_validity.starts_on is 'The day, or the first day of the month or year.';
comment on column current_validity.country is
  'Of the buyer. Empty: unknown, so that it can be part of a key.';
comment on column current_validity.currency is 'Of the quotes.';
comment on column quote_validity.quotes is 'Number of sent quotes.';
comment on column quote_validity_unfolded.quotes is 'Change: Number of sent quotes.';
comment on column current_validity.quotes is 'Part of: Number of sent quotes.';
comment on column quote_validity.base_net is
  'Net of the quotes that have a rate, in the base currency.';
comment on column quote_validity_unfolded.base_net is
  'Change: Net of the quotes that have a rate, in the base currency.';
comment on column current_validity.base_net is
  'Part of: Net of the quotes that have a rate, in the base currency.';
comment on table quote_summary is
  'Version of the summary. generation, and folded plus the number of unfolded_changes, change '
  'with every commit that changes the statistics.';
comment on column quote_summary.folded_through is
  'The snapshot of the last fold: changes of transactions that it contains are folded.';
comment on column quote_summary.server_started_at is
  'The start of the PostgreSQL server whose transactions folded_through names.';
comment on column quote_summary.folded_by is
  'The transaction that folded. What it appends afterwards is unfolded.';
comment on column quote_summary.base_currency is
  'The base currency of the figures; null before the company is recorded.';
comment on column quote_summary.base_digits is 'The minor digits of the base currency.';
comment on function next_unfolded_xid is
  'The first transaction after the last fold: its changes and all later ones are unfolded.';
comment on function late_unfolded_xids is
  'Transactions before next_unfolded_xid that were still running at the last fold, and the one '
  'that folded.';
comment on view unfolded_changes is 'The rows of quote_changes that are not folded.';
comment on view current_validity is
  'Sent quotes, folded and not, as in quote_validity. A reader adds up the rows of a key.';
comment on function net_in_base is
  'An amount in the base currency, rounded half up; null without a rate.';
comment on function quote_validity_of is 'What one quote contributes to quote_validity.';
comment on function quotes_between is 'The quotes that count on a day between two days.';
comment on function validity_from_quotes is
  'quote_validity computed from the quotes between two days.';
comment on function append_replicated_change is
  'Appends what logical replication changes, which fires no triggers for statements.';
comment on column quote_validity.grain is
  'day or month of issue, by last valid day; month_by_month: month of issue, by last valid month.';
comment on column quote_validity.valid_until is
  'The last day on which the quotes stand, or the last day of its month in month_by_month; '
  'infinity: they do not end.';
comment on column quote_validity_unfolded.grain is
  'day or month of issue, by last valid day; month_by_month: month of issue, by last valid month.';
comment on column quote_validity_unfolded.valid_until is
  'The last day on which the quotes stand, or the last day of its month in month_by_month; '
  'infinity: they do not end.';
comment on column current_validity.grain is
  'day or month of issue, by last valid day; month_by_month: month of issue, by last valid month.';
comment on column current_validity.valid_until is
  'The last day on which the quotes stand, or the last day of its month in month_by_month; '
  'infinity: they do not end.';

select rebuild_quote_summary();
