// Repairs an upload during which another indexer has taken over.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'
import { type Lease, LeaseLost, readLeaseLoss } from './indexer-lease.ts'
import { queueProducts } from './outbox.ts'

const maxAttempts = 20

/**
 * Always throws. Must be called when `uploadError` has ended an upload of these products. If the
 * lease is lost, queues them again and throws LeaseLost, whose cause is `uploadError`. Otherwise
 * throws `uploadError`.
 *
 * The engine may have applied the documents after newer ones of the indexer that took over. The
 * products are queued for the live index, whose changes also reach an index that is being rebuilt.
 *
 * Makes several attempts while PostgreSQL is unreachable, also during a stop: without the rows, an
 * outdated document would stay in the index. If all attempts fail, throws an AggregateError of
 * `uploadError` and the error of the last one.
 */
export async function rethrowAfterRequeue(
  db: Kysely<Tables>,
  lease: Lease,
  productIds: string[],
  uploadError: unknown,
): Promise<never> {
  const loss = await requeueWithRetries(db, lease, productIds, uploadError)
  if (loss === null || uploadError instanceof LeaseLost) throw uploadError
  throw Object.assign(loss, { cause: uploadError })
}

/** Returns why the lease is lost, after queueing the products; null if it is not lost. */
async function requeueWithRetries(
  db: Kysely<Tables>,
  lease: Lease,
  productIds: string[],
  uploadError: unknown,
): Promise<LeaseLost | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      const loss = await readLeaseLoss(db, lease)
      if (loss) await queueProducts(db, lease.registrationName, productIds)
      return loss
    } catch (error) {
      if (attempt === maxAttempts) throw new AggregateError([uploadError, error])
      await sleep(timeouts.indexing.requeueRetry.ms)
    }
  }
}
