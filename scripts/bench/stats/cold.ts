// Measures the statistics without a cache.
import { assembleStats } from '../../../src/stats/assemble-stats.ts'
import { totalsFromQuotes } from '../../../src/stats/summary/stats-from-quotes.ts'
import { lastDay } from '../support/generated-quotes.ts'
import type { BenchDatabase } from './databases.ts'
import { company, formatCount, waitForAutovacuum } from './generated-database.ts'
import { type ColdTiming, elapsedMs, measureCold } from './measures.ts'
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

function readPlainStats({ unlimited }: BenchDatabase): Promise<unknown> {
  return assembleStats(unlimited, company, { date: 'issued', today: lastDay }, totalsFromQuotes)
}
