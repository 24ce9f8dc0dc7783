-- Adds the currency to quote_validity, so that statistics of one currency count the sent quotes
-- that are still valid.

-- The lock keeps other processes from folding deltas during this migration.
select pg_advisory_xact_lock(hashtextextended('trade-quoting-service fold', 0));

truncate quote_validity;

alter table quote_validity add column currency text collate "C" not null,
drop constraint quote_validity_pkey,
  add primary key (issued_grain, valid_grain, valid_from, issued_from, country, currency);

comment on column quote_validity.currency is 'Currency of the quotes.';

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
        (issued_grain, valid_grain, valid_from, issued_from, country, currency, quotes)
      select issued.grain, valid.grain, valid.starts_on, issued.starts_on, s.country, s.currency,
        sum(s.sent)
      from (
        select day, coalesce(valid_until, 'infinity') as valid_until, country, currency, sent
        from source where sent <> 0
      ) s
      cross join lateral (values ('day', s.day),
        ('month', date_trunc('month', s.day::timestamp)::date))
        issued (grain, starts_on)
      cross join lateral (values ('day', s.valid_until),
        ('month', date_trunc('month', s.valid_until::timestamp)::date))
        valid (grain, starts_on)
      group by 1, 2, 3, 4, 5, 6
      order by 1, 2, 3, 4, 5, 6
      on conflict (issued_grain, valid_grain, valid_from, issued_from, country, currency)
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
        (issued_grain, valid_grain, valid_from, issued_from, country, currency, quotes)
      select issued.grain, valid.grain, valid.starts_on, issued.starts_on, s.country, s.currency,
        sum(s.sent)
      from (
        select day, coalesce(valid_until, 'infinity') as valid_until, country, currency, sent
        from source where sent <> 0
      ) s
      cross join lateral (values ('day', s.day),
        ('month', date_trunc('month', s.day::timestamp)::date))
        issued (grain, starts_on)
      cross join lateral (values ('day', s.valid_until),
        ('month', date_trunc('month', s.valid_until::timestamp)::date))
        valid (grain, starts_on)
      group by 1, 2, 3, 4, 5, 6
      order by 1, 2, 3, 4, 5, 6
      on conflict (issued_grain, valid_grain, valid_from, issued_from, country, currency)
      do update set quotes = v.quotes + excluded.quotes
    )
  update quote_summary set generation = gen_random_uuid(), folded = 0;
end $$;

-- Counts the sent quotes without their unfolded changes, in one snapshot.
insert into quote_validity (issued_grain, valid_grain, valid_from, issued_from, country, currency,
  quotes)
select issued.grain, valid.grain, valid.starts_on, issued.starts_on, s.country, s.currency,
  sum(s.sent)
from (
  select issued_on as day, coalesce(valid_until, 'infinity') as valid_until,
    coalesce(country, '') as country, currency, count(*) as sent
  from quotes where status = 'sent'
  group by 1, 2, 3, 4
  union all
  select day, coalesce(valid_until, 'infinity'), country, currency, -sent
  from quote_deltas where sent <> 0
) s
cross join lateral (values ('day', s.day), ('month', date_trunc('month', s.day::timestamp)::date))
  issued (grain, starts_on)
cross join lateral (values ('day', s.valid_until),
  ('month', date_trunc('month', s.valid_until::timestamp)::date))
  valid (grain, starts_on)
group by 1, 2, 3, 4, 5, 6
order by 1, 2, 3, 4, 5, 6;

delete from quote_validity where quotes = 0;
