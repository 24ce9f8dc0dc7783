-- The statistics: the ledger of changed quotes, the summary that readers read, and what one quote
-- contributes to it. docs/architecture.md explains the terms.

-- The local day of the company.
create function local_today() returns date
language sql stable
return (select (now() at time zone time_zone)::date from company);

-- What the statistics depend on in a quote.
create type quote_image as (status text, country text, currency text, rate numeric, issued_on date,
  valid_until date, decided_on date, net numeric, customer_id bigint);

create function image_of(q quotes) returns quote_image
language sql immutable parallel safe
return row(q.status, q.country, q.currency, q.rate, q.issued_on, q.valid_until, q.decided_on, q.net,
  q.customer_id)::quote_image;

-- So many lines of an accepted quote with this SKU and net, or so many less if it is negative. The
-- SKU is empty for lines without one.
create type accepted_lines as (lines integer, sku text, net numeric);

-- What the global discount of a quote leaves of the net of each line: 0.9 after 10 %.
create function discount_factor(q quotes) returns numeric
language sql immutable parallel safe
return case
  when q.global_discount_percent is not null then (100 - q.global_discount_percent) * 0.01
  when q.net + q.global_discount_amount > 0
    then round(q.net, 20) / (q.net + q.global_discount_amount)
  else 1 end;

-- The lines of a quote that count, to be added or subtracted. A function in `from` is inlined.
create function accepted_lines_of(q quotes, sign integer) returns setof accepted_lines
language sql stable as $$
  select sign, coalesce(l.sku, ''), l.net * discount_factor(q)
  from quote_lines l where l.quote_id = q.id and l.kind = 'line'
$$;

