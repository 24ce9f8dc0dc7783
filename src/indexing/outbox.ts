// Reads, deletes and adds the outbox rows of an index: one row for each changed product.
// docs/architecture.md explains the terms.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { requireFirstRow } from './first-row.ts'
import type { LeasedTransaction } from './lease/indexer-lease.ts'

// The lag of the next change is measured from this instant, in seconds.
const settledMarkMs = 2_000

/** `xid` is the transaction that added the row. `productId` is null for a truncation. */
type OutboxRow = { id: string; xid: string; productId: string | null }

type ProductChange = OutboxRow & { productId: string }

export type OutboxRead = {
  /** Ordered by (xid, id). */
  changes: ProductChange[]
  /** Whether the table of products was truncated, which requires a rebuild. */
  hasTruncation: boolean
  /** Whether the index contains every change once these are applied. */
  hasReachedEnd: boolean
  /**
   * The snapshot of the first read of this round. After the last read of the round it becomes the
   * settled snapshot.
   */
  snapshot: string
  /** Every change committed before this instant is visible to the snapshot. */
  readAt: Date
}

/** Where a round that has not reached the end of the outbox is. */
type Round = Pick<OutboxRead, 'snapshot' | 'readAt'> & { lastReadRow: OutboxRow }

/** A snapshot that sees no transaction. While it is the settled one, every row is pending. */
export const emptySnapshot = '1:1:'

/**
 * Reads the pending rows of an index: those that the settled snapshot does not see. The indexer has
 * deleted the others. But while an old snapshot is in use, PostgreSQL keeps deleted rows, and
 * reading past a million of them takes 100 ms.
 *
 * For example, the settled snapshot is `12:15:12`: it sees every transaction below 15 except 12,
 * which was still running. The next round has two reads:
 *
 * 1. The first read has the snapshot `12:18:12`. It selects the rows of the transactions from 15 on
 *    and those of 12, which has still not committed. It reaches its limit at a row of 16.
 * 2. Meanwhile, 12 commits. The second read selects only the rows after that row of 16. It returns
 *    fewer rows than its limit, so the round ends and `12:18:12` becomes the settled snapshot.
 *
 * That snapshot does not see 12, so the next round reads the rows of 12.
 */
export class OutboxCursor {
  /** The outbox name. */
  readonly name: string
  readonly #db: Kysely<Tables>
  #settledSnapshot = emptySnapshot
  /** When the last round ended. Minus infinity while one is going on. */
  #reachedEndAtMs = Number.NEGATIVE_INFINITY
  #round: Round | null = null

  constructor(db: Kysely<Tables>, name: string) {
    this.#db = db
    this.name = name
  }

  /** Whether an idle indexer must mark the index as settled again, to keep its lag correct. */
  isSettledMarkDue(): boolean {
    return performance.now() - this.#reachedEndAtMs > settledMarkMs
  }

