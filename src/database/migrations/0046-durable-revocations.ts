// A revocation of a link or key waits for the synchronous standbys, also if the transaction would
// not. Without synchronous standbys nothing changes but that it waits for the disk.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function require_durable_revocation() returns trigger language plpgsql as $$
    begin
      if current_setting('synchronous_commit') in ('off', 'local', 'remote_write') then
        perform set_config('synchronous_commit', 'on', true);
      end if;
      return null;
    end $$
  `.execute(db)
  await sql`
    comment on function require_durable_revocation() is
      'Lets a transaction that closes links or keys wait for the disk and the synchronous standbys.'
  `.execute(db)
  for (const table of ['quote_shares', 'api_keys'])
    await sql`
      create trigger durable_revocation
        before delete or update of revoked_at, expires_at on ${sql.table(table)}
        for each statement execute function require_durable_revocation()
    `.execute(db)
}
