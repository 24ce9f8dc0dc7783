// Lets programs run under roles of their own: the few steps that need more rights than a program
// has become functions that run with the rights of the owner.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // A writer of products needs no right to write the outbox, and a role that folds deltas needs no
  // right to write the summary.
  await sql`alter function queue_product_changes()
    security definer set search_path = public, pg_temp`.execute(db)
  await sql`alter function fold_quote_deltas(integer)
    security definer set search_path = public, pg_temp`.execute(db)
  await sql`revoke execute on function fold_quote_deltas(integer) from public`.execute(db)
  await sql`revoke execute on function rebuild_quote_summary() from public`.execute(db)

  // A program does not see the transactions of other roles. The owner does if it has
  // pg_read_all_stats.
  await sql`
    create function has_older_transaction(than xid8) returns boolean
    language sql volatile security definer set search_path = pg_catalog, pg_temp
    begin atomic
      select exists (
        select from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend'
          and pid <> pg_backend_pid()
          and greatest(age(backend_xid), age(backend_xmin)) > age(than::xid)
      );
    end
  `.execute(db)
  await sql`revoke execute on function has_older_transaction(xid8) from public`.execute(db)

  for (const [object, comment] of comments)
    await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
}

const comments: [object: string, comment: string][] = [
  [
    'function has_older_transaction',
    'Whether a transaction is still open that began before this one.',
  ],
]
