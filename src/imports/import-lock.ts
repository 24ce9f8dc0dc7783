// The lock that makes imports of the same kind of file run one at a time.
import type { ClientBase } from 'pg'
import type { FileKind } from './file-columns.ts'

/**
 * Takes the lock of this kind of file until the transaction ends. Calls `onWait` if another import
 * has the lock, and then waits without a time limit.
 */
export async function waitForImportLock(
  client: ClientBase,
  kind: FileKind,
  onWait: () => void,
): Promise<void> {
  const key = [`trade-quoting-service import ${kind}`]
  const { rows } = await client.query<{ hasLock: boolean }>(
    'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as "hasLock"',
    key,
  )
  if (rows[0]?.hasLock) return
  onWait()
  await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', key)
}
