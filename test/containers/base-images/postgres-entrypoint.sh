#!/bin/bash
# Starts PostgreSQL as the official image does: creates the cluster and the database on the first
# start, over the socket only, and then serves.
set -euo pipefail
if [ "$1" != postgres ]; then exec "$@"; fi
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA"
  chown -R postgres /var/lib/postgresql
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi
user=${POSTGRES_USER:-postgres} database=${POSTGRES_DB:-${POSTGRES_USER:-postgres}}
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  chmod 700 "$PGDATA"
  # shellcheck disable=SC2086 # several arguments
  initdb --username="$user" --pwfile=<(echo "$POSTGRES_PASSWORD") --auth=trust \
    $POSTGRES_INITDB_ARGS
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  pg_ctl start --wait --options="-c listen_addresses=''"
  [ "$database" = postgres ] || createdb --username="$user" "$database"
  pg_ctl stop --wait --mode=fast
fi
exec "$@" -c listen_addresses='*'
