// A quote in the base currency has no other rate than 1.
import { type Kysely, sql } from 'kysely'

/** RAISE only takes a literal in one piece. */
const message = sql.lit(
  'quote % version % is in the base currency, %, and has the rate %: it must be 1 or null',
)

export async function up(db: Kysely<unknown>): Promise<void> {
  // The statistics never used these rates, so no figure changes.
  await sql`
    update quotes q set rate = 1 from company c
    where q.currency = c.base_currency and q.rate <> 1
  `.execute(db)
  // A check constraint cannot read another table. The condition of the trigger keeps quotes with
  // rate 1 as fast as before.
  await sql`
    create function check_rate_of_base_currency() returns trigger
    language plpgsql security definer set search_path to public, pg_temp
    as $$
    begin
      if exists (select from company where base_currency = new.currency) then
        raise exception ${message}, new.number, new.version, new.currency, new.rate
          using errcode = 'check_violation', constraint = 'quotes_base_currency_has_rate_one',
            table = 'quotes';
      end if;
      return null;
    end $$
  `.execute(db)
  await sql`
    create trigger check_rate after insert or update of currency, rate on quotes
      for each row when (new.rate <> 1) execute function check_rate_of_base_currency()
  `.execute(db)
  await checkWhenCompanyIsRecorded(db)
  await sql`
    comment on function check_rate_of_base_currency() is
      'Rejects quotes in the base currency with another rate than 1.'
  `.execute(db)
}

/** Quotes may be written before the company, and so the base currency, is known. */
async function checkWhenCompanyIsRecorded(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function check_rates_for_company() returns trigger
    language plpgsql security definer set search_path to public, pg_temp
    as $$
    declare
      wrong bigint := (
        select count(*) from quotes q where q.currency = new.base_currency and q.rate <> 1
      );
    begin
      if wrong > 0 then
        raise exception '% quotes in the base currency, %, have another rate than 1',
          wrong, new.base_currency
          using errcode = 'check_violation', constraint = 'quotes_base_currency_has_rate_one',
            hint = format('update quotes set rate = 1 where currency = %L', new.base_currency);
      end if;
      return null;
    end $$
  `.execute(db)
  await sql`
    create trigger check_rates after insert or update of base_currency on company for each row
      execute function check_rates_for_company()
  `.execute(db)
  await sql`
    comment on function check_rates_for_company() is
      'Rejects a base currency in which a quote has another rate than 1.'
  `.execute(db)
}
