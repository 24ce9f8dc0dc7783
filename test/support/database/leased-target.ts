// Writes to an index for a test or a measurement, which runs no indexer.
import { sql } from 'kysely'
import { applyBatch } from '../../../src/indexing/apply.ts'
import { acquireLease, releaseLease } from '../../../src/indexing/lease.ts'
import { type RebuildOptions, rebuild } from '../../../src/indexing/rebuild.ts'
import type { IndexAddress, IndexTarget } from '../../../src/indexing/registration.ts'
import type { LogLine } from '../../../src/monitoring/log/program-log.ts'

/**
 * Acquires the lease of a registered index, and gives it up, so that an indexer of the test need
 * not wait. The target is valid until somebody else acquires the lease. The client of the address
 * must have a key that allows everything.
 */
export async function leaseTarget(address: IndexAddress): Promise<IndexTarget> {
  const { db, registrationName } = address
  const lease = await acquireLease(db, registrationName, 'a test')
  if (!lease) throw new Error('An indexer is running.')
  await db
    .updateTable('index_leases')
    .set({ held_until: sql<Date>`clock_timestamp()` })
    .where('registration_name', '=', registrationName)
    .execute()
  return { ...address, lease }
}

const ignore = () => undefined

/** Applies one batch of changes and returns their number. */
export async function applyNextBatch(
  target: IndexTarget,
  options: Partial<Parameters<typeof applyBatch>[1]> = {},
): Promise<number> {
  return (await applyBatch(target, { log: ignore, ...options })).changeCount
}

/** Applies every pending change to the index. */
export async function syncIndex(address: IndexAddress, log: LogLine = ignore): Promise<void> {
  const target = await leaseTarget(address)
  while ((await applyNextBatch(target, { log })) > 0);
  await releaseLease(target.db, target.lease)
}

/** Builds the index anew and returns the number of products. */
export async function rebuildIndex(
  address: IndexAddress,
  options: Partial<RebuildOptions> = {},
): Promise<number> {
  const target = await leaseTarget(address)
  const productCount = await rebuildTarget(target, options)
  await releaseLease(target.db, target.lease)
  return productCount
}

/** Does the same for an index that the test has leased. */
export function rebuildTarget(
  target: IndexTarget,
  options: Partial<RebuildOptions> = {},
): Promise<number> {
  return rebuild(target, { onProgress: ignore, log: ignore, throwIfStopped: ignore, ...options })
}
