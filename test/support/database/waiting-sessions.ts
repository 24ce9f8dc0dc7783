// Which sessions wait for a lock, so that a test can arrange who comes first.
import { sql } from 'kysely'
import type { Database } from '../../../src/database/postgres-pool.ts'
import { eventually } from '../eventually.ts'

/**
 * Returns whether a session of this database waits for a lock. The tests share a server: what waits
 * in another database must not count.
 */
export async function isAnySessionWaiting(db: Database): Promise<boolean> {
  const { rows } = await sql`
    select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
  `.execute(db)
  return rows.length > 0
}

/** Waits until a session waits for a lock, or `running` has ended, even by an error. */
export async function untilWaitingOrEnded(db: Database, running: Promise<unknown>): Promise<void> {
  let hasEnded = false
  const end = () => {
    hasEnded = true
  }
  running.then(end, end)
  await eventually(async () => hasEnded || (await isAnySessionWaiting(db)), Boolean)
}
