// Reads the document of a link as of the time of the database. The API gave the instant, so an
// attacker who controls it could read the documents of expired links. Also returns the version of
// the row of a link, so that the API verifies a document again after any change.
import { type Kysely, sql } from 'kysely'

const run = (db: Kysely<unknown>, text: string) => sql.raw(text).execute(db)

export async function up(db: Kysely<unknown>): Promise<void> {
  const callers = await readCallers(db)
  await run(db, 'drop function read_quote_share_document(bytea, timestamptz)')
  await run(db, 'drop function read_quote_share(bytea)')
  await createFunctions(db)
  for (const signature of ['read_quote_share(bytea)', 'read_quote_share_document(bytea)']) {
    await run(db, `revoke execute on function ${signature} from public`)
    for (const { name } of callers)
      await sql`grant execute on function ${sql.raw(signature)} to ${sql.id(name)}`.execute(db)
  }
  for (const [object, comment] of Object.entries(comments))
    await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
}

/** Returns the roles that may read links. A new function has no rights of the dropped one. */
async function readCallers(db: Kysely<unknown>): Promise<{ name: string }[]> {
  const { rows } = await sql<{ name: string }>`
    select distinct r.rolname as name
    from pg_proc, lateral aclexplode(proacl) a join pg_roles r on r.oid = a.grantee
    where pg_proc.oid = 'read_quote_share(bytea)'::regprocedure and a.grantee <> proowner
  `.execute(db)
  return rows
}

async function createFunctions(db: Kysely<unknown>): Promise<void> {
  await run(
    db,
    `create function read_quote_share_document(token_hash bytea) returns text
      language plpgsql stable security definer set search_path to public, pg_temp
    as $$
    begin
      return (
        select s.document
        from quotes q join quote_shares s on s.quote_id = q.id
        where s.token_hash = read_quote_share_document.token_hash and q.status <> 'draft'
          and s.revoked_at is null and (s.expires_at is null or s.expires_at > now())
      );
    end $$`,
  )
  // Quotes come first, as TRUNCATE locks them: the opposite order would deadlock with it.
  await run(
    db,
    `create function read_quote_share(token_hash bytea)
      returns table (share_id bigint, status text, valid_until date, content_hash text,
        expires_at timestamptz, revoked_at timestamptz, document_bytes integer, row_version text)
      language plpgsql stable security definer set search_path to public, pg_temp
    as $$
    begin
      return query
        select s.id, q.status, s.valid_until, s.content_hash, s.expires_at, s.revoked_at,
          octet_length(s.document), s.xmin::text
        from quotes q join quote_shares s on s.quote_id = q.id
        where s.token_hash = read_quote_share.token_hash and q.status <> 'draft';
    end $$`,
  )
}

const comments = {
  'function read_quote_share_document(bytea)':
    'The document of the link with the hash of a token. Null if the link is not open now.',
  'function read_quote_share(bytea)':
    'The link with the hash of a token, without its document. None for drafts. row_version is ' +
    'another one after every change of the link.',
  'column api_key_usage.refusals': 'Requests that were refused with 401, 403 or 429.',
}