-- The ledger: changes of quotes that are not in the summary yet. Folding deletes its rows.
create table quote_changes (
  -- The transaction that appended the row.
  xid xid8 not null default pg_current_xact_id(),
  -- 1: the quote counts from now on; -1: it counted before; 0: only lines or names changed.
  sign smallint not null check (sign in (-1, 0, 1)),
  -- The quote, before or after the change. Null if names changed.
  quote quote_image,
  -- The lines of an accepted quote, if the change concerns them.
  lines accepted_lines[]
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index quote_changes_xid on quote_changes (xid);

-- By which folding finds the quotes that lapse.
create index quotes_sent_until on quotes (valid_until) where status = 'sent';

-- Figures by day, month and year.
create table quote_figures (
  -- day, month or year by country; day_total and month_total: over all countries.
  grain text collate "C" not null
    check (grain in ('day', 'day_total', 'month', 'month_total', 'year')),
  -- issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.
  date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
  -- The day, or the first day of the month or year.
  starts_on date not null,
  -- Of the buyer. Empty: unknown, or all countries.
  country text collate "C" not null,
  -- Of the quotes.
  currency text collate "C" not null,
  -- Quotes of every status except superseded.
  quotes bigint not null,
  -- Quotes with status draft.
  draft bigint not null,
  -- Sent quotes that are valid on quote_summary.as_of_day.
  sent bigint not null,
  -- Quotes with status accepted.
  accepted bigint not null,
  -- Quotes with status rejected.
  rejected bigint not null,
  -- Quotes with status expired, and sent quotes that are no longer valid.
  expired bigint not null,
  -- Quotes with status withdrawn.
  withdrawn bigint not null,
  -- Net of sent in the base currency, of the quotes that have a rate.
  open_net numeric not null,
  -- Net of accepted in the base currency, of the quotes that have a rate.
  won_net numeric not null,
  -- Net of rejected and expired in the base currency, of the quotes that have a rate.
  lost_net numeric not null,
  -- Net of withdrawn in the base currency, of the quotes that have a rate.
  withdrawn_net numeric not null,
  -- Net of accepted in the currency of the quotes.
  own_net numeric not null,
  -- Accepted quotes without a rate: part of own_net, not of won_net.
  unconverted bigint not null,
  -- Net of unconverted in the currency of the quotes.
  unconverted_net numeric not null,
  -- Accepted and rejected quotes with a known day of decision.
  decided bigint not null,
  -- Sum of the days from issue to decision of the decided quotes.
  decision_days bigint not null,
  -- Histogram of these days: the 8 digits at 10^(8d) count the quotes decided after d days, or
  -- after 1000 days and more for d = 1000.
  decision_histogram numeric not null,
  primary key (grain, date_kind, starts_on, country, currency)
) with (fillfactor = 70);

-- Figures by customer.
create table customer_figures (
  -- month or year.
  grain text collate "C" not null check (grain in ('month', 'year')),
  -- As in quote_figures.
  date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
  -- The first day of the month or year.
  starts_on date not null,
  -- Of the buyer. Empty: unknown.
  country text collate "C" not null,
  -- Of the quotes.
  currency text collate "C" not null,
  -- The customer; 0: none is known.
  customer_id bigint not null,
  -- Quotes of every status except superseded.
  quotes bigint not null,
  -- Quotes with status accepted.
  accepted bigint not null,
  -- Net of accepted in the base currency, of the quotes that have a rate.
  won_net numeric not null,
  -- Accepted quotes without a rate.
  unconverted bigint not null,
  primary key (grain, date_kind, starts_on, country, currency, customer_id)
) with (fillfactor = 80);

-- Figures by SKU of the lines of accepted quotes.
create table product_figures (
  -- month or year by country; month_total and year_total: over all countries.
  grain text collate "C" not null
    check (grain in ('month', 'month_total', 'year', 'year_total')),
  -- As in quote_figures.
  date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
  -- The first day of the month or year.
  starts_on date not null,
  -- Of the buyer. Empty: unknown, or all countries.
  country text collate "C" not null,
  -- Of the quotes.
  currency text collate "C" not null,
  -- As written in the lines; empty: lines without one.
  sku text collate "C" not null,
  -- Number of lines.
  lines bigint not null,
  -- Their net in the currency of the quotes.
  own_net numeric not null,
  -- Net × rate of the lines whose quotes have a rate, not rounded.
  rated_net numeric not null,
  -- Lines whose quotes have no rate.
  unrated_lines bigint not null,
  primary key (grain, date_kind, starts_on, country, currency, sku)
) with (fillfactor = 80);

-- The state of the summary: what it contains.
create table quote_summary (
  the_only_row boolean primary key default true check (the_only_row),
  -- Increases with every fold, repair and truncate.
  version bigint not null default 0,
  -- A moment before the snapshot of the last fold. Null before the first fold.
  folded_at timestamptz,
  -- The local day of the last fold: sent quotes that were valid until an earlier day count as
  -- expired. It only moves forward. Null before the company is recorded.
  as_of_day date,
  -- The base currency of the figures; null before the company is recorded.
  base_currency text,
  -- The minor digits of the base currency.
  base_digits integer,
  -- Changes of this transaction and all later ones are not folded.
  unfolded_from xid8 not null default '0',
  -- Earlier transactions that the last fold did not see, and the one that folded. With
  -- unfolded_from, they let folding skip dead rows of the ledger while an old snapshot is open.
  unfolded_xids xid8[] not null default '{}',
  -- The start of the PostgreSQL server whose transactions unfolded_from and unfolded_xids name.
  server_started_at timestamptz not null default pg_postmaster_start_time()
) with (fillfactor = 10);

insert into quote_summary default values;

-- The advisory lock of folding. Who also locks quotes and quote_lines, locks those first, because
-- TRUNCATE does.
create function fold_lock() returns bigint
language sql immutable
return hashtextextended('trade-quoting-service fold', 0);

-- The rows of the ledger that are not folded.
create view unfolded_changes as
  select ctid as place, xid, sign, quote, lines from quote_changes
  where xid >= (
    select case when server_started_at = pg_postmaster_start_time() then unfolded_from else '0' end
    from quote_summary
  ) or xid = any ((select unfolded_xids from quote_summary)::xid8[]);

-- Whether the summary lacks a committed change, or the local day has moved on.
create function is_fold_due() returns boolean
language plpgsql stable security definer set search_path = public,
  pg_temp set enable_seqscan = off as $$
begin
  return exists (
    select from quote_summary where base_currency is not null
      and (as_of_day < local_today() or exists (select from unfolded_changes))
  );
end $$;
revoke execute on function is_fold_due() from public;

-- What a reader needs to know of the summary, in one row.
create view summary_state as
  select
    -- Changes when PostgreSQL restarts or is restored: only versions of a generation are
    -- comparable. Databases that are copies of one have the same table, so theirs is part of it.
    concat_ws('-', (select oid from pg_database where datname = current_database()), tableoid,
      extract(epoch from pg_postmaster_start_time())) as generation,
    version,
    as_of_day,
    is_fold_due(),
    -- Milliseconds since the last fold began; null before the first one.
    (extract(epoch from clock_timestamp() - folded_at) * 1000)::float8 as fold_age_ms
  from quote_summary;

-- An amount in the base currency, rounded half up; null without a rate.
create function net_in_base(
  net numeric, currency text, rate numeric, base_currency text, base_digits integer
) returns numeric
language sql immutable parallel safe
return case when currency = base_currency then net else round(net * rate, base_digits) end;

-- What one quote contributes to quote_figures, or takes away with sign -1: the one definition of
-- every figure. A quote counts on its day of issue, and an accepted one also on its day of
-- decision.
create function quote_figures_of(q quote_image, sign integer, as_of_day date, base_currency text,
  base_digits integer) returns setof quote_figures
language sql immutable parallel safe as $$
  select 'day', kind.date_kind, kind.day, coalesce(q.country, ''), q.currency,
    sign,
    sign * (s.status = 'draft')::integer,
    sign * (s.status = 'sent')::integer,
    sign * (s.status = 'accepted')::integer,
    sign * (s.status = 'rejected')::integer,
    sign * (s.status = 'expired')::integer,
    sign * (s.status = 'withdrawn')::integer,
    case when s.status = 'sent' then sign * coalesce(s.base_net, 0) else 0 end,
    case when s.status = 'accepted' then sign * coalesce(s.base_net, 0) else 0 end,
    case when s.status in ('rejected', 'expired') then sign * coalesce(s.base_net, 0) else 0 end,
    case when s.status = 'withdrawn' then sign * coalesce(s.base_net, 0) else 0 end,
    case when s.status = 'accepted' then sign * q.net else 0 end,
    sign * (s.status = 'accepted' and s.base_net is null)::integer,
    case when s.status = 'accepted' and s.base_net is null then sign * q.net else 0 end,
    sign * s.is_decided::integer,
    case when s.is_decided then sign * (q.decided_on - q.issued_on) else 0 end,
    case when s.is_decided
      then sign * ('1e' || 8 * least(q.decided_on - q.issued_on, 1000))::numeric else 0 end
  from (
    select
      case when q.status = 'sent' and q.valid_until < as_of_day then 'expired' else q.status end
        as status,
      net_in_base(q.net, q.currency, q.rate, base_currency, base_digits) as base_net,
      q.status in ('accepted', 'rejected') and q.decided_on is not null as is_decided
  ) s cross join (values
    ('issued', q.issued_on),
    ('accepted', case when q.status = 'accepted' then coalesce(q.decided_on, q.issued_on) end)
  ) kind (date_kind, day)
  where kind.day is not null and q.status <> 'superseded' and sign <> 0
$$;

-- What one quote contributes to customer_figures, by day.
create function customer_figures_of(q quote_image, sign integer, as_of_day date, base_currency text,
  base_digits integer) returns setof customer_figures
language sql immutable parallel safe as $$
  select f.grain, f.date_kind, f.starts_on, f.country, f.currency, coalesce(q.customer_id, 0),
    f.quotes, f.accepted, f.won_net, f.unconverted
  from quote_figures_of(q, sign, as_of_day, base_currency, base_digits) f
$$;

-- What lines of one accepted quote contribute to product_figures, by day.
create function product_figures_of(q quote_image, lines accepted_lines[]) returns
  setof product_figures
language sql immutable parallel safe as $$
  select 'day', kind.date_kind, kind.day, coalesce(q.country, ''), q.currency, l.sku, l.lines,
    l.lines * l.net, l.lines * l.net * coalesce(q.rate, 0),
    case when q.rate is null then l.lines else 0 end
  from unnest(lines) l cross join (values
    ('issued', q.issued_on), ('accepted', coalesce(q.decided_on, q.issued_on))
  ) kind (date_kind, day)
$$;

-- How the tables of figures are computed, in SQL. `parts` is what the rows of a table %s contribute
-- by day, and `cells` adds up the parts %s at every grain. A new column needs no change here.
create view figure_tables as
  select relation, columns.*,
    'select p.* from %s c cross join quote_summary s cross join lateral ' || parts_of || ' p'
      as parts,
    format('select case %s when grouping(month) = 0 then ''month'' else ''year'' end
          || case grouping(country) when 0 then '''' else ''_total'' end as grain,
        date_kind, coalesce(%s month, year) as starts_on, coalesce(country, '''') as country, %s, %s
      from (
        select *, starts_on as day, date_trunc(''month'', starts_on::timestamp)::date as month,
          date_trunc(''year'', starts_on::timestamp)::date as year
        from (%%s) p
      ) p group by date_kind, %3$s, grouping sets (%5$s)',
      case when sets like '%day%' then 'when grouping(day) = 0 then ''day''' end,
      case when sets like '%day%' then 'day,' end, key_of_quotes, sums, sets) as cells
  from (values
    ('quote_figures'::regclass,
      '(day, country), (day), (month, country), (month), (year, country)',
      'quote_figures_of(c.quote, c.sign, s.as_of_day, s.base_currency, s.base_digits)'),
    ('customer_figures', '(month, country), (year, country)',
      'customer_figures_of(c.quote, c.sign, s.as_of_day, s.base_currency, s.base_digits)'),
    ('product_figures', '(month, country), (month), (year, country), (year)',
      'product_figures_of(c.quote, c.lines)')
  ) t (relation, sets, parts_of) cross join lateral (
    select string_agg(name, ', ' order by attnum) filter (where is_key) as key,
      -- The other columns of the key depend on the grain.
      string_agg(name, ', ' order by attnum) filter (where is_key
        and name not in ('grain', 'date_kind', 'starts_on', 'country')) as key_of_quotes,
      string_agg(format('sum(%1$s) as %1$s', name), ', ' order by attnum) filter (where not is_key)
        as sums,
      string_agg(format('%1$s = f.%1$s + excluded.%1$s', name), ', ') filter (where not is_key)
        as additions,
      string_agg(format('f.%s = 0', name), ' and ') filter (where not is_key) as is_empty
    from (
      select attname as name, attnum, attnum = any (conkey) as is_key
      from pg_attribute join pg_constraint on conrelid = attrelid and contype = 'p'
      where attrelid = relation and attnum > 0 and not attisdropped
    ) a
  ) columns;
