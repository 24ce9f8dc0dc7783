// Lets read_quote_share return the size of the document, so that the API knows before it reads a
// large document, and reads it in another thread.
import { type Kysely, sql } from 'kysely'

const signature = 'read_quote_share(bytea)'

export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows: callers } = await sql<{ name: string }>`
    select distinct r.rolname as name
    from pg_proc, lateral aclexplode(proacl) a join pg_roles r on r.oid = a.grantee
    where pg_proc.oid = ${sql.lit(signature)}::regprocedure and a.grantee <> proowner
  `.execute(db)
  await sql`drop function ${sql.raw(signature)}`.execute(db)
  // Quotes come first: TRUNCATE locks quotes before quote_shares, and the opposite order would
  // deadlock with it. octet_length() of a stored text does not read the text.
  await sql`
    create function read_quote_share(token_hash bytea)
      returns table (share_id bigint, status text, valid_until date, content_hash text,
        expires_at timestamptz, revoked_at timestamptz, document_bytes integer)
      language plpgsql stable security definer set search_path to public, pg_temp
    as $$
    begin
      return query
        select s.id, q.status, q.valid_until, s.content_hash, s.expires_at, s.revoked_at,
          octet_length(s.document)
        from quotes q join quote_shares s on s.quote_id = q.id
        where s.token_hash = read_quote_share.token_hash and q.status <> 'draft';
    end $$
  `.execute(db)
  await sql`
    comment on function ${sql.raw(signature)} is
      'The link with the hash of a token, without its document. None for drafts.'
  `.execute(db)
  await sql`revoke execute on function ${sql.raw(signature)} from public`.execute(db)
  for (const { name } of callers)
    await sql`grant execute on function ${sql.raw(signature)} to ${sql.id(name)}`.execute(db)
}
