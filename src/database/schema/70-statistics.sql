-- Statistics of quotes: changes, the summary, and the functions that fold one into the other.

-- An amount in the base currency, rounded half up; null without a rate.
create function net_in_base(net numeric, currency text, rate numeric, base_currency text,
  base_digits integer)
 returns numeric
 language sql
 immutable parallel safe
return case when (currency = base_currency) then net else round((net * rate), base_digits) end;

-- What one quote contributes to quote_figures: the one definition of every figure. A quote counts
-- on its day of issue, and an accepted one also on its day of decision.
create function quote_figures_of(quote_status text, quote_country text, quote_currency text,
  quote_rate numeric, quote_issued_on date, quote_valid_until date, quote_decided_on date,
  quote_net numeric, base_currency text, base_digits integer)
 returns table(date_kind text, day date, country text, currency text, drafts integer, sent integer,
   accepted integer, rejected integer, expired integer, net numeric, base_net numeric,
   unconverted integer, unconverted_net numeric, base_sent numeric, base_lost numeric,
   decided integer, decision_days integer, decision_histogram numeric)
 language sql
 immutable parallel safe
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

-- What one quote contributes to quote_validity.
create function quote_validity_of(quote_status text, quote_country text, quote_currency text,
  quote_rate numeric, quote_issued_on date, quote_valid_until date, quote_decided_on date,
  quote_net numeric, base_currency text, base_digits integer)
 returns table(issued_on date, valid_until date, country text, currency text, quotes integer,
   base_net numeric)
 language sql
 immutable parallel safe
as $$
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
  xid          xid8             not null default pg_current_xact_id(),
  -- The start of that transaction.
  created_at   timestamptz      not null default now(),
  -- 1: the quote counts from now on; -1: it counted before; 0: many quotes, lines or names
  -- changed.
  sign         smallint         not null,
  -- status of the quote.
  status       text,
  -- country of the quote.
  country      text,
  -- currency of the quote.
  currency     text,
  -- rate of the quote.
  rate         numeric,
  -- issued_on of the quote.
  issued_on    date,
  -- valid_until of the quote.
  valid_until  date,
  -- decided_on of the quote.
  decided_on   date,
  -- net of the quote.
  net          numeric,
  -- customer_id of the quote.
  customer_id  bigint,
  -- The lines of an accepted quote, if the change concerns them. Otherwise null.
  lines        accepted_line[],
  constraint quote_changes_sign_check check (sign = any (array['-1'::integer, 0, 1]))
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000);
create index quote_changes_xid on quote_changes using btree (xid);

-- Figures by day, month and year, without what is not folded yet.
create table quote_figures (
  -- day, month or year by country; month_total: months over all countries, with an empty
  -- country.
  grain               text     collate "C" not null,
  -- issued: by the day of issue; accepted: accepted quotes by their day of decision, else of
  -- issue.
  date_kind           text     collate "C" not null,
  -- The day, or the first day of the month or year.
  starts_on           date     not null,
  -- Of the buyer. Empty: unknown, so that it can be part of a key.
  country             text     collate "C" not null,
  -- Of the quotes.
  currency            text     collate "C" not null,
  -- Quotes with status draft.
  drafts              bigint   not null,
  -- Quotes with status sent, also if their validity is over: see quote_validity.
  sent                bigint   not null,
  -- Quotes with status accepted.
  accepted            bigint   not null,
  -- Quotes with status rejected.
  rejected            bigint   not null,
  -- Quotes with status expired.
  expired             bigint   not null,
  -- Net of accepted quotes in their currency.
  net                 numeric  not null,
  -- Net of accepted quotes that have a rate, in the base currency.
  base_net            numeric  not null,
  -- Accepted quotes without a rate: part of net, not of base_net.
  unconverted         bigint   not null,
  -- Net of the unconverted quotes in their currency.
  unconverted_net     numeric  not null,
  -- Net of sent quotes that have a rate, in the base currency.
  base_sent           numeric  not null default 0,
  -- Net of rejected and expired quotes that have a rate, in the base currency.
  base_lost           numeric  not null default 0,
  -- Accepted and rejected quotes with a known day of decision.
  decided             bigint   not null default 0,
  -- Sum of the days from issue to decision of the decided quotes.
  decision_days       bigint   not null default 0,
  -- Histogram of the days from issue to decision: the 8 digits at 10^(8d) count the quotes
  -- decided after d days, or after 1000 days and more for d = 1000.
  decision_histogram  numeric  not null default 0,
  -- The edition of years and totals of months, and 0 in other rows. Only the current edition
  -- has visible rows. As part of the key, it lets readers skip the dead rows of earlier ones.
  edition             integer  not null default 0,
  constraint quote_figures_pkey primary key
    (grain, edition, date_kind, starts_on, country, currency),
  constraint quote_figures_date_kind_check check (date_kind = any (array['issued', 'accepted'])),
  constraint quote_figures_grain_check check
    (grain = any (array['day', 'day_total', 'month', 'month_total', 'year']))
) partition by list (grain);

