-- Stores the summary in the order in which it is read: months apart from days, so that they fill
-- few pages, and validity by its end, so that quotes that have expired are not read.

-- The lock keeps other processes from folding deltas during this migration.
select pg_advisory_xact_lock(hashtextextended('trade-quoting-service fold', 0));

create table figures_in_order (
  grain text collate "C" not null check (grain in ('day', 'month')),
  date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
  starts_on date not null,
  country text collate "C" not null,
  currency text collate "C" not null,
  drafts bigint not null, sent bigint not null, accepted bigint not null, rejected bigint not null,
  expired bigint not null, net numeric not null, base_net numeric not null,
  unconverted bigint not null, unconverted_net numeric not null
) partition by list (grain);

-- Roles that may read the old table may read the new one.
do $$
declare
  reader record;
begin
  for reader in
    select
      case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end as name
    from pg_class, aclexplode(relacl)
    where oid = 'quote_figures'::regclass and privilege_type = 'SELECT'
      and grantee <> relowner
  loop
    execute format('grant select on figures_in_order to %s', reader.name);
  end loop;
end $$;

comment on table figures_in_order is
  'Figures by day and by month, without what is still in quote_deltas. Every quote is in both '
  'grains.';
comment on column figures_in_order.grain is 'day or month.';
comment on column figures_in_order.date_kind is 'As in quote_deltas.';
comment on column figures_in_order.starts_on is 'The day, or the first day of the month.';
comment on column figures_in_order.country is 'As in quote_deltas.';
comment on column figures_in_order.currency is 'As in quote_deltas.';
comment on column figures_in_order.drafts is 'Quotes with this status.';
comment on column figures_in_order.sent is
  'Quotes with this status, also when their validity is over: see quote_validity.';
comment on column figures_in_order.accepted is 'Quotes with this status.';
comment on column figures_in_order.rejected is 'Quotes with this status.';
comment on column figures_in_order.expired is 'Quotes with this status.';
comment on column figures_in_order.net is 'Of accepted quotes, in their currency.';
comment on column figures_in_order.base_net is
  'Of accepted quotes with a rate, in the base currency, each rounded half up to its digits '
  'before it is summed.';
comment on column figures_in_order.unconverted is
  'Accepted quotes without a rate: in net, not in base_net.';
comment on column figures_in_order.unconverted_net is
  'Net of the unconverted quotes, in their currency.';

create table quote_figures_days partition of figures_in_order for values in ('day');
create table quote_figures_months partition of figures_in_order for values in ('month');

-- Rows are inserted in the order of the keys, so that rows that are read together are stored
-- together.
insert into figures_in_order (grain, date_kind, starts_on, country, currency, drafts, sent,
  accepted, rejected, expired, net, base_net, unconverted, unconverted_net)
select grain, date_kind, starts_on, country, currency, drafts, sent, accepted, rejected, expired,
  net, base_net, unconverted, unconverted_net
from quote_figures order by grain, date_kind, starts_on, country, currency;

drop table quote_figures;

alter table figures_in_order rename to quote_figures;

comment on table quote_figures_days is 'The cells of quote_figures that are days.';
comment on table quote_figures_months is 'The cells of quote_figures that are months.';

alter table quote_figures add primary key (grain, date_kind, starts_on, country, currency);

create index quote_figures_empty on quote_figures (starts_on) where drafts = 0 and sent = 0
  and accepted = 0 and rejected = 0 and expired = 0 and net = 0 and base_net = 0 and unconverted = 0
  and unconverted_net = 0;

drop index quote_validity_month_by_day;

alter table quote_validity
drop constraint quote_validity_pkey,
  add primary key (issued_grain, valid_grain, valid_from, issued_from, country);

comment on column quote_validity.valid_from is
  'The last day on which they stand, or the first day of its month; infinity: they do not end.';

create or replace function fold_quote_deltas(batch integer) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
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
      order by 1, 2, 3, 4, 5
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
        (issued_grain, valid_grain, valid_from, issued_from, country, quotes)
      select issued.grain, valid.grain, valid.starts_on, issued.starts_on, s.country, sum(s.sent)
      from (
        select day, coalesce(valid_until, 'infinity') as valid_until, country, sent
        from source where sent <> 0
      ) s
      cross join lateral (values ('day', s.day),
        ('month', date_trunc('month', s.day::timestamp)::date))
        issued (grain, starts_on)
      cross join lateral (values ('day', s.valid_until),
        ('month', date_trunc('month', s.valid_until::timestamp)::date))
        valid (grain, starts_on)
      group by 1, 2, 3, 4, 5
      order by 1, 2, 3, 4, 5
      on conflict (issued_grain, valid_grain, valid_from, issued_from, country)
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

create or replace function rebuild_quote_summary() returns void language plpgsql as $$
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
      order by 1, 2, 3, 4, 5
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
        (issued_grain, valid_grain, valid_from, issued_from, country, quotes)
      select issued.grain, valid.grain, valid.starts_on, issued.starts_on, s.country, sum(s.sent)
      from (
        select day, coalesce(valid_until, 'infinity') as valid_until, country, sent
        from source where sent <> 0
      ) s
      cross join lateral (values ('day', s.day),
        ('month', date_trunc('month', s.day::timestamp)::date))
        issued (grain, starts_on)
      cross join lateral (values ('day', s.valid_until),
        ('month', date_trunc('month', s.valid_until::timestamp)::date))
        valid (grain, starts_on)
      group by 1, 2, 3, 4, 5
      order by 1, 2, 3, 4, 5
      on conflict (issued_grain, valid_grain, valid_from, issued_from, country)
      do update set quotes = v.quotes + excluded.quotes
    )
  update quote_summary set generation = gen_random_uuid(), folded = 0;
end $$;

-- Sent quotes without a last day had no rows until now. One statement reads the quotes and their
-- deltas that are not folded yet in one snapshot.
insert into quote_validity (issued_grain, valid_grain, valid_from, issued_from, country, quotes)
select issued.grain, valid.grain, date 'infinity', issued.starts_on, country, sum(quotes)
from (
  select issued_on as day, coalesce(country, '') as country, count(*) as quotes
  from quotes where status = 'sent' and valid_until is null
  group by 1, 2
  union all
  select day, country, -sent from quote_deltas where sent <> 0 and valid_until is null
) endless
cross join lateral (values ('day', day), ('month', date_trunc('month', day::timestamp)::date))
  issued (grain, starts_on)
cross join (values ('day'), ('month')) valid (grain)
group by 1, 2, 3, 4, 5
having sum(quotes) <> 0
order by 1, 2, 3, 4, 5;
