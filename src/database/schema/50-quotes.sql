-- Customers and quotes.

-- Customers of the company. A quote keeps its own copy of the customer data.
create table customers (
  -- Internal id.
  id bigint generated always as identity primary key,
  -- Legal name. Name, tax id and country together are unique.
  name text not null check (btrim(name, E' \t\n\r') <> '' and length(name) <= 500),
  -- Tax number as written on documents; null: not known.
  tax_id text check (btrim(tax_id, E' \t\n\r') <> '' and length(tax_id) <= 50),
  -- Postal address, with line breaks; null: not known.
  address text check (length(address) <= 2000),
  -- Contact person on quotes. Null: none.
  contact_name text check (length(contact_name) <= 500),
  -- Country of the customer; null: not known.
  country text references countries,
  constraint customers_identity unique nulls not distinct (name, tax_id, country)
);

-- Returns whether a version with this status was sent and is not superseded.
create function is_current_status(status text) returns boolean
language sql immutable parallel safe
return status not in ('draft', 'superseded');

-- The reasons why a line has no tax, whose texts are in languages.tax_reasons.
create function tax_reason_codes() returns text[]
language sql immutable parallel safe
return array['intra_community_goods', 'intra_community_service', 'export', 'canary_islands',
  'reverse_charge', 'exempt', 'not_subject', 'small_business'];

-- Returns whether a text is one of these codes, or a sentence. One word alone is a mistyped code.
create function is_tax_reason(reason text) returns boolean
language sql immutable parallel safe
return reason = any (tax_reason_codes()) or (reason ~ '\S\s+\S' and length(reason) <= 500);

-- Quotes, with one row for each version of a number.
create table quotes (
  -- Internal id. It is never shown outside.
  id bigint generated always as identity primary key,
  -- Number of the quote. All versions share it.
  number text not null
    check (number = btrim(number, E' \t\n\r') and number <> '' and length(number) <= 64),
  -- 1 for the first version. When a version is sent, the older ones become superseded.
  version integer not null default 1 check (version >= 1),
  -- draft: not sent, invisible outside; sent; accepted; rejected; expired; withdrawn: taken back by
  -- the seller; superseded: replaced by a newer version. A sent quote past valid_until counts as
  -- expired by itself.
  status text not null
    check (status in ('draft', 'sent', 'accepted', 'rejected', 'expired', 'withdrawn',
      'superseded')),
  -- The customer, if known. The customer_… columns are the copy on the quote.
  customer_id bigint references customers on delete set null,
  -- The buyer's name on the quote.
  customer_name text check (length(customer_name) <= 500),
  -- The buyer's tax number on the quote.
  customer_tax_id text check (length(customer_tax_id) <= 50),
  -- The buyer's postal address on the quote, with line breaks.
  customer_address text check (length(customer_address) <= 2000),
  -- Contact person on the quote.
  customer_contact text check (length(customer_contact) <= 500),
  -- Country of the buyer. Null: unknown.
  country text references countries,
  -- Currency of every amount of the quote and its lines.
  currency text not null references currencies,
  -- Base currency units for one unit of the currency of the quote. 1 for the base currency. Null:
  -- unknown; the quote is in no amount in the base currency.
  rate numeric check (rate > 0 and rate < 1e12 and scale(trim_scale(rate)) <= 12),
  -- Day of issue, in the company's calendar.
  issued_on date not null check (issued_on between '1970-01-01' and '9999-12-31'),
  -- Last day of validity. Null: unlimited.
  valid_until date check (valid_until <= '9999-12-31'),
  -- Day on which the customer accepted or rejected. Null: unknown; issued_on counts instead.
  decided_on date check (decided_on <= '9999-12-31'),
  -- Incoterms 2020 rule, with its place in incoterm_place.
  incoterm text
    check (incoterm in ('EXW', 'FCA', 'CPT', 'CIP', 'DAP', 'DPU', 'DDP', 'FAS', 'FOB', 'CFR',
      'CIF')),
  -- Named place of the Incoterm; only with one.
  incoterm_place text check (length(incoterm_place) <= 200),
  -- Delivery terms as text.
  delivery text check (length(delivery) <= 2000),
  -- Payment terms as text.
  payment_terms text check (length(payment_terms) <= 2000),
  -- Language of the quote; null: the language of the company.
  language text references languages,
  -- Notes for the customer.
  notes text check (length(notes) <= 10000),
  -- For the company only: in no document, response or log.
  internal_notes text check (length(internal_notes) <= 10000),
  -- Discount on the whole quote in percent of the sum of its lines, or as an amount: one of both.
  global_discount_percent numeric
    check (global_discount_percent between 0 and 100
      and scale(trim_scale(global_discount_percent)) <= 4),
  global_discount_amount numeric check (global_discount_amount >= 0 and global_discount_amount < 1e27),
  -- Tax that the customer withholds, in percent of net, such as 15 of Spanish IRPF. It is below the
  -- total, and in no amount of the statistics.
  withholding_percent numeric
    check (withholding_percent between 0 and 100 and scale(trim_scale(withholding_percent)) <= 4),
  -- Sum of the line nets less the global discount. Statistics use it. See the function
  -- quote_totals.
  net numeric not null default 0 check (net >= 0 and net < 1e30),
  -- Taxes and surcharges. Below 0 if deductions have a higher rate than the rest.
  tax numeric not null default 0 check (abs(tax) < 1e30),
  -- net + tax.
  gross numeric not null default 0,
  -- Name of the tax, such as IVA, IGIC or GST. Null: by language and country of the seller, see
  -- default_tax_label().
  tax_label text check (btrim(tax_label, E' \t\n\r') <> '' and length(tax_label) <= 20),
  -- Why the lines at 0 % that state no reason have no tax. See quote_lines.tax_reason.
  default_tax_reason text check (is_tax_reason(default_tax_reason)),
  constraint quotes_number_version unique (number, version),
  constraint quotes_amounts_have_currency_digits check
    (greatest(scale(trim_scale(net)), scale(trim_scale(tax)),
      scale(trim_scale(global_discount_amount))) <= currency_digits(currency)),
  constraint quotes_currency_in_use check (issued_on < currency_ended_on(currency)),
  constraint quotes_decided_after_issue check (decided_on >= issued_on),
  constraint quotes_decision_has_status check
    (decided_on is null or (status in ('accepted', 'rejected', 'superseded'))),
  constraint quotes_gross_is_net_and_tax check (gross = (net + tax)),
  -- A typing error in a year would give the statistics thousands of empty years.
  constraint quotes_not_misdated check (issued_on <= '2099-12-31' and decided_on <= '2099-12-31'),
  constraint quotes_one_global_discount check
    (global_discount_percent is null or global_discount_amount is null),
  constraint quotes_place_has_incoterm check (incoterm_place is null or incoterm is not null),
  constraint quotes_valid_after_issue check (valid_until >= issued_on),
  constraint quotes_one_current_version exclude (number with =)
    where (is_current_status(status)) deferrable initially deferred
);
create index quotes_accepted_on on quotes (coalesce(decided_on, issued_on))
  where status = 'accepted';
