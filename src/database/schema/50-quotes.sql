-- Customers, quotes and their lines, and the arithmetic of a quote.

-- Customers of the company. A quote keeps its own copy of the customer data.
create table customers (
  -- Internal id.
  id            bigint  not null generated always as identity,
  -- Legal name. Name, tax id and country together are unique.
  name          text    not null,
  -- Tax number as written on documents; null: not known.
  tax_id        text,
  -- Postal address, with line breaks; null: not known.
  address       text,
  -- Contact person on quotes. Null: none.
  contact_name  text,
  -- Country of the customer; null: not known.
  country       text,
  constraint customers_pkey primary key (id),
  constraint customers_identity unique nulls not distinct (name, tax_id, country),
  constraint customers_country_fkey foreign key (country) references countries(code),
  constraint customers_address_check check (length(address) <= 2000),
  constraint customers_contact_name_check check (length(contact_name) <= 500),
  constraint customers_name_check check (btrim(name, E' \t\n\r') <> '' and length(name) <= 500),
  constraint customers_tax_id_check check (btrim(tax_id, E' \t\n\r') <> '' and length(tax_id) <= 50)
);

-- The languages that a quote may have. scripts/migrate.ts fills it from the files of texts.
create table languages (
  -- ISO 639-1, in lower case.
  code             text     not null,
  -- The order in which the languages are listed.
  place            integer  not null,
  -- The name of value added tax in the language.
  vat_label        text     not null,
  -- The name of a tax that is no value added tax.
  sales_tax_label  text     not null,
  constraint languages_pkey primary key (code),
  constraint languages_code_check check (code ~ '^[a-z]{2}$')
);

-- Returns quantity × unit price less discount, rounded half away from zero to the digits of the
-- currency.
create function line_net(quantity numeric, unit_price numeric, discount_percent numeric,
  digits integer)
 returns numeric
 language sql
 immutable parallel safe
return round((((quantity * unit_price) * ((100)::numeric - discount_percent)) * 0.01), digits);

-- Returns a tax or surcharge on a sum of lines, rounded half away from zero: the one definition,
-- for totals, documents, imports and checks. An unknown rate is 0.
create function tax_amount(base numeric, rate numeric, digits integer)
 returns numeric
 language sql
 immutable parallel safe
return round(((base * coalesce(rate, (0)::numeric)) * 0.01), digits);

-- Returns the name of the tax in a language for a seller of a country, if the quote names none.
create function default_tax_label(language text, country text)
 returns text
 language sql
 stable parallel safe
return case when (country = 'PE') then 'IGV' when (country = 'DO') then 'ITBIS'
  when (country = 'PA') then 'ITBMS' when (country = 'HN') then 'ISV'
  when (country = any (array['AU', 'CA', 'IN', 'NZ', 'SG'])) then 'GST'
  else coalesce((select case when (default_tax_label.country = 'US') then l.sales_tax_label
  else l.vat_label end as vat_label from languages l where (l.code = default_tax_label.language)),
  'VAT') end;

-- The legal texts of the company in a language for a quote: `legal` for the whole quote, and
-- `legalForLines` for an exemption that holds only for `exempt_lines`. `legalInOtherLanguages` has
-- those that are missing in this language.
create function quote_legal(mentions jsonb, language text, company_language text, exemption text,
  exempt_lines jsonb)
 returns jsonb
 language sql
 immutable parallel safe
begin atomic
 with applicable as (
          select (all_mentions.mention ->> 'text') as text,
             (all_mentions.mention ->> 'language') as language,
             (all_mentions.mention ->> 'appliesTo') as kind,
             all_mentions.place
            from jsonb_array_elements(quote_legal.mentions) with ordinality
              all_mentions(mention, place)
           where ((all_mentions.mention ->> 'appliesTo') = any
             (array['all', quote_legal.exemption]))
         ), chosen as (
          select a.text,
             a.language,
             a.place,
             (a.kind <> 'all') as is_exemption,
             (a.language <> quote_legal.language) as is_foreign
            from applicable a
           where (a.language = ( select b.language
                    from applicable b
                   where (b.kind = a.kind)
                   order by (b.language <> quote_legal.language),
                     (b.language <> quote_legal.company_language), b.place
                  limit 1))
         )
  select ((jsonb_build_object('legal',
    coalesce(jsonb_agg(chosen.text order by chosen.place) filter
    (where ((not chosen.is_foreign) and
    ((not chosen.is_exemption) or (quote_legal.exempt_lines is null)))), '[]'::jsonb)) ||
         case
             when ((quote_legal.exempt_lines is not null)
               and bool_or((chosen.is_exemption and (not chosen.is_foreign))))
               then jsonb_build_object('legalForLines',
               jsonb_agg(jsonb_build_object('text', chosen.text, 'lines', quote_legal.exempt_lines)
               order by chosen.place) filter
               (where (chosen.is_exemption and (not chosen.is_foreign))))
             else '{}'::jsonb
         end) ||
         case
             when bool_or(chosen.is_foreign)
               then jsonb_build_object('legalInOtherLanguages',
               jsonb_agg((jsonb_build_object('language', chosen.language, 'text', chosen.text) ||
             case
                 when (chosen.is_exemption and (quote_legal.exempt_lines is not null))
                   then jsonb_build_object('lines', quote_legal.exempt_lines)
                 else '{}'::jsonb
             end) order by chosen.place) filter (where chosen.is_foreign))
             else '{}'::jsonb
         end)
    from chosen;