  /** Returns at most `limit` rows. They are returned again until `advancePast` is called. */
  async read(limit: number): Promise<OutboxRead> {
    const result = await sql<{
      snapshot: string
      readAt: Date
      rows: OutboxRow[] | null
    }>`
      with pending as (
        select * from (${this.#selectPending(sql`true`, limit)}) as both_parts
        order by xid, id limit ${limit}
      )
      select pg_current_snapshot()::text as snapshot, now() as "readAt", (
        select json_agg(
          json_build_object('id', id::text, 'productId', product_id::text, 'xid', xid::text)
          order by xid, id
        ) from pending
      ) as rows
    `.execute(this.#db)
    const now = requireFirstRow(result)
    const rows = now.rows ?? []
    const changes = rows.filter(isProductChange)
    const hasTruncation = changes.length < rows.length
    const hasReachedEnd = rows.length < limit && !hasTruncation
    const { snapshot, readAt } = this.#round ?? now
    return { changes, hasTruncation, hasReachedEnd, snapshot, readAt }
  }

  /** Whether changes of products are pending. Truncations do not count. */
  async hasChanges(): Promise<boolean> {
    const result = await sql<{ hasChanges: boolean }>`
      select exists (${this.#selectPending(sql`product_id is not null`, 1)}) as "hasChanges"
    `.execute(this.#db)
    return requireFirstRow(result).hasChanges
  }

  /**
   * Returns an SQL query for the pending rows that meet this condition and were not read in this
   * round. It has two parts, each in order and with at most `limit` rows, so that each needs one
   * index scan.
   */
  #selectPending(condition: RawBuilder<unknown>, limit: number): RawBuilder<unknown> {
    const selectRows = (part: RawBuilder<unknown>) => sql`
      select id, product_id, xid from index_outbox
      where registration_name = ${this.name} and ${part} and ${condition}
      order by xid, id limit ${limit}
    `
    const newer = selectRows(this.#newerTransactions())
    const wasRunning = this.#transactionsThatWereRunning()
    return wasRunning ? sql`(${newer}) union all (${selectRows(wasRunning)})` : newer
  }

  /**
   * Returns an SQL condition for the rows of transactions that began after the settled snapshot,
   * without the rows that this round has already read. It is one bound, so that an index scan
   * begins at the first such row.
   */
  #newerTransactions(): RawBuilder<unknown> {
    const { xmax } = parseSnapshot(this.#settledSnapshot)
    const lastReadRow = this.#round?.lastReadRow
    return lastReadRow && BigInt(lastReadRow.xid) >= BigInt(xmax)
      ? isAfter(lastReadRow)
      : sql`xid >= ${xmax}::xid8`
  }

  /**
   * Returns an SQL condition for the rows of transactions that were running at the settled
   * snapshot, without the rows that this round has already read. Returns null if none was running.
   */
  #transactionsThatWereRunning(): RawBuilder<unknown> | null {
    const { xip } = parseSnapshot(this.#settledSnapshot)
    if (xip.length === 0) return null
    const wasRunning = sql`xid = any (${xip}::xid8[])`
    return this.#round ? sql`${wasRunning} and ${isAfter(this.#round.lastReadRow)}` : wasRunning
  }

  /** Skips the changes of this read from now on. They must have been deleted. */
  advancePast({ changes, hasTruncation, hasReachedEnd, snapshot, readAt }: OutboxRead): void {
    this.#reachedEndAtMs = hasReachedEnd ? performance.now() : Number.NEGATIVE_INFINITY
    const last = changes.at(-1)
    if (hasReachedEnd) {
      this.#settledSnapshot = snapshot
      this.#round = null
    } else if (last && !hasTruncation) {
      // After a truncation the round does not advance: its later reads would skip the row of the
      // truncation, and the last one would end the round.
      this.#round = { snapshot, readAt, lastReadRow: last }
    }
  }
}

const isProductChange = (row: OutboxRow): row is ProductChange => row.productId !== null

const isAfter = ({ xid, id }: OutboxRow) => sql`(xid, id) > (${xid}::xid8, ${id}::bigint)`

/** Returns what a pg_snapshot does not see: transactions from `xmax` on, and those in `xip`. */
function parseSnapshot(snapshot: string): { xmax: string; xip: string[] } {
  const [, xmax = '1', running = ''] = snapshot.split(':')
  return { xmax, xip: running === '' ? [] : running.split(',') }
}

/** Stands for the missing product id of a truncation's row. No product has this id. */
const idOfTruncation = '-1'

/**
 * Deletes exactly these rows of the index. After a failover that lost commits, other rows may have
 * their ids, so index and product must be the same too.
 */
export async function deleteOutboxRows(
  transaction: LeasedTransaction,
  outboxName: string,
  rows: Pick<OutboxRow, 'id' | 'productId'>[],
): Promise<void> {
  if (rows.length === 0) return
  const rowIds = rows.map(({ id }) => id)
  const productIds = [...new Set(rows.map(({ productId }) => productId ?? idOfTruncation))]
  await sql`
    delete from index_outbox
    where id = any(${rowIds}::bigint[]) and registration_name = ${outboxName}
      and coalesce(product_id, ${idOfTruncation}) = any(${productIds}::bigint[])
  `.execute(transaction)
}

/** Adds an outbox row for each of these products, as a change of the product would. */
export async function queueProducts(
  db: Kysely<Tables>,
  outboxName: string,
  productIds: string[],
): Promise<void> {
  await sql`
    insert into index_outbox (registration_name, product_id)
    select ${outboxName}, unnest(${productIds}::bigint[])
  `.execute(db)
}
