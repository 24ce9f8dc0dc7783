// Finds out whether a pooler such as PgBouncer is in between, which may run each transaction on
// another connection to PostgreSQL.
import type { ClientBase, Pool } from 'pg'

/** Parameters of PostgreSQL by name. */
export type ConnectionSettings = Record<string, string>

/**
 * Connections through a pooler. They must not use settings, prepared statements or locks of a
 * session, because the pooler also gives that session to other clients.
 */
const pooledClients = new WeakSet<ClientBase>()

/** Whether a pooler is between this client and PostgreSQL. This is known after `applySettings`. */
export const isPooled = (client: ClientBase): boolean => pooledClients.has(client)

/**
 * Returns whether a pooler is between `pool` and PostgreSQL. Throws if PostgreSQL is unreachable.
 */
export async function isBehindPooler(pool: Pool): Promise<boolean> {
  const client = await pool.connect()
  try {
    return isPooled(client)
  } finally {
    client.release()
  }
}

/**
 * Applies `settings` to the session of a new connection, unless there is a pooler. Startup
 * parameters would be simpler, but PgBouncer refuses them. A pooler is recognized by the process id
 * that it tells the client: no process of PostgreSQL has it. Returns whether the server is in
 * recovery, as replicas are.
 */
export async function applySettings(
  client: ClientBase,
  settings: ConnectionSettings,
): Promise<{ isInRecovery: boolean }> {
  const { processID } = client as ClientBase & { processID: number }
  const { rows } = await client.query<{ isDirect: boolean; isInRecovery: boolean }>(
    `select $1 = pg_backend_pid() as "isDirect", pg_is_in_recovery() as "isInRecovery", (
       select count(set_config(name, value, false))
       from unnest($2::text[], $3::text[]) as settings (name, value)
       where $1 = pg_backend_pid()
     )`,
    [processID, Object.keys(settings), Object.values(settings)],
  )
  if (!rows[0]?.isDirect) pooledClients.add(client)
  return { isInRecovery: rows[0]?.isInRecovery ?? false }
}