create table quote_figures_day_totals partition of quote_figures for values in ('day_total')
  with (fillfactor = 50);

create table quote_figures_days partition of quote_figures for values in ('day')
  with (fillfactor = 80);

create table quote_figures_months partition of quote_figures for values in ('month')
  with (fillfactor = 70);

create table quote_figures_totals partition of quote_figures for values in ('month_total', 'year')
  with (fillfactor = 50);

-- Changes of quote_figures by statements with many quotes.
create table quote_figures_unfolded (
  -- The transaction that appended the row.
  xid                 xid8     not null default pg_current_xact_id(),
  -- What the row adds up.
  grain               text     collate "C" not null,
  -- issued: by the day of issue; accepted: accepted quotes by their day of decision, else of
  -- issue.
  date_kind           text     collate "C" not null,
  -- The day, or the first day of the month or year.
  starts_on           date     not null,
  -- Of the buyer. Empty: unknown, so that it can be part of a key.
  country             text     collate "C" not null,
  -- Of the quotes.
  currency            text     collate "C" not null,
  -- Change: Quotes with status draft.
  drafts              bigint   not null,
  -- Change: Quotes with status sent, also if their validity is over: see quote_validity.
  sent                bigint   not null,
  -- Change: Quotes with status accepted.
  accepted            bigint   not null,
  -- Change: Quotes with status rejected.
  rejected            bigint   not null,
  -- Change: Quotes with status expired.
  expired             bigint   not null,
  -- Change: Net of accepted quotes in their currency.
  net                 numeric  not null,
  -- Change: Net of accepted quotes that have a rate, in the base currency.
  base_net            numeric  not null,
  -- Change: Accepted quotes without a rate: part of net, not of base_net.
  unconverted         bigint   not null,
  -- Change: Net of the unconverted quotes in their currency.
  unconverted_net     numeric  not null,
  -- Change: Net of sent quotes that have a rate, in the base currency.
  base_sent           numeric  not null default 0,
  -- Change: Net of rejected and expired quotes that have a rate, in the base currency.
  base_lost           numeric  not null default 0,
  -- Change: Accepted and rejected quotes with a known day of decision.
  decided             bigint   not null default 0,
  -- Change: Sum of the days from issue to decision of the decided quotes.
  decision_days       bigint   not null default 0,
  -- Change: Histogram of the days from issue to decision: the 8 digits at 10^(8d) count the
  -- quotes decided after d days, or after 1000 days and more for d = 1000.
  decision_histogram  numeric  not null default 0,
  constraint quote_figures_unfolded_date_kind_check check
    (date_kind = any (array['issued', 'accepted'])),
  constraint quote_figures_unfolded_grain_check check
    (grain = any (array['day', 'day_total', 'month', 'month_total', 'year']))
) partition by list (grain);

