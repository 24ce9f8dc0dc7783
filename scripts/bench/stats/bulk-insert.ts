// Measures what the triggers of the summary cost a bulk insert.
import type { Database } from '../../../src/database/postgres-pool.ts'
import { bulkInsertQuotes, insertInBulk } from '../support/data/generated-quotes.ts'
import { setSummaryTriggers } from '../support/data/summary-triggers.ts'
import { median } from '../support/load/quantile.ts'
import { mainThreadMicroseconds } from '../support/processes/cpu-time.ts'
import type { BenchDatabase } from './databases.ts'
import { readBackendPid } from './measures.ts'
import { bars, compareWithBar } from './report.ts'

/** Prints the speed of a bulk insert with the triggers, as a share of that without them. */
export async function reportBulkInsert({ unlimited: db }: BenchDatabase, rounds: number) {
  const costs = { with: [] as Cost[], without: [] as Cost[] }
  for (let round = 0; round < rounds; round += 1) {
    const kinds = ['with', 'without'] as const
    for (const kind of round % 2 === 0 ? kinds : kinds.toReversed()) {
      await setSummaryTriggers(db, kind === 'with' ? 'enable' : 'disable')
      costs[kind].push(await measureBulkInsert(db))
    }
  }
  const medianOf = (kind: 'with' | 'without', field: keyof Cost) =>
    median(costs[kind].map((cost) => cost[field]))
  const quotesPerSecond = (kind: 'with' | 'without') =>
    Math.round(bulkInsertQuotes / (medianOf(kind, 'ms') / 1_000))
  const ratio = (field: keyof Cost) => medianOf('without', field) / medianOf('with', field)
  const describe = (value: number) => `${value.toFixed(2)} ${compareWithBar(value, bars.writes)}`
  console.log(
    `\ntriggers: bulk insert of quotes with five lines each: ${quotesPerSecond('with')} ` +
      `quotes/s with triggers, ${quotesPerSecond('without')} without:\n` +
      `  ${describe(ratio('ms'))} of the speed,\n` +
      `  ${describe(ratio('processorMs'))} by processor time`,
  )
}

type Cost = { ms: number; processorMs: number }

/** Inserts quotes, and rolls the transaction back: folding and deleting are not measured. */
async function measureBulkInsert(db: Database): Promise<Cost> {
  const transaction = await db.startTransaction().execute()
  try {
    const backend = await readBackendPid(transaction)
    const [startedAt, before] = [performance.now(), mainThreadMicroseconds(backend)]
    await insertInBulk(transaction)
    return {
      ms: performance.now() - startedAt,
      processorMs: (mainThreadMicroseconds(backend) - before) / 1_000,
    }
  } finally {
    await transaction.rollback().execute()
  }
}
