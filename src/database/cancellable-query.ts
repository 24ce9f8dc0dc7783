// Ends a running statement in PostgreSQL when a signal aborts.
import { type CompiledQuery, type Kysely, sql } from 'kysely'
import type { ClientBase, Pool } from 'pg'
import type { Tables } from './table-types.ts'

/**
 * Runs a reading query on a connection of `pool` and returns its rows. If `signal` aborts, cancels
 * the query over a connection of `db`, and throws the reason of `signal`. The connection returns to
 * the pool only after the cancellation has arrived. Kysely's own cancellation could cancel the next
 * query of the connection instead. `settings` are statements that set parameters for the query.
 */
export async function runCancellableQuery<Row>(
  { pool, db, settings = '' }: { pool: Pool; db: Kysely<Tables>; settings?: string },
  query: CompiledQuery<Row>,
  signal: AbortSignal,
): Promise<Row[]> {
  signal.throwIfAborted()
  const client = await pool.connect()
  let stopCancelling = async () => true
  try {
    await client.query(`begin read only; ${settings}`)
    stopCancelling = await cancelOnAbort(client, signal, (processId) =>
      sql`select pg_cancel_backend(${processId})`.execute(db),
    )
    const { rows } = await client.query(query.sql, [...query.parameters])
    return rows
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    const isReusable = await stopCancelling()
    const hasEnded = await client.query('rollback').then(
      () => true,
      () => false,
    )
    client.release(!isReusable || !hasEnded)
  }
}

/**
 * Cancels the running statement of `client` when `signal` aborts. `sendCancelRequest` calls
 * `pg_cancel_backend` with a process id, on another connection. Throws the reason of `signal` if it
 * has aborted already.
 *
 * Call this inside a transaction and the returned function before the transaction ends: behind a
 * pooler, a connection to PostgreSQL belongs to this client only until then.
 *
 * The returned function stops listening and waits for the response to a cancel request. It returns
 * whether the connection can be used again. It cannot if a request got no response: the request may
 * still arrive and cancel the next statement.
 */
export async function cancelOnAbort(
  client: ClientBase,
  signal: AbortSignal,
  sendCancelRequest: (processId: number) => Promise<unknown>,
): Promise<() => Promise<boolean>> {
  // A pooler tells its clients process ids that PostgreSQL does not know.
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const processId = rows[0]?.pid ?? 0
  signal.throwIfAborted()
  let isReusable = Promise.resolve(true)
  const cancel = () => {
    // After a failed request the statement runs to its end, or until its timeout.
    isReusable = sendCancelRequest(processId).then(
      () => true,
      () => false,
    )
  }
  signal.addEventListener('abort', cancel, { once: true })
  return () => {
    signal.removeEventListener('abort', cancel)
    return isReusable
  }
}
