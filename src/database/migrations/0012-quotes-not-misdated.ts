// Limits the dates of quotes: a date wrong by millennia would make the default period of the
// statistics, first to last quote, thousands of years of empty months.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // NOT VALID keeps existing rows, which are counted until their dates are corrected. The validity
  // may end at any date.
  await sql`
    alter table quotes add constraint quotes_not_misdated
      check (issued_on <= '2099-12-31' and decided_on <= '2099-12-31') not valid
  `.execute(db)
}
