// Retries work that needs a lock held by a long transaction. A session that waits for a strong lock
// blocks every later session, so each attempt gives up quickly.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from './postgres-pool.ts'

// While a migration waits, later statements on the table wait too.
const migrationLockMs = 2_000
// The statements that waited can run, and a long transaction may end.
const migrationPauseMs = 3_000
// A dump or a report may take minutes. An upgrade should not hang for hours.
const migrationWaitMs = 600_000

/** Settings of connections whose statements give up after waiting this long for a lock. */
export const lockTimeoutSettings = { lock_timeout: String(migrationLockMs) }

/**
 * Runs `action` until it gets its locks. `action` must undo what it has done when it fails. Reports
 * each attempt that got no lock, and which transaction may hold it. Throws all other errors, and an
 * error with advice after `migrationWaitMs`. The connections of `db` must have
 * `lockTimeoutSettings`.
 */
export async function retryForLocks<Result>(
  db: Database,
  action: () => Promise<Result>,
  report: (line: string) => void,
): Promise<Result> {
  const startedAt = performance.now()
  for (;;) {
    try {
      return await action()
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      const holder = await describeOldestTransaction(db)
      if (performance.now() - startedAt > migrationWaitMs)
        throw new Error(
          `No lock within ${migrationWaitMs / 60_000} minutes${holder}. If that transaction ` +
            'holds it, end it. Then run this again: it continues where it stopped.',
          { cause: error },
        )
      report(`waiting for a lock${holder}: trying again in ${migrationPauseMs / 1_000} s`)
      await sleep(migrationPauseMs)
    }
  }
}

function isLockTimeout(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (error as { code?: unknown }).code === '55P03' || isLockTimeout(error.cause)
}

/** Returns what to add to a message, or an empty text if there is no other transaction. */
async function describeOldestTransaction(db: Database): Promise<string> {
  const { rows } = await sql<{ pid: number; role: string; program: string; seconds: number }>`
    select pid, usename as role, application_name as program,
      floor(extract(epoch from clock_timestamp() - xact_start))::integer as seconds
    from pg_stat_activity
    where datname = current_database() and xact_start is not null
      and backend_type = 'client backend' and pid <> pg_backend_pid()
    order by xact_start limit 1
  `.execute(db)
  const [oldest] = rows
  if (!oldest) return ''
  const program = oldest.program === '' ? 'an unnamed program' : oldest.program
  const { pid, role, seconds } = oldest
  return ` (the oldest transaction is ${seconds} s old: PID ${pid}, ${program}, role ${role})`
}
