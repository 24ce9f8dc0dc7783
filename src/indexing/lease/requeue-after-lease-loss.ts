// Repairs an upload during which another indexer has taken over.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { countNoun } from '../../text/count-noun.ts'
import { queueProducts } from '../outbox.ts'
import { type Lease, LeaseLost, readLeaseLoss } from './indexer-lease.ts'

// Twenty attempts cover a restart of PostgreSQL.
export const requeueRetryPause = { ms: 500 }

const maxAttempts = 20

/**
 * Returns the error to throw after `uploadError` has ended an upload of these products. If the
 * lease is lost, queues them again and returns LeaseLost, whose cause is `uploadError`. Otherwise
 * returns `uploadError`.
 *
 * The engine may have applied the documents after newer ones of the indexer that took over. The
 * products are queued for the live index, whose changes also reach an index that is being rebuilt.
 *
 * Makes several attempts while PostgreSQL is unreachable, also during a stop: without the rows, an
 * outdated document might stay in the index. If all attempts fail, returns an AggregateError of
 * `uploadError`, the error of the last attempt, and the advice to repair the index. The advice
 * is left out if there are no products.
 */
export async function requeueAfterLeaseLoss(
  db: Kysely<Tables>,
  lease: Lease,
  productIds: string[],
  uploadError: unknown,
): Promise<unknown> {
  for (let attempt = 1; ; attempt++) {
    try {
      const loss = await readLeaseLoss(db, lease, { cause: uploadError })
      if (loss === null) return uploadError
      await queueProducts(db, lease.registrationName, productIds)
      return uploadError instanceof LeaseLost ? uploadError : loss
    } catch (error) {
      if (attempt === maxAttempts) {
        const advice = productIds.length > 0 ? [adviseRepair(productIds.length)] : []
        return new AggregateError([uploadError, error, ...advice])
      }
      await sleep(requeueRetryPause.ms)
    }
  }
}

/** Returns an error, because the log describes all errors of an AggregateError. */
function adviseRepair(productCount: number): Error {
  const products = countNoun(productCount, 'product')
  return new Error(
    `If another indexer has taken over, ${products} may be outdated in the index. ` +
      'Then run `scripts/indexer.ts verify --repair`',
  )
}
