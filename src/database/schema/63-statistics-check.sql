-- What is computed from the quotes instead of read from the summary: the comparison of a month, and
-- single days of customers and products.

-- The quotes that count between two days, by one kind of date or by both (null), as they were at the
-- last fold: as they are, without the changes that are not folded. Both halves have the same types,
-- so that only the columns that are used are computed.
create function folded_quotes(kind text, first_day date, last_day date) returns
  table(sign integer, quote quote_image, lines accepted_lines[])
language sql stable as $$
  select 1, image_of(q),
    case when q.status = 'accepted' then array(select l from accepted_lines_of(q, 1) l) end
  from quotes q
  where kind is distinct from 'accepted' and q.issued_on between first_day and last_day
    or kind is distinct from 'issued' and q.status = 'accepted'
      and coalesce(q.decided_on, q.issued_on) between first_day and last_day
  union all
  select -c.sign::integer, c.quote, array(
    select row(-l.lines, l.sku, l.net)::accepted_lines from unnest(c.lines) l
  )
  from unfolded_changes c
  where (c.quote).issued_on between first_day and last_day
    or (c.quote).status = 'accepted'
      and coalesce((c.quote).decided_on, (c.quote).issued_on) between first_day and last_day
$$;

-- Figures by customer of single days, by one kind of date.
create function customer_figures_between(kind text, first_day date, last_day date) returns
  setof customer_figures
language sql stable security definer set search_path = public, pg_temp as $$
  select f.* from folded_quotes(kind, first_day, last_day) c cross join quote_summary s
  cross join lateral customer_figures_of(
    c.quote, c.sign, s.as_of_day, s.base_currency, s.base_digits) f
  where f.date_kind = kind and f.starts_on between first_day and last_day
$$;
revoke execute on function customer_figures_between(text, date, date) from public;

-- Figures by SKU of single days, by one kind of date.
create function product_figures_between(kind text, first_day date, last_day date) returns
  setof product_figures
language sql stable security definer set search_path = public, pg_temp as $$
  select f.* from folded_quotes(kind, first_day, last_day) c
  cross join lateral product_figures_of(c.quote, c.lines) f
  where f.date_kind = kind and f.starts_on between first_day and last_day
$$;
revoke execute on function product_figures_between(text, date, date) from public;

-- Selects nothing. Whoever locks it locks the tables that these functions and names come from.
create view breakdown_sources as select from customers, quotes, quote_lines where false;

-- Compares the summary of a month with the quotes, and with_year also the sums of its year with the
-- months. Returns the cells that differ, at most twenty of each kind, and repairs them if `action`
-- is repair. If it is replace, replaces all without a comparison.
create function check_month(month date, action text, with_year boolean) returns text[]
language plpgsql security definer set search_path = public, pg_temp set work_mem = '64MB'
  set max_parallel_workers_per_gather = 0 set enable_seqscan = off set jit = off as $$
declare
  first_day constant date := date_trunc('month', month::timestamp);
  last_day constant date := first_day + interval '1 month - 1 day';
  first_of_year constant date := date_trunc('year', month::timestamp);
  part record;
  found_cells text[];
  differences text[] := '{}';
begin
  lock table quotes, quote_lines in access share mode;
  if action <> 'compare' then perform pg_advisory_xact_lock(fold_lock()); end if;
  for part in
    select relation, key, format('from %s f where %s', relation, span) as stored,
      format('select * from (%s) f where %s and not (%s)', format(cells, source), span, is_empty)
        as expected
    from figure_tables cross join lateral (values
      (1, format('grain not like ''year%%'' and starts_on between %L and %L', first_day, last_day),
        format(parts, format('folded_quotes(null, %L, %L)', first_day, last_day))
          || format(' where p.starts_on between %L and %L', first_day, last_day)),
      (2, format('grain like ''year%%'' and starts_on = %L', first_of_year),
        format('select * from %s where grain = ''month'' and starts_on between %L and %L', relation,
          first_of_year, first_of_year + interval '1 year - 1 day'))
    ) spans (place, span, source)
    where place = 1 or with_year
    -- Years after the months, which may have been repaired.
    order by place
  loop
    if action <> 'replace' then
      execute format($compare$
        with expected as materialized (%1$s), stored as materialized (select * %2$s)
        select array(
          select distinct %3$L || concat_ws(' ', ':', grain, date_kind, starts_on,
            coalesce(nullif(country, ''), 'unknown'), currency)
          from (
            (select * from expected except select * from stored)
            union all (select * from stored except select * from expected)
          ) d order by 1 limit 20
        )
      $compare$, part.expected, part.stored, part.relation) into found_cells;
    end if;
    if action = 'replace' or action = 'repair' and found_cells <> '{}' then
      execute 'delete ' || part.stored;
      -- What was compared, without what is committed meanwhile, in the order in which it is read.
      execute format('insert into %s %s order by %s', part.relation, part.expected, part.key);
    end if;
    differences := differences || found_cells;
  end loop;
  if action = 'repair' and differences <> '{}' then
    update quote_summary set version = version + 1;
  end if;
  return differences;
