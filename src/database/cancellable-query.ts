// Runs a query that ends in PostgreSQL when a signal aborts.
import { type CompiledQuery, type Kysely, sql } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import { cancelOnAbort } from './cancel-on-abort.ts'
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
