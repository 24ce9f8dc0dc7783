// The lease that lets one indexer at a time write to an index, with its fencing token.
// The lease is in PostgreSQL with the outbox, so that one transaction can check it and delete rows.
import { type Kysely, sql, type Transaction } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { FailureLog } from '../../monitoring/log/failure-log.ts'
import type { LogLine } from '../../monitoring/log/program-log.ts'
import { toSentence } from '../../text/to-sentence.ts'

// Several renewals may fail before another indexer takes over.
export const leaseMs = 5_000
// A fifth of the lease, so that one slow renewal does not lose it.
export const leaseRenewal = { ms: 1_000 }

export type Lease = {
  registrationName: string
  /** Rises each time the lease is acquired. */
  fencingToken: string
  /**
   * When the server that granted the lease was started. The lease is valid only at that server:
   * after a failover that lost commits, a fencing token may be granted again.
   */
  serverStartedAt: string
}

export type AcquiredLease = Lease & {
  /** Whether the previous holder released the lease. If not, it may still be writing. */
  wasReleased: boolean
  /** The identity of the database that granted the lease. */
  databaseIdentity: string
}

/** Thrown when an indexer notices that it has lost the lease. */
export class LeaseLost extends Error {}

/** Thrown when the lease is lost because another indexer has acquired it. */
class TakenOver extends LeaseLost {
  /** `holder`: the other indexer; null if it has released the lease again. */
  constructor(holder: string | null, options?: ErrorOptions) {
    super(`Another indexer${holder === null ? '' : ` (${holder})`} has taken over`, options)
  }
}

/** Thrown when the lease is lost because PostgreSQL was restarted or another server replaced it. */
export class ServerReplaced extends LeaseLost {
  constructor(options?: ErrorOptions) {
    super('PostgreSQL was restarted or has failed over', options)
  }
}

/** Thrown when the lease is lost because the registration was deleted, and the lease with it. */
class RegistrationDeleted extends LeaseLost {
  constructor(options?: ErrorOptions) {
    super('The registration of the index was deleted from search_indexes', options)
  }
}

/**
 * Acquires the lease if it is free, has not been renewed for `leaseMs`, or belongs
 * to this `holder`, which starts over after an error. Returns null while another indexer holds the
 * lease.
 */
export async function acquireLease(
  db: Kysely<Tables>,
  registrationName: string,
  holder: string,
): Promise<AcquiredLease | null> {
  return db.transaction().execute(async (transaction) => {
    await sql`
      insert into index_leases (registration_name, fencing_token) values (${registrationName}, 0)
      on conflict do nothing
    `.execute(transaction)
    const previous = await transaction
      .selectFrom('index_leases')
      .select([
        'holder',
        sql<boolean>`coalesce(held_until < clock_timestamp(), true)`.as('is_over'),
      ])
      .where('registration_name', '=', registrationName)
      .forUpdate()
      .executeTakeFirst()
    if (!previous || !(previous.is_over || previous.holder === holder)) return null
    const granted = await transaction
      .updateTable('index_leases')
      .set({ fencing_token: sql`fencing_token + 1`, holder, held_until: leaseEnd() })
      .where('registration_name', '=', registrationName)
      .returning([...leaseColumns, sql<string>`database_identity()`.as('databaseIdentity')])
      .executeTakeFirstOrThrow()
    const wasReleased = previous.holder === null
    return { registrationName, ...granted, wasReleased }
  })
}

/** Releases the lease for another indexer. Does nothing if the lease is lost. */
export async function releaseLease(
  db: Kysely<Tables>,
  { registrationName, fencingToken, serverStartedAt }: Lease,
): Promise<void> {
  await db
    .updateTable('index_leases')
    .set({ holder: null, held_until: null })
    .where('registration_name', '=', registrationName)
    .where('fencing_token', '=', fencingToken)
    .where(serverStart, '=', serverStartedAt)
    .execute()
}

/** When PostgreSQL was started. The time of a promoted server differs from that of the old one. */
const serverStart = sql<string>`extract(epoch from pg_postmaster_start_time())::text`

/** The columns by which a lease is recognised, with the names of `Lease`. */
const leaseColumns = ['fencing_token as fencingToken', serverStart.as('serverStartedAt')] as const

declare const underLease: unique symbol

/** A transaction of executeUnderLease. No other indexer can acquire the lease before it ends. */
export type LeasedTransaction = Transaction<Tables> & { readonly [underLease]: true }