create index quotes_customer on quotes (customer_id) where customer_id is not null;
create index quotes_issued_on on quotes (issued_on);

-- The lines of a quote.
create table quote_lines (
  -- The quote, one version of a number.
  quote_id bigint not null references quotes on delete cascade,
  -- Position of the line in the quote, from 1. Gaps are allowed.
  position integer not null check (position >= 1),
  -- line: it counts. optional: an offer that is in no sum. heading: begins a section, which ends at
  -- the next one. text: a text between lines. The last two have a description only.
  kind text not null default 'line' check (kind in ('line', 'optional', 'heading', 'text')),
  -- Free text, usually the SKU of a product.
  sku text check (length(sku) <= 100),
  -- Text of the line for the customer.
  description text not null
    check (btrim(description, E' \t\n\r') <> '' and length(description) <= 10000),
  -- Never 0. Below 0 for returns.
  quantity numeric
    check (quantity <> 0 and abs(quantity) < 1e12 and scale(trim_scale(quantity)) <= 6),
  -- UN/ECE Recommendation 20 code of the unit; null: not stated.
  unit text check (unit ~ '^[A-Z0-9]{2,3}$'),
  -- In the currency of the quote. Below 0 for deductions.
  unit_price numeric
    check (abs(unit_price) < 1e15 and scale(trim_scale(unit_price)) <= 8),
  -- Discount in percent of the price, 0 to 100.
  discount_percent numeric not null default 0
    check (discount_percent between 0 and 100 and scale(trim_scale(discount_percent)) <= 4),
  -- Tax in percent of the net, such as 21; 0: exempt or zero-rated; null: no tax stated.
  tax_rate numeric check (tax_rate between 0 and 100 and scale(trim_scale(tax_rate)) <= 4),
  -- Spanish recargo de equivalencia in percent of the net, such as 5.2; only with a tax_rate.
  surcharge_rate numeric
    check (surcharge_rate between 0 and 100 and scale(trim_scale(surcharge_rate)) <= 4),
  -- Why the line has no tax: one of tax_reason_codes(), or a sentence. Null: the default of the
  -- quote, and without one what automatic_tax_reason() returns.
  tax_reason text check (is_tax_reason(tax_reason)),
  -- Harmonised System code, digits only, 4 to 12 of them; null: not stated.
  hs_code text check (hs_code ~ '^[0-9]{4,12}$'),
  -- Country of origin of the goods; null: not stated.
  origin_country text references countries,
  -- In the currency of the quote, see the function line_net. Below 0 if quantity or price is.
  net numeric not null default 0 check (abs(net) < 1e27 and scale(trim_scale(net)) <= 4),
  primary key (quote_id, position),
  constraint quote_lines_kind_has_values check (case when kind in ('line', 'optional')
    then quantity is not null and unit_price is not null
    else num_nonnulls(sku, quantity, unit, unit_price, tax_rate, surcharge_rate, tax_reason, hs_code,
      origin_country) = 0 and discount_percent = 0 and net = 0 end),
  constraint quote_lines_reason_has_no_tax check (tax_reason is null or coalesce(tax_rate, 0) = 0),
  constraint quote_lines_surcharge_has_tax check (surcharge_rate is null or tax_rate is not null)
);

