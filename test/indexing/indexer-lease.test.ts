// The lease of an index: a renewal that is late neither takes nor keeps it.
import t from 'tap'
import { type Database, openDatabase } from '../../src/database/postgres-pool.ts'
import {
  acquireLease,
  type LeaseRenewal,
  leaseRenewal,
  readLeaseLoss,
  releaseLease,
  startLeaseRenewal,
} from '../../src/indexing/lease.ts'
import { registerIndex } from '../../src/indexing/registration.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'

t.test('a renewal that is sent before the release and arrives later has no effect', async (t) => {
  replaceUntilEnd(t, leaseRenewal, { ms: 10 })
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
  t.match(row, { holder: null })
  t.match(await acquireLease(db, 'main', 'second'), { holder: 'second' }, 'at once')
})

t.test('a renewal keeps the lease', async (t) => {
  replaceUntilEnd(t, leaseRenewal, { ms: 10 })
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

t.test('renewals that fail are repeated', async (t) => {
  replaceUntilEnd(t, leaseRenewal, { ms: 10 })
  const { db } = await testDatabase(t)
  await registerIndex(db, 'main')
  const lease = await acquireLease(db, 'main', 'first')
  if (!lease) throw new Error('The lease is held.')
  // As after a restart of PostgreSQL, during which renewals failed.
  const renewal = startLeaseRenewal(failAtFirst(db), { ...lease, serverStartedAt: '0' })
  t.teardown(() => renewal.stop())
  t.match(await eventually(async () => findLoss(renewal), Boolean), { message: /restarted/ })
})

t.test('the error of a lost lease names the indexer that has taken over', async (t) => {
  const { db } = await testDatabase(t)
  await registerIndex(db, 'main')
  const lease = await acquireLease(db, 'main', 'a host, process 1')
  if (!lease) throw new Error('The lease is held.')
  await releaseLease(db, lease)
  await acquireLease(db, 'main', 'another host, process 2')
  t.match(await readLeaseLoss(db, lease), {
    message: 'Another indexer (another host, process 2) has taken over',
  })
})

t.test(
  'a lease of another server releases and renews nothing, even with the same holder',
  async (t) => {
    const { db } = await testDatabase(t)
    await registerIndex(db, 'main')
    const lease = await acquireLease(db, 'main', 'this one')
    if (!lease) throw new Error('The lease is held.')
    // As after a failover that lost commits.
    const ofOldServer = { ...lease, serverStartedAt: '0' }
    await releaseLease(db, ofOldServer)
    const row = () => db.selectFrom('index_leases').selectAll().executeTakeFirstOrThrow()
    const before = await row()
    t.equal(before.holder, 'this one')
    replaceUntilEnd(t, leaseRenewal, { ms: 10 })
    const renewal = startLeaseRenewal(db, ofOldServer)
    t.teardown(() => renewal.stop())
    t.match(await eventually(async () => findLoss(renewal), Boolean), {
      message: /restarted or has failed over/,
    })
    t.same(await row(), before)
  },
)

/** Returns the database, whose first three results are errors. */
function failAtFirst(db: Database) {
  let attempts = 0
  return db.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      attempts += 1
      if (attempts <= 3) throw new Error('Connection terminated unexpectedly')
      return result
    },
  })
}

/** Returns the error with which a renewal says that the lease is lost, or null. */
function findLoss(renewal: LeaseRenewal): unknown {
  try {
    renewal.throwIfLost()
    return null
  } catch (error) {
    return error
  }
}
