// API keys. Only hashes of their secrets are stored.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table api_keys (
      id text primary key check (id ~ '^[0-9a-z]{12}$'),
      kind text not null check (kind in ('secret', 'publishable')),
      name text not null check (btrim(name) <> '' and length(name) <= 200),
      secret_hash bytea not null check (octet_length(secret_hash) = 32),
      scopes text[] not null
        check (cardinality(scopes) > 0 and scopes <@ array['search:read', 'stats:read']),
      origins text[] not null default '{}',
      unlimited boolean not null default false,
      created_at timestamptz not null default now(),
      expires_at timestamptz,
      revoked_at timestamptz,
      constraint api_keys_publishable_is_narrow check (
        kind = 'secret' or (scopes = array['search:read'] and cardinality(origins) > 0)
      )
    )
  `.execute(db)

  for (const [object, comment] of comments)
    await sql`comment on ${sql.raw(object)} is ${sql.lit(comment)}`.execute(db)
}

const comments: [object: string, comment: string][] = [
  [
    'table api_keys',
    'Keys of callers. A key is tqs_<id>_<secret> (secret) or tqp_<id>_<secret> (publishable).',
  ],
  ['column api_keys.id', 'The middle part of the key; not secret.'],
  [
    'column api_keys.kind',
    'secret: for servers; publishable: for browsers, bound to origins, can only search.',
  ],
  ['column api_keys.name', 'Whose key it is, for people.'],
  ['column api_keys.secret_hash', 'SHA-256 of the whole key as it is sent.'],
  ['column api_keys.scopes', 'What the key may do; one scope never implies another.'],
  ['column api_keys.origins', 'Browser origins that a publishable key is bound to.'],
  ['column api_keys.unlimited', 'Not counted by the rate limits.'],
  ['column api_keys.created_at', 'When the key was made.'],
  ['column api_keys.expires_at', 'From this instant on the key is refused; null: never.'],
  ['column api_keys.revoked_at', 'When the key was withdrawn; null: it was not.'],
]