end;

-- Rejects quotes in the base currency with another rate than 1.
create function check_rate_of_base_currency()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
begin
  if exists (select from company where base_currency = new.currency) then
    raise exception 'quote % version % is in the base currency, %, and has the rate %: it must be 1 or null', new.number, new.version, new.currency, new.rate
      using errcode = 'check_violation', constraint = 'quotes_base_currency_has_rate_one',
        table = 'quotes';
  end if;
  return null;
end $$;

-- Rejects a base currency in which a quote has another rate than 1.
create function check_rates_for_company()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
as $$
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
create trigger check_rates after insert or update of base_currency on company for each row
  execute function check_rates_for_company();

-- Returns whether a version with this status was sent and is not superseded.
create function is_current_status(status text)
 returns boolean
 language sql
 immutable parallel safe
return (status <> all (array['draft', 'superseded']));

-- Quotes, with one row for each version of a number.
create table quotes (
  -- Internal id. It is never shown outside.
  id                bigint   not null generated always as identity,
  -- Number of the quote. All versions share it.
  number            text     not null,
  -- 1 for the first version. When a version is sent, the older ones become superseded.
  version           integer  not null default 1,
  -- draft: not sent, invisible outside; sent; accepted; rejected; expired; superseded:
  -- replaced by a newer version. A sent quote past valid_until counts as expired by itself.
  status            text     not null,
  -- The customer, if known. The customer_… columns are the copy on the quote.
  customer_id       bigint,
  -- The buyer's name on the quote.
  customer_name     text,
  -- The buyer's tax number on the quote.
  customer_tax_id   text,
  -- The buyer's postal address on the quote, with line breaks.
  customer_address  text,
  -- Contact person on the quote.
  customer_contact  text,
  -- Country of the buyer. Null: unknown.
  country           text,
  -- Currency of every amount of the quote and its lines.
  currency          text     not null,
  -- Base currency units for one unit of the currency of the quote. 1 for the base currency.
  -- Null: unknown; the quote is in no amount in the base currency.
  rate              numeric,
  -- Day of issue, in the company's calendar.
  issued_on         date     not null,
  -- Last day of validity. Null: unlimited.
  valid_until       date,
  -- Day on which the customer accepted or rejected. Null: unknown; issued_on counts instead.
  decided_on        date,
  -- Incoterms 2020 rule, with its place in incoterm_place.
  incoterm          text,
  -- Named place of the Incoterm; only with one.
  incoterm_place    text,
  -- Delivery terms as text.
  delivery          text,
  -- Payment terms as text.
  payment_terms     text,
  -- Language of the quote; null: the language of the company.
  language          text,
  -- Notes for the customer.
  notes             text,
  -- For the company only: in no document, response or log.
  internal_notes    text,
  -- Sum of the line nets. Statistics use it. See the function quote_totals.
  net               numeric  not null default 0,
  -- Taxes and surcharges. Below 0 if deductions have a higher rate than the rest.
  tax               numeric  not null default 0,
  -- net + tax.
  gross             numeric  not null default 0,
  -- Name of the tax, such as IVA, IGIC or GST. Null: by language and country of the seller,
  -- see default_tax_label().
  tax_label         text,
  constraint quotes_pkey primary key (id),
  constraint quotes_number_version unique (number, version),
  constraint quotes_country_fkey foreign key (country) references countries(code),
  constraint quotes_currency_fkey foreign key (currency) references currencies(code),
  constraint quotes_customer_id_fkey foreign key (customer_id) references customers(id)
    on delete set null,
  constraint quotes_language_fkey foreign key (language) references languages(code),
  constraint quotes_amounts_have_currency_digits check
    (greatest(scale(trim_scale(net)), scale(trim_scale(tax))) <= currency_digits(currency)),
  constraint quotes_customer_address_check check (length(customer_address) <= 2000),
  constraint quotes_customer_contact_check check (length(customer_contact) <= 500),
  constraint quotes_customer_name_check check (length(customer_name) <= 500),
  constraint quotes_customer_tax_id_check check (length(customer_tax_id) <= 50),
  constraint quotes_decided_after_issue check (decided_on >= issued_on),
  constraint quotes_decided_on_check check (decided_on <= '9999-12-31'::date),
  constraint quotes_decision_has_status check
    (decided_on is null or (status = any (array['accepted', 'rejected', 'superseded']))),
  constraint quotes_delivery_check check (length(delivery) <= 2000),
  constraint quotes_gross_is_net_and_tax check (gross = (net + tax)),
  constraint quotes_incoterm_check check
    (incoterm = any (array['EXW', 'FCA', 'CPT', 'CIP', 'DAP', 'DPU', 'DDP', 'FAS', 'FOB', 'CFR',
    'CIF'])),
  constraint quotes_incoterm_place_check check (length(incoterm_place) <= 200),
  constraint quotes_internal_notes_check check (length(internal_notes) <= 10000),
  constraint quotes_issued_on_check check
    (issued_on >= '1970-01-01'::date and issued_on <= '9999-12-31'::date),
  constraint quotes_net_check check (net >= 0::numeric
    and net < '1000000000000000000000000000000'::numeric),
  constraint quotes_not_misdated check
    (issued_on <= '2099-12-31'::date and decided_on <= '2099-12-31'::date) not valid,
  constraint quotes_notes_check check (length(notes) <= 10000),
  constraint quotes_number_check check
    (number = btrim(number, E' \t\n\r') and number <> '' and length(number) <= 64),
  constraint quotes_payment_terms_check check (length(payment_terms) <= 2000),
  constraint quotes_place_has_incoterm check (incoterm_place is null or incoterm is not null),
  constraint quotes_rate_check check
    (rate > 0::numeric and rate < '1000000000000'::numeric and scale(trim_scale(rate)) <= 12),
  constraint quotes_status_check check
    (status = any (array['draft', 'sent', 'accepted', 'rejected', 'expired', 'superseded'])),
  constraint quotes_tax_check check (abs(tax) < '1000000000000000000000000000000'::numeric),
  constraint quotes_tax_label_check check
    (btrim(tax_label, E' \t\n\r') <> '' and length(tax_label) <= 20),
  constraint quotes_valid_after_issue check (valid_until >= issued_on),
  constraint quotes_valid_until_check check (valid_until <= '9999-12-31'::date),
  constraint quotes_version_check check (version >= 1),
  constraint quotes_one_current_version exclude using btree (number with =)
    where (is_current_status(status)) deferrable initially deferred
);
create index quotes_accepted_on on quotes using btree (coalesce(decided_on, issued_on))
  where status = 'accepted';
