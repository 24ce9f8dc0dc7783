// Who may call: API keys. Only hashes of their secrets are stored.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table api_keys (
      id text primary key check (id ~ '^[0-9a-z]{12}$'),
      kind text not null check (kind in ('secret', 'publishable')),
      name text not null check (btrim(name) <> '' and length(name) <= 200),
      secret_hash bytea not null check (octet_length(secret_hash) = 32),
      scopes text[] not null check (cardinality(scopes) > 0 and scopes <@ array['search:read', 'stats:read']),
      origins text[] not null default '{}',
      unlimited boolean not null default false,
      created_at timestamptz not null default now(),
      expires_at timestamptz,
      revoked_at timestamptz,
      constraint api_keys_publishable_is_narrow check (kind = 'secret' or (scopes = array['search:read'] and cardinality(origins) > 0))
    )
  `.execute(db)
  await sql`comment on table api_keys is 'Keys of callers. A key is tqs_<id>_<secret> (secret) or tqp_<id>_<secret> (publishable).'`.execute(
    db,
  )
  await sql`comment on column api_keys.id is 'The middle part of the key; not secret.'`.execute(db)
  await sql`comment on column api_keys.kind is 'secret: for servers; publishable: for browsers, bound to origins, can only search.'`.execute(
    db,
  )
  await sql`comment on column api_keys.name is 'Whose key it is, for people.'`.execute(db)
  await sql`comment on column api_keys.secret_hash is 'SHA-256 of the whole key as it is sent.'`.execute(
    db,
  )
  await sql`comment on column api_keys.scopes is 'What the key may do; one scope never implies another.'`.execute(
    db,
  )
  await sql`comment on column api_keys.origins is 'Browser origins that a publishable key is bound to.'`.execute(
    db,
  )
  await sql`comment on column api_keys.unlimited is 'Not counted by the rate limits.'`.execute(db)
  await sql`comment on column api_keys.created_at is 'When the key was made.'`.execute(db)
  await sql`comment on column api_keys.expires_at is 'From this instant on the key is refused; null: never.'`.execute(
    db,
  )
  await sql`comment on column api_keys.revoked_at is 'When the key was withdrawn; null: it was not.'`.execute(
    db,
  )
}
