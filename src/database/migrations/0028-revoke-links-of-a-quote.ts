// Revokes all links of a quote at once, for writers that know its number but no ids of links.
import { type Kysely, sql } from 'kysely'

const signature = 'revoke_quote_shares(text, integer)'

export async function up(db: Kysely<unknown>): Promise<void> {
  // Quotes come first, as in the other functions: the opposite order would deadlock with TRUNCATE.
  await sql`
    create function revoke_quote_shares(quote_number text, quote_version integer default null)
      returns integer
      language plpgsql security definer set search_path to public, pg_temp
    as $$
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
    end $$
  `.execute(db)
  await sql`
    comment on function ${sql.raw(signature)} is
      'Revokes all links of a quote, or of one version of it, and returns how many.'
  `.execute(db)
  await sql`revoke execute on function ${sql.raw(signature)} from public`.execute(db)
  // A role that may revoke one link may revoke those of a quote.
  await sql`
    do $$
    declare
      holder record;
    begin
      for holder in
        select r.rolname as name from (
          select (aclexplode(proacl)).* from pg_proc
          where oid = 'revoke_quote_share(bigint)'::regprocedure
        ) a join pg_roles r on r.oid = a.grantee
      loop
        execute format('grant execute on function %s to %I', ${sql.lit(signature)}, holder.name);
      end loop;
    end $$
  `.execute(db)
}
