// The lease that lets one indexer at a time work on an engine, with its fencing token.
// It is in PostgreSQL with the outbox, so that one transaction can check it and delete rows.
import { type Kysely, sql, type Transaction } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'

/** The fencing token rises each time the lease is acquired. */
export type Lease = { engineName: string; fencingToken: string }

/** `wasReleased`: the previous holder released the lease. If not, it may still be writing. */
export type AcquiredLease = Lease & { wasReleased: boolean }

/** Thrown by an indexer that finds that another one has acquired the lease. */
export class LeaseLost extends Error {
  constructor() {
    super('Another indexer has taken over')
  }
}

/**
 * Acquires the lease if it is free, has not been renewed for 5 s, or belongs to this `holder`,
 * which starts over after an error. Returns null while another indexer holds it.
 */
export async function acquireLease(
  db: Kysely<Tables>,
  engineName: string,
  holder: string,
): Promise<AcquiredLease | null> {
  return db.transaction().execute(async (transaction) => {
    await sql`
      insert into indexer_leases (engine, fence) values (${engineName}, 0) on conflict do nothing
    `.execute(transaction)
    const previous = await transaction
      .selectFrom('indexer_leases')
      .select([
        'holder',
        sql<boolean>`coalesce(held_until < clock_timestamp(), true)`.as('is_over'),
      ])
      .where('engine', '=', engineName)
      .forUpdate()
      .executeTakeFirst()
    if (!previous || !(previous.is_over || previous.holder === holder)) return null
    const { fence } = await transaction
      .updateTable('indexer_leases')
      .set({ fence: sql`fence + 1`, holder, held_until: leaseEnd() })
      .where('engine', '=', engineName)
      .returning('fence')
      .executeTakeFirstOrThrow()
    return { engineName, fencingToken: fence, wasReleased: previous.holder === null }
  })
}

/** Releases the lease for another indexer. Does nothing if it is lost. */
export async function releaseLease(
  db: Kysely<Tables>,
  { engineName, fencingToken }: Lease,
): Promise<void> {
  await db
    .updateTable('indexer_leases')
    .set({ holder: null, held_until: null })
    .where('engine', '=', engineName)
    .where('fence', '=', fencingToken)
    .execute()
}

/**
 * Throws LeaseLost if the lease is lost. If not, locks its row until `transaction` ends, so that no
 * other indexer can acquire it.
 */
export async function requireLease(
  transaction: Transaction<Tables>,
  { engineName, fencingToken }: Lease,
): Promise<void> {
  const row = await transaction
    .selectFrom('indexer_leases')
    .select('fence')
    .where('engine', '=', engineName)
    .where('fence', '=', fencingToken)
    .forShare()
    .executeTakeFirst()
  if (!row) throw new LeaseLost()
}

export type LeaseRenewal = {
  /** Throws LeaseLost if a renewal found that the lease is lost. */
  throwIfLost(): void
  stop(): void
}

/**
 * Renews the lease every second until it is stopped or the lease is lost. An error of PostgreSQL
 * is ignored: it prevents this indexer from deleting outbox rows as well.
 */
export function startLeaseRenewal(
  db: Kysely<Tables>,
  { engineName, fencingToken }: Lease,
): LeaseRenewal {
  let isLost = false
  let isStopped = false
  let timer: NodeJS.Timeout
  async function renew(): Promise<void> {
    try {
      const { numUpdatedRows } = await db
        .updateTable('indexer_leases')
        .set({ held_until: leaseEnd() })
        .where('engine', '=', engineName)
        .where('fence', '=', fencingToken)
        .executeTakeFirstOrThrow()
      isLost = numUpdatedRows === 0n
    } catch {
      // The next renewal decides whether the lease is lost.
    }
    if (!isLost && !isStopped) schedule()
  }
  const schedule = () => {
    timer = setTimeout(renew, timeouts.indexing.leaseRenewal.ms)
  }
  schedule()
  return {
    throwIfLost() {
      if (isLost) throw new LeaseLost()
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

function leaseEnd() {
  const seconds = timeouts.indexing.lease.ms / 1_000
  return sql<Date>`clock_timestamp() + make_interval(secs => ${seconds})`
}
