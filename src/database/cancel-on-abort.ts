// Cancels the running statement of a connection in PostgreSQL when a signal aborts.
import type { ClientBase } from 'pg'
import { isPooled } from './transaction-pooling.ts'

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