create table quote_figures_unfolded_days partition of quote_figures_unfolded for values in ('day')
  with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

create table quote_figures_unfolded_totals partition of quote_figures_unfolded for
  values in ('day_total', 'month', 'month_total', 'year')
  with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index quote_figures_unfolded_key on quote_figures_unfolded
  using btree (grain, date_kind, starts_on);
create index quote_figures_unfolded_xid on quote_figures_unfolded using btree (xid);

-- Sent quotes by day or month of issue and by their last valid day: how many are still open.
create table quote_validity (
  -- day or month of issue, by last valid day; month_by_month: month of issue, by last valid
  -- month.
  grain        text     collate "C" not null,
  -- The last day on which the quotes stand, or the last day of its month in month_by_month;
  -- infinity: they do not end.
  valid_until  date     not null,
  -- The day, or the first day of the month or year.
  starts_on    date     not null,
  -- Of the buyer. Empty: unknown, so that it can be part of a key.
  country      text     collate "C" not null,
  -- Of the quotes.
  currency     text     collate "C" not null,
  -- Number of sent quotes.
  quotes       bigint   not null,
  -- Net of the quotes that have a rate, in the base currency.
  base_net     numeric  not null,
  constraint quote_validity_pkey primary key (grain, valid_until, starts_on, country, currency),
  constraint quote_validity_grain_check check
    (grain = any (array['day', 'month', 'month_by_month']))
) with (fillfactor=80);

-- Changes of quote_validity by statements with many quotes.
create table quote_validity_unfolded (
  -- The transaction that appended the row.
  xid          xid8     not null default pg_current_xact_id(),
  -- day or month of issue, by last valid day; month_by_month: month of issue, by last valid
  -- month.
  grain        text     collate "C" not null,
  -- The last day on which the quotes stand, or the last day of its month in month_by_month;
  -- infinity: they do not end.
  valid_until  date     not null,
  -- The day, or the first day of the month or year.
  starts_on    date     not null,
  -- Of the buyer. Empty: unknown, so that it can be part of a key.
  country      text     collate "C" not null,
  -- Of the quotes.
  currency     text     collate "C" not null,
  -- Change: Number of sent quotes.
  quotes       bigint   not null,
  -- Change: Net of the quotes that have a rate, in the base currency.
  base_net     numeric  not null,
  constraint quote_validity_unfolded_grain_check check
    (grain = any (array['day', 'month', 'month_by_month']))
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000);
create index quote_validity_unfolded_key on quote_validity_unfolded
  using btree (grain, valid_until);
create index quote_validity_unfolded_xid on quote_validity_unfolded using btree (xid);

-- Version of the summary. generation, and folded plus the number of unfolded_changes, change with
-- every commit that changes the statistics.
create table quote_summary (
  -- Always true, so that only one row can exist.
  the_only_row          boolean      not null default true,
  -- Changes with each rebuild and each truncate of quotes.
  generation            uuid         not null default gen_random_uuid(),
  -- Number of changes folded in this generation.
  folded                bigint       not null default 0,
  -- The snapshot of the last fold: changes of transactions that it contains are folded.
  folded_through        pg_snapshot  not null default pg_current_snapshot(),
  -- The transaction that folded. What it appends afterwards is unfolded.
  folded_by             xid8         not null default pg_current_xact_id(),
  -- The base currency of the figures; null before the company is recorded.
  base_currency         text,
  -- The minor digits of the base currency.
  base_digits           integer,
  -- The start of the PostgreSQL server whose transactions folded_through names.
  server_started_at     timestamptz  not null default pg_postmaster_start_time(),
  -- The current edition of years and totals of months.
  edition               integer      not null default 1,
  -- After so many more updates of their rows, folding begins the next edition.
  edition_updates_left  bigint       not null default 0,
  constraint quote_summary_pkey primary key (the_only_row),
  constraint quote_summary_the_only_row_check check (the_only_row)
);