create index quotes_customer on quotes using btree (customer_id) where customer_id is not null;
create index quotes_issued_on on quotes using btree (issued_on);
create trigger check_rate after insert or update of currency, rate on quotes for each row
  when (new.rate <> 1::numeric) execute function check_rate_of_base_currency();

-- The lines of a quote.
create table quote_lines (
  -- The quote, one version of a number.
  quote_id          bigint   not null,
  -- Position of the line in the quote, from 1. Gaps are allowed.
  position          integer  not null,
  -- Free text, usually the SKU of a product.
  sku               text,
  -- Text of the line for the customer.
  description       text     not null,
  -- Never 0. Below 0 for returns.
  quantity          numeric  not null,
  -- UN/ECE Recommendation 20 code of the unit; null: not stated.
  unit              text,
  -- In the currency of the quote. Below 0 for deductions.
  unit_price        numeric  not null,
  -- Discount in percent of the price, 0 to 100.
  discount_percent  numeric  not null default 0,
  -- Tax in percent of the net, such as 21; 0: exempt or zero-rated; null: no tax stated.
  tax_rate          numeric,
  -- Spanish recargo de equivalencia in percent of the net, such as 5.2; only with a tax_rate.
  surcharge_rate    numeric,
  -- Harmonised System code, digits only, 4 to 12 of them; null: not stated.
  hs_code           text,
  -- Country of origin of the goods; null: not stated.
  origin_country    text,
  -- In the currency of the quote, see the function line_net. Below 0 if quantity or price is.
  net               numeric  not null,
  constraint quote_lines_pkey primary key (quote_id, "position"),
  constraint quote_lines_origin_country_fkey foreign key (origin_country)
    references countries(code),
  constraint quote_lines_quote_id_fkey foreign key (quote_id) references quotes(id)
    on delete cascade,
  constraint quote_lines_description_check check
    (btrim(description, E' \t\n\r') <> '' and length(description) <= 10000),
  constraint quote_lines_discount_percent_check check
    (discount_percent >= 0::numeric and discount_percent <= 100::numeric
    and scale(trim_scale(discount_percent)) <= 4),
  constraint quote_lines_hs_code_check check (hs_code ~ '^[0-9]{4,12}$'),
  constraint quote_lines_net_check check
    (abs(net) < '1000000000000000000000000000'::numeric and scale(trim_scale(net)) <= 4),
  constraint quote_lines_position_check check ("position" >= 1),
  constraint quote_lines_quantity_check check
    (quantity <> 0::numeric and abs(quantity) < '1000000000000'::numeric
    and scale(trim_scale(quantity)) <= 6),
  constraint quote_lines_sku_check check (length(sku) <= 100),
  constraint quote_lines_surcharge_has_tax check (surcharge_rate is null or tax_rate is not null),
  constraint quote_lines_surcharge_rate_check check
    (surcharge_rate >= 0::numeric and surcharge_rate <= 100::numeric
    and scale(trim_scale(surcharge_rate)) <= 4),
  constraint quote_lines_tax_rate_check check
    (tax_rate >= 0::numeric and tax_rate <= 100::numeric and scale(trim_scale(tax_rate)) <= 4),
  constraint quote_lines_unit_check check (unit ~ '^[A-Z0-9]{2,3}$'),
  constraint quote_lines_unit_price_check check
    (abs(unit_price) < '1000000000000000'::numeric and scale(trim_scale(unit_price)) <= 4)
);

