-- Statistics by customer and by product.

-- Figures by customer and month or year, without what is not folded.
create table customer_figures (
  -- month or year.
  grain        text     collate "C" not null,
  -- issued: by the day of issue; accepted: accepted quotes by their day of decision, else of
  -- issue.
  date_kind    text     collate "C" not null,
  -- The first day of the month or year.
  starts_on    date     not null,
  -- Of the buyer. Empty: unknown, so that it can be part of a key.
  country      text     collate "C" not null,
  -- Of the quotes.
  currency     text     collate "C" not null,
  -- The customer; 0: none is known.
  customer_id  bigint   not null,
  -- Quotes of every status except superseded.
  quotes       bigint   not null,
  -- Quotes with status accepted.
  accepted     bigint   not null,
  -- Net of accepted quotes that have a rate, in the base currency.
  base_net     numeric  not null,
  -- Accepted quotes without a rate.
  unconverted  bigint   not null,
  constraint customer_figures_pkey primary key
    (grain, date_kind, starts_on, country, currency, customer_id),
  constraint customer_figures_date_kind_check check (date_kind = any (array['issued', 'accepted'])),
  constraint customer_figures_grain_check check (grain = any (array['month', 'year']))
) partition by list (grain);

create table customer_figures_months partition of customer_figures for values in ('month')
  with (fillfactor = 80);

create table customer_figures_years partition of customer_figures for values in ('year')
  with (fillfactor = 70);

-- Changes of months by statements with many quotes.
create table customer_figures_unfolded (
  -- The transaction that appended the row.
  xid          xid8     not null default pg_current_xact_id(),
  -- issued: by the day of issue; accepted: accepted quotes by their day of decision, else of
  -- issue.
  date_kind    text     collate "C" not null,
  -- The first day of the month.
  starts_on    date     not null,
  -- Of the buyer. Empty: unknown, so that it can be part of a key.
  country      text     collate "C" not null,
  -- Of the quotes.
  currency     text     collate "C" not null,
  -- The customer; 0: none is known.
  customer_id  bigint   not null,
  -- Change: Quotes of every status except superseded.
  quotes       bigint   not null,
  -- Change: Quotes with status accepted.
  accepted     bigint   not null,
  -- Change: Net of accepted quotes that have a rate, in the base currency.
  base_net     numeric  not null,
  -- Change: Accepted quotes without a rate.
  unconverted  bigint   not null,
  constraint customer_figures_unfolded_date_kind_check check
    (date_kind = any (array['issued', 'accepted']))
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000);
create index customer_figures_unfolded_xid on customer_figures_unfolded using btree (xid);

-- Figures by SKU and month or year, without what is not folded.
create table product_figures (
  -- month or year by country; month_total and year_total: over all countries.
  grain          text     collate "C" not null,
  -- issued: by the day of issue; accepted: accepted quotes by their day of decision, else of
  -- issue.
  date_kind      text     collate "C" not null,
  -- Of the buyer. Empty: unknown, so that it can be part of a key.
  country        text     collate "C" not null,
  -- The first day of the month or year.
  starts_on      date     not null,
  -- Of the quotes.
  currency       text     collate "C" not null,
  -- As written in the lines; empty: lines without one.
  sku            text     collate "C" not null,
  -- Lines of accepted quotes.
  lines          bigint   not null,
  -- Their net in the currency of the quotes.
  net            numeric  not null,
  -- Net × rate of the lines whose quotes have a rate, not rounded.
  rated_net      numeric  not null,
  -- Lines whose quotes have no rate.
  unrated_lines  bigint   not null,
  constraint product_figures_pkey primary key (grain, date_kind, country, starts_on, currency, sku),
  constraint product_figures_date_kind_check check (date_kind = any (array['issued', 'accepted'])),
  constraint product_figures_grain_check check
    (grain = any (array['month', 'month_total', 'year', 'year_total']))
) partition by list (grain);

