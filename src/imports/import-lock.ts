// The lock that makes imports of the same kind of file run one at a time.
import type { ClientBase } from 'pg'
import type { FileKind } from './file-columns.ts'

/** A session of PostgreSQL that has the lock. */
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
export async function waitForImportLock(
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