-- Computes net, tax and gross of a quote. The tax at a rate is computed on the sum of the lines
-- with this rate.
create function quote_totals(wanted_quote_id bigint, out net numeric, out tax numeric,
  out gross numeric)
 returns record
 language sql
 stable parallel safe
begin atomic
 with taxes as (
          select sum(line_net(l.quantity, l.unit_price, l.discount_percent, c.digits)) as base,
             l.tax_rate,
             l.surcharge_rate,
             c.digits
            from ((quote_lines l
              join quotes q on ((q.id = l.quote_id)))
              join currencies c on ((c.code = q.currency)))
           where (l.quote_id = quote_totals.wanted_quote_id)
           group by l.tax_rate, l.surcharge_rate, c.digits
         ), sums as (
          select coalesce(sum(taxes.base), (0)::numeric) as net,
             coalesce(sum((tax_amount(taxes.base, taxes.tax_rate, taxes.digits) +
               tax_amount(taxes.base, taxes.surcharge_rate, taxes.digits))), (0)::numeric) as tax
            from taxes
         )
  select sums.net,
     sums.tax,
     (sums.net + sums.tax)
    from sums;
end;

-- The languages that a quote may have, as ISO 639-1.
create function quote_languages()
 returns text[]
 language sql
 stable parallel safe
return array(select languages.code from languages order by languages.place);

-- Supersedes every version of the written numbers that is older than the current one.
create function supersede_older_versions()
 returns trigger
 language plpgsql
 security definer
 set search_path to 'public', 'pg_temp'
 set enable_seqscan to 'off'
 set plan_cache_mode to 'force_generic_plan'
as $$
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
create trigger supersede_after_inserts after insert on quotes referencing new table as new_rows
  for each statement execute function supersede_older_versions();
create trigger supersede_after_renumbering after update of number, version on quotes for each row
  execute function supersede_older_versions();
create trigger supersede_after_updates after update of status on quotes for each row
  when ((old.status = any (array['draft', 'superseded'])) and new.status <> 'superseded')
  execute function supersede_older_versions();
create trigger supersede_replicated after insert or update on quotes for each row
  when (new.status <> 'superseded' and current_setting('session_replication_role') = 'replica')
  execute function supersede_older_versions();
alter table quotes enable replica trigger supersede_replicated;

insert into languages (code, place, vat_label, sales_tax_label) values
  ('es', 1, 'IVA', 'Impuesto'),
  ('en', 2, 'VAT', 'Sales tax'),
  ('pt', 3, 'IVA', 'Imposto'),
  ('fr', 4, 'TVA', 'Taxe'),
  ('it', 5, 'IVA', 'Imposta'),
  ('de', 6, 'USt.', 'Steuer');
