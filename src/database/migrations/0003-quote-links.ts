// Quote links, and the document that a customer sees. SQL defines the document, so that every
// writer freezes the same one in its own transaction.
import { type Kysely, sql } from 'kysely'

/** The message of an error. RAISE only takes a literal in one piece. */
const disagreement = sql.lit(
  'the stored totals of quote % version % disagree with its lines: ' +
    'net % stored, % computed (off by %), tax % stored, % computed (off by %)',
)

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table quote_shares (
      id bigint generated always as identity primary key,
      quote_id bigint not null references quotes on delete cascade,
      token_hash bytea not null unique check (octet_length(token_hash) = 32),
      document text not null,
      content_hash text not null check (content_hash ~ '^[0-9a-f]{64}$'),
      created_at timestamptz not null default now(),
      expires_at timestamptz check (expires_at < '10000-01-01 00:00Z'),
      revoked_at timestamptz
    )
  `.execute(db)
  await sql`create index quote_shares_quote on quote_shares (quote_id)`.execute(db)

  await sql`
    create function money_json(amount numeric, currency text, digits integer) returns jsonb
    language sql immutable strict parallel safe
    return jsonb_build_object('amount', round(amount, digits)::text, 'currency', currency)
  `.execute(db)
  await sql`
    create function unit_price_json(amount numeric, currency text, digits integer) returns jsonb
    language sql immutable parallel safe
    return jsonb_build_object(
      'amount', round(amount, greatest(digits, scale(trim_scale(amount))))::text,
      'currency', currency
    )
  `.execute(db)

  await sql`
    create function canonical_json(value jsonb) returns text
    language plpgsql immutable strict parallel safe as $$
    begin
      if jsonb_typeof(value) = 'object' then
        return '{' || coalesce((
          select string_agg(
            to_json(key)::text || ':' || canonical_json(item), ',' order by key collate "C"
          )
          from jsonb_each(value) as entries (key, item)
        ), '') || '}';
      elsif jsonb_typeof(value) = 'array' then
        return '[' || coalesce((
          select string_agg(canonical_json(item), ',' order by place)
          from jsonb_array_elements(value) with ordinality as items (item, place)
        ), '') || ']';
      end if;
      return value::text;
    end $$
  `.execute(db)

  await sql`
    create function quote_document(wanted_quote_id bigint, wanted_language text) returns jsonb
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
          round(sum(net) * tax_rate * 0.01, digits) as amount,
          round(sum(net) * surcharge_rate * 0.01, digits) as surcharge_amount
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

  await sql`
    create function create_quote_share(
      quote_number text, quote_version integer, token_hash bytea,
      expires_at timestamptz default null, language text default null
    ) returns bigint language plpgsql as $$
    declare
      quote quotes;
      computed record;
      share_id bigint;
    begin
      select * into quote from quotes q
        where q.number = quote_number and q.version = coalesce(quote_version, q.version)
        order by q.version desc limit 1 for share;
      if not found then
        raise exception 'there is no quote % %',
          quote_number, coalesce('version ' || quote_version, '(any version)')
          using errcode = 'TQ404';
      elsif quote.status = 'draft' then
        raise exception 'quote % version % is a draft: send it first', quote.number, quote.version
          using errcode = 'TQ409';
      elsif not exists (select from company) then
        raise exception 'the company is not recorded yet: run scripts/migrate.ts'
          using errcode = 'TQ409';
      elsif expires_at <= now() then
        raise exception 'the link would expire at once (%): give an instant in the future',
          expires_at using errcode = 'TQ409';
      elsif language not in ('es', 'en') then
        raise exception 'language must be es or en, not %', language using errcode = 'TQ409';
      end if;
      -- One statement, so that the checked and the frozen rows are of the same snapshot.
      select totals.net, totals.tax,
          canonical_json(quote_document(quote.id, language)) as document, (
          select format('line %s: net %s stored, %s computed', l.position, l.net, c.net)
          from quote_lines l
          cross join lateral line_net(
            l.quantity, l.unit_price, l.discount_percent, currency_digits(quote.currency)
          ) as c (net)
          where l.quote_id = quote.id and l.net <> c.net order by l.position limit 1) as wrong_line
        into computed from quote_totals(quote.id) as totals;
      if (computed.net, computed.tax) is distinct from (quote.net, quote.tax) then
        raise exception ${disagreement},
          quote.number, quote.version, quote.net, computed.net, quote.net - computed.net,
          quote.tax, computed.tax, quote.tax - computed.tax
          using errcode = 'TQ409';
      elsif computed.wrong_line is not null then
        raise exception 'the stored net of a line of quote % version % is wrong: %',
          quote.number, quote.version, computed.wrong_line
          using errcode = 'TQ409';
      end if;
      insert into quote_shares (quote_id, token_hash, document, content_hash, expires_at)
        values (quote.id, create_quote_share.token_hash, computed.document,
          encode(sha256(convert_to(computed.document, 'UTF8')), 'hex'),
          create_quote_share.expires_at)
        returning id into share_id;
      return share_id;
    end $$
  `.execute(db)

  for (const [object, comment] of comments)
    await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
}

const comments: [object: string, comment: string][] = [
  ['table quote_shares', 'Links to quotes. The token itself is never stored.'],
  ['column quote_shares.id', 'What scripts/share.ts list shows and revoke takes.'],
  ['column quote_shares.quote_id', 'The quote, one version of it.'],
  [
    'column quote_shares.token_hash',
    'SHA-256 of the text of the token (43 characters of base64url).',
  ],
  [
    'column quote_shares.document',
    'What the link shows, frozen when it was made: RFC 8785 canonical JSON.',
  ],
  ['column quote_shares.content_hash', 'SHA-256 of document, hexadecimal.'],
  ['column quote_shares.created_at', 'When the document was frozen.'],
  ['column quote_shares.expires_at', 'From this instant on the link is gone; null: never.'],
  ['column quote_shares.revoked_at', 'When the link was withdrawn; null: it was not.'],
  [
    'function create_quote_share',
    'Freezes the document of a quote (the newest version when none is given) under the hash ' +
      'of a token that the caller drew. Errors: TQ404 no such quote, TQ409 not shareable.',
  ],
]
