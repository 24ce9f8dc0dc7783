-- Links to quotes, and the documents that they show.

-- The last valid day in a frozen document; null without one.
create function frozen_valid_until(document text) returns date
language sql immutable parallel safe
-- A cast from text to date depends on settings of the session, so a column cannot contain it.
return (
  select make_date(left(day, 4)::integer, substr(day, 6, 2)::integer, right(day, 2)::integer)
  from (select document::jsonb ->> 'validUntil' as day) frozen
);

-- Links to quotes, guarded: no program has rights on the table. The token is not stored.
create table quote_shares (
  -- Id that scripts/share.ts list shows and revoke expects.
  id bigint generated always as identity primary key,
  -- The version of the quote. Null: the quote was deleted.
  quote_id bigint references quotes on delete set null,
  -- SHA-256 of the text of the token (43 characters of base64url).
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  -- What the link shows, as canonical JSON (RFC 8785). Null: emptied, because the quote was deleted
  -- or the link was closed long ago.
  document text,
  -- SHA-256 of document, hexadecimal.
  content_hash text not null check (content_hash ~ '^[0-9a-f]{64}$'),
  -- Time of creation.
  created_at timestamptz not null default now(),
  -- Time from which the link is expired. Null: never.
  expires_at timestamptz check (expires_at < '10000-01-01 00:00:00+00'),
  -- Time of revocation. Null: not revoked.
  revoked_at timestamptz,
  -- The last valid day in the document. Null without one, and when the document is emptied.
  valid_until date generated always as (frozen_valid_until(document)) stored,
  constraint quote_shares_hash_is_of_document check
    (content_hash = encode(sha256(convert_to(document, 'UTF8')), 'hex'))
);
create index quote_shares_closed_at on quote_shares (least(expires_at, revoked_at))
  where document is not null;
create index quote_shares_quote on quote_shares (quote_id);

-- Settings of quote links, in one row. scripts/migrate.ts writes it.
create table quote_share_settings (
  the_only_row boolean primary key default true check (the_only_row),
  -- The most lines that a shared quote may have.
  max_lines integer not null default 2000 check (max_lines between 1 and 100000),
  -- Days after which the document of an expired or revoked link is emptied.
  retention_days integer not null default 400 check (retention_days between 1 and 36500)
);

insert into quote_share_settings default values;

-- One row for each time a link was opened, if COUNT_VIEWS is on. No data about the visitor.
create table quote_share_views (
  -- The link.
  share_id bigint not null references quote_shares on delete cascade,
  -- Time of the view.
  viewed_at timestamptz not null default now()
);
create index quote_share_views_share on quote_share_views (share_id, viewed_at);
create index quote_share_views_viewed_at on quote_share_views using brin (viewed_at);

-- Rejects every change of a link except its revocation, and emptying the document of a closed link
-- or a deleted quote.
create function guard_quote_share() returns trigger
language plpgsql as $$
begin
  if new.quote_id is null then
    new.document := null;
  end if;
  if (new.id, new.token_hash, new.content_hash, new.created_at, new.expires_at)
      is distinct from (old.id, old.token_hash, old.content_hash, old.created_at,
      old.expires_at)
    or (new.quote_id is not null and new.quote_id is distinct from old.quote_id)
    or (new.document is not null and new.document is distinct from old.document)
    or (new.document is null and old.document is not null and new.quote_id is not null
      and coalesce(least(old.expires_at, old.revoked_at) > now(), true))
    or (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)
  then
    raise exception 'link % was shared: nothing but its revocation can change', old.id
      using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
create trigger guard before update on quote_shares
  for each row execute function guard_quote_share();

-- Lets a transaction that closes links or keys wait for the disk and the synchronous standbys.
create function require_durable_revocation() returns trigger
language plpgsql as $$
begin
  if current_setting('synchronous_commit') in ('off', 'local', 'remote_write') then
    perform set_config('synchronous_commit', 'on', true);
  end if;
  return null;
end $$;

create trigger durable_revocation before delete or update of revoked_at, expires_at on quote_shares
  for each statement execute function require_durable_revocation();

