// Reads the last valid day of a shared quote from its frozen document. It came from the quote, so
// whoever may write quotes could change what a sent link says of its validity.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  // A cast from text to date depends on settings of the session, so a column cannot contain it.
  await run(`
    create function frozen_valid_until(document text) returns date
      language sql immutable parallel safe
    return (
      select make_date(left(day, 4)::integer, substr(day, 6, 2)::integer, right(day, 2)::integer)
      from (select document::jsonb ->> 'validUntil' as day) frozen
    )
  `)
  await run(`
    comment on function frozen_valid_until(text) is
      'The last valid day in a frozen document; null without one.'
  `)
  await run('lock table quotes, quote_shares in access exclusive mode')
  await run(`
    alter table quote_shares add column valid_until date
      generated always as (frozen_valid_until(document)) stored
  `)
  await run(`
    comment on column quote_shares.valid_until is
      'The last valid day in the document. Null without one, and when the document is emptied.'
  `)
  // Quotes come first, as TRUNCATE locks them: the opposite order would deadlock with it.
  await run(`
    create or replace function read_quote_share(token_hash bytea)
      returns table (share_id bigint, status text, valid_until date, content_hash text,
        expires_at timestamptz, revoked_at timestamptz, document_bytes integer)
      language plpgsql stable security definer set search_path to public, pg_temp
    as $$
    begin
      return query
        select s.id, q.status, s.valid_until, s.content_hash, s.expires_at, s.revoked_at,
          octet_length(s.document)
        from quotes q join quote_shares s on s.quote_id = q.id
        where s.token_hash = read_quote_share.token_hash and q.status <> 'draft';
    end $$
  `)
}
