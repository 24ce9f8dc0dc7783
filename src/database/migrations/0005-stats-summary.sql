-- The summary that statistics are read from. Triggers append signed deltas in the transaction of
-- the writer, and a background job folds them into days and months.

create table quote_deltas (
  id bigint generated always as identity primary key,
  date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
  day date not null,
  country text collate "C" not null,
  currency text collate "C" not null,
  valid_until date,
  drafts bigint not null, sent bigint not null, accepted bigint not null, rejected bigint not null,
  expired bigint not null, net numeric not null, base_net numeric not null,
  unconverted bigint not null, unconverted_net numeric not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

create table quote_figures (
  grain text collate "C" not null check (grain in ('day', 'month')),
  date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
  starts_on date not null,
  country text collate "C" not null,
  currency text collate "C" not null,
  drafts bigint not null, sent bigint not null, accepted bigint not null, rejected bigint not null,
  expired bigint not null, net numeric not null, base_net numeric not null,
  unconverted bigint not null, unconverted_net numeric not null,
  primary key (grain, date_kind, starts_on, country, currency)
);

create index quote_figures_empty on quote_figures (starts_on) where drafts = 0 and sent = 0
  and accepted = 0 and rejected = 0 and expired = 0 and net = 0 and base_net = 0 and unconverted = 0
  and unconverted_net = 0;

create table quote_validity (
  issued_grain text collate "C" not null check (issued_grain in ('day', 'month')),
  valid_grain text collate "C" not null check (valid_grain in ('day', 'month')),
  issued_from date not null,
  valid_from date not null,
  country text collate "C" not null,
  quotes bigint not null,
  primary key (issued_grain, valid_grain, issued_from, valid_from, country)
);

-- Finds the days of the current month for every month of issue.
create index quote_validity_month_by_day on quote_validity (valid_from)
where issued_grain = 'month' and valid_grain = 'day';

create index quote_validity_empty on quote_validity (valid_from) where quotes = 0;

create table quote_summary (
  the_only_row boolean primary key default true check (the_only_row),
  generation uuid not null default gen_random_uuid(),
  folded bigint not null default 0
);

insert into quote_summary default values;

-- Rows are only appended, in the transaction of the writer: writers share no row, so they never
-- wait for each other. There is no NOTIFY, because NOTIFY serialises commits. With security definer
-- a writer of quotes needs no right to write the summary.
create function append_quote_deltas() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  base text;
  digits integer;
begin
  select base_currency, currency_digits(base_currency) into base, digits from company;
  if tg_op = 'INSERT' then
    insert into quote_deltas (date_kind, day, country, currency, valid_until, drafts, sent,
      accepted, rejected, expired, net, base_net, unconverted, unconverted_net)
    select date_kind, day, country, currency, valid_until, drafts, sent, accepted, rejected,
      expired, net, base_net, unconverted, unconverted_net from (
      select on_day.date_kind, on_day.day, coalesce(q.country, '') as country, q.currency,
        case when q.status = 'sent' then q.valid_until end as valid_until,
        coalesce(sum(sign) filter (where status = 'draft'), 0) as drafts,
        coalesce(sum(sign) filter (where status = 'sent'), 0) as sent,
        coalesce(sum(sign) filter (where status = 'accepted'), 0) as accepted,
        coalesce(sum(sign) filter (where status = 'rejected'), 0) as rejected,
        coalesce(sum(sign) filter (where status = 'expired'), 0) as expired,
        coalesce(sum(sign * net) filter (where status = 'accepted'), 0) as net,
        coalesce(sum(sign * own_base_net) filter (where status = 'accepted'), 0) as base_net,
        coalesce(sum(sign) filter (where status = 'accepted' and own_base_net is null), 0)
          as unconverted,
        coalesce(sum(sign * net) filter (where status = 'accepted' and own_base_net is null), 0)
          as unconverted_net
      from (
        -- Each quote is converted and rounded half up before it is summed.
        select r.*,
          case when r.currency = base then r.net else round(r.net * r.rate, digits) end
            as own_base_net
        from (select 1 as sign, n.* from new_rows n) r
        where r.status <> 'superseded'
      ) q
      cross join lateral (values
        ('issued', q.issued_on),
        ('accepted', case when q.status = 'accepted' then coalesce(q.decided_on, q.issued_on) end)
      ) on_day (date_kind, day)
      where on_day.day is not null
      group by 1, 2, 3, 4, 5
    ) cells where not (drafts = 0 and sent = 0 and accepted = 0 and rejected = 0 and expired = 0
      and net = 0 and base_net = 0 and unconverted = 0 and unconverted_net = 0);
  elsif tg_op = 'DELETE' then
    insert into quote_deltas (date_kind, day, country, currency, valid_until, drafts, sent,
      accepted, rejected, expired, net, base_net, unconverted, unconverted_net)
    select date_kind, day, country, currency, valid_until, drafts, sent, accepted, rejected,
      expired, net, base_net, unconverted, unconverted_net from (
      select on_day.date_kind, on_day.day, coalesce(q.country, '') as country, q.currency,
        case when q.status = 'sent' then q.valid_until end as valid_until,
        coalesce(sum(sign) filter (where status = 'draft'), 0) as drafts,
        coalesce(sum(sign) filter (where status = 'sent'), 0) as sent,
        coalesce(sum(sign) filter (where status = 'accepted'), 0) as accepted,
        coalesce(sum(sign) filter (where status = 'rejected'), 0) as rejected,
        coalesce(sum(sign) filter (where status = 'expired'), 0) as expired,
        coalesce(sum(sign * net) filter (where status = 'accepted'), 0) as net,
        coalesce(sum(sign * own_base_net) filter (where status = 'accepted'), 0) as base_net,
        coalesce(sum(sign) filter (where status = 'accepted' and own_base_net is null), 0)
          as unconverted,
        coalesce(sum(sign * net) filter (where status = 'accepted' and own_base_net is null), 0)
          as unconverted_net
      from (
        -- Each quote is converted and rounded half up before it is summed.
        select r.*,
          case when r.currency = base then r.net else round(r.net * r.rate, digits) end
            as own_base_net
        from (select -1 as sign, o.* from old_rows o) r
        where r.status <> 'superseded'
      ) q
      cross join lateral (values
        ('issued', q.issued_on),
        ('accepted', case when q.status = 'accepted' then coalesce(q.decided_on, q.issued_on) end)
      ) on_day (date_kind, day)
      where on_day.day is not null
      group by 1, 2, 3, 4, 5
    ) cells where not (drafts = 0 and sent = 0 and accepted = 0 and rejected = 0 and expired = 0
      and net = 0 and base_net = 0 and unconverted = 0 and unconverted_net = 0);
  else
    insert into quote_deltas (date_kind, day, country, currency, valid_until, drafts, sent,
      accepted, rejected, expired, net, base_net, unconverted, unconverted_net)
    select date_kind, day, country, currency, valid_until, drafts, sent, accepted, rejected,
      expired, net, base_net, unconverted, unconverted_net from (
      select on_day.date_kind, on_day.day, coalesce(q.country, '') as country, q.currency,
        case when q.status = 'sent' then q.valid_until end as valid_until,
        coalesce(sum(sign) filter (where status = 'draft'), 0) as drafts,
        coalesce(sum(sign) filter (where status = 'sent'), 0) as sent,
        coalesce(sum(sign) filter (where status = 'accepted'), 0) as accepted,
        coalesce(sum(sign) filter (where status = 'rejected'), 0) as rejected,
        coalesce(sum(sign) filter (where status = 'expired'), 0) as expired,
        coalesce(sum(sign * net) filter (where status = 'accepted'), 0) as net,
        coalesce(sum(sign * own_base_net) filter (where status = 'accepted'), 0) as base_net,
        coalesce(sum(sign) filter (where status = 'accepted' and own_base_net is null), 0)
          as unconverted,
        coalesce(sum(sign * net) filter (where status = 'accepted' and own_base_net is null), 0)
          as unconverted_net
      from (
        -- Each quote is converted and rounded half up before it is summed.
        select r.*,
          case when r.currency = base then r.net else round(r.net * r.rate, digits) end
            as own_base_net
        from (select 1 as sign, n.* from new_rows n union all select -1, o.* from old_rows o) r
        where r.status <> 'superseded'
      ) q
      cross join lateral (values
        ('issued', q.issued_on),
        ('accepted', case when q.status = 'accepted' then coalesce(q.decided_on, q.issued_on) end)
      ) on_day (date_kind, day)
      where on_day.day is not null
      group by 1, 2, 3, 4, 5
    ) cells where not (drafts = 0 and sent = 0 and accepted = 0 and rejected = 0 and expired = 0
      and net = 0 and base_net = 0 and unconverted = 0 and unconverted_net = 0);
  end if;
  if found and base is null then
    raise exception 'the company is not recorded yet, and figures depend on its base currency: run scripts/migrate.ts first' using errcode = 'TQ409';
  end if;
  return null;
end $$;

create trigger append_inserts after insert on quotes referencing new table as new_rows
  for each statement execute function append_quote_deltas();

create trigger append_updates after update on quotes
  referencing old table as old_rows new table as new_rows
  for each statement execute function append_quote_deltas();

create trigger append_deletes after delete on quotes referencing old table as old_rows
  for each statement execute function append_quote_deltas();

-- TRUNCATE fires no trigger for rows, and also removes rows that its transaction cannot see. So the
-- summary is truncated too.
create function empty_quote_summary() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  truncate quote_deltas, quote_figures, quote_validity, quote_summary;
  insert into quote_summary default values;
  return null;
end $$;

create trigger empty_summary after truncate on quotes
  for each statement execute function empty_quote_summary();

-- INSERT … ON CONFLICT always uses the key, whatever the planner estimates.
create function fold_quote_deltas(batch integer) returns integer language plpgsql as $$
declare
  count_folded integer;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('trade-quoting-service fold', 0)) then
    return 0;
  end if;
  with source as (
      delete from quote_deltas
      where id in (select id from quote_deltas order by id limit batch) returning *
    ),
    figures as (
      insert into quote_figures as f
        (grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
        net, base_net, unconverted, unconverted_net)
      select piece.grain, s.date_kind, piece.starts_on, s.country, s.currency,
        sum(s.drafts), sum(s.sent), sum(s.accepted), sum(s.rejected), sum(s.expired), sum(s.net),
          sum(s.base_net), sum(s.unconverted), sum(s.unconverted_net)
      from source s
      cross join lateral (values ('day', s.day),
        ('month', date_trunc('month', s.day::timestamp)::date))
        piece (grain, starts_on)
      group by 1, 2, 3, 4, 5
      on conflict (grain, date_kind, starts_on, country, currency)
      do update set
        drafts = f.drafts + excluded.drafts, sent = f.sent + excluded.sent,
          accepted = f.accepted + excluded.accepted, rejected = f.rejected + excluded.rejected,
          expired = f.expired + excluded.expired, net = f.net + excluded.net,
          base_net = f.base_net + excluded.base_net,
          unconverted = f.unconverted + excluded.unconverted,
          unconverted_net = f.unconverted_net + excluded.unconverted_net
    ),
    validity as (
      insert into quote_validity as v
        (issued_grain, valid_grain, issued_from, valid_from, country, quotes)
      select issued.grain, valid.grain, issued.starts_on, valid.starts_on, s.country, sum(s.sent)
      from source s
      cross join lateral (values ('day', s.day),
        ('month', date_trunc('month', s.day::timestamp)::date))
        issued (grain, starts_on)
      cross join lateral (values ('day', s.valid_until),
        ('month', date_trunc('month', s.valid_until::timestamp)::date))
        valid (grain, starts_on)
      where s.valid_until is not null
      group by 1, 2, 3, 4, 5
      on conflict (issued_grain, valid_grain, issued_from, valid_from, country)
      do update set quotes = v.quotes + excluded.quotes
    )
  select count(*) into count_folded from source;
  if count_folded > 0 then
    delete from quote_figures where drafts = 0 and sent = 0 and accepted = 0 and rejected = 0
      and expired = 0 and net = 0 and base_net = 0 and unconverted = 0 and unconverted_net = 0;
    delete from quote_validity where quotes = 0;
    update quote_summary set folded = folded + count_folded;
  end if;
  return count_folded;
