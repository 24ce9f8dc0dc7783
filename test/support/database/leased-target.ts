// Writes to an index for a test or a measurement, which runs no indexer.
import { applyBatch } from '../../../src/indexing/change-sync.ts'
import type { IndexAddress, LiveTarget } from '../../../src/indexing/index-address.ts'
import { acquireLease, releaseLease } from '../../../src/indexing/lease/indexer-lease.ts'
import { OutboxCursor } from '../../../src/indexing/outbox.ts'
import { type RebuildOptions, rebuild } from '../../../src/indexing/rebuild/rebuild.ts'
import type { LogLine } from '../../../src/monitoring/log/program-log.ts'

/**
 * Acquires the lease of a registered index, and releases it at once, so that an indexer of the test
 * need not wait. The target is valid until somebody else acquires the lease. The client of the
 * address must have a key that allows everything.
 */
export async function leaseTarget(address: IndexAddress): Promise<LiveTarget> {
  const { db, client, registrationName } = address
  const lease = await acquireLease(db, registrationName, 'a test')
  if (!lease) throw new Error('An indexer is running.')
  await releaseLease(db, lease)
  const outbox = new OutboxCursor(db, registrationName)
  return { kind: 'live', ...address, taskClient: client, lease, outbox }
}

const ignore = () => undefined

/** Applies one batch of changes and returns their number. */
export async function applyNextBatch(
  target: LiveTarget,
  options: Partial<Parameters<typeof applyBatch>[1]> = {},
): Promise<number> {
  return (await applyBatch(target, { log: ignore, ...options })).changeCount
}

/** Applies every pending change to the index. */
export async function syncIndex(address: IndexAddress, log: LogLine = ignore): Promise<void> {
  const target = await leaseTarget(address)
  while ((await applyNextBatch(target, { log })) > 0);
}

/** Builds the index anew and returns the number of products. */
export async function rebuildIndex(
  address: IndexAddress,
  options: Partial<RebuildOptions> = {},
): Promise<number> {
  return rebuildTarget(await leaseTarget(address), options)
}

/** Does the same for an index that the test has leased. */
export function rebuildTarget(
  target: LiveTarget,
  options: Partial<RebuildOptions> = {},
): Promise<number> {
  return rebuild(target, { onProgress: ignore, log: ignore, throwIfStopped: ignore, ...options })
}
