// What lets programs run under roles of their own: the few steps that need more than a program may do are functions of the owner.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // Who may write products need not be able to write what is pending for the engines, and who folds need not be able to write figures.
  await sql`alter function queue_product_changes() security definer set search_path = public, pg_temp`.execute(
    db,
  )
  await sql`alter function fold_quote_deltas(integer) security definer set search_path = public, pg_temp`.execute(
    db,
  )
  await sql`revoke execute on function fold_quote_deltas(integer) from public`.execute(db)
  await sql`revoke execute on function rebuild_quote_summary() from public`.execute(db)

  // Only the owner sees the transactions of other roles.
  await sql`
    create function has_older_transaction(than xid8) returns boolean language sql volatile security definer set search_path = pg_catalog, pg_temp
    begin atomic
      select exists (
        select from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
          and greatest(age(backend_xid), age(backend_xmin)) > age(than::xid)
      );
    end
  `.execute(db)
  await sql`revoke execute on function has_older_transaction(xid8) from public`.execute(db)
  await sql`comment on function has_older_transaction is 'Whether a transaction is still open that began before this one.'`.execute(
    db,
  )
}