create table product_figures_months partition of product_figures for values in ('month')
  with (fillfactor = 80);

create table product_figures_totals partition of product_figures for
  values in ('month_total', 'year', 'year_total')
  with (fillfactor = 70);

-- Changes of the lines of accepted quotes. A row counts by both of its months.
create table product_figures_unfolded (
  -- The transaction that appended the row.
  xid            xid8     not null default pg_current_xact_id(),
  -- The first day of the month of issue.
  issued_in      date     not null,
  -- The first day of the month of decision, or of issue if that is not known.
  accepted_in    date     not null,
  -- Of the buyer. Empty: unknown, so that it can be part of a key.
  country        text     collate "C" not null,
  -- Of the quotes.
  currency       text     collate "C" not null,
  -- As written in the lines; empty: lines without one.
  sku            text     collate "C" not null,
  -- Change: Lines of accepted quotes.
  lines          bigint   not null,
  -- Change: Their net in the currency of the quotes.
  net            numeric  not null,
  -- Change: Net × rate of the lines whose quotes have a rate, not rounded.
  rated_net      numeric  not null,
  -- Change: Lines whose quotes have no rate.
  unrated_lines  bigint   not null
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000);
create index product_figures_unfolded_xid on product_figures_unfolded using btree (xid);

-- Figures by customer of all committed quotes. A reader adds up the rows of a key.
create view current_customer_figures as
 SELECT customer_figures.grain,
    customer_figures.date_kind,
    customer_figures.starts_on,
    customer_figures.country,
    customer_figures.currency,
    customer_figures.customer_id,
    customer_figures.quotes,
    customer_figures.accepted,
    customer_figures.base_net,
    customer_figures.unconverted
   FROM customer_figures
UNION ALL
 SELECT g.grain,
    d.date_kind,
    g.starts_on,
    d.country,
    d.currency,
    d.customer_id,
    d.quotes,
    d.accepted,
    d.base_net,
    d.unconverted
   FROM customer_figures_unfolded d
     CROSS JOIN LATERAL ( VALUES ('month'::text,d.starts_on),
       ('year'::text,date_trunc('year'::text, d.starts_on::timestamp without time zone)::date))
       g(grain, starts_on)
  WHERE d.xid >= (( SELECT next_unfolded_xid() AS next_unfolded_xid)) OR
    (d.xid = ANY ((( SELECT late_unfolded_xids() AS late_unfolded_xids))::xid8[]))
UNION ALL
 SELECT g.grain,
    f.date_kind,
    g.starts_on,
    f.country,
    f.currency,
    COALESCE(s.customer_id, 0::bigint) AS customer_id,
    COALESCE(s.sign * c.quotes, 0) AS quotes,
    COALESCE(s.sign * c.accepted, 0) AS accepted,
    COALESCE(s.sign::numeric * c.base_net, 0::numeric) AS base_net,
    COALESCE(s.sign * c.unconverted, 0) AS unconverted
   FROM unfolded_changes s
     CROSS JOIN quote_summary b
     CROSS JOIN LATERAL quote_figures_of(s.status, s.country, s.currency, s.rate, s.issued_on,
       s.valid_until, s.decided_on, s.net, b.base_currency, b.base_digits)
       f(date_kind, day, country, currency, drafts, sent, accepted, rejected, expired, net,
       base_net, unconverted, unconverted_net, base_sent, base_lost, decided, decision_days,
       decision_histogram)
     CROSS JOIN LATERAL ( SELECT COALESCE(f.drafts, f.sent, f.accepted, f.rejected, f.expired) AS
       quotes,
            f.accepted,
            f.base_net,
            f.unconverted) c
     CROSS JOIN LATERAL ( VALUES ('month'::text,date_trunc('month'::text,
       f.day::timestamp without time zone)::date),
       ('year'::text,date_trunc('year'::text,
       date_trunc('month'::text, f.day::timestamp without time zone)::date::timestamp without time
       zone)::date)) g(grain, starts_on);

