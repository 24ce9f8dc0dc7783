// Replaces the local day of the company in a database.
import { sql } from 'kysely'
import type { Database } from '../../../src/database/postgres-pool.ts'

/** From now on, statistics are those of this day. The table test_today holds it. */
export async function setLocalToday(db: Database, day: string): Promise<void> {
  await sql`create table if not exists test_today (day date not null)`.execute(db)
  await sql`grant select on test_today to public`.execute(db)
  await sql`delete from test_today`.execute(db)
  await sql`insert into test_today values (${day})`.execute(db)
  await sql`
    create or replace function local_today() returns date language sql stable
    return (select day from test_today)
  `.execute(db)
  await sql`select rebuild_summary()`.execute(db)
}

/** Whether the local day of the database has been replaced. */
export async function hasLocalToday(db: Database): Promise<boolean> {
  const { rows } = await sql`
    select from pg_class where oid = to_regclass('test_today')
  `.execute(db)
  return rows.length > 0
}
