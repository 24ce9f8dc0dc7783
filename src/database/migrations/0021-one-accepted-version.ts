// Lets the database supersede older versions of a quote when a newer one is sent, and refuse a
// second current version of a number. See docs/decisions/0016-the-newest-sent-version-counts.md.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function is_current_status(status text) returns boolean
      language sql immutable parallel safe
      return status not in ('draft', 'superseded')
  `.execute(db)
  // Others may read quotes until the constraint is added, which comes last.
  await sql`lock table quotes in share row exclusive mode`.execute(db)
  await supersedeExistingVersions(db)
  await createTriggers(db)
  for (const [object, comment] of Object.entries(comments))
    await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
  // Deferrable, because a unique index is checked before a trigger could supersede the older row.
  await sql`
    alter table quotes add constraint quotes_one_current_version
      exclude using btree (number with =) where (is_current_status(status))
      deferrable initially deferred
  `.execute(db)
}

/** Applies the rule to the versions that were written before it. */
async function supersedeExistingVersions(db: Kysely<unknown>): Promise<void> {
  // Quotes from before migration 0012 may be misdated. Only their status changes here.
  const { rows } = await sql`
    select from quotes where not (issued_on <= '2099-12-31' and decided_on <= '2099-12-31') limit 1
  `.execute(db)
  const hasMisdated = rows.length > 0
  if (hasMisdated) await sql`alter table quotes drop constraint quotes_not_misdated`.execute(db)
  await sql`
    update quotes older set status = 'superseded'
    from (
      select number, max(version) as version from quotes
      where is_current_status(status) group by number having max(version) > 1
    ) newest
    where older.number = newest.number and older.version < newest.version
      and older.status <> 'superseded'
  `.execute(db)
  if (hasMisdated)
    await sql`
      alter table quotes add constraint quotes_not_misdated
        check (issued_on <= '2099-12-31' and decided_on <= '2099-12-31') not valid
    `.execute(db)
}

async function createTriggers(db: Kysely<unknown>): Promise<void> {
  // Plans are cached for the session. One that was made while the table was small would read the
  // whole table for each row of a bulk insert, so sequential scans are off. Planning again for each
  // array takes longer than the queries, so plans are generic.
  await sql`
    create function supersede_older_versions() returns trigger
      language plpgsql security definer
      set search_path to public, pg_temp set enable_seqscan to off
      set plan_cache_mode to force_generic_plan
    as $$
    declare
      numbers text[];
      older_ids bigint[];
    begin
      -- One probe of an index for each row. A quote without other versions ends here.
      if tg_level = 'ROW' then
        if not exists (
          select from quotes other where other.number = new.number
            and (other.version < new.version or other.version > new.version)
        ) then
          return null;
        end if;
        numbers := array[new.number];
      else
        numbers := array(
          select written.number from new_rows written
          where written.version > 1 or exists (
            select from quotes newer
            where newer.number = written.number and newer.version > written.version
          )
        );
        if numbers = '{}' then
          return null;
        end if;
      end if;
      older_ids := array(
        select older.id from quotes older
        where older.number = any (numbers) and older.status <> 'superseded' and exists (
          select from quotes newer
          where newer.number = older.number and newer.version > older.version
            and is_current_status(newer.status)
        )
      );
      -- An update without rows would still run the other triggers.
      if older_ids <> '{}' then
        update quotes set status = 'superseded'
        where id = any (older_ids) and status <> 'superseded';
      end if;
      return null;
    end $$
  `.execute(db)
  await sql`
    create trigger supersede_after_inserts after insert on quotes
      referencing new table as new_rows
      for each statement execute function supersede_older_versions()
  `.execute(db)
  // While a version is current, the constraint proves that no newer one is. So a change of the
  // status matters only if the version was not current before. The condition does not call
  // is_current_status(), which would be expanded again for each statement.
  await sql`
    create trigger supersede_after_updates after update of status on quotes
      for each row when (old.status in ('draft', 'superseded') and new.status <> 'superseded')
      execute function supersede_older_versions()
  `.execute(db)
  await sql`
    create trigger supersede_after_renumbering after update of number, version on quotes
      for each row execute function supersede_older_versions()
  `.execute(db)
  // Logical replication fires no triggers for statements, and only those that are enabled for it.
  await sql`
    create trigger supersede_replicated after insert or update on quotes
      for each row when (
        new.status <> 'superseded' and current_setting('session_replication_role') = 'replica'
      )
      execute function supersede_older_versions()
  `.execute(db)
  await sql`alter table quotes enable replica trigger supersede_replicated`.execute(db)
}

const comments = {
  'column quotes.version':
    '1 for the first version. When a version is sent, the older ones become superseded.',
  'function is_current_status(text)':
    'Returns whether a version with this status was sent and is not superseded.',
  'function supersede_older_versions()':
    'Supersedes every version of the written numbers that is older than the current one.',
}
