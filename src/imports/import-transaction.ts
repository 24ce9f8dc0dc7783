// Runs an import in one transaction that can be cancelled at any moment before its commit.
import { type ClientBase, DatabaseError, type Pool } from 'pg'
import { cancelOnAbort } from '../database/cancellable-query.ts'
import { describeError } from '../monitoring/describe-error.ts'
import { ImportError } from './file-format.ts'
import type { FileKind } from './file-kinds.ts'

/** What an import is doing. `waiting`: another import of the same kind has the lock. */
export type ImportStep = 'waiting' | 'reading' | 'checking' | 'writing'

type TransactionOptions = {
  kind: FileKind
  /** The work is rolled back. */
  isDryRun?: boolean
  onStep?: (step: ImportStep, holder?: LockHolder) => void
  signal?: AbortSignal
}

/**
 * Runs `work` in a transaction and commits it, or leaves the database unchanged and throws. Waits
 * for a running import of the same kind. If `signal` is aborted before the commit, the running
 * statement is cancelled and the reason of the signal is thrown. If the connection breaks during
 * the commit, throws an ImportError that says that the outcome is unknown.
 */
export async function runInImportTransaction<Result>(
  pool: Pool,
  { kind, signal = new AbortController().signal, onStep, isDryRun = false }: TransactionOptions,
  work: (client: ClientBase) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted()
  const client = await pool.connect()
  // A connection that breaks between two statements emits an error. The next statement reports it.
  client.on('error', ignore)
  /** Returns whether the connection is reusable. */
  let stopCancelling = async () => true
  let isReusable = true
  let isCommitting = false
  try {
    await client.query('begin')
    stopCancelling = await cancelOnAbort(client, signal, (processId) =>
      pool.query('select pg_cancel_backend($1)', [processId]),
    )
    await client.query(transactionSettings)
    await waitForImportLock(client, kind, (holder) => onStep?.('waiting', holder))
    const result = await work(client)
    signal.throwIfAborted()
    await stopCancelling()
    isCommitting = !isDryRun
    await client.query(isDryRun ? 'rollback' : 'commit')
    return result
  } catch (error) {
    isReusable = await stopCancelling()
    // Report the original error: a rollback only fails on a broken connection.
    let isBroken = false
    await client.query('rollback').catch(() => {
      isBroken = true
    })
    if (isBroken) isReusable = false
    if (isCommitting && isBroken) throw createUnknownOutcomeError(error)
    if (signal.aborted) throw signal.reason
    throw explainError(error)
  } finally {
    client.off('error', ignore)
    client.release(!isReusable)
  }
}

/** No time limits, more memory for sorting and hashing, and dates in ISO form. */
const transactionSettings = `
  set local statement_timeout = 0;
  set local idle_in_transaction_session_timeout = 0;
  set local work_mem = '64MB';
  set local jit = off;
  set local random_page_cost = 1.1;
  set local datestyle = 'ISO'`

/**
 * Foreign key, unique and exclusion violations, serialization failures and deadlocks. After its
 * checks the file alone cannot cause them, so another transaction has written the same rows.
 */
const conflictCodes = new Set(['23503', '23505', '23P01', '40001', '40P01'])
const undefinedTable = '42P01'
/** The table of languages is filled by the migration, so a new language may be missing there. */
const languageConstraint = 'quotes_language_fkey'
const migrateFirst = 'run `make migrate` (scripts/migrate.ts) first.'

function createUnknownOutcomeError(error: unknown): ImportError {
  return new ImportError(
    `The connection to PostgreSQL broke during the commit (${describeError(error)}). It is ` +
      'unknown whether the file was imported: run it again, which changes nothing if it was.',
    { cause: error },
  )
}

function explainError(error: unknown): unknown {
  if (!(error instanceof DatabaseError)) return error
  if (error.constraint === languageConstraint)
    return new Error(
      `The database lacks a language of this version (${describeConflict(error)}): ${migrateFirst}`,
      { cause: error },
    )
  if (conflictCodes.has(String(error.code)))
    return new ImportError(
      `Another program changed the same rows during the import (${describeConflict(error)}). ` +
        'Nothing was imported: run it again.',
      { cause: error },
    )
  if (error.code === undefinedTable)
    return new Error(
      `The database lacks a table of this version (${error.message}): ${migrateFirst}`,
      { cause: error },
    )
  return error
}

/** Names the violated constraint and the values of the row, or the deadlock. */
function describeConflict({ message, constraint, detail }: DatabaseError): string {
  return constraint && detail ? `${message}: ${detail.replace(/\.$/, '')}` : message
}

function ignore(): void {}

export type LockHolder = {
  processId: number
  role: string
  /** How long its transaction had been running. Null if this role may not see it. */
  ageSeconds: number | null
}

/**
 * Takes the lock of this kind of file until the transaction ends. If another import has the lock,
 * calls `onWait` with its session, or with nothing if it has just ended. Then waits without a time
 * limit.
 */
async function waitForImportLock(
  client: ClientBase,
  kind: FileKind,
  onWait: (holder: LockHolder | undefined) => void,
): Promise<void> {
  const key = [`trade-quoting-service import ${kind}`]
  const { rows } = await client.query<{ hasLock: boolean }>(
    'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as "hasLock"',
    key,
  )
  if (rows[0]?.hasLock) return
  onWait((await client.query<LockHolder>(findHolder, key)).rows[0])
  await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', key)
}

/** pg_locks has the key in two halves, without their signs. */
const findHolder = `
  select pid as "processId", usename as role,
    extract(epoch from clock_timestamp() - xact_start)::float8 as "ageSeconds"
  from pg_locks join pg_stat_activity using (pid)
  where locktype = 'advisory' and granted and objsubid = 1
    and pg_locks.database = (select oid from pg_database where datname = current_database())
    and (classid::bigint << 32) | objid::bigint = hashtextextended($1, 0)`
