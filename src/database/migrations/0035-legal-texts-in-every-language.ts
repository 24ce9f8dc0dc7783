// Names the tax of a quote in every language, and freezes the legal texts of the company in every
// language that it has them in. An exemption that holds for some lines only names those lines.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await nameTaxes(db)
  await createLegalTexts(db)
  await replaceQuoteDocument(db)
  for (const [object, comment] of Object.entries(comments))
    await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
}

/** Changed since migration 0025: Portuguese, French, Italian and German. */
async function nameTaxes(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function default_tax_label(language text, country text) returns text
    language sql immutable parallel safe
    return case
      when country = 'PE' then 'IGV'
      when country = 'DO' then 'ITBIS'
      when country = 'PA' then 'ITBMS'
      when country = 'HN' then 'ISV'
      when country in ('AU', 'CA', 'IN', 'NZ', 'SG') then 'GST'
      when country = 'US' then case language
        when 'es' then 'Impuesto' when 'pt' then 'Imposto' when 'fr' then 'Taxe'
        when 'it' then 'Imposta' when 'de' then 'Steuer' else 'Sales tax' end
      when language in ('es', 'pt', 'it') then 'IVA'
      when language = 'fr' then 'TVA'
      when language = 'de' then 'USt.'
      else 'VAT' end
  `.execute(db)
}

async function createLegalTexts(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function quote_legal(
      mentions jsonb, language text, exemption text, exempt_lines jsonb
    ) returns jsonb
    language sql immutable parallel safe
    begin atomic
      with chosen as (
        select mention ->> 'text' as text, place, mention ->> 'appliesTo' <> 'all' as is_exemption
        from jsonb_array_elements(mentions) with ordinality as all_mentions (mention, place)
        where mention ->> 'language' = quote_legal.language
          and mention ->> 'appliesTo' in ('all', exemption)
      )
      select jsonb_build_object('legal', coalesce(
          jsonb_agg(text order by place) filter (where not is_exemption or exempt_lines is null),
          '[]'))
        || case when exempt_lines is not null and bool_or(is_exemption)
          then jsonb_build_object('legalForLines',
            jsonb_agg(jsonb_build_object('text', text, 'lines', exempt_lines) order by place)
              filter (where is_exemption))
          else '{}' end
      from chosen;
    end
  `.execute(db)
}

/**
 * Changed since migration 0025: totals.taxLabel in every language, legalForLines and
 * legalTranslations.
 */
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
        -- The law that exempts the lines at 0 %: that of a supply to another member state, or that
        -- of an export out of the customs territory of the seller. exempt_lines are those at 0 %
        -- if others are taxed, and null if the law applies to the whole quote.
        select case
          when not exists (select from lines where tax_rate = 0) or q.country is null
            or q.country = q.seller ->> 'country' then null
          when q.country = any (eu.members) and q.seller ->> 'country' = any (eu.members)
            then 'intraCommunity'
          else 'export' end as exemption,
          (select jsonb_agg(position order by position) filter (where tax_rate = 0)
            from lines having bool_or(tax_rate > 0)) as exempt_lines
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
          'taxLabel', (
            select jsonb_object_agg(language,
              coalesce(q.tax_label, default_tax_label(language, q.seller ->> 'country')))
            from unnest(quote_languages()) as language
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
        'notes', q.notes
      ) || quote_legal(q.seller -> 'legal', q.document_language, s.exemption, s.exempt_lines)
        || coalesce((
          select jsonb_build_object('legalTranslations', jsonb_object_agg(language, translated))
          from unnest(quote_languages()) as language,
            quote_legal(q.seller -> 'legal', language, s.exemption, s.exempt_lines) as translated
          where language <> q.document_language and translated <> '{"legal": []}'
          having count(*) > 0
        ), '{}')
      from quote q, situation s;
    end
  `.execute(db)
}

const comments: Record<string, string> = {
  'function quote_legal(jsonb, text, text, jsonb)':
    'The legal texts of the company in a language for a quote: `legal` for the whole quote, and ' +
    '`legalForLines` for an exemption that holds only for `exempt_lines`.',
}
