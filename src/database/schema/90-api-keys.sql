-- API keys.

-- API keys of callers. A key is tqs_<id>_<secret> (secret) or tqp_<id>_<secret> (publishable).
create table api_keys (
  -- The middle part of the key; not secret.
  id text primary key check (id ~ '^[0-9a-z]{12}$'),
  -- secret: for servers; publishable: for browsers, bound to origins, can only search.
  kind text not null check (kind in ('secret', 'publishable')),
  -- Owner of the key, for people.
  name text not null check (btrim(name) <> '' and length(name) <= 200),
  -- SHA-256 of the whole key.
  secret_hash bytea not null check (octet_length(secret_hash) = 32),
  -- Scopes of the key. A scope never includes another.
  scopes text[] not null
    check (cardinality(scopes) > 0 and scopes <@ array['search:read', 'stats:read',
      'stats:detail']),
  -- Browser origins that a publishable key is bound to.
  origins text[] not null default '{}',
  -- true: no rate limits.
  unlimited boolean not null default false,
  -- Time of creation.
  created_at timestamptz not null default now(),
  -- Time from which the key is invalid. Null: never.
  expires_at timestamptz,
  -- Time of revocation. Null: not revoked.
  revoked_at timestamptz,
  -- Multiplies the configured rate limits. Null: 1.
  limit_factor numeric check (limit_factor > 0 and limit_factor <= 1000),
  -- The key that replaced this one when it was rotated; null: it was not rotated.
  successor_id text references api_keys on delete set null,
  constraint api_keys_publishable_is_narrow check
    (kind = 'secret' or scopes = array['search:read'] and cardinality(origins) > 0)
);

create trigger durable_revocation before delete or update of revoked_at, expires_at on api_keys
  for each statement execute function require_durable_revocation();

-- Requests by API key and day. The API adds to it, as best effort.
create table api_key_usage (
  -- The key.
  key_id text not null references api_keys on delete cascade,
  -- The day in UTC.
  day date not null,
  -- All requests with the key, refused ones included.
  calls bigint not null check (calls >= 0),
  -- Requests that were refused with 401, 403 or 429.
  refusals bigint not null,
  -- Requests with the id of the key and a wrong secret, which are no calls of the key.
  wrong_secrets bigint not null default 0 check (wrong_secrets >= 0),
  -- When the key was last allowed to make a request on this day. Null: it was not.
  last_used_at timestamptz,
  primary key (key_id, day),
  constraint api_key_usage_refusals_are_calls check (refusals between 0 and calls)
);
