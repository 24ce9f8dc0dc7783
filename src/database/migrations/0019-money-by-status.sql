-- Adds money by status and the days from issue to decision to the statistics.

-- Writers wait until the new functions are in place. The lock keeps others from folding.
lock table quotes in share row exclusive mode;

drop function if exists fold_quote_changes;
drop function if exists rebuild_quote_summary;
drop function if exists find_summary_differences;
drop function if exists figures_from_quotes;
drop view if exists current_figures;
drop view if exists grouped_figures;
drop view if exists changed_figures;
drop function if exists quote_figures_of;

alter table quote_figures add column base_sent numeric
  not null default 0;

alter table quote_figures add column base_lost numeric
  not null default 0;

alter table quote_figures add column decided bigint
  not null default 0;

alter table quote_figures add column decision_days bigint
  not null default 0;

alter table quote_figures add column decision_histogram numeric
  not null default 0;

alter table quote_figures_unfolded add column base_sent numeric
  not null default 0;

alter table quote_figures_unfolded add column base_lost numeric
  not null default 0;

alter table quote_figures_unfolded add column decided bigint
  not null default 0;

alter table quote_figures_unfolded add column decision_days bigint
  not null default 0;

alter table quote_figures_unfolded add column decision_histogram numeric
  not null default 0;

-- decision_histogram is one number per quote, so that sum() adds histograms exactly. Rows for each
-- day would multiply the rows of the summary by the number of days.
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

select rebuild_quote_summary();