end $$;

-- One statement deletes the deltas that it can see and reads the quotes of the same snapshot, so no
-- writer has to wait.
create function rebuild_quote_summary() returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('trade-quoting-service fold', 0));
  delete from quote_figures;
  delete from quote_validity;
  with gone as (delete from quote_deltas), company_base as (
    select base_currency as base, currency_digits(base_currency) as digits from company
  ), source as (
      select date_kind, day, country, currency, valid_until, drafts, sent, accepted, rejected,
        expired, net, base_net, unconverted, unconverted_net from (
        select on_day.date_kind, on_day.day, coalesce(q.country, '') as country, q.currency,
          case when q.status = 'sent' then q.valid_until end as valid_until,
          coalesce(sum(sign) filter (where status = 'draft'), 0) as drafts,
          coalesce(sum(sign) filter (where status = 'sent'), 0) as sent,
          coalesce(sum(sign) filter (where status = 'accepted'), 0) as accepted,
          coalesce(sum(sign) filter (where status = 'rejected'), 0) as rejected,
          coalesce(sum(sign) filter (where status = 'expired'), 0) as expired,
          coalesce(sum(sign * net) filter (where status = 'accepted'), 0) as net,
          coalesce(sum(sign * own_base_net) filter (where status = 'accepted'), 0) as base_net,
          coalesce(sum(sign) filter (where status = 'accepted' and own_base_net is null), 0)
            as unconverted,
          coalesce(sum(sign * net) filter (where status = 'accepted' and own_base_net is null), 0)
            as unconverted_net
        from (
          -- Each quote is converted and rounded half up before it is summed.
          select r.*,
            case when r.currency = r.base then r.net else round(r.net * r.rate, r.digits) end
              as own_base_net
          from (select 1 as sign, q.*, c.base, c.digits from quotes q left join company_base c
            on true) r
          where r.status <> 'superseded'
        ) q
        cross join lateral (values
          ('issued', q.issued_on),
          ('accepted', case when q.status = 'accepted' then coalesce(q.decided_on, q.issued_on) end)
        ) on_day (date_kind, day)
        where on_day.day is not null
        group by 1, 2, 3, 4, 5
      ) cells where not (drafts = 0 and sent = 0 and accepted = 0 and rejected = 0 and expired = 0
        and net = 0 and base_net = 0 and unconverted = 0 and unconverted_net = 0)
    ),
    figures as (
      insert into quote_figures as f
        (grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
        net, base_net, unconverted, unconverted_net)
      select piece.grain, s.date_kind, piece.starts_on, s.country, s.currency,
        sum(s.drafts), sum(s.sent), sum(s.accepted), sum(s.rejected), sum(s.expired), sum(s.net),
          sum(s.base_net), sum(s.unconverted), sum(s.unconverted_net)
      from source s
      cross join lateral (values ('day', s.day),
        ('month', date_trunc('month', s.day::timestamp)::date))
        piece (grain, starts_on)
      group by 1, 2, 3, 4, 5
      on conflict (grain, date_kind, starts_on, country, currency)
      do update set
        drafts = f.drafts + excluded.drafts, sent = f.sent + excluded.sent,
          accepted = f.accepted + excluded.accepted, rejected = f.rejected + excluded.rejected,
          expired = f.expired + excluded.expired, net = f.net + excluded.net,
          base_net = f.base_net + excluded.base_net,
          unconverted = f.unconverted + excluded.unconverted,
          unconverted_net = f.unconverted_net + excluded.unconverted_net
    ),
    validity as (
      insert into quote_validity as v
        (issued_grain, valid_grain, issued_from, valid_from, country, quotes)
      select issued.grain, valid.grain, issued.starts_on, valid.starts_on, s.country, sum(s.sent)
      from source s
      cross join lateral (values ('day', s.day),
        ('month', date_trunc('month', s.day::timestamp)::date))
        issued (grain, starts_on)
      cross join lateral (values ('day', s.valid_until),
        ('month', date_trunc('month', s.valid_until::timestamp)::date))
        valid (grain, starts_on)
      where s.valid_until is not null
      group by 1, 2, 3, 4, 5
      on conflict (issued_grain, valid_grain, issued_from, valid_from, country)
      do update set quotes = v.quotes + excluded.quotes
    )
  update quote_summary set generation = gen_random_uuid(), folded = 0;
