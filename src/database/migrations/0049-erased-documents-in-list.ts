// Lets list_quote_shares say whether the document of a link was erased after its retention time.
import { type Kysely, sql } from 'kysely'

const signature = 'list_quote_shares(text)'
const comment =
  'The links of all versions of a quote, newest first, with their counted views, and whether the ' +
  'document was erased.'

export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows: callers } = await sql<{ name: string }>`
    select distinct r.rolname as name
    from pg_proc, lateral aclexplode(proacl) a join pg_roles r on r.oid = a.grantee
    where pg_proc.oid = ${sql.lit(signature)}::regprocedure and a.grantee <> proowner
  `.execute(db)
  await sql`drop function ${sql.raw(signature)}`.execute(db)
  // is_erased is last, so that writers who read the columns by position still can.
  await sql`
    create function list_quote_shares(quote_number text)
      returns table (id bigint, version integer, created_at timestamptz, expires_at timestamptz,
        revoked_at timestamptz, views integer, last_viewed_at timestamptz, is_erased boolean)
      language plpgsql stable security definer set search_path to public, pg_temp
    as $$
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
    end $$
  `.execute(db)
  await sql`
    comment on function ${sql.raw(signature)} is ${sql.lit(comment)}
  `.execute(db)
  await sql`revoke execute on function ${sql.raw(signature)} from public`.execute(db)
  for (const { name } of callers)
    await sql`grant execute on function ${sql.raw(signature)} to ${sql.id(name)}`.execute(db)
}
