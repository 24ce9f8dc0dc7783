// Repairs an upload during which another indexer has taken over.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'
import { isLeaseLost, type Lease } from './indexer-lease.ts'
import { queueProducts } from './outbox.ts'

const maxAttempts = 20

/**
 * Queues these products again if the lease is lost, and returns whether it is. The engine may have
 * applied their documents after newer ones of the indexer that took over. They are queued for the
 * live index, whose changes also reach an index that is being rebuilt. Makes several attempts while
 * PostgreSQL is unreachable.
 */
export async function requeueIfLeaseLost(
  db: Kysely<Tables>,
  lease: Lease,
  productIds: string[],
): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      const isLost = await isLeaseLost(db, lease)
      if (isLost) await queueProducts(db, lease.registrationName, productIds)
      return isLost
    } catch (error) {
      if (attempt === maxAttempts) throw error
      await sleep(timeouts.indexing.requeueRetry.ms)
    }
  }
}
