// Ends a running statement in PostgreSQL when a signal aborts.
import { type CompiledQuery, type Kysely, sql } from 'kysely'
import type { ClientBase, Pool, PoolClient } from 'pg'
import type { Tables } from './table-types.ts'
import { isPooled } from './transaction-pooling.ts'

/**
 * Runs a reading query on a connection of `pool` and returns its rows. If `signal` aborts, cancels
 * the query over a connection of `db`, and throws the reason of `signal`. The connection returns to
 * the pool only after the cancellation has arrived. Kysely's own cancellation could cancel the next
 * query of the connection instead.
 */
export async function runCancellableQuery<Row>(
  { pool, db }: { pool: Pool; db: Kysely<Tables> },
  query: CompiledQuery<Row>,
  signal: AbortSignal,
): Promise<Row[]> {
  signal.throwIfAborted()
  const client = await pool.connect()
  const needsTransaction = isPooled(client)
  let stopCancelling = async () => true
  try {
    if (needsTransaction) await client.query('begin')
    stopCancelling = await cancelOnAbort(client, signal, (processId) =>
      sql`select pg_cancel_backend(${processId})`.execute(db),
    )
    const { rows } = await client.query(query.sql, [...query.parameters])
    return rows
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    const isReusable = await stopCancelling()
    const hasEnded = !needsTransaction || (await endTransaction(client))
    client.release(!isReusable || !hasEnded)
  }
}

/** Returns whether the connection can be used again. The query has changed nothing. */
async function endTransaction(client: PoolClient): Promise<boolean> {
  return client.query('rollback').then(
    () => true,
    () => false,
  )
}

/**
 * Cancels the running statement of `client` when `signal` aborts. `sendCancelRequest` calls
 * `pg_cancel_backend` with a process id, on another connection. Throws the reason of `signal` if it
 * has aborted already.
 *
 * Behind a pooler, call this inside a transaction and the returned function before the transaction
 * ends: a connection to PostgreSQL belongs to this client only until then.
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
  const processId = await readProcessId(client)
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

/** A pooler tells its clients process ids that PostgreSQL does not know. */
async function readProcessId(client: ClientBase): Promise<number> {
  if (!isPooled(client)) return (client as ClientBase & { processID: number }).processID
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid ?? 0
}
