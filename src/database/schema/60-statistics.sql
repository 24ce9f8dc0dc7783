-- The tables of the statistics, what a quote contributes to them, and the views that readers use.
-- docs/statistics.md explains fold, grain, edition and the other terms (#terms).

-- An amount in the base currency, rounded half up; null without a rate.
create function net_in_base(
  net numeric, currency text, rate numeric, base_currency text, base_digits integer
) returns numeric
language sql immutable parallel safe
return case when currency = base_currency then net else round(net * rate, base_digits) end;

-- What one quote contributes to quote_figures: the one definition of every figure. A quote counts
-- on its day of issue, and an accepted one also on its day of decision.
create function quote_figures_of(quote_status text, quote_country text, quote_currency text,
  quote_rate numeric, quote_issued_on date, quote_valid_until date, quote_decided_on date,
  quote_net numeric, base_currency text, base_digits integer) returns
  table(date_kind text, day date, country text, currency text, drafts integer, sent integer,
  accepted integer, rejected integer, expired integer, net numeric, base_net numeric,
  unconverted integer, unconverted_net numeric, base_sent numeric, base_lost numeric,
  decided integer, decision_days integer, decision_histogram numeric)
language sql immutable parallel safe as $$
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

-- What one quote contributes to quote_validity.
create function quote_validity_of(quote_status text, quote_country text, quote_currency text,
  quote_rate numeric, quote_issued_on date, quote_valid_until date, quote_decided_on date,
  quote_net numeric, base_currency text, base_digits integer) returns
  table(issued_on date, valid_until date, country text, currency text, quotes integer,
  base_net numeric)
language sql immutable parallel safe as $$
  select quote_issued_on, coalesce(quote_valid_until, 'infinity'), coalesce(quote_country, ''),
    quote_currency, 1, net_in_base(quote_net, quote_currency, quote_rate, base_currency,
      base_digits)
  where quote_status = 'sent'
$$;

-- What a line of an accepted quote contributes.
create type accepted_line as (sku text, net numeric);

-- Changes of quotes that are not folded yet. A statement that changes many quotes appends one row
-- with sign 0 here, and its rows to quote_figures_unfolded and quote_validity_unfolded.
create table quote_changes (
  -- The transaction that appended the row.
  xid xid8 not null default pg_current_xact_id(),
  -- The start of that transaction.
  created_at timestamptz not null default now(),
  -- 1: the quote counts from now on; -1: it counted before; 0: many quotes, lines or names changed.
  sign smallint not null check (sign in (-1, 0, 1)),
  -- status of the quote.
  status text,
  -- country of the quote.
  country text,
  -- currency of the quote.
  currency text,
  -- rate of the quote.
  rate numeric,
  -- issued_on of the quote.
  issued_on date,
  -- valid_until of the quote.
  valid_until date,
  -- decided_on of the quote.
  decided_on date,
  -- net of the quote.
  net numeric,
  -- customer_id of the quote.
  customer_id bigint,
  -- The lines of an accepted quote, if the change concerns them. Otherwise null.
  lines accepted_line[]
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index quote_changes_xid on quote_changes (xid);

-- Figures by day, month and year, without what is not folded yet.
create table quote_figures (
  -- day, month or year by country; month_total: months over all countries, with an empty country.
  grain text collate "C" not null
    check (grain in ('day', 'day_total', 'month', 'month_total', 'year')),
  -- issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.
  date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
  -- The day, or the first day of the month or year.
  starts_on date not null,
  -- Of the buyer. Empty: unknown, so that it can be part of a key.
  country text collate "C" not null,
  -- Of the quotes.
  currency text collate "C" not null,
  -- Quotes with status draft.
  drafts bigint not null,
  -- Quotes with status sent, also if their validity is over: see quote_validity.
  sent bigint not null,
  -- Quotes with status accepted.
  accepted bigint not null,
  -- Quotes with status rejected.
  rejected bigint not null,
  -- Quotes with status expired.
  expired bigint not null,
  -- Net of accepted quotes in their currency.
  net numeric not null,
  -- Net of accepted quotes that have a rate, in the base currency.
  base_net numeric not null,
  -- Accepted quotes without a rate: part of net, not of base_net.
  unconverted bigint not null,
  -- Net of the unconverted quotes in their currency.
  unconverted_net numeric not null,
  -- Net of sent quotes that have a rate, in the base currency.
  base_sent numeric not null default 0,
  -- Net of rejected and expired quotes that have a rate, in the base currency.
  base_lost numeric not null default 0,
  -- Accepted and rejected quotes with a known day of decision.
  decided bigint not null default 0,
  -- Sum of the days from issue to decision of the decided quotes.
  decision_days bigint not null default 0,
  -- Histogram of the days from issue to decision: the 8 digits at 10^(8d) count the quotes decided
  -- after d days, or after 1000 days and more for d = 1000.
  decision_histogram numeric not null default 0,
  -- The edition of years and totals of months, and 0 in other rows. Only the current edition has
  -- visible rows. As part of the key, it lets readers skip the dead rows of earlier ones.
  edition integer not null default 0,
  primary key (grain, edition, date_kind, starts_on, country, currency)
) partition by list (grain);
create table quote_figures_day_totals partition of quote_figures for
  values in ('day_total') with (fillfactor = 50);
create table quote_figures_days partition of quote_figures for
  values in ('day') with (fillfactor = 80);
create table quote_figures_months partition of quote_figures for
  values in ('month') with (fillfactor = 70);
create table quote_figures_totals partition of quote_figures for
  values in ('month_total', 'year') with (fillfactor = 50);

-- Changes of quote_figures by statements with many quotes.
create table quote_figures_unfolded (
  -- The transaction that appended the row.
  xid xid8 not null default pg_current_xact_id(),
  -- What the row adds up.
  grain text collate "C" not null
    check (grain in ('day', 'day_total', 'month', 'month_total', 'year')),
  -- issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.
  date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
  -- The day, or the first day of the month or year.
  starts_on date not null,
  -- Of the buyer. Empty: unknown, so that it can be part of a key.
  country text collate "C" not null,
  -- Of the quotes.
  currency text collate "C" not null,
  -- Change: Quotes with status draft.
  drafts bigint not null,
  -- Change: Quotes with status sent, also if their validity is over: see quote_validity.
  sent bigint not null,
  -- Change: Quotes with status accepted.
  accepted bigint not null,
  -- Change: Quotes with status rejected.
  rejected bigint not null,
  -- Change: Quotes with status expired.
  expired bigint not null,
  -- Change: Net of accepted quotes in their currency.
  net numeric not null,
  -- Change: Net of accepted quotes that have a rate, in the base currency.
  base_net numeric not null,
  -- Change: Accepted quotes without a rate: part of net, not of base_net.
  unconverted bigint not null,
  -- Change: Net of the unconverted quotes in their currency.
  unconverted_net numeric not null,
  -- Change: Net of sent quotes that have a rate, in the base currency.
  base_sent numeric not null default 0,
  -- Change: Net of rejected and expired quotes that have a rate, in the base currency.
  base_lost numeric not null default 0,
  -- Change: Accepted and rejected quotes with a known day of decision.
  decided bigint not null default 0,
  -- Change: Sum of the days from issue to decision of the decided quotes.
  decision_days bigint not null default 0,
  -- Change: Histogram of the days from issue to decision: the 8 digits at 10^(8d) count the quotes
  -- decided after d days, or after 1000 days and more for d = 1000.
  decision_histogram numeric not null default 0
) partition by list (grain);
create table quote_figures_unfolded_days partition of quote_figures_unfolded for
  values in ('day') with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create table quote_figures_unfolded_totals partition of quote_figures_unfolded for
  values in ('day_total', 'month', 'month_total', 'year') with
  (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index quote_figures_unfolded_key on quote_figures_unfolded (grain, date_kind, starts_on);
create index quote_figures_unfolded_xid on quote_figures_unfolded (xid);

-- Sent quotes by day or month of issue and by their last valid day: how many are still open.
create table quote_validity (
  -- day or month of issue, by last valid day; month_by_month: month of issue, by last valid month.
  grain text collate "C" not null check (grain in ('day', 'month', 'month_by_month')),
  -- The last day on which the quotes stand, or the last day of its month in month_by_month;
  -- infinity: they do not end.
  valid_until date not null,
  -- The day, or the first day of the month or year.
  starts_on date not null,
  -- Of the buyer. Empty: unknown, so that it can be part of a key.
  country text collate "C" not null,
  -- Of the quotes.
  currency text collate "C" not null,
  -- Number of sent quotes.
  quotes bigint not null,
  -- Net of the quotes that have a rate, in the base currency.
  base_net numeric not null,
  primary key (grain, valid_until, starts_on, country, currency)
) with (fillfactor = 80);

-- Changes of quote_validity by statements with many quotes.
create table quote_validity_unfolded (
  -- The transaction that appended the row.
  xid xid8 not null default pg_current_xact_id(),
  -- day or month of issue, by last valid day; month_by_month: month of issue, by last valid month.
  grain text collate "C" not null check (grain in ('day', 'month', 'month_by_month')),
  -- The last day on which the quotes stand, or the last day of its month in month_by_month;
  -- infinity: they do not end.
  valid_until date not null,
  -- The day, or the first day of the month or year.
  starts_on date not null,
  -- Of the buyer. Empty: unknown, so that it can be part of a key.
  country text collate "C" not null,
  -- Of the quotes.
  currency text collate "C" not null,
  -- Change: Number of sent quotes.
  quotes bigint not null,
  -- Change: Net of the quotes that have a rate, in the base currency.
  base_net numeric not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index quote_validity_unfolded_key on quote_validity_unfolded (grain, valid_until);
create index quote_validity_unfolded_xid on quote_validity_unfolded (xid);

-- Figures by customer and month or year, without what is not folded.
create table customer_figures (
  -- month or year.
  grain text collate "C" not null check (grain in ('month', 'year')),
  -- issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.
  date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
  -- The first day of the month or year.
  starts_on date not null,
  -- Of the buyer. Empty: unknown, so that it can be part of a key.
  country text collate "C" not null,
  -- Of the quotes.
  currency text collate "C" not null,
  -- The customer; 0: none is known.
  customer_id bigint not null,
  -- Quotes of every status except superseded.
  quotes bigint not null,
  -- Quotes with status accepted.
  accepted bigint not null,
  -- Net of accepted quotes that have a rate, in the base currency.
  base_net numeric not null,
  -- Accepted quotes without a rate.
  unconverted bigint not null,
  primary key (grain, date_kind, starts_on, country, currency, customer_id)
) partition by list (grain);
create table customer_figures_months partition of customer_figures for
  values in ('month') with (fillfactor = 80);
create table customer_figures_years partition of customer_figures for
  values in ('year') with (fillfactor = 70);

-- Changes of months by statements with many quotes.
create table customer_figures_unfolded (
  -- The transaction that appended the row.
  xid xid8 not null default pg_current_xact_id(),
  -- issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.
  date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
  -- The first day of the month.
  starts_on date not null,
  -- Of the buyer. Empty: unknown, so that it can be part of a key.
  country text collate "C" not null,
  -- Of the quotes.
  currency text collate "C" not null,
  -- The customer; 0: none is known.
  customer_id bigint not null,
  -- Change: Quotes of every status except superseded.
  quotes bigint not null,
  -- Change: Quotes with status accepted.
  accepted bigint not null,
  -- Change: Net of accepted quotes that have a rate, in the base currency.
  base_net numeric not null,
  -- Change: Accepted quotes without a rate.
  unconverted bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index customer_figures_unfolded_xid on customer_figures_unfolded (xid);

-- Figures by SKU and month or year, without what is not folded.
create table product_figures (
  -- month or year by country; month_total and year_total: over all countries.
  grain text collate "C" not null
    check (grain in ('month', 'month_total', 'year', 'year_total')),
  -- issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.
  date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
  -- Of the buyer. Empty: unknown, so that it can be part of a key.
  country text collate "C" not null,
  -- The first day of the month or year.
  starts_on date not null,
  -- Of the quotes.
  currency text collate "C" not null,
  -- As written in the lines; empty: lines without one.
  sku text collate "C" not null,
  -- Lines of accepted quotes.
  lines bigint not null,
  -- Their net in the currency of the quotes.
  net numeric not null,
  -- Net × rate of the lines whose quotes have a rate, not rounded.
  rated_net numeric not null,
  -- Lines whose quotes have no rate.
  unrated_lines bigint not null,
  primary key (grain, date_kind, country, starts_on, currency, sku)
) partition by list (grain);
create table product_figures_months partition of product_figures for
  values in ('month') with (fillfactor = 80);
create table product_figures_totals partition of product_figures for
  values in ('month_total', 'year', 'year_total') with (fillfactor = 70);

-- Changes of the lines of accepted quotes. A row counts by both of its months.
create table product_figures_unfolded (
  -- The transaction that appended the row.
  xid xid8 not null default pg_current_xact_id(),
  -- The first day of the month of issue.
  issued_in date not null,
  -- The first day of the month of decision, or of issue if that is not known.
  accepted_in date not null,
  -- Of the buyer. Empty: unknown, so that it can be part of a key.
  country text collate "C" not null,
  -- Of the quotes.
  currency text collate "C" not null,
  -- As written in the lines; empty: lines without one.
  sku text collate "C" not null,
  -- Change: Lines of accepted quotes.
  lines bigint not null,
  -- Change: Their net in the currency of the quotes.
  net numeric not null,
  -- Change: Net × rate of the lines whose quotes have a rate, not rounded.
  rated_net numeric not null,
  -- Change: Lines whose quotes have no rate.
  unrated_lines bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index product_figures_unfolded_xid on product_figures_unfolded (xid);

-- Version of the summary. generation, and folded plus the number of unfolded_changes, change with
-- every commit that changes the statistics.
create table quote_summary (
  the_only_row boolean primary key default true check (the_only_row),
  -- Changes with each rebuild and each truncate of quotes.
  generation uuid not null default gen_random_uuid(),
  -- Number of changes folded in this generation.
  folded bigint not null default 0,
  -- The snapshot of the last fold: changes of transactions that it contains are folded.
  folded_through pg_snapshot not null default pg_current_snapshot(),
  -- The transaction that folded. What it appends afterwards is unfolded.
  folded_by xid8 not null default pg_current_xact_id(),
  -- The base currency of the figures; null before the company is recorded.
  base_currency text,
  -- The minor digits of the base currency.
  base_digits integer,
  -- The start of the PostgreSQL server whose transactions folded_through names.
  server_started_at timestamptz not null default pg_postmaster_start_time(),
  -- The current edition of years and totals of months.
  edition integer not null default 1,
  -- After so many more updates of their rows, folding begins the next edition.
  edition_updates_left bigint not null default 0
);

insert into quote_summary default values;

-- The first transaction after the last fold: its changes and all later ones are unfolded.
create function next_unfolded_xid() returns xid8
language plpgsql stable as $$
begin
  return (
    select case when server_started_at = pg_postmaster_start_time()
      then pg_snapshot_xmax(folded_through) else '1'::xid8 end
    from quote_summary
  );
end $$;

-- Transactions before next_unfolded_xid that were still running at the last fold, and the one that
-- folded.
create function late_unfolded_xids() returns xid8[]
language plpgsql stable as $$
begin
  return (
    select array(select pg_snapshot_xip(folded_through)) || folded_by from quote_summary
  );
end $$;

-- The rows of quote_changes that are not folded.
create view unfolded_changes as
 select d.xid,
    d.created_at,
    d.sign,
    d.status,
    d.country,
    d.currency,
    d.rate,
    d.issued_on,
    d.valid_until,
    d.decided_on,
    d.net,
    d.customer_id,
    d.lines
   from quote_changes d
  where d.xid >= (( select next_unfolded_xid() as next_unfolded_xid))
    or (d.xid = any ((( select late_unfolded_xids() as late_unfolded_xids))::xid8[]));

-- The number of rows of quote_changes that are not folded.
create function count_unfolded_changes() returns bigint
language sql stable set enable_seqscan = off
return (select count(*) from unfolded_changes);

-- Figures without single changes: folded rows, and the unfolded rows of statements with many
-- quotes.
create view grouped_figures as
 select quote_figures.grain,
    quote_figures.date_kind,
    quote_figures.starts_on,
    quote_figures.country,
    quote_figures.currency,
    quote_figures.drafts,
    quote_figures.sent,
    quote_figures.accepted,
    quote_figures.rejected,
    quote_figures.expired,
    quote_figures.net,
    quote_figures.base_net,
    quote_figures.unconverted,
    quote_figures.unconverted_net,
    quote_figures.base_sent,
    quote_figures.base_lost,
    quote_figures.decided,
    quote_figures.decision_days,
    quote_figures.decision_histogram
   from quote_figures
  where quote_figures.edition = any ((( select array[0, quote_summary.edition] as "array"
           from quote_summary))::integer[])
union all
 select d.grain,
    d.date_kind,
    d.starts_on,
    d.country,
    d.currency,
    d.drafts,
    d.sent,
    d.accepted,
    d.rejected,
    d.expired,
    d.net,
    d.base_net,
    d.unconverted,
    d.unconverted_net,
    d.base_sent,
    d.base_lost,
    d.decided,
    d.decision_days,
    d.decision_histogram
   from quote_figures_unfolded d
  where coalesce(d.xid >= (( select next_unfolded_xid() as next_unfolded_xid))
    or (d.xid = any ((( select late_unfolded_xids() as late_unfolded_xids))::xid8[])), false);

-- Figures of single changes that are not folded, by day.
create view changed_figures as
 select c.date_kind,
    c.day,
    c.country,
    c.currency,
    coalesce(s.sign * c.drafts, 0) as drafts,
    coalesce(s.sign * c.sent, 0) as sent,
    coalesce(s.sign * c.accepted, 0) as accepted,
    coalesce(s.sign * c.rejected, 0) as rejected,
    coalesce(s.sign * c.expired, 0) as expired,
    coalesce(s.sign::numeric * c.net, 0) as net,
    coalesce(s.sign::numeric * c.base_net, 0) as base_net,
    coalesce(s.sign * c.unconverted, 0) as unconverted,
    coalesce(s.sign::numeric * c.unconverted_net, 0) as unconverted_net,
    coalesce(s.sign::numeric * c.base_sent, 0) as base_sent,
    coalesce(s.sign::numeric * c.base_lost, 0) as base_lost,
    coalesce(s.sign * c.decided, 0) as decided,
    coalesce(s.sign * c.decision_days, 0) as decision_days,
    coalesce(s.sign::numeric * c.decision_histogram, 0) as decision_histogram
   from unfolded_changes s
     cross join quote_summary b
     cross join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
       s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits)
       c(date_kind, day, country, currency, drafts, sent, accepted, rejected, expired, net,
       base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
       decision_histogram);

-- Figures of all committed quotes: grouped_figures, and changed_figures as days, months and years.
-- A reader adds up the rows of a key.
create view current_figures as
 select grouped_figures.grain,
    grouped_figures.date_kind,
    grouped_figures.starts_on,
    grouped_figures.country,
    grouped_figures.currency,
    grouped_figures.drafts,
    grouped_figures.sent,
    grouped_figures.accepted,
    grouped_figures.rejected,
    grouped_figures.expired,
    grouped_figures.net,
    grouped_figures.base_net,
    grouped_figures.unconverted,
    grouped_figures.unconverted_net,
    grouped_figures.base_sent,
    grouped_figures.base_lost,
    grouped_figures.decided,
    grouped_figures.decision_days,
    grouped_figures.decision_histogram
   from grouped_figures
union all
 select g.grain,
    c.date_kind,
    g.starts_on,
    g.country,
    c.currency,
    c.drafts,
    c.sent,
    c.accepted,
    c.rejected,
    c.expired,
    c.net,
    c.base_net,
    c.unconverted,
    c.unconverted_net,
    c.base_sent,
    c.base_lost,
    c.decided,
    c.decision_days,
    c.decision_histogram
   from changed_figures c
     cross join lateral ( values ('day',c.day,c.country), ('day_total',c.day,''),
       ('month',date_trunc('month', c.day::timestamp without time zone)::date,c.country),
       ('month_total',date_trunc('month', c.day::timestamp without time zone)::date,''),
       ('year',date_trunc('year', c.day::timestamp without time zone)::date,c.country))
       g(grain, starts_on, country);

-- Sent quotes, folded and not, as in quote_validity. A reader adds up the rows of a key.
create view current_validity as
 select quote_validity.grain,
    quote_validity.valid_until,
    quote_validity.starts_on,
    quote_validity.country,
    quote_validity.currency,
    quote_validity.quotes,
    quote_validity.base_net
   from quote_validity
union all
 select d.grain,
    d.valid_until,
    d.starts_on,
    d.country,
    d.currency,
    d.quotes,
    d.base_net
   from quote_validity_unfolded d
  where coalesce(d.xid >= (( select next_unfolded_xid() as next_unfolded_xid))
    or (d.xid = any ((( select late_unfolded_xids() as late_unfolded_xids))::xid8[])), false)
union all
 select g.grain,
    g.valid_until,
    g.starts_on,
    c.country,
    c.currency,
    coalesce(s.sign * c.quotes, 0) as quotes,
    coalesce(s.sign::numeric * c.base_net, 0) as base_net
   from unfolded_changes s
     cross join quote_summary b
     cross join lateral quote_validity_of(s.status, s.country, s.currency, s.rate, s.issued_on,
       s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits)
       c(issued_on, valid_until, country, currency, quotes, base_net)
     cross join lateral ( values ('day',c.issued_on,c.valid_until),
       ('month',date_trunc('month', c.issued_on::timestamp without time zone)::date,c.valid_until),
       ('month_by_month',date_trunc('month',
       c.issued_on::timestamp without time
       zone)::date,(date_trunc('month', c.valid_until::timestamp without time zone) +
       '1 mon -1 days'::interval)::date)) g(grain, starts_on, valid_until);

-- Figures by customer of all committed quotes. A reader adds up the rows of a key.
create view current_customer_figures as
 select customer_figures.grain,
    customer_figures.date_kind,
    customer_figures.starts_on,
    customer_figures.country,
    customer_figures.currency,
    customer_figures.customer_id,
    customer_figures.quotes,
    customer_figures.accepted,
    customer_figures.base_net,
    customer_figures.unconverted
   from customer_figures
union all
 select g.grain,
    d.date_kind,
    g.starts_on,
    d.country,
    d.currency,
    d.customer_id,
    d.quotes,
    d.accepted,
    d.base_net,
    d.unconverted
   from customer_figures_unfolded d
     cross join lateral ( values ('month',d.starts_on),
       ('year',date_trunc('year', d.starts_on::timestamp without time zone)::date))
       g(grain, starts_on)
  where d.xid >= (( select next_unfolded_xid() as next_unfolded_xid))
    or (d.xid = any ((( select late_unfolded_xids() as late_unfolded_xids))::xid8[]))
union all
 select g.grain,
    f.date_kind,
    g.starts_on,
    f.country,
    f.currency,
    coalesce(s.customer_id, 0) as customer_id,
    coalesce(s.sign * c.quotes, 0) as quotes,
    coalesce(s.sign * c.accepted, 0) as accepted,
    coalesce(s.sign::numeric * c.base_net, 0) as base_net,
    coalesce(s.sign * c.unconverted, 0) as unconverted
   from unfolded_changes s
     cross join quote_summary b
     cross join lateral quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
       s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits)
       f(date_kind, day, country, currency, drafts, sent, accepted, rejected, expired, net,
       base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
       decision_histogram)
     cross join lateral ( select coalesce(f.drafts, f.sent, f.accepted, f.rejected, f.expired)
       as quotes,
            f.accepted,
            f.base_net,
            f.unconverted) c
     cross join lateral ( values ('month',date_trunc('month',
       f.day::timestamp without time zone)::date),
       ('year',date_trunc('year', date_trunc('month',
       f.day::timestamp without time zone)::date::timestamp without time zone)::date))
       g(grain, starts_on);

-- Figures by SKU of the lines of all accepted quotes. A reader adds up the rows of a key.
create view current_product_figures as
 select product_figures.grain,
    product_figures.date_kind,
    product_figures.country,
    product_figures.starts_on,
    product_figures.currency,
    product_figures.sku,
    product_figures.lines,
    product_figures.net,
    product_figures.rated_net,
    product_figures.unrated_lines
   from product_figures
union all
 select g.grain,
    k.date_kind,
    g.country,
    g.starts_on,
    d.currency,
    d.sku,
    d.lines,
    d.net,
    d.rated_net,
    d.unrated_lines
   from product_figures_unfolded d
     cross join lateral ( values ('issued',d.issued_in), ('accepted',d.accepted_in))
       k(date_kind, month)
     cross join lateral ( values ('month',k.month,d.country), ('month_total',k.month,''),
       ('year',date_trunc('year', k.month::timestamp without time zone)::date,d.country),
       ('year_total',date_trunc('year', k.month::timestamp without time zone)::date,''))
       g(grain, starts_on, country)
  where d.xid >= (( select next_unfolded_xid() as next_unfolded_xid))
    or (d.xid = any ((( select late_unfolded_xids() as late_unfolded_xids))::xid8[]))
union all
 select g.grain,
    k.date_kind,
    g.country,
    g.starts_on,
    s.currency,
    l.sku,
    coalesce(s.sign * c.lines, 0) as lines,
    coalesce(s.sign::numeric * c.net, 0) as net,
    coalesce(s.sign::numeric * c.rated_net, 0) as rated_net,
    coalesce(s.sign * c.unrated_lines, 0) as unrated_lines
   from unfolded_changes s
     cross join lateral unnest(s.lines) l(sku, net)
     cross join lateral ( select 1 as lines,
            l.net,
            l.net * s.rate as rated_net,
                case
                    when s.rate is null then 1
                    else null::integer
                end as unrated_lines) c
     cross join lateral ( values ('issued',date_trunc('month',
       s.issued_on::timestamp without time zone)::date),
       ('accepted',date_trunc('month',
       coalesce(s.decided_on, s.issued_on)::timestamp without time zone)::date)) k(date_kind, month)
     cross join lateral ( values ('month',k.month,coalesce(s.country, '')),
       ('month_total',k.month,''), ('year',date_trunc('year',
       k.month::timestamp without time zone)::date,coalesce(s.country, '')),
       ('year_total',date_trunc('year', k.month::timestamp without time zone)::date,''))
       g(grain, starts_on, country);

-- Selects nothing. Whoever locks it locks the tables of which figures by customer and product read
-- single days and names.
create view breakdown_sources as
 select
   from customers,
    quotes,
    quote_lines
  where false;