-- Returns the name of the tax in a language for a seller of a country, if the quote names none.
create function default_tax_label(language text, country text) returns text
language sql stable parallel safe
return case
  when country = 'PE' then 'IGV'
  when country = 'DO' then 'ITBIS'
  when country = 'PA' then 'ITBMS'
  when country = 'HN' then 'ISV'
  when country in ('AU', 'CA', 'IN', 'NZ', 'SG') then 'GST'
  else coalesce((
    select case when country = 'US' then l.sales_tax_label else l.vat_label end
    from languages l where l.code = language
  ), 'VAT') end;

-- Returns the text of a reason of quote_lines.tax_reason in a language, for a seller of a country.
create function tax_reason_text(reason text, language text, seller_country text) returns text
language sql stable parallel safe
return coalesce((
  select coalesce(
    texts ->> seller_country,
    case when is_in_european_union(seller_country) then texts ->> 'EU' end,
    texts ->> 'any')
  from (select l.tax_reasons -> reason as texts from languages l
    where l.code = tax_reason_text.language) reasons
), reason);

-- The legal texts of a quote in a language: `legal` for the whole quote, and `legalForLines` for
-- some lines. `reasons` says why lines have no tax: [{"reason": …, "lines": [1, 2]}], without
-- `lines` for all. The company may have its own text for an export or intra-Community goods.
-- `legalInOtherLanguages` has the texts of the company that are missing in this language.
create function quote_legal(
  mentions jsonb, language text, company_language text, seller_country text, reasons jsonb
) returns jsonb
language sql stable parallel safe
begin atomic
  with stated as (
    select reason ->> 'reason' as reason, reason -> 'lines' as lines, place,
      case reason ->> 'reason' when 'export' then 'export'
        when 'intra_community_goods' then 'intraCommunity' end as kind
    from jsonb_array_elements(reasons) with ordinality as all_reasons (reason, place)
  ), applicable as (
    select mention ->> 'text' as text, mention ->> 'language' as language,
      mention ->> 'appliesTo' as kind, m.place, stated.lines
    from jsonb_array_elements(mentions) with ordinality as m (mention, place)
    left join stated on stated.kind = mention ->> 'appliesTo'
    where mention ->> 'appliesTo' = 'all' or stated.kind is not null
    union all
    select tax_reason_text(reason, quote_legal.language, seller_country), quote_legal.language,
      'official', jsonb_array_length(mentions) + place, lines
    from stated
    where not exists (
      select from jsonb_array_elements(mentions) as mention
      where mention ->> 'appliesTo' = stated.kind)
  ), chosen as (
    -- Each kind has one language: that of the quote if the company has texts of the kind in it,
    -- otherwise that of the company, otherwise that of its first text.
    select a.text, a.language, a.place, a.lines, a.language <> quote_legal.language as is_foreign
    from applicable a
    where a.language = (
      select b.language from applicable b where b.kind = a.kind
      order by b.language <> quote_legal.language, b.language <> company_language, b.place
      limit 1)
  )
  select jsonb_build_object('legal', coalesce(
      jsonb_agg(text order by place) filter (where not is_foreign and lines is null), '[]'))
    || case when bool_or(lines is not null and not is_foreign)
      then jsonb_build_object('legalForLines',
        jsonb_agg(jsonb_build_object('text', text, 'lines', lines) order by place)
          filter (where lines is not null and not is_foreign))
      else '{}' end
    || case when bool_or(is_foreign)
      then jsonb_build_object('legalInOtherLanguages',
        jsonb_agg(
          jsonb_build_object('language', language, 'text', text)
            || case when lines is not null then jsonb_build_object('lines', lines) else '{}' end
          order by place
        ) filter (where is_foreign))
      else '{}' end
  from chosen;
end;

create function money_json(amount numeric, currency text, digits integer) returns jsonb
language sql immutable parallel safe strict
return jsonb_build_object('amount', round(amount, digits)::text, 'currency', currency);

create function unit_price_json(amount numeric, currency text, digits integer) returns jsonb
language sql immutable parallel safe
return jsonb_build_object(
  'amount', round(amount, greatest(digits, scale(trim_scale(amount))))::text, 'currency', currency
);