end $$;
revoke execute on function check_month(date, text, boolean) from public;

-- The first day of the newest month before a day that has quotes or figures; null if there is none.
create function newest_month_before(day date) returns date
language sql stable as $$
  select date_trunc('month', max(found)::timestamp)::date from (
    select max(issued_on) as found from quotes where issued_on < day
    union all select max(coalesce(decided_on, issued_on)) from quotes
      where status = 'accepted' and coalesce(decided_on, issued_on) < day
    union all select last.starts_on
    from (values ('issued'), ('accepted')) kind (name)
    cross join (values ('month_total'), ('year')) cells (grain)
    cross join lateral (
      select max(starts_on) as starts_on from quote_figures
      where grain = cells.grain and date_kind = kind.name and starts_on < day
      union all select max(starts_on) from product_figures
      where grain = cells.grain and date_kind = kind.name and starts_on < day
    ) last
  ) months
$$;
revoke execute on function newest_month_before(date) from public;

-- All such months, the newest first.
create function statistics_months() returns setof date
language sql stable security definer set search_path = public, pg_temp as $$
  with recursive months as (
    select newest_month_before('infinity') as month
    union all select newest_month_before(month) from months where month is not null
  )
  select month from months where month is not null
$$;
revoke execute on function statistics_months() from public;

-- Whether the year is checked together with this month: with the oldest one that it has.
create function is_oldest_of_year(month date) returns boolean
language sql stable
return coalesce(newest_month_before(month) < date_trunc('year', month::timestamp), true);
revoke execute on function is_oldest_of_year(date) from public;

-- Recomputes every month of the summary from the quotes.
create function rebuild_summary() returns void
language plpgsql as $$
begin
  lock table quotes, quote_lines in access share mode;
  perform pg_advisory_xact_lock(fold_lock());
  update quote_summary set version = version + 1, as_of_day = local_today();
  perform check_month(month, 'replace', is_oldest_of_year(month)) from statistics_months() month;
end $$;
revoke execute on function rebuild_summary() from public;

-- Begins the summary with the base currency, or recomputes it with another one.
create function set_base_currency() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'UPDATE' then
    if old.base_currency = new.base_currency then return null; end if;
    -- Waits for quotes that are being written.
    lock table quotes in share mode;
    lock table quote_lines in access share mode;
  end if;
  perform pg_advisory_xact_lock(fold_lock());
  update quote_summary set base_currency = new.base_currency,
    base_digits = currency_digits(new.base_currency),
    as_of_day = coalesce(as_of_day, local_today());
  if tg_op = 'UPDATE' then perform rebuild_summary(); end if;
  return null;
end $$;
create trigger set_base_currency after insert or update of base_currency on company
  for each row execute function set_base_currency();

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

insert into summary_check default values;

-- Returns the month that the caller is to check, or null if there is none, or if a process began to
-- check one less than pause ago. It is committed before the check, so that a month whose check
-- fails is not tried for ever.
create function claim_month(pause interval) returns date
language sql security definer set search_path = public, pg_temp as $$
  update summary_check set claimed_at = now(), claimed_month = coalesce(
    newest_month_before(claimed_month), newest_month_before('infinity'), 'infinity'
  )
  where claimed_at <= now() - pause
  returning nullif(claimed_month, 'infinity')
$$;
revoke execute on function claim_month(interval) from public;

-- Checks and repairs a month for the API. Returns the cells that differed.
create function check_claimed_month(month date) returns text[]
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  differences text[] := check_month(month, 'repair', is_oldest_of_year(month));
begin
  if differences <> '{}' and not is_oldest_of_year(month) then
    differences := differences || check_month(month, 'repair', true);
  end if;
  update summary_check set completed_at = clock_timestamp();
  return differences;
end $$;
revoke execute on function check_claimed_month(date) from public;
