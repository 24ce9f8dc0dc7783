// What scripts/migrate.ts does with the migrations of a later release, as a program that a test can
// kill.
import { join } from 'node:path'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { lockTimeoutSettings, retryForLocks } from '../../src/database/retry-for-locks.ts'
import { applyNextMigration } from '../../src/database/run-migrations.ts'

const folder = join(import.meta.dirname, 'later-migrations')
const db = openDatabase(process.env.DATABASE_URL ?? '', {
  connections: 2,
  settings: lockTimeoutSettings,
})
while (await retryForLocks(db, () => applyNextMigration(db, folder), console.error));
await db.destroy()
