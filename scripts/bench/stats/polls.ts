// Measures one reading of the state of the summary in the states that make it slow.
import { foldStatistics } from '../../../src/stats/summary/fold-statistics.ts'
import { writeBesideSnapshot } from './beside-snapshot.ts'
import { disableAutovacuum, writeInBulk } from './bulk-not-folded.ts'
import type { BenchDatabase } from './databases.ts'
import { formatCount } from './generated-database.ts'
import { measurePoll } from './measures.ts'
import { formatPoll } from './report.ts'

/** Prints the times when idle and after a bulk write, which is not folded. */
export async function reportPollsAfterBulk(
  { measured, unlimited }: BenchDatabase,
  quotes: number,
): Promise<void> {
  console.log(`\npolls, ${formatCount(quotes)} quotes: one reading of the state of the summary`)
  console.log(`  idle: ${formatPoll(await measurePoll(measured))}`)
  await disableAutovacuum(unlimited)
  await writeInBulk(unlimited)
  console.log(`  after a bulk write, not folded: ${formatPoll(await measurePoll(measured))}`)
}

/** Prints the time after single-row writes beside an old snapshot. */
export async function reportPollsBesideSnapshot(
  database: BenchDatabase,
  { writes, pace }: { writes: number; pace: number },
): Promise<void> {
  await writeBesideSnapshot(database, {
    writes,
    target: 'all',
    pace,
    steps: 1,
    async onStep(_done, folding) {
      await folding.pause()
      await foldStatistics(database.unlimited)
      console.log(
        `  beside an old snapshot, after ${formatCount(writes)} single-row writes: ` +
          formatPoll(await measurePoll(database.measured)),
      )
    },
  })
}
