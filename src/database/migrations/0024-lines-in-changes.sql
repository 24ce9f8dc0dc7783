-- Adds the lines of an accepted quote to quote_changes. 0037 defines the functions that use them.

-- Writers wait until the new triggers are in place.
lock table quotes, quote_lines in share row exclusive mode;
select pg_advisory_xact_lock(hashtextextended('trade-quoting-service fold', 0));

-- In the order of the readers. Another order could deadlock.
lock table quote_summary, quote_changes, quote_figures, quote_figures_unfolded, quote_validity,
  quote_validity_unfolded, customer_figures, customer_figures_unfolded, product_figures,
  product_figures_unfolded in access exclusive mode;

create type accepted_line as (sku text, net numeric);

alter table quote_changes add column lines accepted_line[];

create or replace view unfolded_changes as select d.* from quote_changes d
where (d.xid >= (select next_unfolded_xid())
  or d.xid = any ((select late_unfolded_xids())::xid8[]));

comment on type accepted_line is 'What a line of an accepted quote contributes.';
comment on column quote_changes.lines is
  'The lines of an accepted quote, if the change concerns them. Otherwise null.';
comment on column unfolded_changes.lines is
  'The lines of an accepted quote, if the change concerns them. Otherwise null.';
