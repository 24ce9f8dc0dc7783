// Plays random histories of quotes on concurrent connections and compares the statistics with the
// expected ones.
import fc from 'fast-check'
import { type ControlledTransaction, sql } from 'kysely'
import type { Pool } from 'pg'
import type { Database } from '../../../src/database/postgres-pool.ts'
import type { Tables } from '../../../src/database/table-types.ts'
import { assembleStats, readStats } from '../../../src/stats/read-stats.ts'
import type { StatsRequest } from '../../../src/stats/schema.ts'
import { readVersion } from '../../../src/stats/summary/data-version.ts'
import { foldBatch } from '../../../src/stats/summary/fold-changes.ts'
import { prepareSnapshot } from '../../../src/stats/summary/prepare-snapshot.ts'
import {
  findSummaryDifferences,
  rebuildSummary,
} from '../../../src/stats/summary/verify-and-rebuild.ts'
import { company } from '../../support/database/company.ts'
import { insertCustomers } from '../insert-quotes.ts'
import { assertExpectedStats, dayAfter, type ExpectedQuery } from '../reference-stats.ts'
import { type Quotes, QuoteWriter } from './quote-writer.ts'
import { arbitraryQuery, customerIds, firstDay, type RandomQuery } from './random-quotes.ts'
import { arbitraryStep, type Step, writerCount } from './random-steps.ts'

/** Days after `firstDay` on which the final statistics are read: most sent quotes have lapsed. */
const finalDay = 385

/**
 * Plays histories in which three writers have open transactions while others fold, rebuild and read
 * statistics, even from snapshots that stay open. Each result must be the statistics of the quotes
 * that were committed before its snapshot, with any day as today. A writer changes only its own
 * quotes, so that no writer waits for a row lock of another. The role must be a superuser.
 * Returns the number of histories played. Throws if a result is wrong.
 */
export async function checkHistories(
  { db, pool }: { db: Database; pool: Pool },
  parameters: fc.Parameters<[Step[], RandomQuery]>,
): Promise<number> {
  const clients = await Promise.all(Array.from({ length: writerCount }, () => pool.connect()))
  await insertCustomers(db, customerIds)
  const arbitrarySteps = fc.array(arbitraryStep, { maxLength: 30, size: 'max' })
  const play = fc.asyncProperty(arbitrarySteps, arbitraryQuery, async (steps, finalQuery) => {
    await sql`truncate quotes cascade`.execute(db)
    const history = new History(
      db,
      clients.map((client, number) => new QuoteWriter(client, `${number}-`)),
    )
    try {
      for (const step of steps) await history.play(step)
      await history.finish(finalQuery)
    } finally {
      for (const client of clients) await client.query('rollback')
      await history.releaseSnapshots()
    }
  })
  try {
    const result = await fc.check(play, parameters)
    if (result.failed)
      throw new Error(fc.defaultReportMessage(result), { cause: result.errorInstance })
    return result.numRuns
  } finally {
    for (const client of clients) client.release()
  }
}

/** A reader with an open snapshot, and the quotes that were committed before it. */
type Snapshot = { transaction: ControlledTransaction<Tables>; quotes: Quotes }
type StepOf<Kind extends Step['kind']> = Extract<Step, { kind: Kind }>

class History {
  readonly #db: Database
  readonly #writers: QuoteWriter[]
  readonly #snapshots = new Map<number, Snapshot>()
  /** The committed quotes when a data version was first read. */
  readonly #quotesOfVersion = new Map<string, Quotes>()
  #committed: Quotes = new Map()

  constructor(db: Database, writers: QuoteWriter[]) {
    this.#db = db
    this.#writers = writers
  }

