// A database client of a history: runs its transactions in order and records what was committed.
import { setTimeout as sleep } from 'node:timers/promises'
import pg, { type PoolClient } from 'pg'
import { openPool } from '../../src/database/postgres-pool.ts'
import type { Cluster } from './cluster.ts'
import type { CommittedStates, OrderedEffect } from './committed-states.ts'
import type { Transaction } from './scenario.ts'

export type LogEvent = (text: string) => void

const retryMs = 100

export type TransactionContext = {
  cluster: Cluster
  gate: TransactionGate
  states: CommittedStates
  /** Counts statements over all clients. */
  nextOrder(): number
  logEvent: LogEvent
}

/** Keeps transactions waiting while the database is copied or put back. */
export class TransactionGate {
  readonly #running = new Set<Promise<unknown>>()
  #closed: Promise<unknown> = Promise.resolve()

  /** Runs a transaction when the gate is open. */
  async pass<Result>(transaction: () => Promise<Result>): Promise<Result> {
    for (let closed: unknown; closed !== this.#closed; ) {
      closed = this.#closed
      await closed
    }
    const running = transaction()
    this.#running.add(running)
    return running.finally(() => this.#running.delete(running))
  }

  /** Waits until no transaction is running, and lets none begin until `work` is done. */
  async closeDuring(work: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#closed = promise
    await Promise.allSettled(this.#running)
    await work().finally(resolve)
  }
}

/** Runs the transactions in order. */
export async function runTransactions(
  context: TransactionContext,
  transactions: Transaction[],
): Promise<void> {
  for (const transaction of transactions) {
    await sleep(transaction.waitMs)
    await context.gate.pass(() => runTransaction(context, transaction))
  }
}

async function runTransaction(
  { cluster, states, nextOrder, logEvent }: TransactionContext,
  { serial, changes, holdMs, end }: Transaction,
): Promise<void> {
  const summary = `${serial}: ${changes.map(({ description }) => description).join(', ')}`
  const effects: OrderedEffect[] = []
  let earliest: number | undefined
  try {
    await withConnection(cluster, async (client) => {
      await client.query('begin')
      await client.query('insert into history_commits values ($1)', [serial])
      for (const change of changes) {
        const applied = await change.apply(client, cluster.clock)
        effects.push(...applied.map((effect) => ({ ...effect, order: nextOrder() })))
      }
      await sleep(holdMs)
      if (end === 'commit') earliest = Date.now()
      await client.query(end)
    })
    logEvent(`${end} ${summary}`)
  } catch (error) {
    if (isMalformedStatement(error)) throw error
    const outcome = earliest === undefined ? 'failed' : 'unknown outcome'
    logEvent(`${outcome} ${summary}: ${error instanceof Error ? error.message : error}`)
    if (earliest === undefined || !(await wasCommitted(cluster, serial))) return
  }
  if (earliest !== undefined) states.recordCommit(effects, earliest, Date.now() + 1)
}

/** SQLSTATE class 42: an error of the workload, not of a fault. */
const isMalformedStatement = (error: unknown) =>
  error instanceof pg.DatabaseError && error.code?.startsWith('42') === true

/** Whether a transaction was committed, for one whose commit was not confirmed. */
async function wasCommitted(cluster: Cluster, serial: number): Promise<boolean> {
  for (;;) {
    try {
      return await withConnection(cluster, async (client) => {
        const { rowCount } = await client.query('select from history_commits where id = $1', [
          serial,
        ])
        return rowCount === 1
      })
    } catch {
      // PostgreSQL is not up again yet.
      await sleep(retryMs)
    }
  }
}

/** Runs `work` on a new connection, which is closed afterwards. */
export async function withConnection<Result>(
  { databaseUrl }: Cluster,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const pool = openPool(databaseUrl, { connections: 1 })
  try {
    const client = await pool.connect()
    try {
      return await work(client)
    } finally {
      client.release(true)
    }
  } finally {
    // A connection that a fault has broken cannot be closed.
    await pool.end().catch(() => undefined)
  }
}
