// Guards what a link shows: only functions of the owner write, read and revoke links, the hash must
// be that of the document, and nothing but the revocation of a link can change. Also limits the
// size of a document, and empties the documents of links that were closed long ago.
import { type Kysely, sql } from 'kysely'

/** The messages of errors. RAISE only takes a literal in one piece. */
const disagreement = sql.lit(
  'the stored totals of quote % version % disagree with its lines: ' +
    'net % stored, % computed (off by %), tax % stored, % computed (off by %)',
)
const tooManyLines = sql.lit(
  'quote % version % has % lines, and a shared quote may have at most %: ' +
    'divide it into several quotes, or raise SHARE_MAX_LINES and run scripts/migrate.ts',
)
const tooLarge = sql.lit(
  'the document of quote % version % has % bytes, and at most % are allowed: ' +
    'shorten its descriptions, or divide it into several quotes',
)
const altered = sql.lit(
  'the documents of the links % do not match their hashes: somebody changed them after they were ' +
    'shared. Keep a copy of these rows of quote_shares as evidence, delete them, and migrate again',
)

/** The signatures of the functions that programs call. */
const functions = {
  create: 'create_quote_share(text, integer, bytea, timestamptz, text)',
  revoke: 'revoke_quote_share(bigint)',
  list: 'list_quote_shares(text)',
  read: 'read_quote_share(bytea)',
  readDocument: 'read_quote_share_document(bytea, timestamptz)',
  purge: 'purge_quote_shares(integer)',
}

export async function up(db: Kysely<unknown>): Promise<void> {
  await rejectAlteredDocuments(db)
  await createSettings(db)
  await guardTable(db)
  await createFunctions(db)
  await createShareFunction(db)
  await replaceTableRights(db)
  for (const [object, comment] of Object.entries(comments))
    await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
}

async function rejectAlteredDocuments(db: Kysely<unknown>): Promise<void> {
  await sql`
    do $$
    declare
      ids text;
    begin
      lock table quotes, quote_shares in share row exclusive mode;
      select string_agg(id::text, ', ' order by id) into ids from quote_shares
        where content_hash <> encode(sha256(convert_to(document, 'UTF8')), 'hex');
      if ids is not null then
        raise exception ${altered}, ids;
      end if;
    end $$
  `.execute(db)
}

