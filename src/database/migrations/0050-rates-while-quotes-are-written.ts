// Lets a new base currency wait for the quotes that are being written before it checks their rates.
// It only waited after the check, so quotes with another rate than 1 could remain.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function check_rates_for_company() returns trigger
    language plpgsql security definer set search_path to public, pg_temp
    as $$
    declare
      wrong bigint;
    begin
      if tg_op = 'INSERT' or old.base_currency <> new.base_currency then
        -- Each statement of a function sees what was committed before it began.
        lock table quotes in share mode;
      end if;
      wrong := (
        select count(*) from quotes q where q.currency = new.base_currency and q.rate <> 1
      );
      if wrong > 0 then
        raise exception '% quotes in the base currency, %, have another rate than 1',
          wrong, new.base_currency
          using errcode = 'check_violation', constraint = 'quotes_base_currency_has_rate_one',
            hint = format('update quotes set rate = 1 where currency = %L', new.base_currency);
      end if;
      return null;
    end $$
  `.execute(db)
}