end $$;

create function rebuild_for_company() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform rebuild_quote_summary();
  return null;
end $$;

create trigger rebuild_summary after insert or update of base_currency on company
  for each row execute function rebuild_for_company();

select rebuild_quote_summary();

comment on table quote_deltas is
  'Signed changes of figures that are not folded yet. Appended by triggers on quotes in the '
  'transaction of the writer; nobody else writes here.';
comment on column quote_deltas.id is 'In the order of writing, which is not that of committing.';
comment on column quote_deltas.date_kind is
  'issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.';
comment on column quote_deltas.day is 'The day that the quotes count on.';
comment on column quote_deltas.country is
  'Of the buyer. Empty: unknown, so that it can be part of a key.';
comment on column quote_deltas.currency is 'Of the quotes.';
comment on column quote_deltas.valid_until is
  'Only of sent quotes: the last day on which they stand.';
comment on column quote_deltas.drafts is 'Change: Quotes with this status.';
comment on column quote_deltas.sent is
  'Change: Quotes with this status, also when their validity is over: see quote_validity.';
comment on column quote_deltas.accepted is 'Change: Quotes with this status.';
comment on column quote_deltas.rejected is 'Change: Quotes with this status.';
comment on column quote_deltas.expired is 'Change: Quotes with this status.';
comment on column quote_deltas.net is 'Change: Of accepted quotes, in their currency.';
comment on column quote_deltas.base_net is
  'Change: Of accepted quotes with a rate, in the base currency, each rounded half up to its '
  'digits before it is summed.';
