// One indexer works per engine. The lease lies in PostgreSQL beside the pending rows, so that losing it and settling rows cannot both happen.
import { type Kysely, sql, type Transaction } from 'kysely'
import type { Tables } from '../database/table-types.ts'

/** `fence` rises with every taking over. */
export type Lease = { engineName: string; fence: string }

/** Thrown by an indexer that finds out that another has taken over. */
export class LeaseLost extends Error {
  constructor() {
    super('Another indexer has taken over')
  }
}

const leaseSeconds = 5
const renewEveryMs = 1_000

/**
 * Takes the lease when nobody holds it, or its holder has not renewed it for 5 s, or is this very `holder` in an earlier attempt; null while
 * another holds it. `wasGivenBack`: whether whoever held it before had finished.
 */
export async function takeLease(
  db: Kysely<Tables>,
  engineName: string,
  holder: string,
): Promise<(Lease & { wasGivenBack: boolean }) | null> {
  return db.transaction().execute(async (transaction) => {
    await sql`insert into indexer_leases (engine, fence) values (${engineName}, 0) on conflict do nothing`.execute(
      transaction,
    )
    const before = await transaction
      .selectFrom('indexer_leases')
      .select([
        'holder',
        sql<boolean>`coalesce(held_until < clock_timestamp(), true)`.as('is_over'),
      ])
      .where('engine', '=', engineName)
      .forUpdate()
      .executeTakeFirst()
    if (!before || !(before.is_over || before.holder === holder)) return null
    const { fence } = await transaction
      .updateTable('indexer_leases')
      .set({ fence: sql`fence + 1`, holder, held_until: inSeconds(leaseSeconds) })
      .where('engine', '=', engineName)
      .returning('fence')
      .executeTakeFirstOrThrow()
    return { engineName, fence, wasGivenBack: before.holder === null }
  })
}

/** Gives the lease back, so that another need not wait. Harmless when it is lost. */
export async function releaseLease(
  db: Kysely<Tables>,
  { engineName, fence }: Lease,
): Promise<void> {
  await db
    .updateTable('indexer_leases')
    .set({ holder: null, held_until: null })
    .where('engine', '=', engineName)
    .where('fence', '=', fence)
    .execute()
}

/** Throws LeaseLost unless the lease is held, and keeps anybody from taking it until the transaction ends. */
export async function requireLease(
  transaction: Transaction<Tables>,
  { engineName, fence }: Lease,
): Promise<void> {
  const held = await transaction
    .selectFrom('indexer_leases')
    .select('fence')
    .where('engine', '=', engineName)
    .where('fence', '=', fence)
    .forShare()
    .executeTakeFirst()
  if (!held) throw new LeaseLost()
}

export type HeldLease = {
  /** Throws once the lease is known to be lost. */ check(): void
  stop(): void
}

/** Renews the lease every second until stopped or lost. Without PostgreSQL it stays undecided: nothing can be settled then anyway. */
export function keepLease(db: Kysely<Tables>, { engineName, fence }: Lease): HeldLease {
  let isLost = false
  let isStopped = false
  let timer: NodeJS.Timeout
  async function renew(): Promise<void> {
    try {
      const { numUpdatedRows } = await db
        .updateTable('indexer_leases')
        .set({ held_until: inSeconds(leaseSeconds) })
        .where('engine', '=', engineName)
        .where('fence', '=', fence)
        .executeTakeFirstOrThrow()
      isLost = numUpdatedRows === 0n
    } catch {}
    if (!isLost && !isStopped) timer = setTimeout(renew, renewEveryMs)
  }
  timer = setTimeout(renew, renewEveryMs)
  return {
    check() {
      if (isLost) throw new LeaseLost()
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

function inSeconds(seconds: number) {
  return sql<Date>`clock_timestamp() + make_interval(secs => ${seconds})`
}
