// A quote misdated by millennia would make the figures' default period, first to last quote, thousands of years of empty months.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // Not valid: what is there already stays as it is, and is counted, until somebody mends its date. The validity may end whenever it likes.
  await sql`
    alter table quotes add constraint quotes_not_misdated check (issued_on <= '2099-12-31' and decided_on <= '2099-12-31') not valid
  `.execute(db)
}