comment on column quote_deltas.unconverted is
  'Change: Accepted quotes without a rate: in net, not in base_net.';
comment on column quote_deltas.unconverted_net is
  'Change: Net of the unconverted quotes, in their currency.';
comment on table quote_figures is
  'Figures by day and by month, without what is still in quote_deltas. Every quote is in both '
  'grains.';
comment on column quote_figures.grain is 'day or month.';
comment on column quote_figures.date_kind is 'As in quote_deltas.';
comment on column quote_figures.starts_on is 'The day, or the first day of the month.';
comment on column quote_figures.country is 'As in quote_deltas.';
comment on column quote_figures.currency is 'As in quote_deltas.';
comment on column quote_figures.drafts is 'Quotes with this status.';
comment on column quote_figures.sent is
  'Quotes with this status, also when their validity is over: see quote_validity.';
comment on column quote_figures.accepted is 'Quotes with this status.';
comment on column quote_figures.rejected is 'Quotes with this status.';
comment on column quote_figures.expired is 'Quotes with this status.';
comment on column quote_figures.net is 'Of accepted quotes, in their currency.';
comment on column quote_figures.base_net is
  'Of accepted quotes with a rate, in the base currency, each rounded half up to its digits '
  'before it is summed.';
comment on column quote_figures.unconverted is
  'Accepted quotes without a rate: in net, not in base_net.';
