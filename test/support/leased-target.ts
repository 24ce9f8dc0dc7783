// Writes to an index for a test or a measurement, which runs no indexer.
import { syncBatch } from '../../src/indexing/change-sync.ts'
import { acquireLease, releaseLease } from '../../src/indexing/indexer-lease.ts'
import type { IndexAddress, LeasedTarget } from '../../src/indexing/leased-target.ts'
import { OutboxProgress } from '../../src/indexing/outbox-progress.ts'
import { rebuild } from '../../src/indexing/rebuild/rebuild.ts'

/**
 * Acquires the lease of a registered index, and releases it at once, so that an indexer of the test
 * need not wait. The target is valid until somebody else acquires the lease.
 */
export async function leaseTarget(address: IndexAddress): Promise<LeasedTarget> {
  const { db, registrationName } = address
  const lease = await acquireLease(db, registrationName, 'a test')
  if (!lease) throw new Error('An indexer is running.')
  await releaseLease(db, lease)
  return { ...address, lease, progress: new OutboxProgress(db, registrationName) }
}

/** Applies every pending change to the index. */
export async function syncIndex(address: IndexAddress): Promise<void> {
  const target = await leaseTarget(address)
  while ((await syncBatch(target)) > 0);
}

/** Builds the index anew and returns the number of products. */
export async function rebuildIndex(
  address: IndexAddress,
  options?: Parameters<typeof rebuild>[1],
): Promise<number> {
  return rebuild(await leaseTarget(address), options)
}