-- The first transaction after the last fold: its changes and all later ones are unfolded.
create function next_unfolded_xid()
 returns xid8
 language plpgsql
 stable
as $$
begin
  return (
    select case when server_started_at = pg_postmaster_start_time()
      then pg_snapshot_xmax(folded_through) else '1'::xid8 end
    from quote_summary
  );
end $$;

-- Transactions before next_unfolded_xid that were still running at the last fold, and the one that
-- folded.
create function late_unfolded_xids()
 returns xid8[]
 language plpgsql
 stable
as $$
begin
  return (
    select array(select pg_snapshot_xip(folded_through)) || folded_by from quote_summary
  );
end $$;

-- The rows of quote_changes that are not folded.
create view unfolded_changes as
 SELECT xid,
    created_at,
    sign,
    status,
    country,
    currency,
    rate,
    issued_on,
    valid_until,
    decided_on,
    net,
    customer_id,
    lines
   FROM quote_changes d
  WHERE xid >= (( SELECT next_unfolded_xid() AS next_unfolded_xid)) OR
    (xid = ANY ((( SELECT late_unfolded_xids() AS late_unfolded_xids))::xid8[]));

-- The number of rows of quote_changes that are not folded.
create function count_unfolded_changes()
 returns bigint
 language sql
 stable
 set enable_seqscan to 'off'
return (select count(*) as count from unfolded_changes);

-- Figures without single changes: folded rows, and the unfolded rows of statements with many
-- quotes.
create view grouped_figures as
 SELECT quote_figures.grain,
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
   FROM quote_figures
  WHERE quote_figures.edition = ANY ((( SELECT ARRAY[0, quote_summary.edition] AS "array"
           FROM quote_summary))::integer[])
UNION ALL
 SELECT d.grain,
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
   FROM quote_figures_unfolded d
  WHERE COALESCE(d.xid >= (( SELECT next_unfolded_xid() AS next_unfolded_xid)) OR
    (d.xid = ANY ((( SELECT late_unfolded_xids() AS late_unfolded_xids))::xid8[])), false);

-- Figures of single changes that are not folded, by day.
create view changed_figures as
 SELECT c.date_kind,
    c.day,
    c.country,
    c.currency,
    COALESCE(s.sign * c.drafts, 0) AS drafts,
    COALESCE(s.sign * c.sent, 0) AS sent,
    COALESCE(s.sign * c.accepted, 0) AS accepted,
    COALESCE(s.sign * c.rejected, 0) AS rejected,
    COALESCE(s.sign * c.expired, 0) AS expired,
    COALESCE(s.sign::numeric * c.net, 0::numeric) AS net,
    COALESCE(s.sign::numeric * c.base_net, 0::numeric) AS base_net,
    COALESCE(s.sign * c.unconverted, 0) AS unconverted,
    COALESCE(s.sign::numeric * c.unconverted_net, 0::numeric) AS unconverted_net,
    COALESCE(s.sign::numeric * c.base_sent, 0::numeric) AS base_sent,
    COALESCE(s.sign::numeric * c.base_lost, 0::numeric) AS base_lost,
    COALESCE(s.sign * c.decided, 0) AS decided,
    COALESCE(s.sign * c.decision_days, 0) AS decision_days,
    COALESCE(s.sign::numeric * c.decision_histogram, 0::numeric) AS decision_histogram
   FROM unfolded_changes s
     CROSS JOIN quote_summary b
     CROSS JOIN LATERAL quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
       s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits)
       c(date_kind, day, country, currency, drafts, sent, accepted, rejected, expired, net,
       base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
       decision_histogram);

-- Figures of all committed quotes: grouped_figures, and changed_figures as days, months and years.
-- A reader adds up the rows of a key.
create view current_figures as
 SELECT grouped_figures.grain,
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
   FROM grouped_figures
