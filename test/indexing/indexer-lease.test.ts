// The lease of an index: a renewal that is late neither takes nor keeps it.
import t from 'tap'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { acquireLease, releaseLease, startLeaseRenewal } from '../../src/indexing/indexer-lease.ts'
import { registerIndex } from '../../src/indexing/register-index.ts'
import { timeouts } from '../../src/timeouts.ts'
import { eventually } from '../support/eventually.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { testDatabase } from '../support/test-database.ts'

t.test('a renewal that is sent before the release and arrives later has no effect', async (t) => {
  replaceUntilEnd(t, timeouts.indexing.leaseRenewal, { ms: 10 })
  const { db, url } = await testDatabase(t)
  await registerIndex(db, 'main')
  const lease = await acquireLease(db, 'main', 'first')
  if (!lease) throw new Error('The lease is held.')
  // The renewal waits for the only connection of this pool.
  const busy = openDatabase(url, { connections: 1, connectionTimeoutMs: 60_000 })
  t.teardown(() => busy.destroy())
  let sent = 0
  const observed = busy.withPlugin({
    transformQuery: ({ node }) => {
      sent += 1
      return node
    },
    transformResult: async ({ result }) => result,
  })
  const connection = await busy.startTransaction().execute()
  const renewal = startLeaseRenewal(observed, lease)
  t.equal(await eventually(async () => sent, Boolean), 1, 'it is renewing')
  renewal.stop()
  await releaseLease(db, lease)
  await connection.rollback().execute()
  // The connection is free again when the renewal has ended.
  await busy.selectFrom('index_leases').select('registration_name').execute()
  const row = await db.selectFrom('index_leases').selectAll().executeTakeFirst()
  t.match(row, { holder: null, held_until: null })
  t.match(await acquireLease(db, 'main', 'second'), { wasReleased: true }, 'at once')
})

t.test('a renewal keeps the lease', async (t) => {
  replaceUntilEnd(t, timeouts.indexing.leaseRenewal, { ms: 10 })
  const { db } = await testDatabase(t)
  await registerIndex(db, 'main')
  const lease = await acquireLease(db, 'main', 'first')
  if (!lease) throw new Error('The lease is held.')
  const readEnd = async () =>
    (await db.selectFrom('index_leases').select('held_until').executeTakeFirstOrThrow()).held_until
  const before = await readEnd()
  const renewal = startLeaseRenewal(db, lease)
  t.teardown(() => renewal.stop())
  const after = await eventually(readEnd, (end) => Number(end) > Number(before))
  t.ok(Number(after) > Number(before))
  renewal.throwIfLost()
})
