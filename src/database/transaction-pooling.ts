// Gives each new connection the settings of its pool, also behind a pooler such as PgBouncer, which
// may run each transaction on another connection to PostgreSQL.
import { type ClientBase, escapeLiteral, type Pool, type QueryResult } from 'pg'

/** Parameters of PostgreSQL by name. */
export type ConnectionSettings = Record<string, string>

/**
 * Connections through a pooler. They must not use settings, prepared statements or locks of a
 * session, because the pooler also gives that session to other clients.
 */
const pooledClients = new WeakSet<ClientBase>()

/**
 * Whether a pooler is between this client and PostgreSQL. This is known after `applySettings`.
 */
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
 * Applies `settings` to a new connection: to the session, or to each of its transactions if there
 * is a pooler. Startup parameters would be simpler, but PgBouncer refuses or ignores them. A pooler
 * is recognized by the process id that it tells the client: no process of PostgreSQL has it.
 * Returns whether the server is in recovery, as replicas are.
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
  const isInRecovery = rows[0]?.isInRecovery ?? false
  if (rows[0]?.isDirect) return { isInRecovery }
  pooledClients.add(client)
  if (Object.keys(settings).length > 0) applyToEachTransaction(client, settings)
  return { isInRecovery }
}

type Query = (query: unknown, values?: unknown) => Promise<QueryResult>

/**
 * Makes `client.query` begin every transaction with these settings. A statement outside of a
 * transaction gets one of its own, which costs two more round trips to the pooler.
 */
function applyToEachTransaction(client: ClientBase, settings: ConnectionSettings): void {
  const send = client.query.bind(client) as Query
  const setLocal = Object.entries(settings)
    .map(([name, value]) => `set local ${name} = ${escapeLiteral(value)}`)
    .join('; ')

  const query: Query = async (text, values) => {
    if (client.getTransactionStatus() !== 'I') return send(text, values)
    if (typeof text === 'string' && /^\s*(begin|start transaction)\b/i.test(text)) {
      // The driver returns a result for each statement. The first one belongs to `text`.
      const results = (await send(`${text}; ${setLocal}`)) as unknown as QueryResult[]
      return results[0] as QueryResult
    }
    await send(`begin; ${setLocal}`)
    try {
      const result = await send(text, values)
      await send('commit')
      return result
    } catch (error) {
      // On a broken connection the rollback fails too. The first error says why.
      await send('rollback').catch(() => undefined)
      throw error
    }
  }
  const replacement = (text: unknown, values?: unknown, callback?: unknown) => {
    // COPY passes an object with which the driver runs it. COPY always runs in a transaction.
    if (typeof text === 'object' && text !== null && 'submit' in text) return send(text, values)
    // `pool.query` passes a callback, as the last argument.
    const done = typeof values === 'function' ? values : callback
    if (typeof done !== 'function') return query(text, values)
    const result = query(text, typeof values === 'function' ? undefined : values)
    return void result.then(
      (rows) => done(undefined, rows),
      (error) => done(error),
    )
  }
  client.query = replacement as unknown as typeof client.query
}
