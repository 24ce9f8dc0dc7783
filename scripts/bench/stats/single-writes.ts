// Measures what the triggers of the summary cost single-row writes.
import type { Database } from '../../../src/database/postgres-pool.ts'
import { foldStatistics } from '../../../src/stats/summary/fold-statistics.ts'
import { setSummaryTriggers } from '../support/data/summary-triggers.ts'
import { median } from '../support/load/quantile.ts'
import { mainThreadMicroseconds } from '../support/processes/cpu-time.ts'
import { describeUpdates, readUpdates } from './background-folding.ts'
import type { BenchDatabase } from './databases.ts'
import { formatCount } from './generated-database.ts'
import { readBackendPid } from './measures.ts'
import { type Operation, operationShares, operations, QuoteWriter } from './quote-writer.ts'
import { bars, compareWithBar, formatMs, Table } from './report.ts'

/** Short blocks with and without the triggers follow each other, so both find the same load. */
const blocksPerRound = 4
const writesPerBlock = 250
/** Writes at the start of a block that are not measured. */
const warmUpWrites = 20

type Kind = 'with' | 'without'
type Cost = { ms: number; processorMs: number }
/** The costs of a write in two blocks that follow each other. */
type Pair = Record<Kind, Cost>

/** Prints the speed with the triggers as a share of that without, in alternating rounds. */
export async function reportSingleWrites(
  { url, unlimited }: BenchDatabase,
  { quotes, rounds }: { quotes: number; rounds: number },
): Promise<void> {
  console.log(
    `\nwrites, ${formatCount(quotes)} quotes: single-row writes, each in its own transaction, ` +
      `with and without the\n  triggers of the summary, ${rounds} rounds of ` +
      `${blocksPerRound * writesPerBlock} of each kind; a commit does not wait for the disk`,
  )
  const pairs: Record<Operation, Pair[]> = { insert: [], accept: [], amount: [] }
  const folding: number[] = []
  const writer = await QuoteWriter.connect(
    url,
    'all',
    10 * rounds * blocksPerRound * writesPerBlock,
  )
  const updatesBefore = await readUpdates(unlimited)
  try {
    for (let round = 0; round < rounds; round += 1) {
      for (let block = 0; block < blocksPerRound; block += 1)
        for (const operation of operations)
          pairs[operation].push(await measurePair(unlimited, writer, operation, block % 2 === 0))
      folding.push((await measureFolding(unlimited)) / writesWithTriggersPerRound)
    }
  } finally {
    await writer.close()
  }
  printPairs(pairs)
  console.log(
    `  folding afterwards: ${formatMs(median(folding))} of PostgreSQL processor time for each ` +
      `write\n  ${describeUpdates(updatesBefore, await readUpdates(unlimited))}`,
  )
}

const writesWithTriggersPerRound =
  blocksPerRound * operations.length * (warmUpWrites + writesPerBlock)

async function measurePair(
  db: Database,
  writer: QuoteWriter,
  operation: Operation,
  isWithFirst: boolean,
): Promise<Pair> {
  const measureBlock = async (kind: Kind) => {
    await setSummaryTriggers(db, kind === 'with' ? 'enable' : 'disable')
    return measureWrites(writer, operation)
  }
  const first = await measureBlock(isWithFirst ? 'with' : 'without')
  const second = await measureBlock(isWithFirst ? 'without' : 'with')
  return isWithFirst ? { with: first, without: second } : { with: second, without: first }
}

/** Returns the mean cost of a write. */
async function measureWrites(writer: QuoteWriter, operation: Operation): Promise<Cost> {
  for (let n = 0; n < warmUpWrites; n += 1) await writer.write(operation)
  const backend = await writer.readBackendPid()
  const [startedAt, before] = [performance.now(), mainThreadMicroseconds(backend)]
  for (let n = 0; n < writesPerBlock; n += 1) await writer.write(operation)
  return {
    ms: (performance.now() - startedAt) / writesPerBlock,
    processorMs: (mainThreadMicroseconds(backend) - before) / 1_000 / writesPerBlock,
  }
}

/** Folds everything, and returns PostgreSQL's processor time in ms. */
async function measureFolding(db: Database): Promise<number> {
  const backend = await readBackendPid(db)
  const before = mainThreadMicroseconds(backend)
  await foldStatistics(db)
  return (mainThreadMicroseconds(backend) - before) / 1_000
}

/** Prints medians. A speed is the median of the ratios within the pairs. */
function printPairs(pairs: Record<Operation, Pair[]>): void {
  const table = new Table(['', 'with', 'without', 'speed', 'with', 'without', 'by processor time'])
  const fields = ['ms', 'processorMs'] as const
  for (const operation of operations) {
    const cells = fields.flatMap((field) => {
      const costs = (kind: Kind) => median(pairs[operation].map((pair) => pair[kind][field]))
      const speed = median(pairs[operation].map((pair) => pair.without[field] / pair.with[field]))
      return [formatMs(costs('with')), formatMs(costs('without')), speed.toFixed(2)]
    })
    table.print([operation, ...cells])
  }
  const [speed, byProcessor] = fields.map((field) => median(mixedSpeeds(pairs, field)))
  const shares = operations.map((name) => `${100 * operationShares[name]} % ${name}`).join(', ')
  console.log(
    `  ${shares}: ${describeRatio(speed)} of the speed,\n` +
      `    ${describeRatio(byProcessor)} by processor time`,
  )
}

/** Returns the speed of the mix of operations for each turn of blocks. */
function mixedSpeeds(pairs: Record<Operation, Pair[]>, field: keyof Cost): number[] {
  return pairs.insert.map((_, turn) => {
    const mixed = (kind: Kind) =>
      operations.reduce(
        (sum, operation) =>
          sum + operationShares[operation] * (pairs[operation][turn]?.[kind][field] ?? Number.NaN),
        0,
      )
    return mixed('without') / mixed('with')
  })
}

function describeRatio(ratio = Number.NaN): string {
  return `${ratio.toFixed(2)} ${compareWithBar(ratio, bars.writes)}`
}
