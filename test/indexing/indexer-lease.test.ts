// The lease of an index after a failover that lost commits.
import t from 'tap'
import {
  acquireLease,
  type LeaseRenewal,
  leaseRenewal,
  releaseLease,
  startLeaseRenewal,
} from '../../src/indexing/lease.ts'
import { registerIndex } from '../../src/indexing/registration.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'

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

/** Returns the error with which a renewal says that the lease is lost, or null. */
function findLoss(renewal: LeaseRenewal): unknown {
  try {
    renewal.throwIfLost()
    return null
  } catch (error) {
    return error
  }
}