UNION ALL
 SELECT g.grain,
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
   FROM changed_figures c
     CROSS JOIN LATERAL ( VALUES ('day'::text,c.day,c.country), ('day_total'::text,c.day,''::text),
       ('month'::text,date_trunc('month'::text,
       c.day::timestamp without time zone)::date,c.country),
       ('month_total'::text,date_trunc('month'::text,
       c.day::timestamp without time zone)::date,''::text),
       ('year'::text,date_trunc('year'::text, c.day::timestamp without time zone)::date,c.country))
       g(grain, starts_on, country);

-- Sent quotes, folded and not, as in quote_validity. A reader adds up the rows of a key.
create view current_validity as
 SELECT quote_validity.grain,
    quote_validity.valid_until,
    quote_validity.starts_on,
    quote_validity.country,
    quote_validity.currency,
    quote_validity.quotes,
    quote_validity.base_net
   FROM quote_validity
UNION ALL
 SELECT d.grain,
    d.valid_until,
    d.starts_on,
    d.country,
    d.currency,
    d.quotes,
    d.base_net
   FROM quote_validity_unfolded d
  WHERE COALESCE(d.xid >= (( SELECT next_unfolded_xid() AS next_unfolded_xid)) OR
    (d.xid = ANY ((( SELECT late_unfolded_xids() AS late_unfolded_xids))::xid8[])), false)
UNION ALL
 SELECT g.grain,
    g.valid_until,
    g.starts_on,
    c.country,
    c.currency,
    COALESCE(s.sign * c.quotes, 0) AS quotes,
    COALESCE(s.sign::numeric * c.base_net, 0::numeric) AS base_net
   FROM unfolded_changes s
     CROSS JOIN quote_summary b
     CROSS JOIN LATERAL quote_validity_of(s.status, s.country, s.currency, s.rate, s.issued_on,
       s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits)
       c(issued_on, valid_until, country, currency, quotes, base_net)
     CROSS JOIN LATERAL ( VALUES ('day'::text,c.issued_on,c.valid_until),
       ('month'::text,date_trunc('month'::text,
       c.issued_on::timestamp without time zone)::date,c.valid_until),
       ('month_by_month'::text,date_trunc('month'::text,
       c.issued_on::timestamp without time
       zone)::date,(date_trunc('month'::text, c.valid_until::timestamp without time zone) +
       '1 mon -1 days'::interval)::date)) g(grain, starts_on, valid_until);

-- Appends what a statement changes, in the transaction of the writer. Writers share no row, so they
-- never wait for each other.
create function append_quote_changes()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set enable_seqscan to 'off'
as $$
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
create trigger append_deletes after delete on quotes referencing old table as old_rows
  for each statement execute function append_quote_changes();
create trigger append_inserts after insert on quotes referencing new table as new_rows
  for each statement execute function append_quote_changes();
create trigger append_updates after update on quotes referencing old table as old_rows new table
  as new_rows for each statement execute function append_quote_changes();

-- Appends what logical replication changes, which fires no triggers for statements.
create function append_replicated_change()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set enable_seqscan to 'off'
as $$
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
create trigger append_replicated after insert or delete or update on quotes for each row
  when (current_setting('session_replication_role') = 'replica')
  execute function append_replicated_change();
alter table quotes enable replica trigger append_replicated;

-- Moves up to this number of unfolded rows of each table into the summary and returns how many.
-- Returns 0 if there are none or if another process is folding.
create function fold_quote_changes(batch integer)
 returns integer
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set enable_seqscan to 'off'
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

-- Copies years and totals of months into a new edition of quote_figures.
create function begin_summary_edition()
 returns void
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set enable_seqscan to 'off'
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

-- The quotes that count on a day between two days.
create function quotes_between(first_day date, last_day date)
 returns table(id bigint, customer_id bigint, status text, country text, currency text,
   rate numeric, issued_on date, valid_until date, decided_on date, net numeric)
 language sql
 stable
