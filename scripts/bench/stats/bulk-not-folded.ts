// Measures the statistics right after a bulk write that has not been folded yet.
import { sql } from 'kysely'
import type { Database } from '../../../src/database/postgres-pool.ts'
import { foldStatistics } from '../../../src/stats/summary/fold-statistics.ts'
import { bulkInsertQuotes, insertInBulk } from '../support/data/generated-quotes.ts'
import type { BenchDatabase } from './databases.ts'
import { formatCount } from './generated-database.ts'
import { type ColdTiming, measureCold, measurePoll, type Timing } from './measures.ts'
import {
  compareWithBefore,
  formatByQuestion,
  formatColdP95,
  formatMs,
  formatPoll,
  Table,
} from './report.ts'

/** Prints the figures before the bulk write, after it, and after folding. */
export async function reportBulk(database: BenchDatabase, quotes: number): Promise<void> {
  const { measured, unlimited } = database
  console.log(
    `\nbulk, ${formatCount(quotes)} quotes: right after ${formatCount(bulkInsertQuotes)} quotes ` +
      'were written in one transaction,\n' +
      '  not folded, not analysed; autovacuum is off for the tables of quotes and of the summary',
  )
  const table = new Table([
    '',
    'cold p95',
    'median',
    'processor',
    'poll p95',
    'median',
    'processor',
  ])
  const measureState = async (state: string): Promise<State> => {
    const [cold, poll] = [await measureCold(measured), await measurePoll(measured)]
    const timesOf = (timing: Timing) =>
      [timing.p95Ms, timing.medianMs, timing.processorMs].map(formatMs)
    table.print([state, ...timesOf(cold), ...timesOf(poll)])
    return { cold, poll }
  }

  await disableAutovacuum(unlimited)
  const before = await measureState('before')
  await writeInBulk(unlimited)
  const after = await measureState('not folded')
  const foldingStartedAt = performance.now()
  await foldStatistics(unlimited)
  const foldingMs = performance.now() - foldingStartedAt
  await measureState('folded')
  printComparison(before, after, quotes)
  console.log(`  folding took ${(foldingMs / 1_000).toFixed(1)} s`)
}

type State = { cold: ColdTiming; poll: Timing }

function printComparison(before: State, after: State, quotes: number): void {
  console.log(
    `  cold, not folded: ${formatColdP95(after.cold.p95Ms, quotes)}, ` +
      `${compareWithBefore(after.cold.p95Ms, before.cold.p95Ms)}\n` +
      `    ${formatByQuestion(after.cold)}\n` +
      `  poll, not folded: ${formatPoll(after.poll)},\n` +
      `    ${compareWithBefore(after.poll.processorMs, before.poll.processorMs)}, elapsed ` +
      `${compareWithBefore(after.poll.medianMs, before.poll.medianMs)}`,
  )
}

export async function writeInBulk(db: Database): Promise<void> {
  await db.transaction().execute((transaction) => insertInBulk(transaction))
}

/** Keeps autovacuum from analysing or vacuuming during the measurement, which would help. */
export async function disableAutovacuum(db: Database): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace
      and (relname = 'quotes' or relname like 'quote\\_%')
  `.execute(db)
  for (const { name } of rows)
    await sql`alter table ${sql.id(name)} set (autovacuum_enabled = false)`.execute(db)
}
