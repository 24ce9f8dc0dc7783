// The lease that lets one indexer at a time write to an index. It is in PostgreSQL with the outbox,
// so that one transaction can check it and delete rows.
import { type Kysely, sql, type Transaction } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { repeat } from '../monitoring/regular-task.ts'

// Several renewals may fail before another indexer takes over.
export const leaseMs = 5_000
// A fifth of the lease, so that one slow renewal does not lose it.
export const leaseRenewal = { ms: 1_000 }

export type Lease = {
  registrationName: string
  /** The host and process of the indexer, and a random number. No two indexers have the same. */
  holder: string
  /**
   * When the server that granted the lease was started. The lease is valid only at that server:
   * after a failover that lost commits, rows of the outbox have the ids of other ones.
   */
  serverStartedAt: string
  /** The products that were sent to the engine since the lease was last known to be held. */
  sentIds: Set<string>
}

/** Thrown when an indexer notices that it has lost the lease. */
export class LeaseLost extends Error {}

/** The lease is lost because PostgreSQL was restarted or another server has replaced it. */
export class ServerReplaced extends LeaseLost {}

/**
 * Acquires the lease of a registered index if it is free, has not been renewed for `leaseMs`, or
 * belongs to this `holder`, which starts over after an error. Returns null while another indexer
 * holds it. `previousEnd` is when the previous lease ended, or would have.
 */
export async function acquireLease(
  db: Kysely<Tables>,
  registrationName: string,
  holder: string,
): Promise<(Lease & { previousEnd: Date }) | null> {
  return db.transaction().execute(async (transaction) => {
    const previous = await transaction
      .selectFrom('index_leases')
      .select(['holder', 'held_until', sql<boolean>`held_until < clock_timestamp()`.as('is_over')])
      .where('registration_name', '=', registrationName)
      .forUpdate()
      .executeTakeFirst()
    const isFree = previous && (previous.is_over || [null, holder].includes(previous.holder))
    if (!isFree) return null
    const { serverStartedAt } = await transaction
      .updateTable('index_leases')
      .set({ holder, held_until: leaseEnd() })
      .where('registration_name', '=', registrationName)
      .returning(serverStart.as('serverStartedAt'))
      .executeTakeFirstOrThrow()
    const previousEnd = previous.held_until
    return { registrationName, holder, serverStartedAt, sentIds: new Set(), previousEnd }
  })
}

/** When PostgreSQL was started. The time of a promoted server differs from that of the old one. */
const serverStart = sql<string>`extract(epoch from pg_postmaster_start_time())::text`

const leaseEnd = () => sql<Date>`clock_timestamp() + make_interval(secs => ${leaseMs / 1_000})`

/** Sets when the lease ends, if it still belongs to this indexer. Returns whether it does. */
async function updateLease(
  db: Kysely<Tables>,
  { registrationName, holder, serverStartedAt }: Lease,
  change: { holder?: null; held_until: ReturnType<typeof leaseEnd> },
): Promise<boolean> {
  const updated = await db
    .updateTable('index_leases')
    .set(change)
    .where('registration_name', '=', registrationName)
    .where('holder', '=', holder)
    .where(serverStart, '=', serverStartedAt)
    .returning('holder')
    .execute()
  return updated.length > 0
}

/** Releases the lease for another indexer. Does nothing if the lease is lost. */
export async function releaseLease(db: Kysely<Tables>, lease: Lease): Promise<void> {
  await updateLease(db, lease, { holder: null, held_until: sql<Date>`clock_timestamp()` })
}

declare const underLease: unique symbol

/** A transaction of executeUnderLease. No other indexer can acquire the lease before it ends. */
export type LeasedTransaction = Transaction<Tables> & { readonly [underLease]: true }

/**
 * Runs `work` in a transaction, and returns its result. Throws LeaseLost if the lease is lost. No
 * request to the engine may be running: what was sent before is known to be in time.
 */
export async function executeUnderLease<Result>(
  db: Kysely<Tables>,
  lease: Lease,
  work: (transaction: LeasedTransaction) => Promise<Result>,
): Promise<Result> {
  return db.transaction().execute(async (transaction) => {
    const current = await selectLease(transaction, lease.registrationName)
      .forShare()
      .executeTakeFirst()
    const loss = findLoss(current, lease)
    if (loss) throw loss
    lease.sentIds.clear()
    return work(transaction as LeasedTransaction)
  })
}

/** Returns why the lease is lost; null if it is not lost. Throws if PostgreSQL does not answer. */
export async function readLeaseLoss(db: Kysely<Tables>, lease: Lease): Promise<LeaseLost | null> {
  return findLoss(await selectLease(db, lease.registrationName).executeTakeFirst(), lease)
}

/** Returns the indexer that has acquired the lease last; null if it has released it. */
export async function readLeaseHolder(
  db: Kysely<Tables>,
  registrationName: string,
): Promise<string | null> {
  return (await selectLease(db, registrationName).executeTakeFirst())?.holder ?? null
}

const selectLease = (db: Kysely<Tables>, registrationName: string) =>
  db
    .selectFrom('index_leases')
    .select(['holder', serverStart.as('serverStartedAt')])
    .where('registration_name', '=', registrationName)

/** Returns why the lease is lost; null if `current`, its row, still belongs to this indexer. */
function findLoss(
  current: { holder: string | null; serverStartedAt: string } | undefined,
  lease: Lease,
): LeaseLost | null {
  if (current === undefined)
    return new LeaseLost('The registration of the index was deleted from search_indexes')
  if (current.holder !== lease.holder) {
    const other = current.holder === null ? '' : ` (${current.holder})`
    return new LeaseLost(`Another indexer${other} has taken over`)
  }
  if (current.serverStartedAt === lease.serverStartedAt) return null
  return new ServerReplaced('PostgreSQL was restarted or has failed over')
}

export type LeaseRenewal = {
  /** Throws LeaseLost if a renewal found that the lease is lost. */
  throwIfLost(): void
  stop(): void
}

/**
 * Renews the lease at intervals of `leaseRenewal` until stop() is called or the lease is lost. An
 * error of PostgreSQL is not logged: as long as it lasts, this indexer cannot delete outbox rows
 * either, and logs that. The next renewal decides whether the lease is lost.
 */
export function startLeaseRenewal(db: Kysely<Tables>, lease: Lease): LeaseRenewal {
  let loss: LeaseLost | null = null
  const stopping = new AbortController()
  const renew = async () => {
    const isHeld = await updateLease(db, lease, { held_until: leaseEnd() })
    if (!isHeld) loss = await readLeaseLoss(db, lease)
    if (loss) stopping.abort()
  }
  void repeat(renew, { pauseMs: leaseRenewal.ms, signal: stopping.signal, pausesFirst: true })
  return {
    throwIfLost() {
      if (loss) throw loss
    },
    stop: () => stopping.abort(),
  }
}