comment on column quote_figures.unconverted_net is
  'Net of the unconverted quotes, in their currency.';
comment on table quote_validity is
  'Sent quotes by the day and month of their issue and by the day and month of the end of their '
  'validity: how many have expired by themselves.';
comment on column quote_validity.issued_grain is 'day or month.';
comment on column quote_validity.valid_grain is 'day or month.';
comment on column quote_validity.issued_from is 'The day of issue, or the first day of its month.';
comment on column quote_validity.valid_from is
  'The last day on which they stand, or the first day of its month.';
comment on column quote_validity.country is 'As in quote_deltas.';
comment on column quote_validity.quotes is 'How many.';
comment on table quote_summary is
  'Where the summary stands. generation, with folded plus the count of quote_deltas, moves with '
  'every commit that changes a figure.';
comment on column quote_summary.the_only_row is 'True.';
comment on column quote_summary.generation is
  'Another one after each rebuild, and after quotes were truncated.';
comment on column quote_summary.folded is 'How many deltas were folded in this generation.';
comment on function fold_quote_deltas is
  'Moves up to so many deltas into the grains; 0: there were none, or somebody else folds at the '
  'moment.';
comment on function rebuild_quote_summary is
  'Makes the summary afresh from the quotes. Writers and readers go on meanwhile.';