/** The settings are in the database, because every writer creates links with the same function. */
async function createSettings(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table quote_share_settings (
      the_only_row boolean primary key default true check (the_only_row),
      max_lines integer not null default 2000 check (max_lines between 1 and 100000),
      retention_days integer not null default 400 check (retention_days between 1 and 36500)
    )
  `.execute(db)
  await sql`insert into quote_share_settings default values`.execute(db)
}

async function guardTable(db: Kysely<unknown>): Promise<void> {
  // The row of a deleted quote stays without its document, so that nobody can use its token for
  // another document.
  await sql`
    alter table quote_shares
      alter column quote_id drop not null,
      drop constraint quote_shares_quote_id_fkey,
      add constraint quote_shares_quote_id_fkey
        foreign key (quote_id) references quotes on delete set null,
      alter column document drop not null,
      add constraint quote_shares_hash_is_of_document
        check (content_hash = encode(sha256(convert_to(document, 'UTF8')), 'hex'))
  `.execute(db)
  await sql`
    create index quote_shares_closed_at on quote_shares (least(expires_at, revoked_at))
      where document is not null
  `.execute(db)
  await sql`
    create index quote_share_views_viewed_at on quote_share_views using brin (viewed_at)
  `.execute(db)
  await sql`
    create function guard_quote_share() returns trigger language plpgsql as $$
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
    end $$
  `.execute(db)
  await sql`
    create trigger guard before update on quote_shares for each row
      execute function guard_quote_share()
  `.execute(db)
}

async function createFunctions(db: Kysely<unknown>): Promise<void> {
  // Quotes come first: TRUNCATE locks quotes before quote_shares, and the opposite order would
  // deadlock with it.
  await sql`
    create function read_quote_share(token_hash bytea)
      returns table (share_id bigint, status text, valid_until date, content_hash text,
        expires_at timestamptz, revoked_at timestamptz)
      language plpgsql stable security definer set search_path to public, pg_temp
    as $$
    begin
      return query
        select s.id, q.status, q.valid_until, s.content_hash, s.expires_at, s.revoked_at
        from quotes q join quote_shares s on s.quote_id = q.id
        where s.token_hash = read_quote_share.token_hash and q.status <> 'draft';
    end $$
  `.execute(db)
  await sql`
    create function read_quote_share_document(token_hash bytea, at timestamptz) returns text
      language plpgsql stable security definer set search_path to public, pg_temp
    as $$
    begin
      return (
        select s.document
        from quotes q join quote_shares s on s.quote_id = q.id
        where s.token_hash = read_quote_share_document.token_hash and q.status <> 'draft'
          and s.revoked_at is null and (s.expires_at is null or s.expires_at > at)
      );
    end $$
  `.execute(db)
  await sql`
    create function list_quote_shares(quote_number text)
      returns table (id bigint, version integer, created_at timestamptz, expires_at timestamptz,
        revoked_at timestamptz, views integer, last_viewed_at timestamptz)
      language plpgsql stable security definer set search_path to public, pg_temp
    as $$
    begin
      return query
        select s.id, q.version, s.created_at, s.expires_at, s.revoked_at, v.views, v.last_viewed_at
        from quotes q join quote_shares s on s.quote_id = q.id
        cross join lateral (
          select count(*)::integer as views, max(viewed_at) as last_viewed_at
          from quote_share_views where share_id = s.id
        ) v
        where q.number = quote_number order by s.id desc;
    end $$
  `.execute(db)
  await sql`
    create function revoke_quote_share(share_id bigint) returns boolean
      language plpgsql security definer set search_path to public, pg_temp
    as $$
    begin
      update quote_shares set revoked_at = now() where id = share_id and revoked_at is null;
      return found;
    end $$
  `.execute(db)
  await sql`
    create function purge_quote_shares(batch integer) returns integer
      language plpgsql security definer set search_path to public, pg_temp
    as $$
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
    end $$
  `.execute(db)
}

/** Changed since migration 0003: it runs as the owner, and limits the number of lines and bytes. */
async function createShareFunction(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function create_quote_share(
      quote_number text, quote_version integer, token_hash bytea,
      expires_at timestamptz default null, language text default null
    ) returns bigint
    language plpgsql security definer set search_path to public, pg_temp
    as $$
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
      elsif language not in ('es', 'en') then
        raise exception 'language must be es or en, not %', language using errcode = 'TQ409';
      end if;
      line_count := (select count(*) from quote_lines l where l.quote_id = quote.id);
      if line_count > max_lines then
        raise exception ${tooManyLines}, quote.number, quote.version, line_count, max_lines
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
        raise exception ${disagreement},
          quote.number, quote.version, quote.net, computed.net, quote.net - computed.net,
          quote.tax, computed.tax, quote.tax - computed.tax
          using errcode = 'TQ409';
      elsif computed.wrong_line is not null then
        raise exception 'the stored net of a line of quote % version % is wrong: %',
          quote.number, quote.version, computed.wrong_line
          using errcode = 'TQ409';
      elsif octet_length(computed.document) > max_bytes then
        raise exception ${tooLarge},
          quote.number, quote.version, octet_length(computed.document), max_bytes
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
}

/** A role that could insert links may create and revoke them with the functions. */
async function replaceTableRights(db: Kysely<unknown>): Promise<void> {
  for (const signature of Object.values(functions))
    await sql`revoke execute on function ${sql.raw(signature)} from public`.execute(db)
  await sql`
    do $$
    declare
      holder record;
    begin
      for holder in
        select r.rolname as name, bool_or(a.privilege_type = 'INSERT') as may_insert
        from (
          select relowner as owner, (aclexplode(relacl)).*
          from pg_class where oid = 'quote_shares'::regclass
          union all
          select relowner, (aclexplode(attacl)).*
          from pg_attribute join pg_class c on c.oid = attrelid
          where attrelid = 'quote_shares'::regclass
        ) a join pg_roles r on r.oid = a.grantee
        where a.grantee <> a.owner group by r.rolname
      loop
        execute format('revoke all on quote_shares from %I', holder.name);
        if holder.may_insert then
          execute format('grant execute on function %s, %s to %I',
            ${sql.lit(functions.create)}, ${sql.lit(functions.revoke)}, holder.name);
        end if;
      end loop;
      revoke all on quote_shares from public;
    end $$
  `.execute(db)
}

const comments: Record<string, string> = {
  'table quote_shares':
    'Links to quotes, guarded: no program has rights on the table. The token is not stored.',
  'column quote_shares.quote_id': 'The version of the quote. Null: the quote was deleted.',
  'column quote_shares.document':
    'What the link shows, as canonical JSON (RFC 8785). Null: emptied, because the quote was ' +
    'deleted or the link was closed long ago.',
  'table quote_share_settings':
    'Settings of quote links, in one row. scripts/migrate.ts writes it.',
  'column quote_share_settings.the_only_row': 'Always true.',
  'column quote_share_settings.max_lines': 'The most lines that a shared quote may have.',
  'column quote_share_settings.retention_days':
    'Days after which the document of an expired or revoked link is emptied.',
  'function guard_quote_share()':
    'Rejects every change of a link except its revocation, and emptying the document of a closed ' +
    'link or a deleted quote.',
  [`function ${functions.create}`]:
    'Freezes the document of a quote under the hash of a token that the caller generated. ' +
    'Without a version it takes the newest. Errors: TQ404 unknown quote, TQ409 quote that cannot ' +
    'be shared.',
  [`function ${functions.revoke}`]:
    'Revokes a link. Returns false if there is none with this id, or it is already revoked.',
  [`function ${functions.list}`]:
    'The links of all versions of a quote, newest first, with their counted views.',
  [`function ${functions.read}`]:
    'The link with the hash of a token, without its document. None for drafts.',
  [`function ${functions.readDocument}`]:
    'The document of the link with the hash of a token. Null if the link is not open.',
  [`function ${functions.purge}`]:
    'Empties the documents of at most so many links that were closed before the retention time, ' +
    'and deletes old views. Returns the number of emptied documents.',
}