-- Figures by SKU of the lines of all accepted quotes. A reader adds up the rows of a key.
create view current_product_figures as
 SELECT product_figures.grain,
    product_figures.date_kind,
    product_figures.country,
    product_figures.starts_on,
    product_figures.currency,
    product_figures.sku,
    product_figures.lines,
    product_figures.net,
    product_figures.rated_net,
    product_figures.unrated_lines
   FROM product_figures
UNION ALL
 SELECT g.grain,
    k.date_kind,
    g.country,
    g.starts_on,
    d.currency,
    d.sku,
    d.lines,
    d.net,
    d.rated_net,
    d.unrated_lines
   FROM product_figures_unfolded d
     CROSS JOIN LATERAL ( VALUES ('issued'::text,d.issued_in), ('accepted'::text,d.accepted_in))
       k(date_kind, month)
     CROSS JOIN LATERAL ( VALUES ('month'::text,k.month,d.country),
       ('month_total'::text,k.month,''::text),
       ('year'::text,date_trunc('year'::text,
       k.month::timestamp without time zone)::date,d.country),
       ('year_total'::text,date_trunc('year'::text,
       k.month::timestamp without time zone)::date,''::text)) g(grain, starts_on, country)
  WHERE d.xid >= (( SELECT next_unfolded_xid() AS next_unfolded_xid)) OR
    (d.xid = ANY ((( SELECT late_unfolded_xids() AS late_unfolded_xids))::xid8[]))
UNION ALL
 SELECT g.grain,
    k.date_kind,
    g.country,
    g.starts_on,
    s.currency,
    l.sku,
    COALESCE(s.sign * c.lines, 0) AS lines,
    COALESCE(s.sign::numeric * c.net, 0::numeric) AS net,
    COALESCE(s.sign::numeric * c.rated_net, 0::numeric) AS rated_net,
    COALESCE(s.sign * c.unrated_lines, 0) AS unrated_lines
   FROM unfolded_changes s
     CROSS JOIN LATERAL unnest(s.lines) l(sku, net)
     CROSS JOIN LATERAL ( SELECT 1 AS lines,
            l.net,
            l.net * s.rate AS rated_net,
                CASE
                    WHEN s.rate IS NULL THEN 1
                    ELSE NULL::integer
                END AS unrated_lines) c
     CROSS JOIN LATERAL ( VALUES ('issued'::text,date_trunc('month'::text,
       s.issued_on::timestamp without time zone)::date),
       ('accepted'::text,date_trunc('month'::text,
       COALESCE(s.decided_on, s.issued_on)::timestamp without time zone)::date)) k(date_kind, month)
     CROSS JOIN LATERAL ( VALUES ('month'::text,k.month,COALESCE(s.country, ''::text)),
       ('month_total'::text,k.month,''::text),
       ('year'::text,date_trunc('year'::text,
       k.month::timestamp without time zone)::date,COALESCE(s.country, ''::text)),
       ('year_total'::text,date_trunc('year'::text,
       k.month::timestamp without time zone)::date,''::text)) g(grain, starts_on, country);

-- Appends what a statement changes in the lines of accepted quotes. Locks the quotes, so that
-- nobody changes their status before this transaction ends.
create function append_line_changes()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set enable_seqscan to 'off'
as $$
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
create trigger append_deletes after delete on quote_lines referencing old table as old_rows
  for each statement execute function append_line_changes();
create trigger append_inserts after insert on quote_lines referencing new table as new_rows
  for each statement execute function append_line_changes();
create trigger append_updates after update on quote_lines referencing old table
  as old_rows new table as new_rows for each statement execute function append_line_changes();

-- Appends what logical replication changes, which fires no triggers for statements.
create function append_replicated_line()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set enable_seqscan to 'off'
as $$
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
create trigger append_replicated after insert or delete or update on quote_lines for each row
  when (current_setting('session_replication_role') = 'replica')
  execute function append_replicated_line();