-- Returns whether a country is in the customs territory of the European Union.
create function is_in_european_union(country text) returns boolean
language sql immutable parallel safe
return country in ('AT', 'BE', 'BG', 'CY', 'CZ', 'DE', 'DK', 'EE', 'ES', 'FI', 'FR', 'GR', 'HR',
  'HU', 'IE', 'IT', 'LT', 'LU', 'LV', 'MT', 'NL', 'PL', 'PT', 'RO', 'SE', 'SI', 'SK');

-- Returns why a line at 0 % has no tax where the countries leave no doubt, otherwise null. Hours,
-- days and other units of services leave one, because other rules hold for services.
create function automatic_tax_reason(seller_country text, buyer_country text, unit text)
returns text
language sql immutable parallel safe
return case
  when buyer_country is null or seller_country is null or buyer_country = seller_country
    or unit in ('HUR', 'MIN', 'SEC', 'DAY', 'E49', 'WEE', 'MON', 'ANN', 'E48', 'LS') then null
  when is_in_european_union(buyer_country) and is_in_european_union(seller_country)
    then 'intra_community_goods'
  else 'export' end;

-- Returns quantity × unit price less discount, rounded half away from zero to the digits of the
-- currency. 0 for headings and texts, which have neither.
create function line_net(
  quantity numeric, unit_price numeric, discount_percent numeric, digits integer
) returns numeric
language sql immutable parallel safe
return case when quantity is null and unit_price is null then 0
  else round(quantity * unit_price * (100 - discount_percent) * 0.01, digits) end;

-- Returns the part of a global discount on the first bases of a quote, `base` of `total`. The parts
-- up to each base are rounded half away from zero, and a base gets the difference to the one before
-- it. So the parts add up to the discount, and each is its exact share within one minor unit.
create function discount_on(
  base numeric, total numeric, percent numeric, amount numeric, digits integer
) returns numeric
language sql immutable parallel safe
return case when percent is not null then round(base * percent * 0.01, digits)
  when amount is null or total = 0 then coalesce(amount, 0)
  -- The decimals of the quotient are those of the dividend: enough to see on which side of a half
  -- it is.
  else round(round(base * amount, 40) / total, digits) end;

-- Returns a tax or surcharge on a sum of lines, rounded half away from zero: the one definition,
-- for totals, documents, imports and checks. An unknown rate is 0.
create function tax_amount(base numeric, rate numeric, digits integer) returns numeric
language sql immutable parallel safe
return round(base * coalesce(rate, 0) * 0.01, digits);

-- Returns the sums of the lines of a quote by tax rate, before and after its global discount.
create function quote_tax_bases(wanted_quote_id bigint) returns
  table(tax_rate numeric, surcharge_rate numeric, undiscounted numeric, base numeric)
language sql stable parallel safe
begin atomic
  select b.tax_rate, b.surcharge_rate, b.undiscounted, b.undiscounted
    - discount_on(b.up_to, b.total, b.percent, b.amount, b.digits)
    + discount_on(b.up_to - b.undiscounted, b.total, b.percent, b.amount, b.digits)
  from (
    select l.tax_rate, l.surcharge_rate, sum(n.net) as undiscounted,
      sum(sum(n.net)) over (order by l.tax_rate desc nulls last, l.surcharge_rate desc nulls last)
        as up_to,
      sum(sum(n.net)) over () as total,
      q.global_discount_percent as percent, q.global_discount_amount as amount, c.digits
    from quotes q
    join currencies c on c.code = q.currency
    join quote_lines l on l.quote_id = q.id and l.kind = 'line'
    cross join lateral line_net(l.quantity, l.unit_price, l.discount_percent, c.digits) n (net)
    where q.id = wanted_quote_id
    group by l.tax_rate, l.surcharge_rate, q.id, c.digits
  ) b;
