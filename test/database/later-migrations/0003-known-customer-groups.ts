// Both ways to write a migration are tested: this one is a module, 0002 a file of SQL.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table customer_groups (name text primary key)`.execute(db)
  await sql`
    alter table quotes add constraint quotes_customer_group_fkey
      foreign key (customer_group) references customer_groups
  `.execute(db)
}