-- JSON with the keys in order and without blanks (RFC 8785), so that its hash can be compared.
create function canonical_json(value jsonb) returns text
language plpgsql immutable parallel safe strict as $$
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
end $$;

-- The document of a quote, as a link freezes it. src/quotes/schema.ts describes its fields.
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
    select l.*, q.currency, q.digits,
      count(*) filter (where l.kind = 'heading') over (order by l.position) as section,
      case when coalesce(l.tax_rate, 0) = 0 then coalesce(l.tax_reason,
        case when l.tax_rate = 0 then coalesce(q.default_tax_reason,
          automatic_tax_reason(q.seller ->> 'country', q.country, l.unit)) end) end as reason,
      round(l.quantity * l.unit_price, q.digits) as undiscounted
    from quote_lines l join quote q on q.id = l.quote_id
  ), taxes as (
    select b.*, q.currency, q.digits,
      tax_amount(b.base, b.tax_rate, q.digits) as amount,
      case when b.surcharge_rate is not null then tax_amount(b.base, b.surcharge_rate, q.digits)
        end as surcharge_amount
    from quote q cross join lateral quote_tax_bases(q.id) b
  ), sums as (
    select coalesce(sum(undiscounted), 0) as undiscounted,
      coalesce(sum(undiscounted - base), 0) as discount
    from taxes
  ), reasons as (
    -- The reasons in the order of their first lines. A reason of all lines names none. Optional
    -- lines give none: the quote does not contain them.
    select coalesce(jsonb_agg(jsonb_build_object('reason', reason)
      || case when is_for_all then '{}' else jsonb_build_object('lines', positions) end
      order by positions -> 0), '[]') as list
    from (
      select reason, jsonb_agg(position order by position) as positions,
        not exists (
          select from lines other
          where other.kind = 'line' and (other.tax_rate > 0 or other.reason <> grouped.reason
            or (other.tax_rate = 0 and other.reason is null))
        ) as is_for_all
      from lines grouped where kind = 'line' and reason is not null group by reason
    ) by_reason
  )
  select jsonb_build_object(
    'number', q.number, 'version', q.version,
    'issuedOn', q.issued_on, 'validUntil', q.valid_until,
    'language', q.document_language, 'currency', q.currency,
    'seller', jsonb_build_object(
      'legalName', q.seller -> 'legalName', 'taxId', q.seller -> 'taxId',
      'address', q.seller -> 'address', 'email', q.seller -> 'email',
      'phone', q.seller -> 'phone', 'website', q.seller -> 'website',
      'bank', q.seller -> 'bank', 'country', q.seller -> 'country'
    ),
    'buyer', jsonb_build_object(
      'name', q.customer_name, 'taxId', q.customer_tax_id, 'address', q.customer_address,
      'contactName', q.customer_contact, 'country', q.country
    ),
    'lines', (
      select coalesce(jsonb_agg(jsonb_build_object(
        'position', position, 'kind', kind, 'sku', sku, 'description', description,
        'quantity', trim_scale(coalesce(quantity, 0))::text, 'unit', unit,
        'unitPrice', unit_price_json(coalesce(unit_price, 0), currency, digits),
        'discountPercent', trim_scale(discount_percent)::text,
        'taxRate', trim_scale(tax_rate)::text,
        'surchargeRate', trim_scale(surcharge_rate)::text,
        'taxReason', case when reason is not null then jsonb_build_object(
          'code', case when reason = any (tax_reason_codes()) then reason end,
          'text', tax_reason_text(reason, q.document_language, q.seller ->> 'country')
        ) end,
        'hsCode', hs_code,
        'originCountry', origin_country, 'net', money_json(net, currency, digits),
        'subtotal', case when kind = 'heading' then money_json(subtotal, currency, digits) end
      ) order by position), '[]')
      from (
        select *, coalesce(sum(net) filter (where kind = 'line') over (partition by section), 0)
          as subtotal
        from lines
      ) lines
    ),
    'totals', jsonb_build_object(
      'net', money_json(q.net, q.currency, q.digits),
      'discounts', money_json(
        (select coalesce(sum(undiscounted - net), 0) from lines where kind = 'line'),
        q.currency, q.digits
      ),
      'discount', case when s.discount <> 0 then jsonb_build_object(
        'percent', trim_scale(q.global_discount_percent)::text,
        'base', money_json(s.undiscounted, q.currency, q.digits),
        'amount', money_json(s.discount, q.currency, q.digits)
      ) end,
      'taxes', (
        select coalesce(jsonb_agg(jsonb_build_object(
          'rate', trim_scale(tax_rate)::text,
          'surchargeRate', trim_scale(surcharge_rate)::text,
          'base', money_json(base, currency, digits),
          'amount', money_json(amount, currency, digits),
          'surchargeAmount', money_json(surcharge_amount, currency, digits)
        ) order by tax_rate desc, surcharge_rate desc nulls last), '[]')
        from taxes where tax_rate is not null
      ),
      'taxLabel', (
        select jsonb_object_agg(language,
          coalesce(q.tax_label, default_tax_label(language, q.seller ->> 'country')))
        from unnest(quote_languages()) as language
      ),
      'untaxedBase', (
        select money_json(base, currency, digits) from taxes where tax_rate is null
      ),
      'gross', money_json(q.gross, q.currency, q.digits),
      'withheld', case when q.withholding_percent > 0 then jsonb_build_object(
        'rate', trim_scale(q.withholding_percent)::text,
        'amount', money_json(w.withheld, q.currency, q.digits),
        'amountDue', money_json(q.gross - w.withheld, q.currency, q.digits)
      ) end
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
      q.seller ->> 'country', r.list)
    || coalesce((
      select jsonb_build_object('legalTranslations', jsonb_object_agg(language, translated))
      from unnest(quote_languages()) as language,
        quote_legal(q.seller -> 'legal', language, q.seller ->> 'language',
          q.seller ->> 'country', r.list) as translated
      where language <> q.document_language
        and (translated -> 'legal' <> '[]' or translated ? 'legalForLines')
      having count(*) > 0
    ), '{}')
  from quote q, reasons r, sums s,
    lateral tax_amount(q.net, q.withholding_percent, q.digits) w (withheld);
end;

-- Freezes the document of a quote under the hash of a token that the caller generated. Without a
-- version it takes the newest. Errors: TQ404 unknown quote, TQ409 quote that cannot be shared.
create function create_quote_share(quote_number text, quote_version integer, token_hash bytea,
  expires_at timestamptz default null, language text default null) returns bigint
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  max_bytes constant integer := 4000000;
  max_lines constant integer := (select s.max_lines from quote_share_settings s);
  line_count integer;
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
  elsif language <> all (quote_languages()) then
    raise exception 'language must be one of %, not %', array_to_string(quote_languages(), ', '),
      language
      using errcode = 'TQ409';
  end if;
  line_count := (select count(*) from quote_lines l where l.quote_id = quote.id);
  if line_count > max_lines then
    raise exception 'quote % version % has % lines, and a shared quote may have at most %: '
      'divide it into several quotes, or raise SHARE_MAX_LINES and run scripts/migrate.ts',
      quote.number, quote.version, line_count, max_lines
      using errcode = 'TQ409';
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
    raise exception 'the stored totals of quote % version % disagree with its lines: '
      'net % stored, % computed (off by %), tax % stored, % computed (off by %)',
      quote.number, quote.version, quote.net, computed.net, quote.net - computed.net,
      quote.tax, computed.tax, quote.tax - computed.tax
      using errcode = 'TQ409';
  elsif computed.wrong_line is not null then
    raise exception 'the stored net of a line of quote % version % is wrong: %',
      quote.number, quote.version, computed.wrong_line
      using errcode = 'TQ409';
  elsif octet_length(computed.document) > max_bytes then
    raise exception 'the document of quote % version % has % bytes, and at most % are '
      'allowed: shorten its descriptions, or divide it into several quotes',
      quote.number, quote.version, octet_length(computed.document), max_bytes
      using errcode = 'TQ409';
  end if;
  insert into quote_shares (quote_id, token_hash, document, content_hash, expires_at)
    values (quote.id, create_quote_share.token_hash, computed.document,
      encode(sha256(convert_to(computed.document, 'UTF8')), 'hex'),
      create_quote_share.expires_at)
    returning id into share_id;
  return share_id;
end $$;
revoke execute on function create_quote_share(text, integer, bytea, timestamptz, text) from public;

-- Revokes a link. Returns false if there is none with this id, or it is already revoked.
create function revoke_quote_share(share_id bigint) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update quote_shares set revoked_at = now() where id = share_id and revoked_at is null;
  return found;
end $$;
revoke execute on function revoke_quote_share(bigint) from public;

-- Revokes all links of a quote, or of one version of it, and returns how many.
create function revoke_quote_shares(quote_number text, quote_version integer default null) returns
  integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  revoked integer;
begin
  update quote_shares s set revoked_at = now()
    where s.revoked_at is null and s.quote_id in (
      select q.id from quotes q
      where q.number = quote_number and q.version = coalesce(quote_version, q.version)
    );
  get diagnostics revoked = row_count;
  return revoked;
end $$;
revoke execute on function revoke_quote_shares(text, integer) from public;

-- The links of all versions of a quote, newest first, with their counted views, and whether the
-- document was erased.
create function list_quote_shares(quote_number text) returns
  table(id bigint, version integer, created_at timestamptz, expires_at timestamptz,
  revoked_at timestamptz, views integer, last_viewed_at timestamptz, is_erased boolean)
language plpgsql stable security definer set search_path = public, pg_temp as $$
begin
  return query
    select s.id, q.version, s.created_at, s.expires_at, s.revoked_at, v.views,
      v.last_viewed_at, s.document is null
    from quotes q join quote_shares s on s.quote_id = q.id
    cross join lateral (
      select count(*)::integer as views, max(viewed_at) as last_viewed_at
      from quote_share_views where share_id = s.id
    ) v
    where q.number = quote_number order by s.id desc;
end $$;
revoke execute on function list_quote_shares(text) from public;

-- The link with the hash of a token, without its document. None for drafts. row_version is another
-- one after every change of the link.
create function read_quote_share(token_hash bytea) returns
  table(share_id bigint, status text, valid_until date, content_hash text, expires_at timestamptz,
  revoked_at timestamptz, document_bytes integer, row_version text)
language plpgsql stable security definer set search_path = public, pg_temp as $$
begin
  return query
    select s.id, q.status, s.valid_until, s.content_hash, s.expires_at, s.revoked_at,
      octet_length(s.document), s.xmin::text
    from quotes q join quote_shares s on s.quote_id = q.id
    where s.token_hash = read_quote_share.token_hash and q.status <> 'draft';
end $$;
revoke execute on function read_quote_share(bytea) from public;

-- The document of the link with the hash of a token. Null if the link is not open now.
create function read_quote_share_document(token_hash bytea) returns text
language plpgsql stable security definer set search_path = public, pg_temp as $$
begin
  return (
    select s.document
    from quotes q join quote_shares s on s.quote_id = q.id
    where s.token_hash = read_quote_share_document.token_hash and q.status <> 'draft'
      and s.revoked_at is null and (s.expires_at is null or s.expires_at > now())
  );
end $$;
revoke execute on function read_quote_share_document(bytea) from public;

-- Empties the documents of at most so many links that were closed before the retention time, and
-- deletes old views. Returns the number of emptied documents.
create function purge_quote_shares(batch integer) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  kept_since constant timestamptz :=
    now() - make_interval(days => (select retention_days from quote_share_settings));
  emptied integer;
begin
  update quote_shares set document = null where id in (
    select id from quote_shares
    where document is not null and least(expires_at, revoked_at) < kept_since
    order by id limit batch for update skip locked
  );
  get diagnostics emptied = row_count;
  delete from quote_share_views where viewed_at < kept_since;
  return emptied;
end $$;
revoke execute on function purge_quote_shares(integer) from public;