alter table quote_lines enable replica trigger append_replicated;

-- Subtracts the lines of an accepted quote before they are deleted with it.
create function subtract_lines_of_quote()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set enable_seqscan to 'off'
as $$
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
create trigger subtract_lines before delete on quotes for each row when (old.status = 'accepted')
  execute function subtract_lines_of_quote();
alter table quotes enable always trigger subtract_lines;

-- Empties the figures by product when lines are truncated.
create function empty_product_figures()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
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
create trigger empty_figures after truncate on quote_lines for each statement
  execute function empty_product_figures();
alter table quote_lines enable always trigger empty_figures;

-- customer_figures computed from the quotes that count between two days.
create function customer_figures_from_quotes(first_day date, last_day date)
 returns table(grain text, date_kind text, starts_on date, country text, currency text,
   customer_id bigint, quotes bigint, accepted bigint, base_net numeric, unconverted bigint)
 language sql
 stable
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

-- product_figures computed from the lines of the quotes that count between two days.
create function product_figures_from_quotes(first_day date, last_day date)
 returns table(grain text, date_kind text, country text, starts_on date, currency text, sku text,
   lines bigint, net numeric, rated_net numeric, unrated_lines bigint)
 language sql
 stable
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

-- Figures by customer of single days, by one kind of date.
create function customer_figures_between(kind text, first_day date, last_day date)
 returns table(country text, currency text, customer_id bigint, quotes bigint, accepted bigint,
   base_net numeric, unconverted bigint)
 language sql
 stable security definer
 set search_path to 'public', 'pg_temp'
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

revoke execute on function customer_figures_between(text,date,date) from public;

-- Figures by SKU of single days, by one kind of date.
create function product_figures_between(kind text, first_day date, last_day date)
 returns table(country text, currency text, sku text, lines bigint, net numeric, rated_net numeric,
   unrated_lines bigint)
 language sql
 stable security definer
 set search_path to 'public', 'pg_temp'
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

revoke execute on function product_figures_between(text,date,date) from public;

-- Selects nothing. Whoever locks it locks the tables of which figures by customer and product read
-- single days and names.
create view breakdown_sources as
 SELECT
   FROM customers,
    quotes,
    quote_lines
  WHERE false;

-- Changes the version of the summary if a name of a customer changes.
create function note_customer_names()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
begin
  insert into quote_changes (sign) select 0 where exists (
    select from new_rows n full join old_rows o on o.id = n.id
    where n.name is distinct from o.name
  );
  return null;
end $$;
create trigger note_names after update on customers referencing old table as old_rows new table
  as new_rows for each statement execute function note_customer_names();

-- Changes the version of the summary if the name of a SKU may change.
create function note_product_names()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
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
create trigger note_deleted_names after delete on products referencing old table as old_rows
  for each statement execute function note_product_names();
create trigger note_inserted_names after insert on products referencing new table as new_rows
  for each statement execute function note_product_names();
create trigger note_updated_names after update on products referencing old table
  as old_rows new table as new_rows for each statement execute function note_product_names();

-- Changes the version of the summary.
create function note_changed_name()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
begin
  insert into quote_changes (sign) values (0);
  return null;
end $$;
create trigger note_replicated_names after update on products for each row
  when (current_setting('session_replication_role') = 'replica'
  and (new.sku <> old.sku or new.name <> old.name)) execute function note_changed_name();
alter table products enable replica trigger note_replicated_names;
create trigger note_replicated_products after insert or delete on products for each row
  when (current_setting('session_replication_role') = 'replica')
  execute function note_changed_name();
alter table products enable replica trigger note_replicated_products;
create trigger note_truncated_names after truncate on products for each statement
  execute function note_changed_name();
alter table products enable always trigger note_truncated_names;
create trigger note_replicated_names after update on customers for each row
  when (current_setting('session_replication_role') = 'replica' and new.name <> old.name)
  execute function note_changed_name();
alter table customers enable replica trigger note_replicated_names;
