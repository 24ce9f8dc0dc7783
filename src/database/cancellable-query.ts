// Runs a query that ends in PostgreSQL when a signal aborts.
import { type CompiledQuery, type Kysely, sql } from 'kysely'
import type { Pool } from 'pg'
import type { Tables } from './table-types.ts'

/**
 * Runs the query on a connection of `pool` and returns its rows. If `signal` aborts, the query is
 * cancelled over a connection of `db`, and the reason of `signal` is thrown. The
 * connection goes back to the pool only after the cancellation has arrived. Kysely's own
 * cancellation may hit the next query of the connection.
 */
export async function runCancellableQuery<Row>(
  { pool, db }: { pool: Pool; db: Kysely<Tables> },
  query: CompiledQuery<Row>,
  signal: AbortSignal,
): Promise<Row[]> {
  signal.throwIfAborted()
  const client = await pool.connect()
  let cancellation: Promise<unknown> = Promise.resolve()
  const { processID } = client as typeof client & { processID: number }
  const cancel = () => {
    cancellation = sql`select pg_cancel_backend(${processID})`
      .execute(db)
      // The statement timeout ends the query instead.
      .catch(() => undefined)
  }
  try {
    signal.throwIfAborted()
    signal.addEventListener('abort', cancel)
    const { rows } = await client.query(query.sql, [...query.parameters])
    return rows
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', cancel)
    await cancellation
    client.release()
  }
}
