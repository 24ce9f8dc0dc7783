// Measures the statistics without a cache.
import { sql } from 'kysely'
import type { BenchDatabase } from './databases.ts'
import { formatCount, waitForAutovacuum } from './generated-database.ts'
import { breakdownQuestions, type ColdTiming, elapsedMs, measureCold } from './measures.ts'
import {
  bars,
  compareWithBar,
  formatByQuestion,
  formatColdP95,
  formatMs,
  formatMultiple,
} from './report.ts'

/**
 * Prints the figures right after the quotes were generated, and when autovacuum has followed. The
 * returned p95 in ms is the larger one.
 */
export async function reportCold(
  database: BenchDatabase,
  count: number,
  p95OfMillionMs: number | undefined,
): Promise<number> {
  const first = await measureCold(database.measured)
  printCold('right after generating', first, count)
  await waitForAutovacuum(database)
  const second = await measureCold(database.measured)
  printCold('after autovacuum', second, count)
  const breakdowns = await measureCold(database.measured, undefined, breakdownQuestions)
  console.log(
    `  by customer and by product: median ${formatMs(breakdowns.medianMs)}, ` +
      `p95 ${formatMs(breakdowns.p95Ms)}, ` +
      `${formatMs(breakdowns.processorMs)} of PostgreSQL processor time each;\n    ` +
      formatByQuestion(breakdowns),
  )
  const plainMs = await elapsedMs(() => readPlainStats(database))
  console.log(
    `  plain aggregates over everything: ${formatMs(plainMs)}, ` +
      `${formatMultiple(plainMs, second.p95Ms)} the p95`,
  )
  const p95Ms = Math.max(first.p95Ms, second.p95Ms)
  if (count === 10_000_000 && p95OfMillionMs !== undefined)
    console.log(
      `  ${formatMultiple(p95Ms, p95OfMillionMs)} the p95 of 1,000,000 ` +
        compareWithBar(p95Ms / p95OfMillionMs, bars.coldGrowth, ' ×'),
    )
  return p95Ms
}

function printCold(state: string, cold: ColdTiming, count: number): void {
  console.log(
    `cold, ${formatCount(count)} quotes, ${state}: median ${formatMs(cold.medianMs)}, ` +
      `${formatColdP95(cold.p95Ms, count)},\n` +
      `  ${formatMs(cold.processorMs)} of PostgreSQL processor time each; ` +
      formatByQuestion(cold),
  )
}

/** What a service without a summary would have to compute: the same groups from the quotes. */
function readPlainStats({ unlimited }: BenchDatabase): Promise<unknown> {
  const baseNet = sql`case when currency = 'EUR' then net else round(net * rate, 2) end`
  return sql`
    select date_trunc('month', issued_on) as month, country, currency, status, count(*),
      sum(${baseNet}), sum(net) filter (where status = 'accepted')
    from quotes where status <> 'superseded'
    group by grouping sets ((), (date_trunc('month', issued_on)), (country), (currency), (status))
  `.execute(unlimited)
}
