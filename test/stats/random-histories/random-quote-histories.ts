// Plays random histories of quotes on concurrent connections and compares the statistics with the
// expected ones.
import fc from 'fast-check'
import { type ControlledTransaction, sql } from 'kysely'
import type { Pool } from 'pg'
import type { Database } from '../../../src/database/postgres-pool.ts'
import type { Tables } from '../../../src/database/table-types.ts'
import { assembleStats, readStats } from '../../../src/stats/read-stats.ts'
import type { DatedRequest } from '../../../src/stats/schema.ts'
import { findSummaryDifferences } from '../../../src/stats/summary/check-months.ts'
import { foldStatistics } from '../../../src/stats/summary/fold-statistics.ts'
import { prepareSnapshot } from '../../../src/stats/summary/summary-query.ts'
import { readSummaryState } from '../../../src/stats/summary/summary-state.ts'
import { company } from '../../support/database/company.ts'
import { setLocalToday } from '../../support/database/local-today.ts'
import { insertCustomers } from '../insert-quotes.ts'
import { assertExpectedStats, dayAfter, type ExpectedQuery } from '../reference-stats.ts'
import { type Quotes, QuoteWriter } from './quote-writer.ts'
import { arbitraryQuery, customerIds, firstDay, type RandomQuery } from './random-quotes.ts'
import { arbitraryStep, type Step, writerCount } from './random-steps.ts'

/** So that most sent quotes have lapsed in the end. */
const finalDays = 385

/**
 * Plays histories in which three writers have open transactions while others fold, rebuild and read
 * statistics, even from snapshots that stay open. Each result must be the statistics of the quotes
 * that were committed before the last fold, on the day of that fold, and the summary must agree
 * with the quotes. A writer changes only its own quotes, so that no writer waits for a row lock of
 * another. The role must be a superuser. Returns the number of histories played. Throws if a result
 * is wrong.
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
    await setLocalToday(db, firstDay)
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

/** The committed quotes at the last fold, and the local day of the summary. */
type Folded = { quotes: Quotes; today: string }
/** A reader with an open snapshot, and what was folded before it. */
type Snapshot = { transaction: ControlledTransaction<Tables>; folded: Folded }
type StepOf<Kind extends Step['kind']> = Extract<Step, { kind: Kind }>

class History {
  readonly #db: Database
  readonly #writers: QuoteWriter[]
  readonly #snapshots = new Map<number, Snapshot>()
  /** What was folded when a version of the summary was first read. */
  readonly #foldedOfVersion = new Map<string, Folded>()
  #committed: Quotes = new Map()
  #folded: Folded = { quotes: new Map(), today: firstDay }

  constructor(db: Database, writers: QuoteWriter[]) {
    this.#db = db
    this.#writers = writers
  }