/** Runs `work` in a transaction, and returns its result. Throws LeaseLost if the lease is lost. */
export async function executeUnderLease<Result>(
  db: Kysely<Tables>,
  lease: Lease,
  work: (transaction: LeasedTransaction) => Promise<Result>,
): Promise<Result> {
  return db.transaction().execute(async (transaction) => {
    const loss = findLoss(
      await selectLease(transaction, lease).forShare().executeTakeFirst(),
      lease,
    )
    if (loss) throw loss
    return work(transaction as LeasedTransaction)
  })
}

/**
 * Returns why the lease is lost; null if it is not lost. `options` has the cause of that error, if
 * there is one. Throws if PostgreSQL does not answer.
 */
export async function readLeaseLoss(
  db: Kysely<Tables>,
  lease: Lease,
  options?: ErrorOptions,
): Promise<LeaseLost | null> {
  return findLoss(await selectLease(db, lease).executeTakeFirst(), lease, options)
}

/** Throws LeaseLost if the lease is lost, and the error of PostgreSQL if it does not answer. */
export async function requireLease(db: Kysely<Tables>, lease: Lease): Promise<void> {
  const loss = await readLeaseLoss(db, lease)
  if (loss) throw loss
}

/**
 * Returns the host and process of the indexer that acquired the lease last; null if it has released
 * it.
 */
export async function readLeaseHolder(
  db: Kysely<Tables>,
  registrationName: string,
): Promise<string | null> {
  const row = await db
    .selectFrom('index_leases')
    .select('holder')
    .where('registration_name', '=', registrationName)
    .executeTakeFirst()
  return row?.holder ?? null
}

const selectLease = (db: Kysely<Tables>, { registrationName }: Lease) =>
  db
    .selectFrom('index_leases')
    .select([...leaseColumns, 'holder'])
    .where('registration_name', '=', registrationName)

type CurrentLease = Pick<Lease, 'fencingToken' | 'serverStartedAt'> & { holder: string | null }

/** Returns why the lease is lost; null if `current`, the row of the lease, still belongs to it. */
function findLoss(
  current: CurrentLease | undefined,
  lease: Lease,
  options?: ErrorOptions,
): LeaseLost | null {
  if (current === undefined) return new RegistrationDeleted(options)
  if (current.fencingToken !== lease.fencingToken) return new TakenOver(current.holder, options)
  if (current.serverStartedAt !== lease.serverStartedAt) return new ServerReplaced(options)
  return null
}

export type LeaseRenewal = {
  /** Throws LeaseLost if a renewal found that the lease is lost. */
  throwIfLost(): void
  stop(): void
}

/**
 * Renews the lease at intervals of `leaseRenewal` until stop() is called or the
 * lease is lost. Logs errors of PostgreSQL, each cause once, and goes on: as long as they last,
 * this indexer cannot delete outbox rows either.
 */
export function startLeaseRenewal(db: Kysely<Tables>, lease: Lease, log: LogLine): LeaseRenewal {
  const failures = new FailureLog(
    { error: (line) => log(line, 'warn'), info: log },
    {
      failure: (cause) => `The lease was not renewed: ${toSentence(cause)}`,
      recovery: 'The lease is renewed again.',
    },
  )
  let loss: LeaseLost | null = null
  let isStopped = false
  let timer: NodeJS.Timeout
  async function renew(): Promise<void> {
    try {
      const renewed = await db
        .updateTable('index_leases')
        .set({ held_until: leaseEnd() })
        .where('registration_name', '=', lease.registrationName)
        .where('fencing_token', '=', lease.fencingToken)
        .where(serverStart, '=', lease.serverStartedAt)
        // stop() does not wait for a renewal, which may arrive after the release of the lease.
        .where('holder', 'is not', null)
        .returning('fencing_token')
        .executeTakeFirst()
      if (renewed) failures.logSuccess()
      else loss = (await readLeaseLoss(db, lease)) ?? new TakenOver(null)
    } catch (error) {
      // The next renewal decides whether the lease is lost. After stop() nobody needs the lease.
      if (!isStopped) failures.logFailure(error)
    }
    if (!loss && !isStopped) schedule()
  }
  const schedule = () => {
    timer = setTimeout(renew, leaseRenewal.ms)
  }
  schedule()
  return {
    throwIfLost() {
      if (loss) throw loss
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

function leaseEnd() {
  const seconds = leaseMs / 1_000
  return sql<Date>`clock_timestamp() + make_interval(secs => ${seconds})`
}
