// One import is one transaction, one at a time for each kind of file, and can be stopped at any moment before its commit.
import type { ClientBase, Pool } from 'pg'
import { BadFile } from './csv/invalid-file.ts'

type Options = {
  /** What the lock is called; imports of one kind queue for it. */
  kind: string
  signal?: AbortSignal | undefined
  onStep?: ((step: string) => void) | undefined
}

/**
 * Runs `work` in a transaction: commits what it did, or leaves the database exactly as it was and throws. An import of the same kind that is under
 * way is waited for. When `signal` is aborted before the commit, the statement that runs is cancelled and the signal's reason is thrown.
 */
export async function inImportTransaction<Result>(
  pool: Pool,
  { kind, signal, onStep }: Options,
  work: (client: ClientBase) => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted()
  const client = await pool.connect()
  // A connection that breaks while no statement waits for it says so here; the next statement then fails.
  client.on('error', ignore)
  let cancel: (() => void) | undefined
  let broken = false
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    cancel = () => void pool.query('select pg_cancel_backend($1)', [rows[0]?.pid]).catch(ignore)
    signal?.addEventListener('abort', cancel, { once: true })
    await client.query('begin')
    await client.query(
      "set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0; set local work_mem = '64MB'; set local jit = off; set local random_page_cost = 1.1; set local datestyle = 'ISO'",
    )
    await waitForTurn(client, kind, onStep)
    const result = await work(client)
    signal?.throwIfAborted()
    if (cancel) signal?.removeEventListener('abort', cancel)
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch(() => {
      broken = true
    })
    if (signal?.aborted) throw signal.reason
    throw explain(error)
  } finally {
    if (cancel) signal?.removeEventListener('abort', cancel)
    client.off('error', ignore)
    // After a cancel the connection is not used again: the cancel may reach it late.
    client.release(broken || signal?.aborted === true)
  }
}

async function waitForTurn(
  client: ClientBase,
  kind: string,
  onStep: Options['onStep'],
): Promise<void> {
  const lock = ['hashtextextended($1, 0)', `trade-quoting-service import ${kind}`] as const
  const { rows } = await client.query<{ locked: boolean }>(
    `select pg_try_advisory_xact_lock(${lock[0]}) as locked`,
    [lock[1]],
  )
  if (rows[0]?.locked) return
  onStep?.(`waiting for another import of ${kind} to end`)
  await client.query(`select pg_advisory_xact_lock(${lock[0]})`, [lock[1]])
}

// Unique and foreign keys, deadlocks, serialisation: validation has ruled them out for the file alone, so that somebody else wrote the same rows.
const conflicts = new Set(['23503', '23505', '40001', '40P01'])

function explain(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error
  if (conflicts.has(String(error.code))) {
    return new BadFile(
      `Somebody else changed the same rows during the import (${error.message}). Nothing was imported: run it again.`,
      {
        cause: error,
      },
    )
  }
  if (error.code === '42P01') {
    return new Error(
      `The database lacks a table of this version (${error.message}): run \`make migrate\` (scripts/migrate.ts) first.`,
      {
        cause: error,
      },
    )
  }
  return error
}

function ignore(): void {}