end;

-- Computes net, tax and gross of a quote. The tax at a rate is computed on the sum of the lines
-- with this rate, less its part of the global discount.
create function quote_totals(
  wanted_quote_id bigint, out net numeric, out tax numeric, out gross numeric
)
language sql stable parallel safe
begin atomic
  with totals as (
    select coalesce(sum(b.undiscounted), 0) as undiscounted,
      coalesce(sum(
        tax_amount(b.base, b.tax_rate, currency_digits(q.currency))
        + tax_amount(b.base, b.surcharge_rate, currency_digits(q.currency))
      ), 0) as tax,
      q.global_discount_percent as percent, q.global_discount_amount as amount, q.currency
    from quotes q left join quote_tax_bases(q.id) b on true
    where q.id = wanted_quote_id
    group by q.id
  ), sums as (
    select undiscounted - discount_on(
      undiscounted, undiscounted, percent, amount, currency_digits(currency)
    ) as net, tax from totals
  )
  select sums.net, sums.tax, sums.net + sums.tax from sums;
end;

-- Rejects quotes in the base currency with another rate than 1.
create function check_rate_of_base_currency() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (select from company where base_currency = new.currency) then
    raise exception 'quote % version % is in the base currency, %, and has the rate %: '
      'it must be 1 or null', new.number, new.version, new.currency, new.rate
      using errcode = 'check_violation', constraint = 'quotes_base_currency_has_rate_one',
        table = 'quotes';
  end if;
  return null;
end $$;
create trigger check_rate after insert or update of currency, rate on quotes
  for each row when (new.rate <> 1) execute function check_rate_of_base_currency();

-- Rejects a base currency in which a quote has another rate than 1.
create function check_rates_for_company() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  wrong bigint;
begin
  if tg_op = 'INSERT' or old.base_currency <> new.base_currency then
    -- Each statement of a function sees what was committed before it began.
    lock table quotes in share mode;
  end if;
  wrong := (
    select count(*) from quotes q where q.currency = new.base_currency and q.rate <> 1
  );
  if wrong > 0 then
    raise exception '% quotes in the base currency, %, have another rate than 1',
      wrong, new.base_currency
      using errcode = 'check_violation', constraint = 'quotes_base_currency_has_rate_one',
        hint = format('update quotes set rate = 1 where currency = %L', new.base_currency);
  end if;
  return null;
end $$;
create trigger check_rates after insert or update of base_currency on company
  for each row execute function check_rates_for_company();

-- Supersedes every version of the written numbers that is older than the current one.
create function supersede_older_versions() returns trigger
language plpgsql security definer set search_path = public,
  pg_temp set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  numbers text[];
  older_ids bigint[];
begin
  -- One probe of an index for each row. A quote without other versions ends here.
  if tg_level = 'ROW' then
    if not exists (
      select from quotes other where other.number = new.number
        and (other.version < new.version or other.version > new.version)
    ) then
      return null;
    end if;
    numbers := array[new.number];
  else
    numbers := array(
      select written.number from new_rows written
      where written.version > 1 or exists (
        select from quotes newer
        where newer.number = written.number and newer.version > written.version
      )
    );
    if numbers = '{}' then
      return null;
    end if;
  end if;
  older_ids := array(
    select older.id from quotes older
    where older.number = any (numbers) and older.status <> 'superseded' and exists (
      select from quotes newer
      where newer.number = older.number and newer.version > older.version
        and is_current_status(newer.status)
    )
  );
  -- An update without rows would still run the other triggers.
  if older_ids <> '{}' then
    update quotes set status = 'superseded'
    where id = any (older_ids) and status <> 'superseded';
  end if;
  return null;
end $$;
create trigger supersede_after_inserts after insert on quotes
  referencing new table as new_rows for each statement execute function supersede_older_versions();
create trigger supersede_after_renumbering after update of number, version on quotes
  for each row execute function supersede_older_versions();
create trigger supersede_after_updates after update of status on quotes
  for each row when ((old.status in ('draft', 'superseded')) and new.status <> 'superseded')
  execute function supersede_older_versions();
create trigger supersede_replicated after insert or update on quotes
  for each row when (new.status <> 'superseded'
    and current_setting('session_replication_role') = 'replica')
  execute function supersede_older_versions();
alter table quotes enable replica trigger supersede_replicated;
