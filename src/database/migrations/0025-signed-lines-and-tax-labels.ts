// Lets a quantity or a price be negative, for returns and deductions, names the tax of a quote, and
// gives the arithmetic of taxes one definition.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await allowNegativeLines(db)
  await sql`
    alter table quotes add column tax_label text
      check (btrim(tax_label, E' \t\n\r') <> '' and length(tax_label) <= 20)
  `.execute(db)
  await defineTaxes(db)
  await replaceQuoteDocument(db)
  for (const [object, comment] of Object.entries(comments))
    await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
}

/** The net of a quote stays 0 or more. Its tax may be negative if rates differ. */
async function allowNegativeLines(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table quote_lines
      drop constraint quote_lines_quantity_check,
      add constraint quote_lines_quantity_check check (
        quantity <> 0 and abs(quantity) < 1e12 and scale(trim_scale(quantity)) <= 6
      ),
      drop constraint quote_lines_unit_price_check,
      add constraint quote_lines_unit_price_check check (
        abs(unit_price) < 1e15 and scale(trim_scale(unit_price)) <= 4
      ),
      drop constraint quote_lines_net_check,
      add constraint quote_lines_net_check check (
        abs(net) < 1e27 and scale(trim_scale(net)) <= 4
      )
  `.execute(db)
  await sql`
    alter table quotes
      drop constraint quotes_tax_check,
      add constraint quotes_tax_check check (abs(tax) < 1e30)
  `.execute(db)
}

/** Multiplying by 0.01 is exact; a division by 100 would be rounded before it is rounded. */
async function defineTaxes(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function tax_amount(base numeric, rate numeric, digits integer) returns numeric
    language sql immutable parallel safe
    return round(base * coalesce(rate, 0) * 0.01, digits)
  `.execute(db)
  await sql`
    create or replace function quote_totals(
      wanted_quote_id bigint, out net numeric, out tax numeric, out gross numeric
    )
    language sql stable parallel safe
    begin atomic
      with taxes as (
        select sum(line_net(l.quantity, l.unit_price, l.discount_percent, c.digits)) as base,
          l.tax_rate, l.surcharge_rate, c.digits
        from quote_lines l
        join quotes q on q.id = l.quote_id
        join currencies c on c.code = q.currency
        where l.quote_id = wanted_quote_id
        group by l.tax_rate, l.surcharge_rate, c.digits
      ), sums as (
        select coalesce(sum(base), 0) as net,
          coalesce(sum(
            tax_amount(base, tax_rate, digits) + tax_amount(base, surcharge_rate, digits)
          ), 0) as tax
        from taxes
      )
      select sums.net, sums.tax, sums.net + sums.tax from sums;
    end
  `.execute(db)
  await sql`
    create function default_tax_label(language text, country text) returns text
    language sql immutable parallel safe
    return case
      when country = 'PE' then 'IGV'
      when country = 'DO' then 'ITBIS'
      when country = 'PA' then 'ITBMS'
      when country = 'HN' then 'ISV'
      when country in ('AU', 'CA', 'IN', 'NZ', 'SG') then 'GST'
      when country = 'US' then case language when 'es' then 'Impuesto' else 'Sales tax' end
      when language = 'es' then 'IVA'
      else 'VAT' end
  `.execute(db)
}