  async play(step: Step): Promise<void> {
    if (step.kind === 'write') await this.#write(step)
    else if (step.kind === 'end') await this.#end(this.#writers[step.writer], step.end)
    else if (step.kind === 'fold') await fold(this.#db, step)
    else if (step.kind === 'rebuild') await rebuildSummary(this.#db)
    else if (step.kind === 'maintain') await this.#maintain(step)
    else if (step.kind === 'restore') await restore(this.#db)
    else if (step.kind === 'check') await this.#check(step.query, step.day)
    else if (step.kind === 'verify') await this.#verify()
    else if (step.kind === 'hold') await this.#hold(step.reader)
    else await this.#checkHeld(step)
  }

  /** Commits all transactions and checks the statistics before and after folding everything. */
  async finish(query: RandomQuery): Promise<void> {
    await this.#endWriters()
    await this.#check(query, finalDay)
    while ((await foldBatch(this.#db)) > 0);
    await this.#check(query, finalDay)
    await this.#verify()
  }

  async releaseSnapshots(): Promise<void> {
    for (const reader of [...this.#snapshots.keys()]) await this.#release(reader)
  }

  async #write({ writer: number, write, replicated }: StepOf<'write'>): Promise<void> {
    const writer = this.#writers[number]
    const role = (name: string) => `set local session_replication_role = ${name}`
    if (replicated) await writer?.query(role('replica'))
    await writer?.write(write, this.#committed, { replicated })
    if (replicated) await writer?.query(role('origin'))
  }

  async #end(writer: QuoteWriter | undefined, end: 'commit' | 'rollback'): Promise<void> {
    this.#committed = (await writer?.end(end, this.#committed)) ?? this.#committed
  }

  async #endWriters(): Promise<void> {
    for (const writer of this.#writers) await this.#end(writer, 'commit')
  }

  async #maintain({ writer: number, what, writes, end }: StepOf<'maintain'>): Promise<void> {
    const writer = this.#writers[number]
    if (!writer) return
    // A truncate waits for all others.
    if (what.startsWith('truncate')) {
      await this.#endWriters()
      await this.releaseSnapshots()
    }
    await writer.write(writes[0], this.#committed)
    // A later transaction ends before this one maintains the summary.
    await sql`select pg_current_xact_id()`.execute(this.#db)
    if (what === 'truncate') await writer.truncate(this.#committed)
    else if (what === 'truncate lines') await writer.truncateLines(this.#committed)
    else await writer.query(maintenance[what])
    await writer.write(writes[1], this.#committed)
    await this.#end(writer, end)
  }

  /** Begins a transaction that reads one snapshot, instead of the previous one of this reader. */
  async #hold(reader: number): Promise<void> {
    await this.#release(reader)
    const transaction = await this.#db
      .startTransaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute()
    this.#snapshots.set(reader, { transaction, quotes: this.#committed })
    await prepareSnapshot(transaction, { by: 'customer' })
    await readVersion(transaction)
  }

  async #release(reader: number): Promise<void> {
    await this.#snapshots.get(reader)?.transaction.rollback().execute()
    this.#snapshots.delete(reader)
  }

  async #checkHeld({ reader, query, day }: StepOf<'check held'>): Promise<void> {
    const snapshot = this.#snapshots.get(reader)
    if (!snapshot) return
    const { request, expectedQuery } = requestOf(query, day)
    const stats = await assembleStats(snapshot.transaction, company, request)
    assertExpectedStats(stats, [...snapshot.quotes.values()], expectedQuery)
  }

  async #check(query: RandomQuery, day: number): Promise<void> {
    const { request, expectedQuery } = requestOf(query, day)
    const { stats, version } = await readStats(this.#db, company, request)
    assertExpectedStats(stats, [...this.#committed.values()], expectedQuery)
    // Caches send the same statistics as long as the data version is the same.
    const key = JSON.stringify(version)
    const quotes = this.#quotesOfVersion.get(key) ?? this.#committed
    this.#quotesOfVersion.set(key, quotes)
    if (quotes !== this.#committed) assertExpectedStats(stats, [...quotes.values()], expectedQuery)
  }

  async #verify(): Promise<void> {
    const differences = await findSummaryDifferences(this.#db)
    if (differences.length > 0) throw new Error(`The summary differs: ${differences.join('; ')}`)
  }
}

const maintenance: Record<'fold' | 'rebuild', string> = {
  fold: 'select fold_quote_changes(20000)',
  rebuild: 'select rebuild_quote_summary()',
}

async function fold(
  db: Database,
  { batch, beginsEdition }: Extract<Step, { kind: 'fold' }>,
): Promise<void> {
  if (beginsEdition) await sql`update quote_summary set edition_updates_left = 0`.execute(db)
  await sql`select fold_quote_changes(${batch})`.execute(db)
}

/** A restored summary holds transaction ids of another server: here ids that are not used yet. */
async function restore(db: Database): Promise<void> {
  await sql`
    update quote_summary
    set server_started_at = '2000-01-01', folded_through = '9000000000:9000000000:'
  `.execute(db)
}

function requestOf(
  { date, country, currency, days, compare, by }: RandomQuery,
  day: number,
): { request: StatsRequest; expectedQuery: ExpectedQuery } {
  const today = dayAfter(firstDay, day)
  const bounds = days && ([dayAfter(firstDay, days[0]), dayAfter(firstDay, days[1])] as const)
  return {
    request: {
      today,
      date,
      ...(country && { country }),
      ...(currency && { currency }),
      ...(bounds && { from: bounds[0], to: bounds[1] }),
      ...(compare && { compare }),
      ...(by && { by }),
    },
    expectedQuery: { today, date, country, currency, bounds, compare, by },
  }
}