  async play(step: Step): Promise<void> {
    if (step.kind === 'write') await this.#write(step)
    else if (step.kind === 'end') await this.#end(this.#writers[step.writer], step.end)
    else if (step.kind === 'fold') await this.#fold(step)
    else if (step.kind === 'maintain') await this.#maintain(step)
    else if (step.kind === 'restore') await restore(this.#db)
    else if (step.kind === 'check') await this.#check(step.query)
    else if (step.kind === 'hold') await this.#hold(step.reader)
    else await this.#checkHeld(step)
  }

  /** Commits all transactions and checks the statistics before and after folding everything. */
  async finish(query: RandomQuery): Promise<void> {
    await this.#endWriters()
    await this.#check(query)
    await this.#fold({ batch: 20_000, days: finalDays, query })
  }

  async #fold({ batch, days, query }: Omit<StepOf<'fold'>, 'kind'>): Promise<void> {
    const today = dayAfter(this.#folded.today, days)
    await sql`update test_today set day = ${today}`.execute(this.#db)
    await foldStatistics(this.#db, batch)
    this.#folded = { quotes: this.#committed, today }
    await this.#check(query)
  }

  async releaseSnapshots(): Promise<void> {
    for (const reader of [...this.#snapshots.keys()]) await this.#release(reader)
  }

  async #write({ writer: number, write, isReplicated }: StepOf<'write'>): Promise<void> {
    const writer = this.#writers[number]
    const role = (name: string) => `set local session_replication_role = ${name}`
    if (isReplicated) await writer?.query(role('replica'))
    await writer?.write(write, this.#committed)
    if (isReplicated) await writer?.query(role('origin'))
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
    let { quotes } = this.#folded
    if (what === 'fold') {
      await writer.query('select fold_statistics()')
      quotes = writer.visible(this.#committed)
    } else if (what === 'rebuild') await writer.query('select rebuild_summary()')
    else if (what === 'truncate') {
      await writer.truncate('quotes', this.#committed)
      quotes = new Map()
    } else {
      await writer.truncate('quote_lines', this.#committed)
      quotes = new Map([...quotes].map(([number, quote]) => [number, { ...quote, lines: [] }]))
    }
    await writer.write(writes[1], this.#committed)
    await this.#end(writer, end)
    if (end === 'commit') this.#folded = { ...this.#folded, quotes }
  }

  /** Begins a transaction that reads one snapshot, instead of the previous one of this reader. */
  async #hold(reader: number): Promise<void> {
    await this.#release(reader)
    const transaction = await this.#db
      .startTransaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute()
    this.#snapshots.set(reader, { transaction, folded: this.#folded })
    await prepareSnapshot(transaction, { by: 'customer' })
    await readSummaryState(transaction)
  }

  async #release(reader: number): Promise<void> {
    await this.#snapshots.get(reader)?.transaction.rollback().execute()
    this.#snapshots.delete(reader)
  }

  async #checkHeld({ reader, query }: StepOf<'check held'>): Promise<void> {
    const snapshot = this.#snapshots.get(reader)
    if (!snapshot) return
    const { quotes, today } = snapshot.folded
    const { request, expectedQuery } = requestOf(query, today)
    const stats = await assembleStats(snapshot.transaction, company, request)
    assertExpectedStats(stats, [...quotes.values()], expectedQuery)
  }

  async #check(query: RandomQuery): Promise<void> {
    const { request, expectedQuery } = requestOf(query, this.#folded.today)
    const { stats, state } = await readStats(this.#db, company, request)
    assertExpectedStats(stats, [...this.#folded.quotes.values()], expectedQuery)
    // Caches send the same statistics as long as the version is the same.
    const key = JSON.stringify(state.version)
    const { quotes, today } = this.#foldedOfVersion.get(key) ?? this.#folded
    this.#foldedOfVersion.set(key, { quotes, today })
    if (quotes !== this.#folded.quotes || today !== this.#folded.today)
      assertExpectedStats(stats, [...quotes.values()], { ...expectedQuery, today })
    const differences = await findSummaryDifferences(this.#db)
    if (differences.length > 0) throw new Error(`The summary differs: ${differences.join('; ')}`)
  }
}

/** A restored summary holds transaction ids of another server: here ids that are not used yet. */
async function restore(db: Database): Promise<void> {
  await sql`update quote_changes set xid = '9000000001'`.execute(db)
  await sql`
    update quote_summary set server_started_at = '2000-01-01', unfolded_from = '9000000000'
  `.execute(db)
}

function requestOf(
  { days, ...query }: RandomQuery,
  today: string,
): { request: DatedRequest; expectedQuery: ExpectedQuery } {
  const bounds = days && ([dayAfter(firstDay, days[0]), dayAfter(firstDay, days[1])] as const)
  const range = bounds ? { from: bounds[0], to: bounds[1] } : {}
  return {
    request: { ...query, today, ...range } as DatedRequest,
    expectedQuery: { ...query, today, bounds },
  }
}