as $$
  select q.id, q.customer_id, q.status, q.country, q.currency, q.rate, q.issued_on, q.valid_until,
    q.decided_on, q.net
  from quotes q
  where q.issued_on between first_day and last_day
    or q.status = 'accepted'
      and coalesce(q.decided_on, q.issued_on) between first_day and last_day
$$;

-- Figures computed from the quotes that count between two days: for the rebuild and the
-- verification.
create function figures_from_quotes(first_day date, last_day date)
 returns table(grain text, date_kind text, starts_on date, country text, currency text,
   drafts bigint, sent bigint, accepted bigint, rejected bigint, expired bigint, net numeric,
   base_net numeric, unconverted bigint, unconverted_net numeric, base_sent numeric,
   base_lost numeric, decided bigint, decision_days bigint, decision_histogram numeric)
 language sql
 stable
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

-- quote_validity computed from the quotes between two days.
create function validity_from_quotes(first_day date, last_day date)
 returns table(grain text, valid_until date, starts_on date, country text, currency text,
   quotes bigint, base_net numeric)
 language sql
 stable
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

-- Rows of the summary between two days, the whole months that begin there included, that differ
-- from the quotes; at most twenty. Years are compared with the oldest of their months.
create function find_summary_differences(first_day date, last_day date)
 returns table(relation text, cell text)
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set work_mem to '64MB'
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

revoke execute on function find_summary_differences(date,date) from public;

-- The comparison of the summary with the quotes that the API makes in the background.
create table summary_check (
  -- Always true, so that only one row can exist.
  the_only_row   boolean      not null default true,
  -- When a process last began to compare a month.
  claimed_at     timestamptz  not null default '-infinity'::timestamptz,
  -- The first day of that month. The next older month follows, and the newest after the
  -- oldest.
  claimed_month  date         not null default 'infinity'::date,
  -- When a comparison last ended without an error. Before the first: the time of the
  -- migration.
  completed_at   timestamptz  not null default now(),
  constraint summary_check_pkey primary key (the_only_row),
  constraint summary_check_the_only_row_check check (the_only_row)
);

-- Months whose last comparison found a difference.
create table summary_differences (
  -- The first day of the month.
  month           date         not null,
  -- The generation of quote_summary that was compared. A later rebuild begins another.
  generation      uuid         not null,
  -- When the comparison first had this result.
  found_at        timestamptz  not null default now(),
  -- Rows of the summary that differ from the quotes: table and key, at most twenty.
  different_rows  text[]       not null,
  constraint summary_differences_pkey primary key (month)
);

-- The first day of the newest month before a day that has quotes, figures or a known difference;
-- null if there is none.
create function newest_month_before(day date)
 returns date
 language sql
 stable
as $$
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

-- Returns the month that the caller is to compare, or null if a process began to compare another
-- one less than pause ago.
create function claim_summary_check(pause interval)
 returns date
 language sql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
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
 returns record
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set max_parallel_workers_per_gather to '0'
 set jit to 'off'
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
end $$;

revoke execute on function run_summary_check(date) from public;

-- Rebuilds the summary from the quotes. Writers and readers are not blocked.
create function rebuild_quote_summary()
 returns void
 language plpgsql
 set work_mem to '64MB'
as $$
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

create function rebuild_for_company()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
begin
  if tg_op = 'UPDATE' and old.base_currency <> new.base_currency then
    lock table quotes in share mode;
  end if;
  perform rebuild_quote_summary();
  return null;
end $$;
create trigger rebuild_summary after insert or update of base_currency on company for each row
  execute function rebuild_for_company();

create function empty_quote_summary()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
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
create trigger empty_summary after truncate on quotes for each statement
  execute function empty_quote_summary();
alter table quotes enable always trigger empty_summary;

insert into quote_summary default values;
insert into summary_check default values;
