-- The summary computed from the quotes: to rebuild it, to compare it, and for single days.

-- The quotes that count on a day between two days.
create function quotes_between(first_day date, last_day date) returns
  table(id bigint, customer_id bigint, status text, country text, currency text, rate numeric,
  issued_on date, valid_until date, decided_on date, net numeric)
language sql stable as $$
  select q.id, q.customer_id, q.status, q.country, q.currency, q.rate, q.issued_on, q.valid_until,
    q.decided_on, q.net
  from quotes q
  where q.issued_on between first_day and last_day
    or q.status = 'accepted'
      and coalesce(q.decided_on, q.issued_on) between first_day and last_day
$$;

-- Figures computed from the quotes that count between two days: for the rebuild and the
-- verification.
create function figures_from_quotes(first_day date, last_day date) returns
  table(grain text, date_kind text, starts_on date, country text, currency text, drafts bigint,
  sent bigint, accepted bigint, rejected bigint, expired bigint, net numeric, base_net numeric,
  unconverted bigint, unconverted_net numeric, base_sent numeric, base_lost numeric, decided bigint,
  decision_days bigint, decision_histogram numeric)
language sql stable as $$
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

-- quote_validity computed from the quotes between two days.
create function validity_from_quotes(first_day date, last_day date) returns
  table(grain text, valid_until date, starts_on date, country text, currency text, quotes bigint,
  base_net numeric)
language sql stable as $$
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

-- customer_figures computed from the quotes that count between two days.
create function customer_figures_from_quotes(first_day date, last_day date) returns
  table(grain text, date_kind text, starts_on date, country text, currency text, customer_id bigint,
  quotes bigint, accepted bigint, base_net numeric, unconverted bigint)
language sql stable as $$
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

-- product_figures computed from the lines of the quotes that count between two days.
create function product_figures_from_quotes(first_day date, last_day date) returns
  table(grain text, date_kind text, country text, starts_on date, currency text, sku text,
  lines bigint, net numeric, rated_net numeric, unrated_lines bigint)
language sql stable as $$
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

-- Rebuilds the summary from the quotes. Writers and readers are not blocked.
create function rebuild_quote_summary() returns void
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

create function rebuild_for_company() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'UPDATE' and old.base_currency <> new.base_currency then
    lock table quotes in share mode;
  end if;
  perform rebuild_quote_summary();
  return null;
end $$;
create trigger rebuild_summary after insert or update of base_currency on company
  for each row execute function rebuild_for_company();

-- Figures by customer of single days, by one kind of date.
create function customer_figures_between(kind text, first_day date, last_day date) returns
  table(country text, currency text, customer_id bigint, quotes bigint, accepted bigint,
  base_net numeric, unconverted bigint)
language sql stable security definer set search_path = public, pg_temp as $$
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
revoke execute on function customer_figures_between(text, date, date) from public;

-- Figures by SKU of single days, by one kind of date.
create function product_figures_between(kind text, first_day date, last_day date) returns
  table(country text, currency text, sku text, lines bigint, net numeric, rated_net numeric,
  unrated_lines bigint)
language sql stable security definer set search_path = public, pg_temp as $$
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
revoke execute on function product_figures_between(text, date, date) from public;

-- The comparison of the summary with the quotes that the API makes in the background.
create table summary_check (
  the_only_row boolean primary key default true check (the_only_row),
  -- When a process last began to compare a month.
  claimed_at timestamptz not null default '-infinity',
  -- The first day of that month. The next older month follows, and the newest after the oldest.
  claimed_month date not null default 'infinity',
  -- When a comparison last ended without an error. Before the first: the time of the migration.
  completed_at timestamptz not null default now()
);

-- Months whose last comparison found a difference.
create table summary_differences (
  -- The first day of the month.
  month date primary key,
  -- The generation of quote_summary that was compared. A later rebuild begins another.
  generation uuid not null,
  -- When the comparison first had this result.
  found_at timestamptz not null default now(),
  -- Rows of the summary that differ from the quotes: table and key, at most twenty.
  different_rows text[] not null
);

insert into summary_check default values;

-- The first day of the newest month before a day that has quotes, figures or a known difference;
-- null if there is none.
create function newest_month_before(day date) returns date
language sql stable as $$
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
$$;
revoke execute on function newest_month_before(date) from public;

-- Rows of the summary between two days, the whole months that begin there included, that differ
-- from the quotes; at most twenty. Years are compared with the oldest of their months.
create function find_summary_differences(first_day date, last_day date) returns
  table(relation text, cell text)
language plpgsql security definer set search_path = public, pg_temp set work_mem = '64MB' as $$
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

-- Returns the month that the caller is to compare, or null if a process began to compare another
-- one less than pause ago.
create function claim_summary_check(pause interval) returns date
language sql security definer set search_path = public, pg_temp as $$
  update summary_check set claimed_at = now(), claimed_month = coalesce(
    newest_month_before(claimed_month),
    newest_month_before('infinity'),
    date_trunc('month', now()::timestamp)::date
  )
  where claimed_at <= now() - pause
  returning claimed_month
$$;
revoke execute on function claim_summary_check(interval) from public;

-- Compares a month of the summary with the quotes and records the result. Returns the rows that
-- differ, and whether this is another result than before.
create function run_summary_check(checked_month date, out found_rows text[], out is_news boolean)
language plpgsql security definer set search_path = public,
  pg_temp set max_parallel_workers_per_gather = 0 set jit = off as $$
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
end $$;
revoke execute on function run_summary_check(date) from public;
