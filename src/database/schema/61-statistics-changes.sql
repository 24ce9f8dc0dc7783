-- Triggers that append what a statement changes, in the transaction of the writer.

-- Appends what a statement changes, in the transaction of the writer. Writers share no row, so they
-- never wait for each other.
create function append_quote_changes() returns trigger
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off as $$
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
create trigger append_deletes after delete on quotes
  referencing old table as old_rows for each statement execute function append_quote_changes();
create trigger append_inserts after insert on quotes
  referencing new table as new_rows for each statement execute function append_quote_changes();
create trigger append_updates after update on quotes
  referencing old table as old_rows new table as new_rows for each statement
  execute function append_quote_changes();

-- Appends what logical replication changes, which fires no triggers for statements.
create function append_replicated_change() returns trigger
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off as $$
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
create trigger append_replicated after insert or delete or update on quotes
  for each row when (current_setting('session_replication_role') = 'replica')
  execute function append_replicated_change();
alter table quotes enable replica trigger append_replicated;

-- Appends what a statement changes in the lines of accepted quotes. Locks the quotes, so that
-- nobody changes their status before this transaction ends.
create function append_line_changes() returns trigger
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off as $$
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
create trigger append_deletes after delete on quote_lines
  referencing old table as old_rows for each statement execute function append_line_changes();
create trigger append_inserts after insert on quote_lines
  referencing new table as new_rows for each statement execute function append_line_changes();
create trigger append_updates after update on quote_lines
  referencing old table as old_rows new table as new_rows for each statement
  execute function append_line_changes();

-- Appends what logical replication changes, which fires no triggers for statements.
create function append_replicated_line() returns trigger
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off as $$
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
create trigger append_replicated after insert or delete or update on quote_lines
  for each row when (current_setting('session_replication_role') = 'replica')
  execute function append_replicated_line();
alter table quote_lines enable replica trigger append_replicated;

-- Subtracts the lines of an accepted quote before they are deleted with it.
create function subtract_lines_of_quote() returns trigger
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off as $$
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
create trigger subtract_lines before delete on quotes
  for each row when (old.status = 'accepted') execute function subtract_lines_of_quote();
alter table quotes enable always trigger subtract_lines;

create function empty_quote_summary() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
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
create trigger empty_summary after truncate on quotes
  for each statement execute function empty_quote_summary();
alter table quotes enable always trigger empty_summary;

-- Empties the figures by product when lines are truncated.
create function empty_product_figures() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
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
create trigger empty_figures after truncate on quote_lines
  for each statement execute function empty_product_figures();
alter table quote_lines enable always trigger empty_figures;

-- Changes the version of the summary if a name of a customer changes.
create function note_customer_names() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into quote_changes (sign) select 0 where exists (
    select from new_rows n full join old_rows o on o.id = n.id
    where n.name is distinct from o.name
  );
  return null;
end $$;
create trigger note_names after update on customers
  referencing old table as old_rows new table as new_rows for each statement
  execute function note_customer_names();

-- Changes the version of the summary if the name of a SKU may change.
create function note_product_names() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
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
create trigger note_deleted_names after delete on products
  referencing old table as old_rows for each statement execute function note_product_names();
create trigger note_inserted_names after insert on products
  referencing new table as new_rows for each statement execute function note_product_names();
create trigger note_updated_names after update on products
  referencing old table as old_rows new table as new_rows for each statement
  execute function note_product_names();

-- Changes the version of the summary.
create function note_changed_name() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into quote_changes (sign) values (0);
  return null;
end $$;
create trigger note_replicated_names after update on customers
  for each row when (current_setting('session_replication_role') = 'replica'
    and new.name <> old.name)
  execute function note_changed_name();
alter table customers enable replica trigger note_replicated_names;
create trigger note_replicated_names after update on products
  for each row when (current_setting('session_replication_role') = 'replica'
    and (new.sku <> old.sku or new.name <> old.name))
  execute function note_changed_name();
alter table products enable replica trigger note_replicated_names;
create trigger note_replicated_products after insert or delete on products
  for each row when (current_setting('session_replication_role') = 'replica')
  execute function note_changed_name();
alter table products enable replica trigger note_replicated_products;
create trigger note_truncated_names after truncate on products
  for each statement execute function note_changed_name();
alter table products enable always trigger note_truncated_names;