/** Changed since migration 0003: totals.taxLabel, and the taxes by tax_amount(). */
async function replaceQuoteDocument(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function quote_document(wanted_quote_id bigint, wanted_language text)
      returns jsonb
    language sql stable parallel safe
    begin atomic
      with quote as (
        select q.*, c.digits, company.seller,
          coalesce(wanted_language, q.language, company.seller ->> 'language') as document_language
        from quotes q
        join currencies c on c.code = q.currency
        cross join company
        where q.id = wanted_quote_id
      ), lines as (
        select l.*, q.currency, q.digits::integer as digits,
          round(l.quantity * l.unit_price, q.digits) as undiscounted
        from quote_lines l join quote q on q.id = l.quote_id
      ), taxes as (
        select tax_rate, surcharge_rate, currency, digits, sum(net) as base,
          tax_amount(sum(net), tax_rate, digits) as amount,
          case when surcharge_rate is not null then tax_amount(sum(net), surcharge_rate, digits)
            end as surcharge_amount
        from lines where tax_rate is not null
        group by tax_rate, surcharge_rate, currency, digits
      ), situation as (
        -- The law that exempts a line at 0 %: that of a supply to another member state, or that of
        -- an export out of the customs territory of the seller.
        select case
          when not exists (select from lines where tax_rate = 0) or q.country is null
            or q.country = q.seller ->> 'country' then null
          when q.country = any (eu.members) and q.seller ->> 'country' = any (eu.members)
            then 'intraCommunity'
          else 'export' end as exemption
        from quote q, (values (array[
          'AT', 'BE', 'BG', 'CY', 'CZ', 'DE', 'DK', 'EE', 'ES', 'FI', 'FR', 'GR', 'HR', 'HU', 'IE',
          'IT', 'LT', 'LU', 'LV', 'MT', 'NL', 'PL', 'PT', 'RO', 'SE', 'SI', 'SK'
        ])) as eu (members)
      )
      select jsonb_build_object(
        'number', q.number, 'version', q.version,
        'issuedOn', q.issued_on, 'validUntil', q.valid_until,
        'language', q.document_language, 'currency', q.currency,
        'seller', jsonb_build_object(
          'legalName', q.seller -> 'legalName', 'taxId', q.seller -> 'taxId',
          'address', q.seller -> 'address', 'email', q.seller -> 'email',
          'phone', q.seller -> 'phone', 'website', q.seller -> 'website',
          'bank', q.seller -> 'bank'
        ),
        'buyer', jsonb_build_object(
          'name', q.customer_name, 'taxId', q.customer_tax_id, 'address', q.customer_address,
          'contactName', q.customer_contact
        ),
        'lines', (
          select coalesce(jsonb_agg(jsonb_build_object(
            'position', position, 'sku', sku, 'description', description,
            'quantity', trim_scale(quantity)::text, 'unit', unit,
            'unitPrice', unit_price_json(unit_price, currency, digits),
            'discountPercent', trim_scale(discount_percent)::text,
            'taxRate', trim_scale(tax_rate)::text,
            'surchargeRate', trim_scale(surcharge_rate)::text, 'hsCode', hs_code,
            'originCountry', origin_country, 'net', money_json(net, currency, digits)
          ) order by position), '[]') from lines
        ),
        'totals', jsonb_build_object(
          'net', money_json(q.net, q.currency, q.digits),
          'discounts', money_json(
            (select coalesce(sum(undiscounted - net), 0) from lines), q.currency, q.digits
          ),
          'taxes', (
            select coalesce(jsonb_agg(jsonb_build_object(
              'rate', trim_scale(tax_rate)::text,
              'surchargeRate', trim_scale(surcharge_rate)::text,
              'base', money_json(base, currency, digits),
              'amount', money_json(amount, currency, digits),
              'surchargeAmount', money_json(surcharge_amount, currency, digits)
            ) order by tax_rate desc, surcharge_rate desc nulls last), '[]') from taxes
          ),
          'taxLabel', jsonb_build_object(
            'es', coalesce(q.tax_label, default_tax_label('es', q.seller ->> 'country')),
            'en', coalesce(q.tax_label, default_tax_label('en', q.seller ->> 'country'))
          ),
          'gross', money_json(q.gross, q.currency, q.digits)
        ),
        'trade', jsonb_build_object(
          'incoterm', case when q.incoterm is not null then jsonb_build_object(
            'code', q.incoterm, 'edition', '2020', 'place', q.incoterm_place
          ) end,
          'delivery', q.delivery
        ),
        'payment', jsonb_build_object('terms', q.payment_terms),
        'legal', (
          select coalesce(jsonb_agg(mention ->> 'text' order by place), '[]')
          from jsonb_array_elements(q.seller -> 'legal')
            with ordinality as mentions (mention, place), situation s
          where mention ->> 'language' = q.document_language
            and mention ->> 'appliesTo' in ('all', s.exemption)
        ),
        'notes', q.notes
      )
      from quote q;
    end
  `.execute(db)
}

const comments: Record<string, string> = {
  'column quotes.tax_label':
    'Name of the tax, such as IVA, IGIC or GST. Null: by language and country of the seller, see ' +
    'default_tax_label().',
  'column quotes.tax':
    'Taxes and surcharges. Below 0 if deductions have a higher rate than the rest.',
  'column quote_lines.quantity': 'Never 0. Below 0 for returns.',
  'column quote_lines.unit_price': 'In the currency of the quote. Below 0 for deductions.',
  'column quote_lines.net':
    'In the currency of the quote, see the function line_net. Below 0 if quantity or price is.',
  'function line_net':
    'Returns quantity × unit price less discount, rounded half away from zero to the digits of ' +
    'the currency.',
  'function tax_amount':
    'Returns a tax or surcharge on a sum of lines, rounded half away from zero: the one ' +
    'definition, for totals, documents, imports and checks. An unknown rate is 0.',
  'function default_tax_label':
    'Returns the name of the tax in a language for a seller of a country, if the quote names none.',
}
