// Measures the statistics while an old snapshot is open: the longer a backup or a report runs, the
// more dead rows the tables of the summary have.
import { foldStatistics } from '../../../src/stats/summary/fold-statistics.ts'
import { type BackgroundFolding, describeUpdates, readUpdates } from './background-folding.ts'
import { writeBesideSnapshot } from './beside-snapshot.ts'
import type { BenchDatabase } from './databases.ts'
import { formatCount } from './generated-database.ts'
import {
  type ColdTiming,
  measureCold,
  measureEmptyFold,
  measurePoll,
  type Timing,
} from './measures.ts'
import type { Target } from './quote-writer.ts'
import {
  compareWithBefore,
  formatByQuestion,
  formatColdP95,
  formatMs,
  formatPoll,
  Table,
} from './report.ts'

const targetNames: Record<Target, string> = {
  all: 'quotes of six years',
  month: 'quotes of the current month',
}

/** How often the state is measured during the writes, and each question at each time. */
const steps = 10
const coldRounds = 10

type State = { cold: ColdTiming; poll: Timing; fold: Timing }

/** Prints the figures before, during and after `writes` single-row writes. */
export async function reportSnapshot(
  database: BenchDatabase,
  {
    quotes,
    writes,
    pace,
    target,
  }: {
    quotes: number
    writes: number
    pace: number
    target: Target
  },
): Promise<void> {
  const { measured, unlimited } = database
  const rate = pace === Number.POSITIVE_INFINITY ? '' : `, ${pace} a second`
  console.log(
    `\nsnapshot, ${formatCount(quotes)} quotes: ${formatCount(writes)} single-row writes to ` +
      `${targetNames[target]}${rate},\n  while an old snapshot is open and an API process folds`,
  )
  const table = new Table([
    'writes',
    'cold p95',
    'processor',
    'poll',
    'processor',
    'empty fold',
    'processor',
  ])
  const measureState = async (name: string, folding?: BackgroundFolding): Promise<State> => {
    const [cold, poll] = [await measureCold(measured, coldRounds), await measurePoll(measured)]
    await folding?.pause()
    const fold = await measureEmptyFold(measured)
    const times = [poll, fold].flatMap((timing) => [timing.medianMs, timing.processorMs])
    table.print([name, ...[cold.p95Ms, cold.processorMs, ...times].map(formatMs)])
    return { cold, poll, fold }
  }

  const updatesBefore = await readUpdates(unlimited)
  const before = await measureState('before')
  let last = before
  const { writeMs, failedFolds } = await writeBesideSnapshot(database, {
    writes,
    target,
    pace,
    steps,
    async onStep(done, folding) {
      last = await measureState(formatCount(done), folding)
    },
  })
  await foldStatistics(unlimited)
  await measureState('snapshot closed')
  printComparison(before, last, quotes)
  console.log(
    `  a write took ${formatMs(writeMs / writes)}; ${failedFolds} batches could not be folded\n` +
      `  ${describeUpdates(updatesBefore, await readUpdates(unlimited))}`,
  )
}

function printComparison(before: State, last: State, quotes: number): void {
  console.log(
    `  cold at the end: ${formatColdP95(last.cold.p95Ms, quotes)}, ` +
      `${compareWithBefore(last.cold.p95Ms, before.cold.p95Ms)}\n` +
      `    ${formatByQuestion(last.cold)}\n` +
      `  poll at the end: ${formatPoll(last.poll)},\n` +
      `    ${compareWithBefore(last.poll.processorMs, before.poll.processorMs)}\n` +
      `  empty fold at the end: ${formatMs(last.fold.medianMs)}, ` +
      `${compareWithBefore(last.fold.medianMs, before.fold.medianMs)}`,
  )
}
