// The versions of PostgreSQL that migrate accepts.
import t from 'tap'
import { readServerVersion, requireServerVersion } from '../../src/database/server-version.ts'
import { testDatabase } from '../support/database/test-database.ts'

t.test('accepts 15 and newer, and says what to do about older versions', async (t) => {
  const { db } = await testDatabase(t)
  const version = await readServerVersion(db)
  t.ok(version >= 15, `the tests run on ${version}`)
  for (const accepted of [15, 16, 17, version]) requireServerVersion(accepted)
  t.throws(() => requireServerVersion(14), /PostgreSQL 14 is too old: the service needs 15/)
})
