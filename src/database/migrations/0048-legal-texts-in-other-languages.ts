// Freezes a legal text in another language if the company does not have it in that of the quote. It
// was left out before, even if the law requires it.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await createLegalTexts(db)
  await replaceQuoteDocument(db)
  await sql`drop function quote_legal(jsonb, text, text, jsonb)`.execute(db)
  for (const [object, comment] of Object.entries(comments))
    await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
}

/** Changed since migration 0035: company_language and legalInOtherLanguages. */
async function createLegalTexts(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function quote_legal(
      mentions jsonb, language text, company_language text, exemption text, exempt_lines jsonb
    ) returns jsonb
    language sql immutable parallel safe
    begin atomic
      with applicable as (
        select mention ->> 'text' as text, mention ->> 'language' as language,
          mention ->> 'appliesTo' as kind, place
        from jsonb_array_elements(mentions) with ordinality as all_mentions (mention, place)
        where mention ->> 'appliesTo' in ('all', exemption)
      ), chosen as (
        -- Each kind has one language: that of the quote if the company has texts of the kind in it,
        -- otherwise that of the company, otherwise that of its first text.
        select a.text, a.language, a.place, a.kind <> 'all' as is_exemption,
          a.language <> quote_legal.language as is_foreign
        from applicable a
        where a.language = (
          select b.language from applicable b where b.kind = a.kind
          order by b.language <> quote_legal.language, b.language <> company_language, b.place
          limit 1)
      )
      select jsonb_build_object('legal', coalesce(
          jsonb_agg(text order by place)
            filter (where not is_foreign and (not is_exemption or exempt_lines is null)),
          '[]'))
        || case when exempt_lines is not null and bool_or(is_exemption and not is_foreign)
          then jsonb_build_object('legalForLines',
            jsonb_agg(jsonb_build_object('text', text, 'lines', exempt_lines) order by place)
              filter (where is_exemption and not is_foreign))
          else '{}' end
        || case when bool_or(is_foreign)
          then jsonb_build_object('legalInOtherLanguages',
            jsonb_agg(
              jsonb_build_object('language', language, 'text', text)
                || case when is_exemption and exempt_lines is not null
                  then jsonb_build_object('lines', exempt_lines) else '{}' end
              order by place
            ) filter (where is_foreign))
          else '{}' end
      from chosen;
    end
  `.execute(db)
}

/** Changed since migration 0035: the arguments of quote_legal, and which translations count. */
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
      ) || quote_legal(q.seller -> 'legal', q.document_language, q.seller ->> 'language',
          s.exemption, s.exempt_lines)
        || coalesce((
          select jsonb_build_object('legalTranslations', jsonb_object_agg(language, translated))
          from unnest(quote_languages()) as language,
            quote_legal(q.seller -> 'legal', language, q.seller ->> 'language',
              s.exemption, s.exempt_lines) as translated
          where language <> q.document_language
            and (translated -> 'legal' <> '[]' or translated ? 'legalForLines')
          having count(*) > 0
        ), '{}')
      from quote q, situation s;
    end
  `.execute(db)
}

const comments: Record<string, string> = {
  'function quote_legal(jsonb, text, text, text, jsonb)':
    'The legal texts of the company in a language for a quote: `legal` for the whole quote, and ' +
    '`legalForLines` for an exemption that holds only for `exempt_lines`. ' +
    '`legalInOtherLanguages` has those that are missing in this language.',
}
