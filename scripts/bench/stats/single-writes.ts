// Measures what the triggers of the summary cost single-row writes.
import type { Database } from '../../../src/database/postgres-pool.ts'
import { mainThreadMicroseconds } from '../support/cpu-time.ts'
import { foldAll } from '../support/generated-quotes.ts'
import { median } from '../support/quantile.ts'
import { setSummaryTriggers } from '../support/summary-triggers.ts'
import { describeUpdates, readUpdates } from './background-folding.ts'
import type { BenchDatabase } from './databases.ts'
import { formatCount } from './generated-database.ts'
import { readBackendPid } from './measures.ts'
import { type Operation, operationShares, operations, QuoteWriter } from './quote-writer.ts'
import { bars, compareWithBar, formatMs, Table } from './report.ts'

/** The writes of each operation in one round, and those before it that are not measured. */
const writesPerRound = 1_000
const warmUpWrites = 20

type Kind = 'with' | 'without'
type Cost = { ms: number; processorMs: number }

/** Prints the speed with the triggers as a share of that without, in alternating rounds. */
export async function reportSingleWrites(
  { url, unlimited }: BenchDatabase,
  { quotes, rounds }: { quotes: number; rounds: number },
): Promise<void> {
  console.log(
    `\nwrites, ${formatCount(quotes)} quotes: single-row writes, each in its own transaction, ` +
      `with and without the triggers of the summary,\n  ${rounds} rounds of ` +
      `${formatCount(writesPerRound)} of each kind; a commit does not wait for the disk`,
  )
  const costs: Record<Kind, Record<Operation, Cost[]>> = {
    with: emptyCosts(),
    without: emptyCosts(),
  }
  const folding: number[] = []
  const writer = await QuoteWriter.connect(url, 'all', 10 * rounds * writesPerRound)
  const updatesBefore = await readUpdates(unlimited)
  try {
    for (let round = 0; round < rounds; round += 1) {
      const kinds = ['with', 'without'] as const
      for (const kind of round % 2 === 0 ? kinds : kinds.toReversed()) {
        await setSummaryTriggers(unlimited, kind === 'with' ? 'enable' : 'disable')
        for (const operation of operations)
          costs[kind][operation].push(await measureWrites(writer, operation))
        const foldingMs = await measureFolding(unlimited)
        if (kind === 'with') folding.push(foldingMs / (operations.length * writesPerRound))
      }
    }
  } finally {
    await writer.close()
  }
  printCosts(costs)
  console.log(
    `  folding afterwards: ${formatMs(median(folding))} of PostgreSQL processor time for each ` +
      `write\n  ${describeUpdates(updatesBefore, await readUpdates(unlimited))}`,
  )
}

function emptyCosts(): Record<Operation, Cost[]> {
  return { insert: [], accept: [], amount: [] }
}

/** Returns the mean cost of a write. */
async function measureWrites(writer: QuoteWriter, operation: Operation): Promise<Cost> {
  for (let n = 0; n < warmUpWrites; n += 1) await writer.write(operation)
  const backend = await writer.readBackendPid()
  const [startedAt, before] = [performance.now(), mainThreadMicroseconds(backend)]
  for (let n = 0; n < writesPerRound; n += 1) await writer.write(operation)
  return {
    ms: (performance.now() - startedAt) / writesPerRound,
    processorMs: (mainThreadMicroseconds(backend) - before) / 1_000 / writesPerRound,
  }
}

/** Folds everything, and returns PostgreSQL's processor time in ms. */
async function measureFolding(db: Database): Promise<number> {
  const backend = await readBackendPid(db)
  const before = mainThreadMicroseconds(backend)
  await foldAll(db)
  return (mainThreadMicroseconds(backend) - before) / 1_000
}

function printCosts(costs: Record<Kind, Record<Operation, Cost[]>>): void {
  const table = new Table(['', 'with', 'without', 'speed', 'with', 'without', 'by processor time'])
  const medianOf = (kind: Kind, operation: Operation, field: keyof Cost) =>
    median(costs[kind][operation].map((cost) => cost[field]))
  for (const operation of operations) {
    const cells = (['ms', 'processorMs'] as const).flatMap((field) => {
      const [withTriggers, without] = [
        medianOf('with', operation, field),
        medianOf('without', operation, field),
      ]
      return [formatMs(withTriggers), formatMs(without), (without / withTriggers).toFixed(2)]
    })
    table.print([operation, ...cells])
  }
  const mixed = (kind: Kind, field: keyof Cost) =>
    operations.reduce(
      (sum, operation) => sum + operationShares[operation] * medianOf(kind, operation, field),
      0,
    )
  const [speed, byProcessor] = (['ms', 'processorMs'] as const).map(
    (field) => mixed('without', field) / mixed('with', field),
  )
  const shares = operations.map((name) => `${100 * operationShares[name]} % ${name}`).join(', ')
  console.log(
    `  ${shares}: ${describeRatio(speed)} of the speed,\n` +
      `    ${describeRatio(byProcessor)} by processor time`,
  )
}

function describeRatio(ratio = Number.NaN): string {
  return `${ratio.toFixed(2)} ${compareWithBar(ratio, bars.writes)}`
}
