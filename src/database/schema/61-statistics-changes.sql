-- The triggers that append to the ledger what a statement changes, in the transaction of the
-- writer. Writers share no row, so they never wait for each other.

-- Appends what a statement changes in quotes.
create function append_quote_changes() returns trigger
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off as $$
begin
  if tg_op = 'INSERT' then
    insert into quote_changes (sign, quote)
    select 1, image_of(row(n.*)::quotes) from new_rows n;
  elsif tg_op = 'DELETE' then
    -- Their lines are subtracted by subtract_lines.
    insert into quote_changes (sign, quote)
    select -1, image_of(row(o.*)::quotes) from old_rows o;
  else
    insert into quote_changes (sign, quote, lines)
    select v.sign, v.quote, case when (v.quote).status = 'accepted'
      and (n.status, n.country, n.currency, n.rate, n.issued_on, n.decided_on,
          discount_factor(row(n.*)::quotes))
        is distinct from (o.status, o.country, o.currency, o.rate, o.issued_on, o.decided_on,
          discount_factor(row(o.*)::quotes))
      then array(select l from accepted_lines_of(v.written, v.sign) l) end
    from new_rows n full join old_rows o on o.id = n.id
    cross join lateral (values
      (1, row(n.*)::quotes, image_of(row(n.*)::quotes)),
      (-1, row(o.*)::quotes, image_of(row(o.*)::quotes))
    ) v (sign, written, quote)
    where (image_of(row(n.*)::quotes), discount_factor(row(n.*)::quotes))
        is distinct from (image_of(row(o.*)::quotes), discount_factor(row(o.*)::quotes))
      and (v.written).id is not null;
  end if;
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
  insert into quote_changes (sign, quote, lines)
  select v.sign, v.quote, case when (v.quote).status = 'accepted' and tg_op <> 'DELETE'
    then array(select l from accepted_lines_of(v.written, v.sign) l) end
  from (values (1, new, image_of(new)), (-1, old, image_of(old))) v (sign, written, quote)
  where (v.written).id is not null;
  return null;
end $$;
create trigger append_replicated after insert or delete or update on quotes
  for each row when (current_setting('session_replication_role') = 'replica')
  execute function append_replicated_change();
alter table quotes enable replica trigger append_replicated;

-- Subtracts the lines of an accepted quote before they are deleted with it.
create function subtract_lines_of_quote() returns trigger
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off as $$
begin
  insert into quote_changes (sign, quote, lines)
  values (0, image_of(old), array(select l from accepted_lines_of(old, -1) l));
  return old;
end $$;
create trigger subtract_lines before delete on quotes
  for each row when (old.status = 'accepted') execute function subtract_lines_of_quote();
alter table quotes enable always trigger subtract_lines;

-- Appends what a statement changes in the lines of accepted quotes. Locks the quotes, so that
-- nobody changes their status before this transaction ends.
create function append_line_changes() returns trigger
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off as $$
declare
  changed_lines constant text := case tg_op
    when 'INSERT' then 'select 1 as sign, * from new_rows'
    when 'DELETE' then 'select -1 as sign, * from old_rows'
    else 'select 1 as sign, * from new_rows union all select -1, * from old_rows' end;
  quote_ids bigint[];
begin
  execute format('select array_agg(quote_id) from (%s) c', changed_lines) into quote_ids;
  if not exists (
    select from quotes where id = any (quote_ids)
    and (status = 'accepted' or xmin <> pg_current_xact_id()::xid)
  ) then return null; end if;
  perform from quotes
  where id = any (quote_ids) and xmin <> pg_current_xact_id()::xid
  order by id for no key update;
  execute format(
    $append$
      insert into quote_changes (sign, quote, lines)
      select 0, image_of(q), l.lines from (
        select quote_id, array_agg(row(lines, sku, net)::accepted_lines) as lines
        from (
          select quote_id, coalesce(sku, '') as sku, c.net * discount_factor(q) as net,
            sum(sign) as lines
          from (%s) c join quotes q on q.id = c.quote_id
          where c.kind = 'line' and q.status = 'accepted'
          group by 1, 2, 3 having sum(sign) <> 0
        ) s group by quote_id
      ) l join quotes q on q.id = l.quote_id
    $append$, changed_lines);
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
  insert into quote_changes (sign, quote, lines)
  select 0, image_of(q),
    array[row(l.lines, coalesce(l.sku, ''), l.net * discount_factor(q))::accepted_lines]
  from (
    values (1, new.quote_id, new.kind, new.sku, new.net),
      (-1, old.quote_id, old.kind, old.sku, old.net)
  ) l (lines, quote_id, kind, sku, net) join quotes q on q.id = l.quote_id
  where q.status = 'accepted' and l.kind = 'line';
  return null;
end $$;
create trigger append_replicated after insert or delete or update on quote_lines
  for each row when (current_setting('session_replication_role') = 'replica')
  execute function append_replicated_line();
alter table quote_lines enable replica trigger append_replicated;

-- Empties the summary when quotes are truncated, or its products when lines are. It deletes instead
-- of truncating, so that readers keep their snapshot.
create function empty_summary() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform pg_advisory_xact_lock(fold_lock());
  delete from product_figures;
  if tg_relid = 'quotes'::regclass then
    delete from quote_changes;
    delete from quote_figures;
    delete from customer_figures;
  else
    update quote_changes set lines = null where lines is not null;
  end if;
  update quote_summary set version = version + 1;
  return null;
end $$;
create trigger empty_summary after truncate on quotes
  for each statement execute function empty_summary();
alter table quotes enable always trigger empty_summary;
create trigger empty_summary after truncate on quote_lines
  for each statement execute function empty_summary();
alter table quote_lines enable always trigger empty_summary;

-- Lets the next fold change the version, because figures by customer and product show names.
create function note_changed_names() returns trigger
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off as $$
begin
  -- Once for a transaction, which may change many names.
  if not exists (
    select from quote_changes where xid = pg_current_xact_id() and sign = 0 and quote is null
  ) then
    insert into quote_changes (sign) values (0);
  end if;
  return null;
end $$;
create trigger note_names after update on customers
  for each row when (new.name <> old.name) execute function note_changed_names();
alter table customers enable always trigger note_names;
create trigger note_names after update on products
  for each row when (new.sku <> old.sku or new.name <> old.name)
  execute function note_changed_names();
alter table products enable always trigger note_names;
create trigger note_products after insert or delete or truncate on products
  for each statement execute function note_changed_names();
alter table products enable always trigger note_products;
create trigger note_replicated_products after insert or delete on products
  for each row when (current_setting('session_replication_role') = 'replica')
  execute function note_changed_names();
alter table products enable replica trigger note_replicated_products;
