// Repairs an upload during which another indexer has taken over.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'
import { type Lease, type LeaseLost, readLeaseLoss } from './indexer-lease.ts'
import { queueProducts } from './outbox.ts'

const maxAttempts = 20

/**
 * Queues these products again if the lease is lost, and returns why it is lost; null if it is not.
 * The engine may have applied their documents after newer ones of the indexer that took over. They
 * are queued for the live index, whose changes also reach an index that is being rebuilt.
 *
 * Makes several attempts while PostgreSQL is unreachable. If all fail, throws an AggregateError of
 * `uploadError`, which ended the upload, and the error of the last attempt.
 */
export async function requeueIfLeaseLost(
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
