// Runs a query that ends in PostgreSQL when a signal aborts.
import { type CompiledQuery, type Kysely, sql } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import type { Tables } from './table-types.ts'
import { isPooled } from './transaction-pooling.ts'

/**
 * Runs the query on a connection of `pool` and returns its rows. If `signal` aborts, cancels the
 * query over a connection of `db`, and throws the reason of `signal`. The connection returns to the
 * pool only after the cancellation has arrived. Kysely's own cancellation could cancel the next
 * query of the connection instead.
 */
export async function runCancellableQuery<Row>(
  { pool, db }: { pool: Pool; db: Kysely<Tables> },
  query: CompiledQuery<Row>,
  signal: AbortSignal,
): Promise<Row[]> {
  signal.throwIfAborted()
  const client = await pool.connect()
  // A pooler keeps a connection to PostgreSQL for this client only until a transaction ends.
  const hasTransaction = isPooled(client)
  let cancellation: Promise<unknown> = Promise.resolve()
  let cancel = () => {}
  try {
    if (hasTransaction) await client.query('begin')
    const pid = await readProcessId(client, hasTransaction)
    cancel = () => {
      cancellation = sql`select pg_cancel_backend(${pid})`
        .execute(db)
        // If this fails, the statement timeout ends the query.
        .catch(() => undefined)
    }
    signal.throwIfAborted()
    signal.addEventListener('abort', cancel)
    const { rows } = await client.query(query.sql, [...query.parameters])
    return rows
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', cancel)
    await cancellation
    client.release(hasTransaction && !(await endTransaction(client)))
  }
}

async function readProcessId(client: PoolClient, mustAsk: boolean): Promise<number> {
  if (!mustAsk) return (client as PoolClient & { processID: number }).processID
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid ?? 0
}

/** Returns whether the connection can be used again. The query has changed nothing. */
async function endTransaction(client: PoolClient): Promise<boolean> {
  return client.query('rollback').then(
    () => true,
    () => false,
  )
}
