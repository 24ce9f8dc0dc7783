// Measures the statistics without a cache.
import { assembleStats } from '../../../src/stats/assemble-stats.ts'
import { totalsFromQuotes } from '../../../src/stats/summary/stats-from-quotes.ts'
import { lastDay } from '../support/generated-quotes.ts'
import type { BenchDatabase } from './databases.ts'
import { company, formatCount } from './generated-database.ts'
import { elapsedMs, measureCold } from './measures.ts'
import {
  bars,
  compareWithBar,
  formatByQuestion,
  formatColdP95,
  formatMs,
  formatMultiple,
} from './report.ts'

/** Prints the figures next to plain aggregates over the same quotes. Returns the p95 in ms. */
export async function reportCold(
  { measured, unlimited }: BenchDatabase,
  count: number,
  p95OfMillionMs: number | undefined,
): Promise<number> {
  const cold = await measureCold(measured)
  const plainMs = await elapsedMs(() =>
    assembleStats(unlimited, company, { date: 'issued', today: lastDay }, totalsFromQuotes),
  )
  console.log(
    `cold, ${formatCount(count)} quotes: median ${formatMs(cold.medianMs)}, ` +
      `${formatColdP95(cold.p95Ms, count)},\n` +
      `  ${formatMs(cold.processorMs)} of PostgreSQL processor time each; plain aggregates over ` +
      `everything ${formatMs(plainMs)}, ${formatMultiple(plainMs, cold.p95Ms)} the p95\n` +
      `  ${formatByQuestion(cold)}`,
  )
  if (count === 10_000_000 && p95OfMillionMs !== undefined)
    console.log(
      `  ${formatMultiple(cold.p95Ms, p95OfMillionMs)} the p95 of 1,000,000 ` +
        compareWithBar(cold.p95Ms / p95OfMillionMs, bars.coldGrowth, ' ×'),
    )
  return cold.p95Ms
}
